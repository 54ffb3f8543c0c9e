"""Objects that carry our mark, and whose they are, also after kustomize has put prefixes and suffixes around all names.

The law that makes it work: when an object is generated, its name is `name_gang(kind, owner)`, and its annotation says
the owner's name at that time. Whatever is put around names later is put around both, so `owner = P + old owner + S` and
`object = P + old object + S` hold with the same P and S, and the annotation stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from krmfn.krm.item import Item, list_identified
from krmfn.krm.results import ResourceRef
from krmfn.model.identity import Identity, identify, is_near
from krmfn.model.marks import REVISION, list_previous_names, list_sources
from krmfn.model.names import name_gang
from krmfn.model.schedulers import SCHEDULERS
from krmfn.releases.spelling import TEMPLATES, list_words

#: (API group, kind) of everything that targets generate.
GENERATED: Final = frozenset(
    {
        ("scheduling.k8s.io", "Workload"),
        ("scheduling.k8s.io", "CompositePodGroup"),
        ("scheduling.k8s.io", "PodGroup"),
        *((row.group, "PodGroup") for row in SCHEDULERS.values()),
    }
)
_KINDS: Final = frozenset(kind for _, kind in GENERATED)


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


def is_generated_kind(item: Item) -> bool:
    """Whether targets generate objects of an item's kind."""
    return item.kind in _KINDS and (item.ref.group, item.kind) in GENERATED


def read_marks(items: Iterable[Item]) -> list[Marked]:
    """The generated objects among items of such kinds. The annotation decides: the label is overwritten by many
    kustomizations."""
    found = []
    for item in items:
        identity = identify(item.ref)
        if sources := tuple(map(_read_source, list_sources(item))):
            names = frozenset((item.name, *list_previous_names(item)))
            found.append(Marked(item, identity, sources, names, _workload_of(item)))
    return found


def _read_source(text: str) -> MarkedSource:
    kind, _, name = text.strip().partition("/")
    kind, _, group = kind.partition(".")
    return MarkedSource(group, kind, name)


def _workload_of(item: Item) -> str:
    words = list_words(("workloadName",))
    names = (item.get(("spec", *path[:-1], word)) for path in reversed(TEMPLATES) for word in words)
    return next((name for name in names if isinstance(name, str)), "")


class Owners:
    """The objects of the input that can own generated ones, by kind and name."""

    def __init__(self, items: Iterable[Item], marked: Iterable[Marked], owners: Iterable[ResourceRef]) -> None:
        """Keep the items of the kinds that annotations of `marked` or `owners` name."""
        kinds = {source[:2] for mark in marked for source in mark.sources}
        kinds |= {(owner.group, owner.kind) for owner in owners}
        self.items: dict[Identity, Item] = {}
        self._named: dict[MarkedSource, list[Identity]] = {}
        names = {kind for _, kind in kinds}
        for item in list_identified(items):
            if item.kind not in names:
                continue
            identity = identify(item.ref)
            if identity[:2] in kinds and identity not in self.items:
                self.items[identity] = item
                self._named.setdefault(MarkedSource(*identity[:2], identity.name), []).append(identity)

    def find(self, source: MarkedSource, namespace: str) -> Identity | None:
        """The object in `namespace`, or one of which only one side has a namespace (a person has just written it
        into the owner)."""
        every = self._named.get(source, ())
        near = (owner for owner in every if is_near(owner.namespace, namespace))
        return next((owner for owner in every if owner.namespace == namespace), None) or next(near, None)


def claim_all(marked: Sequence[Marked], owners: Owners, shared: Iterable[str]) -> dict[Identity, Claim]:
    """Whose every generated object is. `shared` are the names of gangs that are not called after a resource."""
    names = sorted(set(shared))
    claims: dict[Identity, Claim] = {}
    heads: dict[tuple[str, str], list[Marked]] = {}
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


def _splits(name: str, old: str) -> Iterator[tuple[str, str]]:
    """Every (P, S) with name == P + old + S."""
    place = name.find(old)
    while place >= 0:
        yield name[:place], name[place + len(old) :]
        place = name.find(old, place + 1)


def _claim(mark: Marked, owners: Owners, renaming: Renaming) -> Claim:
    """The owners that the annotation names, under their names after `renaming`."""
    found = [
        owners.find(source._replace(name=renaming.prefix + source.name + renaming.suffix), mark.identity.namespace)
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
