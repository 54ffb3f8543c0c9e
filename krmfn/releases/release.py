"""A release of Kubernetes, as `schemas/kubernetes/<release>/release.json` describes it: what it serves, its feature
gates, and the features that the rest of the code asks for. Code asks for a feature and never compares numbers, so a new
release is a new folder.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping, Set
from typing import Any, TypeAlias

from krmfn.krm.paths import walk_values
from krmfn.releases import schemastore

GROUP = "scheduling.k8s.io"
#: The fields that hold the quorums of groups.
QUORUMS = {"PodGroup": "minCount", "CompositePodGroup": "minGroupCount"}


#: An object, or a row of the data, as it was read.
Row: TypeAlias = "Mapping[str, Any]"


class UnknownRelease(LookupError):
    """No release of that name. The message says which ones there are."""


class NotWritable(LookupError):
    """An object cannot be written in the version that was asked for. The message says why."""


class Gate:
    """A feature gate of the scheduling API in one release.

    `stage` is alpha, beta or ga; a component with the gate on needs those in `needs` on, too, and does not start with
    one that is `locked` set to anything but its default. The gate brings `kinds`, `fields` of scheduling objects (at
    any depth of their spec) and `features`. One that is `opt_in` changes what happens to objects that do not mention
    it, so it counts as on only where the settings say so, or where it is on by default; with it on, the server fills in
    the fields in `fills`.
    """

    def __init__(self, name: str, row: Row) -> None:
        self.name = name
        self.stage: str = row["stage"]
        self.default: bool = row["default"]
        self.needs: tuple[str, ...] = tuple(row["needs"])
        self.components: tuple[str, ...] = tuple(row["components"])
        self.opt_in: bool = row.get("optIn", False) and not self.default
        self.locked: bool = row.get("locked", False)
        self.kinds, self.fields, self.fills, self.features = (
            frozenset(row.get(key, ())) for key in ("kinds", "fields", "fills", "features")
        )


class Release:
    """What there is to know of a release without its schemas. `str()` gives its name, such as `1.37`.

    `version` is the exact version that the data was read from and recorded on, such as `1.37.0`; `preview` says that it
    is not released yet. `kinds` gives the served versions of each kind of scheduling.k8s.io, most stable first; `gates`
    are those of the scheduling API, in the order in which a person would turn them on; `link` is the path from the spec
    of a pod to the name of its group, `template` that from the spec of a group to the name of its template, `modes` how
    the disruption modes Single and All are spelled, `names` how the release calls fields of groups and of their
    templates, and reasons of their conditions, which have another name in 1.37. `owns` gives kinds of
    Kubernetes the path of the field by which their own controller makes the groups. `unreadable` says of kinds what a
    stored object does that the release cannot read. `gone_gates` are gates of older releases that its components no
    longer know. `lacks` gives, for kinds that are served in several versions, the fields (at any depth of the spec)
    that a version does not have.
    """

    def __init__(self, name: str, row: Row) -> None:
        self.name = name
        self.version: str = row["version"]
        self.preview: bool = row.get("preview", False)
        self.kinds: Mapping[str, tuple[str, ...]] = {kind: tuple(versions) for kind, versions in row["kinds"].items()}
        self.link: tuple[str, ...] = tuple(row["link"])
        self.template: tuple[str, ...] = tuple(row.get("template", ()))
        self.modes: Row = row.get("modes", {})
        self.names: Mapping[str, str] = row.get("names", {})
        self.owns: Mapping[str, str] = row.get("owns", {})
        self.unreadable: Mapping[str, str] = row.get("unreadable", {})
        self.lacks: Mapping[str, Mapping[str, list[str]]] = row.get("lacks", {})
        self.gone_gates: frozenset[str] = frozenset(row.get("goneGates", ()))
        self.gates: Mapping[str, Gate] = {gate: Gate(gate, value) for gate, value in row["gates"].items()}
        #: Feature -> the gate that brings it, "" where none does.
        self.features: Mapping[str, str] = {
            **dict.fromkeys(row.get("features", ()), ""),
            **{
                feature: gate.name
                for gate in self.gates.values()
                if not gate.kinds or gate.kinds & self.kinds.keys()  # a gate of kinds that are withdrawn brings nothing
                for feature in gate.features
            },
        }

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"find_release({self.name!r})"

    def has(self, feature: str) -> bool:
        """Whether the release has the feature, be its gate on or off. tests/releases lists the names."""
        return feature in self.features

    def call(self, name: str) -> str:
        """How the release calls what 1.37 calls `name`."""
        return self.names.get(name, name)

    def serves(self, api_version: str, kind: str) -> bool:
        """Whether it has a kind of scheduling.k8s.io in this version."""
        group, _, version = api_version.rpartition("/")
        return group == GROUP and version in self.kinds.get(kind, ())

    def api_version(self, kind: str, fields: Set[str] = frozenset(), pinned: str = "") -> str:
        """The best version for writing a kind of scheduling.k8s.io: `pinned`, else the most stable one that has all
        `fields`. Raises KeyError if the kind is not served, NotWritable if that version is not, or lacks a field."""
        lacks, served = self.lacks.get(kind, {}), self.kinds[kind]
        able = [version for version in served if fields.isdisjoint(lacks.get(version, ()))]
        version = pinned or (able or served)[0]
        if version not in served:
            raise NotWritable(f"Kubernetes {self.name} does not serve {kind} {version}")
        if version not in able:
            missing = ", ".join(sorted(name for name in lacks[version] if name in fields))
            raise NotWritable(f"{kind} {version} of Kubernetes {self.name} has no {missing}, which this gang needs")
        return f"{GROUP}/{version}"


_FOUND: dict[str, Release] = {}


def find_release(text: str) -> Release:
    """The release of a version: `1.37`, `v1.37`, `1.37.2` and `v1.37.1-gke.1000` are all 1.37.

    The object is shared: do not change it. Raises UnknownRelease.
    """
    numbers = text.strip().removeprefix("v").split("+")[0].split("-")[0].split(".")
    name = ".".join(numbers[:2])
    if name not in _FOUND:
        if name not in list_releases():
            raise _refuse(text)
        _FOUND[name] = Release(name, schemastore.load(f"kubernetes/{name}/release.json"))
    if len(numbers) > 3 or not "".join(numbers).isdecimal():
        raise _refuse(text)
    return _FOUND[name]


def _refuse(text: str) -> UnknownRelease:
    *others, last = list_releases()
    known = f"{', '.join(others)} or {last}" if others else last
    return UnknownRelease(f'unknown Kubernetes version "{text}": use {known}')


def list_releases() -> list[str]:
    """The names of all releases, oldest first: `1.35`."""
    names = (name for name in os.listdir(os.path.join(schemastore.root(), "kubernetes")) if name[:1].isdigit())
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")])


def newest_release() -> Release:
    """The newest release that is no preview: the default."""
    return next(found for name in reversed(list_releases()) if not (found := find_release(name)).preview)


def all_releases() -> list[Release]:
    """All releases, oldest first."""
    return [find_release(name) for name in list_releases()]


def first_release(feature: str) -> Release:
    """The oldest release that has a feature. Raises StopIteration when none has."""
    return next(found for found in all_releases() if found.has(feature))


def list_gates() -> list[str]:
    """The feature gates of all releases."""
    return list(dict.fromkeys(gate for release in reversed(all_releases()) for gate in release.gates))


def has(release: Release, given: Mapping[str, bool], feature: str) -> bool:
    """Whether a cluster of the release with these gates has the feature, as far as a run can know."""
    gate = release.features.get(feature)
    if not gate:
        return gate is not None
    return given.get(gate, not release.gates[gate].opt_in)


def complete(given: Mapping[str, bool], release: Release) -> dict[str, bool]:
    """`given` as kube-apiserver reads its flag: where a gate is turned on, those that are not named have their default.
    Where gates are only turned off, the others stay open (see has)."""
    others = {gate.name: gate.default for gate in release.gates.values()} if any(given.values()) else {}
    return {**others, **given}


def assume_gates(given: Mapping[str, bool], release: Release, fields: Container[str]) -> dict[str, bool]:
    """Every gate for a question to the server about an object that has these fields (or is this text).

    Gates that nobody named are on; one that fills in fields by itself only where the object speaks of them, or where
    it is on by default.
    """
    gates = {
        gate.name: gate.default or not gate.fills or any(field in fields for field in gate.fills)
        for gate in release.gates.values()
    }
    return {**gates, **given}


def list_needed(release: Release, objects: Iterable[Row]) -> tuple[str, ...]:
    """The gates without which the API server drops a field of these objects, or does not serve them, or the
    scheduler ignores them; in the release's order. Objects of other groups (of Volcano) need none."""
    native = [value for value in objects if value["apiVersion"].startswith(GROUP)]
    kinds = {value["kind"] for value in native}
    fields = list_fields([value.get("spec") for value in native])
    needed: set[str] = set()
    for gate in reversed(tuple(release.gates.values())):  # those that a gate needs stand before it
        if gate.name in needed or gate.kinds & kinds or gate.fields & fields:
            needed |= {gate.name, *gate.needs}
    return tuple(name for name in release.gates if name in needed)


def list_fields(spec: Any) -> set[str]:
    """The names of all fields in a spec, or in a list of them, at any depth."""
    return set[str]().union(*(each for each in walk_values(spec) if isinstance(each, dict)))


def find_writer(value: Row, release: Release) -> Release | None:
    """The newest release before `release` that stores this object, where `release` cannot read what that stored; None
    where it can, and for anything that no older release serves."""
    group, _, version = str(value.get("apiVersion")).rpartition("/")
    if group != GROUP:
        return None
    kind = str(value.get("kind"))
    releases = all_releases()
    older = releases[: releases.index(release)]
    writer = next((one for one in reversed(older) if version in one.kinds.get(kind, ())), None)
    if writer is None or writer.kinds[kind][0] in release.kinds.get(kind, ()):
        return None
    return writer


def list_steps(old: Release, new: Release) -> list[Release]:
    """The releases from `old` to `new`, which is the last: a control plane is upgraded one minor release at a time."""
    releases = all_releases()
    return releases[releases.index(old) + 1 : releases.index(new) + 1]


def tell_damage(kind: str, release: Release) -> str:
    """What happens in a cluster of `release` that has one stored object of `kind` which it cannot read."""
    return release.unreadable.get(kind, f"no {kind} can be listed, changed or deleted")
