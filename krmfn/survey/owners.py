"""Objects that a controller made for another object of the same input: a dump of a cluster holds both.

What is owned is no further member of a gang: its owner stands for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.krm.item import Item, list_holding
from krmfn.model.values import as_list, as_text, dig


def list_owned(items: Iterable[Item]) -> frozenset[int]:
    """The identities of those items whose controller is among the items."""
    items = list(items)
    owned = [(item, owner) for item in list_holding(items, b"ownerReferences") if (owner := find_controller(item))]
    if not owned:
        return frozenset()
    known = {(item.ref.group, item.kind, item.space, item.name) for item in items}
    return frozenset(id(item) for item, (group, kind, name) in owned if known & {(group, kind, item.space, name)})


def find_controller(item: Item, owns: bool = False) -> tuple[str, str, str] | None:
    """API group, kind and name of the object that controls an item, or that only `owns` it; None without."""
    for reference in as_list(item.value, "metadata", "ownerReferences"):
        if owns or dig(reference, "controller") is True:
            group = as_text(reference, "apiVersion").rpartition("/")[0]
            return group, as_text(reference, "kind"), as_text(reference, "name")
    return None
