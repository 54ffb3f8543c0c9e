"""How a generated object is marked, so that the next run finds it again. Knows no kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from krmfn.krm.records import NamedTuple
from krmfn.krm.results import ResourceRef
from krmfn.targets.emission import Gang

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MANAGER: Final = "krmfn"
GENERATED_FROM: Final = "krmfn.dev/generated-from"
REVISION: Final = "krmfn.dev/revision"
#: On pods: the group that they are in, where a scheduler knows groups by labels.
POD_GROUP_LABEL: Final = "krmfn.dev/group"
SYNC_WAVE: Final = "argocd.argoproj.io/sync-wave"

#: What makes Argo CD and Flux create an object anew when it cannot be changed in place.
RECREATE: Final[Mapping[str, str]] = {
    "argocd.argoproj.io/sync-options": "Force=true,Replace=true",
    "kustomize.toolkit.fluxcd.io/force": "enabled",
}

#: Argo CD creates what has a lower wave first; what the user wrote is in wave 0.
_WAVES: Final[Mapping[str, str]] = {"Workload": "-3", "CompositePodGroup": "-2", "PodGroup": "-1"}


class Kind(NamedTuple):
    """A kind in one of its versions."""

    api_version: str
    name: str


def name_source(owner: ResourceRef) -> str:
    """The owner as the annotation spells it: `RayCluster.ray.io/demo`, `Pod/demo` in the core group."""
    kind = f"{owner.kind}.{owner.group}" if owner.group else owner.kind
    return f"{kind}/{owner.name}"


def name_sources(owners: Iterable[ResourceRef]) -> str:
    """All owners of a gang, sorted, so that the order of the input does not show."""
    return ",".join(sorted(name_source(owner) for owner in owners))


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
