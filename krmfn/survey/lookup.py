"""Objects of the input by their names: those that others name and without which their pods cannot be counted, and those
that a controller made for another one. A dump of a cluster holds both; the owner stands for what it owns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from krmfn.config import Settings
from krmfn.krm.item import Item, Items, list_holding
from krmfn.krm.results import DEFAULT_NAMESPACE
from krmfn.model.marks import list_previous_names
from krmfn.model.values import Key, Value, as_list, as_text, dig

if TYPE_CHECKING:
    from krmfn.sources.manifest import Find


Names = dict[Key, Value]


def make_lookup(items: Items, settings: Settings) -> Find:
    """A function that finds an object by API group, kind, namespace ("" for a kind without) and name. What is in the
    input goes before the facts, and also has the names from before a renaming. A kind is looked through once."""
    known = {}

    def find(group: str, kind: str, namespace: str, name: str) -> Value | None:
        if (group, kind) not in known:
            known[group, kind] = _list_names(items, settings, group, kind)
        return known[group, kind].get((namespace, name))

    return find


def _list_names(items: Items, settings: Settings, group: str, kind: str) -> Names:
    from krmfn.survey.facts import read_facts  # only where something is named

    found = {}
    for value in read_facts(settings.cluster, {}).objects(group, kind):
        space, name = (as_text(value, "metadata", key) for key in ("namespace", "name"))
        found[space or DEFAULT_NAMESPACE, name] = found["", name] = value
    for item in items:
        if item.group == group and item.kind == kind:
            for name in (*list_previous_names(item), item.name):
                found[item.space, name] = found["", name] = item.value
    return found


def list_owned(items: Iterable[Item]) -> frozenset[int]:
    """The identities of those items whose controller is among the items."""
    items = list(items)
    owned = [(item, owner) for item in list_holding(items, b"ownerReferences") if (owner := find_controller(item))]
    if not owned:
        return frozenset()
    known = {(*item.group_kind, item.space, item.name) for item in items}
    return frozenset(id(item) for item, (group, kind, name) in owned if known & {(group, kind, item.space, name)})


def find_controller(item: Item, owns: bool = False) -> tuple[str, str, str] | None:
    """API group, kind and name of the object that controls an item, or that only `owns` it; None without."""
    for reference in as_list(item.value, "metadata", "ownerReferences"):
        if owns or dig(reference, "controller") is True:
            group = as_text(reference, "apiVersion").rpartition("/")[0]
            return group, as_text(reference, "kind"), as_text(reference, "name")
    return None
