"""What earlier runs left in the input: objects that carry our mark, whose they are, under which names, also after
kustomize has put prefixes and suffixes around all names. Changes nothing.

The law that makes it work: when an object is generated, its name is `name_gang(kind, owner)`, and its annotation says
the owner's name at that time. Whatever is put around names later is put around both, so `owner = P + old owner + S` and
`object = P + old object + S` hold with the same P and S, and the annotation stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from krmfn.krm.item import Item, Items, list_holding, list_identified
from krmfn.krm.results import DEFAULT_NAMESPACE
from krmfn.model.marks import GENERATED_FROM, REVISION, list_previous_names, list_sources
from krmfn.model.names import name_gang
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.tree import Gang
from krmfn.model.values import Identity, Key, group_by, identify, is_near
from krmfn.reconcile.links import find_sites
from krmfn.releases.spelling import TEMPLATES, list_words

#: (API group, kind) of everything that targets generate.
GENERATED = frozenset(
    {
        ("scheduling.k8s.io", "Workload"),
        ("scheduling.k8s.io", "CompositePodGroup"),
        ("scheduling.k8s.io", "PodGroup"),
        *((row.group, "PodGroup") for row in SCHEDULERS.values()),
    }
)


class Renaming(NamedTuple):
    """What stands before and after the old names now, and the name that the gang had then."""

    prefix: str
    stem: str
    suffix: str


class MarkedSource(NamedTuple):
    """One entry of the annotation."""

    group: str
    kind: str
    name: str


class Marked(NamedTuple):
    """A generated object. `names` are its name and those it had before in this build; `workload` is the Workload that
    it refers to, empty for those that come first (Workloads, groups of other schedulers)."""

    item: Item
    identity: Identity
    sources: tuple[MarkedSource, ...]
    names: frozenset[str]
    workload: str


class Claim(NamedTuple):
    """Whose a generated object is: the owners that are in the input, whether all are, and what renaming explains it."""

    owners: frozenset[Identity]
    complete: bool
    renaming: Renaming | None = None


def read_marks(items: Iterable[Item]) -> list[Marked]:
    """The generated objects among items of such kinds, by the annotation: many kustomizations overwrite the label."""
    found = []
    for item in items:
        if sources := tuple(map(_read_source, list_sources(item))):
            names = frozenset((item.name, *list_previous_names(item)))
            found.append(Marked(item, identify(item.ref), sources, names, _workload_of(item)))
    return found


def _read_source(text: str) -> MarkedSource:
    kind, _, name = text.strip().partition("/")
    kind, _, group = kind.partition(".")
    return MarkedSource(group, kind, name)


def _workload_of(item: Item) -> str:
    words = list_words(("workloadName",))
    names = (item.get(("spec", *path[:-1], word)) for path in reversed(TEMPLATES) for word in words)
    return next((name for name in names if isinstance(name, str)), "")


#: Objects of the input as annotations name them.
Owners: TypeAlias = Mapping[MarkedSource, Sequence[Identity]]


def index_owners(items: Iterable[Item], marked: Iterable[Marked]) -> Owners:
    """The objects that can own generated ones: those of the kinds that annotations of `marked` name."""
    kinds = {source.kind for mark in marked for source in mark.sources}
    identities = (identify(item.ref) for item in list_identified(items) if item.kind in kinds)
    return group_by(lambda each: MarkedSource(each.group, each.kind, each.name), identities)


def _find_owner(owners: Owners, source: MarkedSource, namespace: str) -> Identity | None:
    """The object in `namespace`, or one if only one side has a namespace: a person has just added it to the owner."""
    every = owners.get(source, ())
    near = (owner for owner in every if is_near(owner.namespace, namespace))
    return next((owner for owner in every if owner.namespace == namespace), None) or next(near, None)


def claim_all(marked: Sequence[Marked], owners: Owners, shared: Iterable[str]) -> dict[Identity, Claim]:
    """Whose every generated object is. `shared` are the names of gangs that are not called after a resource."""
    names = sorted(set(shared))
    claims: dict[Identity, Claim] = {}
    heads: dict[Key, list[Marked]] = {}
    for head in marked:
        if not head.workload:
            claims[head.identity] = _claim_head(head, owners, names)
            for name in head.names:
                heads.setdefault((head.identity.namespace, name), []).append(head)
    for mark in marked:
        if mark.workload:
            fitting = heads.get((mark.identity.namespace, mark.workload), ())
            found = _find_head(mark, fitting, claims)
            claims[mark.identity] = claims[found.identity] if found else _claim(mark, owners, Renaming("", "", ""))
    return claims


def _claim_head(head: Marked, owners: Owners, shared: Iterable[str]) -> Claim:
    """By the first renaming that explains the name, else by the names in the annotation alone."""
    first = head.sources[0]
    own = [name_gang(first.kind, first.name)] if len(head.sources) == 1 else []
    revision = head.item.annotations.get(REVISION, "")
    for stem in (*own, *shared):
        for prefix, suffix in _splits(head.identity.name, f"{stem}-{revision}" if revision else stem):
            renaming = Renaming(prefix, stem, suffix)
            claim = _claim(head, owners, renaming)
            if claim.complete:
                return claim._replace(renaming=renaming)
    return _claim(head, owners, Renaming("", "", ""))


def _splits(name: str, old: str) -> Iterator[Key]:
    """Every (P, S) with name == P + old + S."""
    place = name.find(old)
    while place >= 0:
        yield name[:place], name[place + len(old) :]
        place = name.find(old, place + 1)


def _claim(mark: Marked, owners: Owners, renaming: Renaming) -> Claim:
    """The owners that the annotation names, under their names after `renaming`."""
    prefix, _, suffix = renaming
    found = [
        _find_owner(owners, source._replace(name=prefix + source.name + suffix), mark.identity.namespace)
        for source in mark.sources
    ]
    present = frozenset(owner for owner in found if owner)
    return Claim(present, len(present) == len(mark.sources))


def _find_head(mark: Marked, heads: Iterable[Marked], claims: Mapping[Identity, Claim]) -> Marked | None:
    """The Workload among `heads`, all of which have or had the name that `mark` refers to: the one renamed alike."""

    def is_alike(head: Marked) -> bool:
        renaming = claims[head.identity].renaming
        name = mark.identity.name
        return head.sources == mark.sources and (
            not renaming or (name.startswith(renaming.prefix + renaming.stem) and name.endswith(renaming.suffix))
        )

    return next(filter(is_alike, heads), None)


class Ledger:
    """The generated objects of the input (`marked`), with indices for every question that a run asks about them.

    `foreign` are objects of the kinds that are generated which carry no mark.
    """

    def __init__(self, items: Items, gangs: Sequence[Gang]) -> None:
        """Read all marks, and find the owners of what carries them."""
        candidates = [item for item in list_holding(items, b"scheduling.") if item.group_kind in GENERATED]
        self.marked = read_marks(candidates)
        self._by_identity = {mark.identity: mark for mark in self.marked}
        self.foreign = {
            identity: item for item in candidates if (identity := identify(item.ref)) not in self._by_identity
        }
        self._taken = {item.key for item in self.foreign.values()}
        named = index_owners(items if self.marked else (), self.marked)
        called_after = ([name_gang(owner.kind, owner.name) for owner in gang.owners] for gang in gangs)
        shared = (gang.name for gang, names in zip(gangs, called_after, strict=True) if names != [gang.name])
        self._claims = claim_all(self.marked, named, shared)
        self._names: dict[str, set[str]] = {}
        self._names_of: dict[Identity, set[str]] = {}
        self._spaceless: dict[Identity, Marked] = {}
        self._renamed: dict[frozenset[Identity], Marked] = {}
        for mark in self.marked:
            owners, _, renaming = self.claim(mark)
            self._names.setdefault(mark.identity.namespace, set()).update(mark.names)
            self._spaceless.setdefault(mark.identity._replace(namespace=""), mark)
            for owner in owners:
                self._names_of.setdefault(owner, set()).update(mark.names)
            if renaming and not mark.workload and (renaming.prefix or renaming.suffix):
                self._renamed.setdefault(owners, mark)

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
        sites = find_sites(item.value) if names else ()
        return names | {site.value for site in sites if self.is_own_style(item, site.value)}

    def is_own_style(self, item: Item, name: str) -> bool:
        """Whether a link can only come from an earlier run, although the object is not in the input."""
        stems = {name_gang(item.kind, own) for own in (item.name, *list_previous_names(item))}
        return (item.space, name) not in self._taken and any(f"{name}-".startswith(f"{stem}-") for stem in stems)

    def missing(self, mark: Marked) -> Iterable[str]:
        """The sources of a generated object that are not in the input, for people."""
        present = {(owner.kind, owner.name) for owner in self.claim(mark).owners}
        return [f"{source.kind} {source.name}" for source in mark.sources if (source.kind, source.name) not in present]
