"""What earlier runs left in the input: generated objects, whose they are, under which names. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from krmfn.krm.item import Item, list_holding
from krmfn.krm.results import DEFAULT_NAMESPACE
from krmfn.model.identity import Identity, identify, is_near
from krmfn.model.marks import GENERATED_FROM, list_previous_names
from krmfn.model.names import name_gang
from krmfn.model.tree import Gang
from krmfn.reconcile.links import find_sites
from krmfn.reconcile.marked import (
    Claim,
    Marked,
    Owners,
    Renaming,
    claim_all,
    is_generated_kind,
    read_marks,
)


class Ledger:
    """The generated objects of the input (`marked`), with indices for every question that a run asks about them.

    `foreign` are objects of the kinds that are generated which carry no mark.
    """

    def __init__(self, items: Sequence[Item], gangs: Sequence[Gang]) -> None:
        """Read all marks, and find the owners of what carries them."""
        candidates = [item for item in list_holding(items, b"scheduling.") if is_generated_kind(item)]
        self.marked = read_marks(candidates)
        self._by_identity = {mark.identity: mark for mark in self.marked}
        self.foreign = {
            identity: item for item in candidates if (identity := identify(item.ref)) not in self._by_identity
        }
        self._taken = {(identity.namespace, identity.name) for identity in self.foreign}
        owners = [owner for gang in gangs for owner in gang.owners]
        self.owners = Owners(items if self.marked else (), self.marked, owners)
        shared = (gang.name for gang in gangs if not _is_called_after_its_owner(gang))
        self._claims = claim_all(self.marked, self.owners, shared)
        self._names: dict[str, set[str]] = {}
        self._names_of: dict[Identity, set[str]] = {}
        self._spaceless: dict[Identity, Marked] = {}
        self._renamed: dict[frozenset[Identity], Marked] = {}
        for mark in self.marked:
            self._enter(mark, self._claims[mark.identity])

    def _enter(self, mark: Marked, claim: Claim) -> None:
        self._names.setdefault(mark.identity.namespace, set()).update(mark.names)
        self._spaceless.setdefault(mark.identity._replace(namespace=""), mark)
        for owner in claim.owners:
            self._names_of.setdefault(owner, set()).update(mark.names)
        renaming = claim.renaming
        if renaming and not mark.workload and (renaming.prefix or renaming.suffix):
            self._renamed.setdefault(claim.owners, mark)

    def claim(self, mark: Marked) -> Claim:
        """Whose a generated object is."""
        return self._claims[mark.identity]

    def find(self, identity: Identity, owners: frozenset[Identity]) -> Marked | None:
        """The generated object of this identity; or, of these owners, the one without or with a namespace where a
        person has written one into the owner since, or taken it out."""
        mark = self._by_identity.get(identity) or self._spaceless.get(identity._replace(namespace=""))
        if mark is None or mark.identity == identity:
            return mark
        near = is_near(mark.identity.namespace, identity.namespace)
        return mark if near and self.claim(mark).owners == owners else None

    def find_renaming(self, owners: frozenset[Identity]) -> tuple[Renaming | None, str]:
        """The renaming of what was generated for exactly these owners before, with the annotation that goes with it."""
        head = self._renamed.get(owners)
        return (self.claim(head).renaming, head.item.annotations[GENERATED_FROM]) if head else (None, "")

    def names_in(self, namespace: str) -> set[str]:
        """All names that generated objects of a namespace have or had in this build."""
        return self._names.get(namespace, set()) | self._names.get(DEFAULT_NAMESPACE, set())

    def names_of(self, owner: Identity, item: Item) -> set[str]:
        """The names under which objects were generated for `owner`."""
        names = self._names_of.get(owner, set())
        if not names:
            return names
        return names | {site.value for site in find_sites(item.value) if self.is_own_style(item, site.value)}

    def is_own_style(self, item: Item, name: str) -> bool:
        """Whether a link can only come from an earlier run, although the object is not in the input."""
        stems = {name_gang(item.kind, own) for own in (item.name, *list_previous_names(item))}
        return (item.space, name) not in self._taken and any(
            name == stem or name.startswith(f"{stem}-") for stem in stems
        )

    def missing(self, mark: Marked) -> Iterable[str]:
        """The sources of a generated object that are not in the input, for people."""
        present = {(owner.kind, owner.name) for owner in self.claim(mark).owners}
        return [f"{source.kind} {source.name}" for source in mark.sources if (source.kind, source.name) not in present]


def _is_called_after_its_owner(gang: Gang) -> bool:
    return len(gang.owners) == 1 and gang.name == name_gang(gang.owners[0].kind, gang.owners[0].name)
