"""Reconciling: what is generated now against what was generated before, in the same files or the same build.

Objects with our mark are updated in place, new ones are handed out, stale ones are taken out; what has no mark is never
touched. Knows no release, no source kind and no check; how gangs are formed is none of its business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from krmfn.findings import Finding, Note
from krmfn.krm.errors import EditRefused
from krmfn.krm.item import Item
from krmfn.names import name_gang, operator_names
from krmfn.reconcile.links import find_sites, is_name, unlink
from krmfn.reconcile.marked import (
    GENERATED,
    Claim,
    Identity,
    Marked,
    Owners,
    Renaming,
    claim_all,
    identify,
    previous_names,
    read_marks,
)
from krmfn.reconcile.placing import rename
from krmfn.reconcile.updates import update
from krmfn.targets.emission import Emission, Gang
from krmfn.targets.marks import GENERATED_FROM
from krmfn.targets.remarks import is_error

__all__ = ["Addition", "Reconciliation", "Wanted", "reconcile"]


class Wanted(NamedTuple):
    """A gang with what its target made of it; `items` are its owners, in the order of `gang.owners`."""

    gang: Gang
    items: tuple[Item, ...]
    emission: Emission


class Addition(NamedTuple):
    """An object that did not exist, and the item beside which it belongs."""

    value: dict[str, Any]
    owner: Item


class Reconciliation(NamedTuple):
    """What is to be added and taken out. Items that stay were edited in place."""

    added: tuple[Addition, ...]
    removed: tuple[Item, ...]
    findings: tuple[Finding, ...]


def reconcile(
    items: Sequence[Item], wanted: Sequence[Wanted], released: Iterable[Item] = (), manages: str = "None"
) -> Reconciliation:
    """Make `items` say what `wanted` asks for.

    `released` are the items that could own a gang and want none; what was generated for them is removed, and so are
    their links to it. What was generated for objects that are not in the input stays. `manages` is `kuberay.manages`:
    names that the operator will use are refused. The text of items is edited; nothing is added or removed by itself.
    """
    return _Run(items, wanted, released, manages).finish()


class _Run:
    """One reconciliation: the indices over the items, and what was found so far."""

    def __init__(self, items: Sequence[Item], wanted: Sequence[Wanted], released: Iterable[Item], manages: str) -> None:
        self.findings: list[Finding] = []
        self.added: list[Addition] = []
        self.kept: set[Identity] = set()
        self.failed: set[Identity] = set()
        self.manages = manages
        self.marked = read_marks(items)
        self.by_identity = {mark.identity: mark for mark in self.marked}
        self.foreign = {
            identity: item
            for item in items
            if (identity := identify(item.ref))[:2] in GENERATED and identity not in self.by_identity
        }
        self.released = {identify(item.ref): item for item in released}
        self.wanted = list(wanted)
        owners = [owner for entry in wanted for owner in entry.gang.owners]
        self.owners = Owners(items, self.marked, owners)
        shared = (entry.gang.name for entry in wanted if not _is_called_after_its_owner(entry.gang))
        self.claims = claim_all(self.marked, self.owners, shared)
        self.makers: dict[Identity, Wanted] = {}
        self.decided: set[Identity] = set()
        self.names: dict[str, set[str]] = {}
        self.spaceless: dict[Identity, Marked] = {}
        self.heads: dict[frozenset[Identity], Marked] = {}
        for mark in self.marked:
            self.names.setdefault(mark.identity.namespace, set()).update(mark.names)
            self.spaceless.setdefault(mark.identity._replace(namespace=""), mark)
            renaming = self.claims[mark.identity].renaming
            if renaming and not mark.workload and (renaming.prefix or renaming.suffix):
                self.heads.setdefault(self.claims[mark.identity].owners, mark)

    def finish(self) -> Reconciliation:
        self._refuse_operators_names()
        for entry in self.wanted:
            if entry.emission.objects:
                self._place(entry)
            elif is_error(entry.emission.notes):
                self.failed.update(identify(owner) for owner in entry.gang.owners)
            else:
                self._release(entry)
        removed = tuple(self._remove_stale())
        for identity, item in self.released.items():
            self._try(item, lambda item=item, identity=identity: unlink(item, self._names_of(identity, item)))
        return Reconciliation(tuple(self.added), removed, tuple(self.findings))

    def _release(self, entry: Wanted) -> None:
        self.released.update((identify(item.ref), item) for item in entry.items)

    # --- one gang --------------------------------------------------------------------------------------------------

    def _place(self, entry: Wanted) -> None:
        gang, items, emission = entry
        identities = frozenset(identify(owner) for owner in gang.owners)
        renaming, sources = self._find_renaming(identities)
        objects, links = rename(gang, emission, renaming, sources)
        space = items[0].namespace
        made = {link.value for link in links if is_name(link.path)}
        ours = self.names.get(space, set()) | self.names.get("", set()) | made
        foreign = [site for link in links if (site := self._find_foreign(items[link.owner], link.path, ours))]
        if foreign:
            self._leave(entry, foreign, sum(is_name(link.path) for link in links))
            return
        self.decided.update(identities)
        for value in objects:
            self._place_object(entry, identities, value)
        for index, item in enumerate(items):
            mine = [link for link in links if link.owner == index]

            def edit(item: Item = item, mine: Sequence[Any] = mine) -> None:
                for link in mine:
                    if item.get(link.path) != link.value:
                        item.set(link.path, link.value)
                unlink(item, ours, {link.path for link in mine})

            self._try(item, edit)

    def _find_renaming(self, identities: frozenset[Identity]) -> tuple[Renaming | None, str]:
        """The renaming of what was generated for exactly these owners before, with the annotation that goes with it."""
        head = self.heads.get(identities)
        return (self.claims[head.identity].renaming, head.item.annotations[GENERATED_FROM]) if head else (None, "")

    def _place_object(self, entry: Wanted, identities: frozenset[Identity], value: dict[str, Any]) -> None:
        metadata = value["metadata"]
        group = value["apiVersion"].rpartition("/")[0]
        identity = Identity(group, value["kind"], metadata.get("namespace", ""), metadata["name"])
        owner = entry.items[0]
        text = f"{identity.kind} {metadata['name']}"
        other = self.makers.get(identity)
        if other:
            names = f"{_name(entry)} and {_name(other)}"
            self._find(owner, "generated-names-meet", f"{text} would be generated for both {names}", "metadata", "name")
            return
        self.makers[identity] = entry
        mark = self.by_identity.get(identity) or self._find_in_other_space(identity, identities)
        if mark and self._may_take(mark, identities):
            self.kept.add(mark.identity)
            self._try(mark.item, lambda: update(mark.item, value))
        elif mark or identity in self.foreign:
            item = mark.item if mark else self.foreign[identity]
            source = mark.item.annotations[GENERATED_FROM] if mark else ""
            made = f"was generated for {source}" if mark else "is not generated"
            self._find(item, "name-taken", f"{item.ref} {made}, and {_name(entry)} needs the name", "metadata", "name")
        else:
            self.added.append(Addition(value, owner))

    def _may_take(self, mark: Marked, identities: frozenset[Identity]) -> bool:
        """Whether an object under the wanted name was generated for an owner of this gang."""
        claim = self.claims[mark.identity]
        return bool(claim.owners & identities)

    def _find_in_other_space(self, identity: Identity, identities: frozenset[Identity]) -> Marked | None:
        """The same object where a namespace was written into the owner since, or taken out."""
        mark = self.spaceless.get(identity._replace(namespace=""))
        if not mark or (mark.identity.namespace and identity.namespace):
            return None
        return mark if self.claims[mark.identity].owners == identities else None

    # --- links -----------------------------------------------------------------------------------------------------

    def _find_foreign(self, item: Item, path: tuple[str | int, ...], ours: set[str]) -> Note | None:
        """What stands at the place of a link, if a person has put it there."""
        current = item.get(path)
        if not is_name(path) or not isinstance(current, str) or not current or current in ours:
            return None
        if self._is_own_style(item, current):
            return None
        message = f"the pod template belongs to {current!r} already, which is not generated"
        hint = 'Remove the field, or set krmfn.dev/gang: "false" on the resource to keep it.'
        return Note("link-foreign", path, message, current, hint=hint)

    def _is_own_style(self, item: Item, name: str) -> bool:
        """Whether a link can only come from an earlier run, although the object is not in the input."""
        stems = {name_gang(item.kind, own) for own in (item.name, *previous_names(item))}
        taken = any(identity.name == name and identity.namespace == item.namespace for identity in self.foreign)
        return not taken and any(name == stem or name.startswith(f"{stem}-") for stem in stems)

    def _leave(self, entry: Wanted, foreign: Sequence[Note], links: int) -> None:
        """A person has linked the pods: all of them, then the gang is theirs; some, then it could never start."""
        partly = len(foreign) < links
        for note in foreign:
            rule = "link-partly-foreign" if partly else note.rule
            self.findings.append(Finding(entry.items[0], note._replace(rule=rule)))
        if not partly:
            self._release(entry)

    # --- what is left over -----------------------------------------------------------------------------------------

    def _remove_stale(self) -> Iterator[Item]:
        """What nobody wants any more; what may still be wanted by somebody who is not here stays, with a note."""
        self.decided.update(self.released)
        for mark in self.marked:
            if mark.identity in self.kept:
                continue
            claim = self.claims[mark.identity]
            if not claim.complete:
                if not mark.workload:
                    self._note_orphan(mark, claim)
            elif not claim.owners & self.failed and claim.owners <= self.decided:
                yield mark.item

    def _note_orphan(self, mark: Marked, claim: Claim) -> None:
        missing = ", ".join(f"{source.kind} {source.name}" for source in mark.sources)
        message = f"{mark.item.ref} was generated for {missing}, which is not in the input: it stays as it is"
        self._find(mark.item, "generated-left-over", message, "metadata", "annotations", GENERATED_FROM)

    def _names_of(self, owner: Identity, item: Item) -> set[str]:
        """The names under which objects were generated for `owner`."""
        names = {name for mark in self.marked if owner in self.claims[mark.identity].owners for name in mark.names}
        if not names:
            return names
        return names | {site.value for site in find_sites(item.value) if self._is_own_style(item, site.value)}

    # --- names of operators ----------------------------------------------------------------------------------------

    def _refuse_operators_names(self) -> None:
        if self.manages == "None":
            return
        taken = {
            Identity(group, kind, item.namespace, name): item
            for item in self.owners.items.values()
            for group, kind, name in operator_names(item.kind, item.name, self.manages)
        }
        for entry in self.wanted:
            for value in entry.emission.objects:
                metadata = value["metadata"]
                group = value["apiVersion"].rpartition("/")[0]
                item = taken.get(Identity(group, value["kind"], metadata.get("namespace", ""), metadata["name"]))
                if item:
                    text = (
                        f"{value['kind']} {metadata['name']} for {_name(entry)} has the name that KubeRay gives to the"
                    )
                    self._find(entry.items[0], "name-of-operator", f"{text} one of {item.ref}", "metadata", "name")

    # --- findings --------------------------------------------------------------------------------------------------

    def _find(self, item: Item, rule: str, message: str, *path: str | int) -> None:
        self.findings.append(Finding(item, Note(rule, path, message)))

    def _try(self, item: Item, edit: Any) -> None:
        try:
            edit()
        except EditRefused as refused:
            self._find(item, "edit-refused", f"{item.ref} cannot be edited: {refused}")


def _is_called_after_its_owner(gang: Gang) -> bool:
    return len(gang.owners) == 1 and gang.name == name_gang(gang.owners[0].kind, gang.owners[0].name)


def _name(entry: Wanted) -> str:
    return " and ".join(str(owner) for owner in entry.gang.owners)
