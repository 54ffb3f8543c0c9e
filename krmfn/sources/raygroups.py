"""The worker groups of a RayCluster and KubeRay's arithmetic over them, after the API server's defaulting.

Source: kuberay `controllers/ray/utils/util.go` (GetWorkerGroupDesiredReplicas, CalculateDesiredReplicas,
CalculateMinReplicas) and `utils/validation.go`, v1.7.0. Knows no gang.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from krmfn.krm.paths import Path
from krmfn.sources.manifest import Manifest
from krmfn.sources.rayfields import find_defaults

#: KubeRay's own value of the label ray.io/group on head pods.
HEAD_GROUP = "headgroup"


class WorkerGroup(NamedTuple):
    """One entry of workerGroupSpecs. A replica is `hosts` pods."""

    path: Path
    name: str
    replicas: int
    minimum: int
    maximum: int
    hosts: int
    suspended: bool

    @property
    def pods(self) -> int:
        """How many pods the operator creates (GetWorkerGroupDesiredReplicas; the lower clamp is tested first)."""
        if self.suspended:
            return 0
        if self.replicas < self.minimum:
            return self.minimum * self.hosts
        return min(self.replicas, self.maximum) * self.hosts

    @property
    def min_pods(self) -> int:
        """How many pods the lower bound guarantees (the group's part of CalculateMinReplicas)."""
        return 0 if self.suspended else self.minimum * self.hosts


def read_worker_groups(manifest: Manifest, spec: Path, autoscaling: bool) -> list[WorkerGroup]:
    """The worker groups of the RayClusterSpec at `spec`, with a note on everything that KubeRay refuses."""
    defaults = find_defaults()
    groups = [_read_group(manifest, path, defaults) for path in manifest.list_paths((*spec, "workerGroupSpecs"))]
    for group in groups:
        _check_bounds(manifest, group, autoscaling)
    _check_names(manifest, groups)
    total = 0
    for group in groups:
        total += group.pods
        if manifest.fits(group.pods, _count_path(group)) and not manifest.fits(total + 1, _count_path(group)):
            break
    return groups


def _count_path(group: WorkerGroup) -> Path:
    return (*group.path, "replicas")


def _read_group(manifest: Manifest, path: Path, defaults: Mapping[str, int]) -> WorkerGroup:
    return WorkerGroup(
        path=path,
        name=manifest.text((*path, "groupName")),
        replicas=manifest.count((*path, "replicas"), defaults["replicas"]),
        minimum=manifest.count((*path, "minReplicas"), defaults["minReplicas"]),
        maximum=manifest.count((*path, "maxReplicas"), defaults["maxReplicas"]),
        hosts=manifest.count((*path, "numOfHosts"), defaults["numOfHosts"]),
        suspended=manifest.flag((*path, "suspend")),
    )


def _check_bounds(manifest: Manifest, group: WorkerGroup, autoscaling: bool) -> None:
    for key, value in (("minReplicas", group.minimum), ("maxReplicas", group.maximum), ("numOfHosts", group.hosts)):
        if value < 0:
            manifest.note("count-negative", (*group.path, key), f"{key} is {value}", "Use 0 or more.")
    if group.minimum > group.maximum:
        manifest.tell("min-above-max", (*group.path, "minReplicas"), group=group)
    if group.suspended and autoscaling:
        manifest.tell("suspend-with-autoscaling", (*group.path, "suspend"), group=group)


def _check_names(manifest: Manifest, groups: list[WorkerGroup]) -> None:
    first: dict[str, int] = {}
    for index, group in enumerate(groups):
        path = (*group.path, "groupName")
        if not group.name:
            if not manifest.refused:
                manifest.note("field-missing", path, "a worker group needs a groupName")
        elif group.name == HEAD_GROUP:
            manifest.tell("group-name-reserved", path, group=group)
        elif group.name in first:
            manifest.tell("group-name-duplicate", path, group=group, other=first[group.name])
        elif not is_label_value(group.name, 57 if group.hosts > 1 else 63):
            limit = "57 (numOfHosts is above 1)" if group.hosts > 1 else "63"
            manifest.tell("group-name-invalid", path, group=group, limit=limit)
        first.setdefault(group.name, index)


def is_label_value(text: str, limit: int = 63) -> bool:
    """Whether `text` can be the value of a label, at most `limit` characters long (and is not empty)."""
    if not text.isascii() or not 0 < len(text) <= limit:
        return False
    inner = text.replace("-", "").replace("_", "").replace(".", "")
    return text[0].isalnum() and text[-1].isalnum() and inner.isalnum()
