"""What the pods of an object need of a queue, of Kueue or Volcano."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from krmfn.krm.item import Item
from krmfn.model.gotext import parse_int
from krmfn.model.marks import KUEUE_MINIMUM
from krmfn.survey.census import Census

Resources = Mapping[str, int]


def list_needs(census: Census, item: Item) -> Iterator[tuple[int | None, Resources]]:
    """The pods of each template that have to be admitted, and what one of them requests."""
    from krmfn.capacity.requests import count_requests

    least = parse_int(item.annotations.get(KUEUE_MINIMUM, ""))
    for template in census.templates_of(item):
        pods = template.pods
        if least is not None and pods is not None:
            pods = min(pods, least)
        yield pods, count_requests(template.spec, {})
