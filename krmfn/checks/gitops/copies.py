"""Objects that are among the manifests more than once."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import Match, rule, tell
from krmfn.krm.item import Item
from krmfn.model.identity import Identity, identify
from krmfn.model.kinds import find_kind
from krmfn.survey.census import Census

#: With these annotations Config Sync takes each object for the clusters or namespaces that it is meant for.
_SELECTORS = ("configmanagement.gke.io/cluster-selector", "configmanagement.gke.io/namespace-selector")

#: operator-sdk reads such an object, and makes a bundle of all that is beside it: with examples of each version.
_BUNDLE = "scorecard.operatorframework.io"


@rule("object-duplicate")
def find_object_duplicate(census: Census) -> Iterator[Match]:
    seen: dict[tuple[Identity, tuple[str | None, ...]], Item] = {}
    selectors = _SELECTORS if any(map(census.has_text, _SELECTORS)) else ()
    if any(group == _BUNDLE for group, _ in census.by_kind):
        return
    for item in census.objects:
        if not item.name:
            continue
        chosen = tuple(item.annotations.get(selector) for selector in selectors) if selectors else ()
        first = seen.setdefault((identify(item.ref), chosen), item)
        if first is not item and (first.file.path == item.file.path or not _is_same(first, item)):
            place = first.locate(())
            where = f" ({place.path}:{place.line})" if place.line else ""
            yield tell(item, ("metadata", "name"), item.name, where=where)


def _is_same(first: Item, item: Item) -> bool:
    """Whether it makes no difference which one is applied, or that both are: files repeat their namespace, for one."""
    counts = item.ref.group.startswith("scheduling.") or find_kind(item.ref.group, item.kind) is not None
    return not counts and first.value == item.value
