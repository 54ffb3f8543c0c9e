"""What a run takes as on of the feature gates of a release.

A gate that nobody names is taken as on when manifests need it; the opt-in gates are not.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from krmfn.krm.paths import walk_values
from krmfn.releases.release import GROUP, Release, find_release, list_releases


def list_gates() -> list[str]:
    """The feature gates of all releases."""
    return list(dict.fromkeys(gate for name in reversed(list_releases()) for gate in find_release(name).gates))


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


def list_needed(release: Release, objects: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The gates without which the API server drops a field of these objects, or does not serve them, or the
    scheduler ignores them; in the release's order. Objects of other groups (of Volcano) need none."""
    kinds: set[str] = set()
    specs: list[Any] = []
    for value in objects:
        if not value["apiVersion"].startswith(GROUP):
            continue
        kinds.add(value["kind"])
        specs.append(value.get("spec"))
    fields = list_fields(specs)
    needed: set[str] = set()
    for gate in reversed(tuple(release.gates.values())):  # those that a gate needs stand before it
        if gate.name in needed or gate.kinds & kinds or gate.fields & fields:
            needed |= {gate.name, *gate.needs}
    return tuple(name for name in release.gates if name in needed)


def list_fields(spec: Any) -> set[str]:
    """The names of all fields in a spec, or in a list of them, at any depth."""
    return set[str]().union(*(each for each in walk_values(spec) if isinstance(each, dict)))
