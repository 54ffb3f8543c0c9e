"""Objects of the input by their names: those that others name and without which their pods cannot be counted, and those
that a controller made for another one. A dump of a cluster holds both; the owner stands for what it owns.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from krmfn.config import Settings
from krmfn.krm.item import Item, Items, list_holding
from krmfn.model.marks import list_previous_names
from krmfn.model.values import Key, Value, as_list, as_text, dig, key_of

if TYPE_CHECKING:
    from krmfn.sources.manifest import Find


def make_lookup(items: Items, settings: Settings) -> Find:
    """A function that finds an object by API group, kind, namespace ("" for a kind without) and name. What is in the
    input goes before the facts, and also has the names from before a renaming. A kind is looked through once."""

    @cache
    def list_named(kind: Key) -> dict[Key, Value]:
        from krmfn.survey.facts import gather  # only where something is named

        found = {}
        for value in gather(settings.cluster).get(kind, ()):
            key = key_of(value)
            found[key] = found["", key[1]] = value
        for item in items:
            if item.group_kind == kind:
                for name in (*list_previous_names(item), item.name):
                    found[item.space, name] = found["", name] = item.value
        return found

    return lambda group, kind, namespace, name: list_named((group, kind)).get((namespace, name))


def list_owned(items: Items) -> set[int]:
    """The identities of those items whose controller is among the items."""
    owned = [(item, owner) for item in list_holding(items, b"ownerReferences") if (owner := find_controller(item))]
    known = {(*item.group_kind, *item.key) for item in items if owned}
    return {id(item) for item, (group, kind, name) in owned if (group, kind, item.space, name) in known}


def find_controller(item: Item, owns: bool = False) -> tuple[str, str, str] | None:
    """API group, kind and name of the object that controls an item, or that only `owns` it; None without."""
    for reference in as_list(item.value, "metadata", "ownerReferences"):
        if owns or dig(reference, "controller") is True:
            group = as_text(reference, "apiVersion").rpartition("/")[0]
            return group, as_text(reference, "kind"), as_text(reference, "name")
    return None
