"""A generated object, with its marks. Knows no field of a spec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from krmfn.krm.records import NamedTuple
from krmfn.model.marks import GENERATED_FROM, MANAGED_BY, MANAGER, RECREATE, REVISION, SYNC_WAVE, name_sources
from krmfn.model.tree import Gang

#: Argo CD creates what has a lower wave first; what the user wrote is in wave 0.
_WAVES: Final[Mapping[str, str]] = {"Workload": "-3", "CompositePodGroup": "-2", "PodGroup": "-1"}


class Kind(NamedTuple):
    """A kind in one of its versions."""

    api_version: str
    name: str


def describe(kind: Kind, name: str, gang: Gang, spec: dict[str, Any], revision: str = "") -> dict[str, Any]:
    """An object with our marks, its keys in the order in which people write them. Nothing is copied from the owner:
    its annotations steer appliers, and they would steer the wrong object."""
    metadata: dict[str, Any] = {"name": name}
    if gang.namespace:
        metadata["namespace"] = gang.namespace
    metadata["labels"] = {MANAGED_BY: MANAGER}
    metadata["annotations"] = {GENERATED_FROM: name_sources(gang.owners), SYNC_WAVE: _WAVES[kind.name]}
    if revision:
        metadata["annotations"][REVISION] = revision
    if gang.naming == "Revisioned" and kind.name != "PodGroup":
        # Nothing holds their deletion back, and pods do not name them: they keep their names, and groups their parents.
        # A PodGroup gets a new name instead, because its finalizer waits for its pods.
        metadata["annotations"] |= RECREATE
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": spec}
