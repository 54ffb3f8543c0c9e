"""Reconciling: what is generated now against what was generated before, in the same files or the same build.

Objects with our mark are updated in place, new ones are handed out, stale ones are taken out; what has no mark is never
touched. Knows no release, no source kind and no check; how gangs are formed is none of its business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from krmfn.krm.errors import EditRefused
from krmfn.krm.item import Item, Items
from krmfn.krm.paths import Path
from krmfn.krm.results import ResourceRef
from krmfn.model.findings import Finding, Note
from krmfn.model.marks import GENERATED_FROM
from krmfn.model.names import operator_names
from krmfn.model.rules import tell
from krmfn.model.tree import Gang
from krmfn.model.values import Fields, Identity, identify
from krmfn.reconcile.ledger import Ledger, Marked
from krmfn.reconcile.links import WRITE_OUT, is_name, may_be_linked, unlink
from krmfn.targets.emission import Emission, Link, is_error

__all__ = ["Addition", "Reconciliation", "Wanted", "reconcile"]


class Wanted(NamedTuple):
    """A gang with what its target made of it; `items` are its owners, in the order of `gang.owners`."""

    gang: Gang
    items: tuple[Item, ...]
    emission: Emission


class Addition(NamedTuple):
    """An object that did not exist, and the item beside which it belongs."""

    value: Fields
    owner: Item


class Reconciliation(NamedTuple):
    """What is to be added and taken out. Items that stay were edited in place."""

    added: tuple[Addition, ...]
    removed: tuple[Item, ...]
    findings: tuple[Finding, ...]


def reconcile(
    items: Items, wanted: Sequence[Wanted], released: Iterable[Item] = (), manages: str = "None"
) -> Reconciliation:
    """Make `items` say what `wanted` asks for.

    `released` are the items that could own a gang and want none; what was generated for them is removed, and so are
    their links to it. What was generated for objects that are not in the input stays. `manages` is `kuberay.manages`:
    names that the operator will use are refused. The text of items is edited; nothing is added or removed by itself.
    """
    return _Run(items, wanted, released, manages).finish()


class _Run:
    """One reconciliation: what is known, what was decided, what was found."""

    def __init__(self, items: Items, wanted: Sequence[Wanted], released: Iterable[Item], manages: str) -> None:
        self.wanted = wanted
        self.manages = manages
        self.released = {identify(item.ref): item for item in released}
        self.ledger = Ledger(items, [entry.gang for entry in wanted])
        self.added: list[Addition] = []
        self.findings: list[Finding] = []
        self.kept: set[Identity] = set()
        self.decided: set[Identity] = set()
        self.failed: set[Identity] = set()
        self.makers: dict[Identity, Wanted] = {}

    def finish(self) -> Reconciliation:
        self._refuse_operators_names()
        for entry in self.wanted:
            if entry.emission.objects:
                self._place(entry)
            elif is_error(entry.emission.notes):
                self.failed.update(map(identify, entry.gang.owners))
            else:
                self._release(entry)
        removed = tuple(self._remove_stale())
        for identity, item in self.released.items():
            names = self.ledger.names_of(identity, item)
            if names:
                self._try(item, unlink, names)
        return Reconciliation(tuple(self.added), removed, tuple(self.findings))

    def _release(self, entry: Wanted) -> None:
        self.released.update((identify(item.ref), item) for item in entry.items)

    # --- one gang --------------------------------------------------------------------------------------------------

    def _place(self, entry: Wanted) -> None:
        gang, items, emission = entry
        owners = frozenset(map(identify, gang.owners))
        renaming, sources = self.ledger.find_renaming(owners)
        objects, links = emission.objects, emission.links
        if renaming is not None:
            from krmfn.reconcile.updates import rename

            objects, links = rename(gang, emission, renaming, sources)
        made = {link.value for link in links if is_name(link.path)}
        ours = self.ledger.names_in(items[0].space) | made
        foreign = [note for link in links if (note := self._find_foreign(items[link.owner], link.path, ours))]
        if foreign:
            self._leave(entry, foreign, sum(is_name(link.path) for link in links))
            return
        self.decided.update(owners)
        for value in objects:
            self._place_object(entry, owners, value)
        for index, item in enumerate(items):
            self._try(item, _link, [link for link in links if link.owner == index], ours)

    def _place_object(self, entry: Wanted, owners: frozenset[Identity], value: Fields) -> None:
        identity = _identity_of(value)
        other = self.makers.setdefault(identity, entry)
        if other is not entry:
            message = f"{identity.kind} {identity.name} would be generated for both {_name(entry)} and {_name(other)}"
            hint = "Rename one of them, or put both into one gang with krmfn.dev/gang-group."
            self._find(entry.items[0], "generated-names-meet", message, hint)
            return
        mark = self.ledger.find(identity, owners)
        if mark and self.ledger.claim(mark).owners & owners:
            self.kept.add(mark.identity)
            from krmfn.reconcile.updates import update

            self._try(mark.item, update, value)
        elif mark or identity in self.ledger.foreign:
            item = mark.item if mark else self.ledger.foreign[identity]
            source = mark.item.annotations[GENERATED_FROM] if mark else ""
            maker = f"krmfn generated this object for {source}" if mark else "krmfn did not generate this object"
            message = f"{maker}, but the object for {_name(entry)} needs its name"
            hint = f"Rename this object, or {_name(entry)}."
            self._find(item, "name-taken", message, hint)
        else:
            self.added.append(Addition(value, entry.items[0]))

    # --- links -----------------------------------------------------------------------------------------------------

    def _find_foreign(self, item: Item, path: Path, ours: set[str]) -> Note | None:
        """What stands at the place of a link, if a person has put it there."""
        current = item.get(path)
        if not current or not isinstance(current, str) or current in ours or not is_name(path):
            return None
        if self.ledger.is_own_style(item, current):
            return None
        return tell("link-foreign", path, "", current)

    def _leave(self, entry: Wanted, foreign: Sequence[Note], links: int) -> None:
        """A person has linked the pods: all of them, then the gang is theirs; some, then it could never start."""
        partly = len(foreign) < links
        for note in foreign:
            rule = "link-partly-foreign" if partly else note.rule
            self.findings.append(note._replace(rule=rule).on(entry.items[0]))
        if not partly:
            self._release(entry)

    # --- what is left over -----------------------------------------------------------------------------------------

    def _remove_stale(self) -> Iterator[Item]:
        """What nobody wants any more. What somebody may want who is not here, or not asked, stays, with a note."""
        self.decided.update(self.released)
        for mark in self.ledger.marked:
            claim = self.ledger.claim(mark)
            if mark.identity in self.kept or claim.owners & self.failed:
                continue
            if claim.complete and claim.owners <= self.decided:
                yield mark.item
            elif not mark.workload:
                self._note_left(mark, claim.complete)

    def _note_left(self, mark: Marked, complete: bool) -> None:
        if complete:
            rule, hint = "generated-not-selected", 'To have it removed, set krmfn.dev/gang: "false" on the resource.'
            sources = ", ".join(f"{source.kind} {source.name}" for source in mark.sources)
            why = f"{sources}, which this configuration does not select"
        else:
            rule, hint = "generated-left-over", "If the source is gone, delete this object, too."
            why = f"{', '.join(self.ledger.missing(mark))}, which is not in the files read"
        message = f"krmfn generated this object for {why}: unchanged"
        path = ("metadata", "annotations", GENERATED_FROM)
        self.findings.append(Finding(mark.item, path, message, hint=hint, rule=rule))

    # --- names of operators ----------------------------------------------------------------------------------------

    def _refuse_operators_names(self) -> None:
        if self.manages == "None":
            return
        present = [*self.released.values(), *(item for entry in self.wanted for item in entry.items)]
        taken = {
            Identity(group, kind, item.space, name): item
            for item in present
            for group, kind, name in operator_names(item.kind, item.name, self.manages)
        }
        for entry in self.wanted:
            for value in entry.emission.objects:
                identity = _identity_of(value)
                item = taken.get(identity)
                if item:
                    message = (
                        f"the {identity.kind} of {_name(entry)} would be called {identity.name}, like the one that "
                        f"KubeRay creates for {item.ref}"
                    )
                    hint = f"Rename {_name(entry)}, or give the gang another name with krmfn.dev/gang-group."
                    self._find(entry.items[0], "name-of-operator", message, hint)

    # --- findings --------------------------------------------------------------------------------------------------

    def _find(self, item: Item, rule: str, message: str, hint: str, path: Path = ("metadata", "name")) -> None:
        self.findings.append(Finding(item, path, message, hint=hint, rule=rule))

    def _try(self, item: Item, edit: Callable[..., None], *arguments: Any) -> None:
        try:
            item.atomically(lambda: edit(item, *arguments))
        except EditRefused as refused:
            self._find(item, "edit-refused", f"krmfn cannot edit this object: {refused}", WRITE_OUT, ())


def _link(item: Item, links: Sequence[Link], ours: set[str]) -> None:
    """Set the links, and take out every other one to something of ours."""
    linked = may_be_linked(item)
    for link in [link for link in links if item.get(link.path) != link.value]:
        item.set(link.path, link.value)
    if linked:
        unlink(item, ours, {link.path for link in links})


def _identity_of(value: Fields) -> Identity:
    metadata = value["metadata"]
    return identify(ResourceRef(value["apiVersion"], value["kind"], metadata["name"], metadata.get("namespace", "")))


def _name(entry: Wanted) -> str:
    return " and ".join(map(str, entry.gang.owners))
