"""What the pods of an object, or of a group of another scheduler, need of a queue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from krmfn.capacity.requests import count_requests
from krmfn.krm.item import Item
from krmfn.model.gotext import parse_int
from krmfn.model.marks import KUEUE_MINIMUM
from krmfn.model.values import Key, as_text, group_by
from krmfn.survey.census import Census, Template

Resources = Mapping[str, int]


def list_needs(census: Census, item: Item) -> Iterator[tuple[int | None, Resources]]:
    """The pods of each template that have to be admitted, and what one of them requests."""

    least = parse_int(item.annotations.get(KUEUE_MINIMUM, ""))
    for template in census.templates_of(item):
        pods = template.pods
        if least is not None and pods is not None:
            pods = min(pods, least)
        yield pods, count_requests(template.spec, {})


def group_marked(census: Census, part: str, key: str) -> dict[Key, list[Template]]:
    """The templates that carry a label or an annotation, by namespace and its value."""

    def name(template: Template) -> Key:
        return template.item.space, as_text(template.metadata[part][key])

    return group_by(name, (each for each in census.marked(part, key) if name(each)[1] and each.pods != 0))


def sum_least(pods: Iterable[tuple[int | None, Resources]], quorum: int) -> dict[str, int]:
    """What `quorum` pods request at least, by resource: which of them start first is not known, so of each resource
    the smallest amounts count. Of a number of pods that is unknown (None), there are enough.

    >>> sum_least([(1, {"cpu": 5}), (2, {"cpu": 1})], 3), sum_least([(None, {"cpu": 2}), (1, {})], 3)
    ({'cpu': 7}, {'cpu': 4})
    """
    listed = [(quorum if number is None else number, requests) for number, requests in pods]
    least: dict[str, int] = {}
    for name in dict.fromkeys(name for _, requests in listed for name in requests):
        left = quorum
        for amount, number in sorted((requests.get(name, 0), number) for number, requests in listed):
            least[name] = least.get(name, 0) + amount * min(number, left)
            left -= min(number, left)
    return least
