"""Objects that are among the manifests more than once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from krmfn.checks.rule import rule
from krmfn.model.findings import Finding
from krmfn.model.identity import Identity, identify

if TYPE_CHECKING:
    from krmfn.config import Settings
    from krmfn.krm.item import Item
    from krmfn.survey.census import Census


@rule("object-duplicate", "warning", "The same object is in the manifests twice.")
def find_object_duplicate(census: Census, _: Settings) -> Iterator[Finding]:
    """Two manifests of one object among those that are applied together."""
    seen: dict[Identity, Item] = {}
    for item in census.objects:
        if not item.name:
            continue
        first = seen.setdefault(identify(item.ref), item)
        if first is not item:
            place = first.locate(())
            where = f" ({place.path}:{place.line})" if place.line else ""
            message = f"this object is there twice{where}; the cluster keeps what is applied last"
            yield Finding(item, ("metadata", "name"), message, item.name, hint="Remove one of them, or rename it.")
