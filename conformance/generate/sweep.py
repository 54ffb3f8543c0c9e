"""Every place of a full and of a small object in turn, emptied, replaced or filled: nothing is left to chance here.

The full object has every optional field, the small one has none. What is done to a place never depends on its meaning.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from conformance.address import BUILT_IN, GROUP
from conformance.generate.kinds import shape_of
from conformance.generate.oddvalues import ODD_METADATA
from conformance.generate.settle import settle
from conformance.generate.shapes import Fixed, Many, Struct, look, make, put, spots, take
from conformance.record import Case
from conformance.versions import Profile

TYPES: tuple[Any, ...] = (None, {}, [], "", "x", 0, 1, 1.5, True, [{}], [None])


def sweep(profile: Profile) -> Iterator[Case]:
    """All sweeps of a profile."""
    for kind in [*profile.served, *BUILT_IN]:
        versions = [BUILT_IN[kind]] if kind in BUILT_IN else [f"{GROUP}/{name}" for name in profile.served[kind]]
        for version in versions:
            yield from sweep_kind(profile, kind, version)


def sweep_kind(profile: Profile, kind: str, version: str) -> Iterator[Case]:
    release = profile.release.name
    shape = shape_of(kind, release)
    rng = Random(f"{release}/{kind}")
    head, number = {"apiVersion": version, "kind": kind}, 0
    for size, odds in (("full", 1.0), ("small", 0.0)):
        whole = copy.deepcopy(make(with_odds(shape, odds), rng))
        while not storable(profile, whole):
            whole = copy.deepcopy(make(with_odds(shape, odds), rng))
        settle(kind, release, whole, rng)
        whole["metadata"] = {"name": "sweep", "namespace": "ml"}
        for where, value in edits(shape, whole, rng):
            body = applied({**head, **copy.deepcopy(whole)}, where, value)
            yield Case(f"{kind}.create.{size}", kind, "create", body)
            if value in TYPES[3:] and not isinstance(value, str):
                continue
            old = {**head, **copy.deepcopy(whole)}
            for carry in ("none", "stored"):
                old = copy.deepcopy(old)
                number += 1
                old["metadata"]["name"] = f"w-{version.rsplit('/', maxsplit=1)[-1]}-{number}"
                new = applied(copy.deepcopy(old), where, value)
                yield Case(f"{kind}.update.{size}", kind, "update", new, old=old, carry=carry, also=carry == "stored")
        if kind in profile.served and size == "small":
            yield from sweep_metadata(kind, {**head, **whole})


def sweep_metadata(kind: str, whole: Any) -> Iterator[Case]:
    for index, (label, name, value) in enumerate(ODD_METADATA):
        body = copy.deepcopy(whole)
        body["metadata"][name] = copy.deepcopy(value)
        if label == "generated":
            del body["metadata"]["name"]
        yield Case(f"{kind}.create.meta.{label}", kind, "create", body)
        if name in ("namespace", "name"):
            continue
        old = copy.deepcopy(whole)
        old["metadata"]["name"] = f"x-{body['apiVersion'].rsplit('/')[-1]}-{index}"
        new = copy.deepcopy(old)
        new["metadata"][name] = copy.deepcopy(value)
        yield Case(f"{kind}.update.meta.{label}", kind, "update", new, old=old, carry="stored", also=True)


def storable(profile: Profile, body: Any) -> bool:
    """Composite templates are dropped where their kind is off, and nothing is left of the Workload."""
    return "CompositePodGroup" in profile.gates or not body.get("spec", {}).get("compositePodGroupTemplates")


def with_odds(shape: Any, odds: float) -> Any:
    """The same shape, optional fields always or never there."""
    match shape:
        case Struct(fields, needs, one_of):
            return Struct({name: with_odds(field, odds) for name, field in fields.items()}, needs, one_of, odds)
        case Many(item, usual, most, key):
            return Many(with_odds(item, odds), usual if odds else 1, most, key)
    return shape


def edits(shape: Any, whole: Any, rng: Random) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """(place, new value); `...` takes the place away."""
    for spot in spots(shape, whole):
        if isinstance(spot.shape, Fixed) or not spot.where or spot.where[0] == "metadata":
            continue
        if spot.present:
            if isinstance(spot.where[-1], str):
                yield spot.where, ...
            for value in TYPES:
                yield spot.where, value
        else:
            for value in (None, {}, [], ""):
                yield spot.where, value
        for _ in range(2):
            yield spot.where, other(spot.shape, look(whole, spot.where) if spot.present else None, rng)


def other(shape: Any, value: Any, rng: Random) -> Any:
    """A valid value that differs from the one that is there, where there is another."""
    for _ in range(8):
        made = copy.deepcopy(make(shape, rng))
        if made != value:
            break
    return made


def applied(body: Any, where: tuple[str | int, ...], value: Any) -> Any:
    if value is ...:
        take(body, where)
    else:
        put(body, where, copy.deepcopy(value))
    return body
