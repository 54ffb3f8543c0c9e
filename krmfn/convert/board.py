"""The objects of one conversion while it runs: what is there, what was made, what goes, and what was said.

Knows identities and links, and no release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from krmfn.krm.errors import EditRefused
from krmfn.krm.item import Item, Items
from krmfn.krm.paths import Path
from krmfn.model.findings import Finding
from krmfn.model.marks import GENERATED_FROM, MANAGED_BY, MANAGER, SYNC_WAVE
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.values import Fields, Identity, Value, as_list, identify
from krmfn.reconcile.links import WRITE_OUT, Site, find_sites
from krmfn.releases.release import GROUP as NATIVE
from krmfn.releases.release import Release
from krmfn.releases.spelling import find_word

_GROUPS = frozenset({NATIVE, *(row.group for row in SCHEDULERS.values())})


class Board:
    """Items by kind, and the record of what happened to them. Steps edit items in place."""

    def __init__(self, items: Items, goal: Release) -> None:
        """Takes the items as they are, for a conversion to `goal`; the sequence itself is not changed."""
        self.items = list(items)
        self.goal = goal
        self.removed: list[Item] = []
        self.owners: dict[int, Item] = {}
        self.findings: list[Finding] = []
        self._known: dict[Identity, list[Item]] = {}
        for item in self.items:
            self._know(item)

    def of(self, group: str, kind: str) -> list[Item]:
        """The items of a kind, those made in this conversion included."""
        return [item for item in self.items if item.group_kind == (group, kind)]

    def written_in(self, version: str, *kinds: str) -> list[Item]:
        """The items of kinds of scheduling.k8s.io in a version."""
        return [item for kind in kinds for item in self.of(NATIVE, kind) if item.api_version == f"{NATIVE}/{version}"]

    def find(self, group: str, kind: str, namespace: str, name: str) -> Item | None:
        """The item with this identity."""
        return next(iter(self._known.get(Identity(group, kind, namespace, name), ())), None)

    def add(self, value: Fields, owner: Item) -> Item:
        """An object that did not exist, beside `owner`."""
        item = Item.new(value)
        self.items.append(item)
        self._know(item)
        self.owners[id(item)] = self.owners.get(id(owner), owner)
        return item

    def remove(self, item: Item) -> None:
        """Take an item out."""
        self.items.remove(item)
        self._known[identify(item.ref)].remove(item)
        if id(item) not in self.owners:
            self.removed.append(item)

    def note(self, item: Item, rule: str, message: str, path: Path = (), hint: str = "") -> None:
        """Say something about an item; about one that was made here, at the item it was made for."""
        owner = self.owners.get(id(item))
        if owner:
            path, message = (), f"{item.ref}: {message}"
        self.findings.append(Finding(owner or item, path, message, hint=hint, rule=rule))

    def miss(self, item: Item, site: Site, what: str) -> None:
        """Say that a link leads to something that is not there, and stays as it is."""
        message = f"no {what} in the files converted: the link of these pods is unchanged"
        hint = "Convert the files of the pods and of their groups together."
        self.note(item, "convert-unresolved", message, site.path, hint)

    def edit(self, item: Item, change: Callable[..., None], *arguments: Any) -> None:
        """Run `change(item, *arguments)`; where the text cannot be edited, leave it and say so."""
        before = identify(item.ref)
        try:
            item.atomically(lambda: change(item, *arguments))
        except EditRefused as refused:
            self.note(item, "edit-refused", f"krmfn cannot edit this object: {refused}", hint=WRITE_OUT)
        if identify(item.ref) != before:
            self._known[before].remove(item)
            self._know(item)

    def _know(self, item: Item) -> None:
        self._known.setdefault(identify(item.ref), []).append(item)

    def sites(self) -> Iterator[tuple[Item, Site]]:
        """Every link in a pod template of the input, with the item it stands in."""
        for item in self.items:
            if item.group not in _GROUPS:
                for site in list(find_sites(item.value)):
                    yield item, site


def read_entries(item: Item | None, field: str) -> list[Value]:
    """The mappings in the list `field` of an object's spec; none where there is something else."""
    return [entry for entry in as_list(item.value if item else None, "spec", field) if isinstance(entry, Mapping)]


def describe(api_version: str, kind: str, name: str, source: Item, spec: Value) -> Fields:
    """An object of `name` in the namespace of `source`, with our marks where that carries them."""
    metadata: Fields = {"name": name, **({"namespace": source.namespace} if source.namespace else {})}
    if mark := source.annotations.get(GENERATED_FROM):
        wave = {"Workload": "-3", "PodGroup": "-1"}[kind]
        metadata |= {"labels": {MANAGED_BY: MANAGER}, "annotations": {GENERATED_FROM: mark, SYNC_WAVE: wave}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": dict(spec)}


def relink(item: Item, old: Path, new: Path, target: Any) -> None:
    """Exchange the field at `old` for one beside it."""
    item.remove(old)
    item.set((*old[:-1], *new), target)


def walk_templates(value: Any, path: Path = ("spec",)) -> Iterator[tuple[Path, Value, bool]]:
    """Every template of a Workload with its path, and whether it is a composite; parents first."""
    for name in ("podGroupTemplates", "compositePodGroupTemplates"):
        key = find_word(value, name)
        entries = value.get(key) if isinstance(value, Mapping) else None
        for index, entry in enumerate(as_list(entries)):
            if isinstance(entry, Mapping):
                place = (*path, key, index)
                yield place, entry, name == "compositePodGroupTemplates"
                yield from walk_templates(entry, place)
