"""Ray (ray.io/v1, v1alpha1): a RayCluster is a composite of the head and the worker groups; the other kinds bring one.

The submitter of a RayJob is never in the gang: its pod is made when the cluster is ready, or it is a container of the
head. A RayService has two clusters during an upgrade. All runs of a RayCronJob share one gang; `spec.jobTemplate` is a
RayJobSpec itself, so no label reaches a run and no operator makes a gang for it.

CRDs prune silently, and the version that was sent decides what is known: ray.io/v1alpha1 has no numOfHosts. The fields
are in schemas/kuberay. Source: kuberay v1.7.0 `apis/ray/v1`, `controllers/ray/utils` (`util.go`, `validation.go`),
`controllers/ray/rayservice_controller.go`, `controllers/ray/batchscheduler`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from krmfn.config.selection import KUBERAY_LABEL
from krmfn.krm.paths import Path, format_path
from krmfn.model.podnumber import add_labels
from krmfn.model.tree import Composite, Group, Leaf
from krmfn.model.values import Value, as_text
from krmfn.model.wording import find_nearest
from krmfn.releases import schemastore
from krmfn.sources.manifest import Manifest

#: The number of a replica of several hosts (utils/constant.go, feature gate RayMultiHostIndexing, on since v1.6.0).
_INDEX = "ray.io/worker-group-replica-index"
_HOST = "ray.io/replica-host-index"
#: The longest names that KubeRay accepts. It adds a dash and five characters for the RayCluster of a RayJob or a
#: RayService, and a dash and the minutes of Unix time for the RayJob of a RayCronJob.
_LIMITS = {"RayCluster": 53, "RayJob": 47, "RayService": 47, "RayCronJob": 36}
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?")
#: The field is not called rayClusterSpec here.
_OF_SERVICE: Path = ("spec", "rayClusterConfig")
_HEAD_SERVICE: Path = (*_OF_SERVICE, "headGroupSpec", "headService", "metadata", "name")


def read_ray(manifest: Manifest) -> Group | None:
    """The tree of a resource of Ray. A suspended cluster is read as if it ran: its groups must exist when it does."""
    check_name(manifest)
    prune(manifest)
    match manifest.ref.kind:
        case "RayJob":
            return _read_job(manifest, ("spec",))
        case "RayService":
            return _read_service(manifest)
        case "RayCronJob":
            return _read_cronjob(manifest)
    return _read_cluster(manifest, ("spec",))


def _read_cluster(manifest: Manifest, spec: Path) -> Group | None:
    """The tree of the RayClusterSpec at `spec`: leaf `head`, then a leaf per worker group that has pods."""
    strategy = (*spec, "upgradeStrategy", "type")
    if len(spec) > 1 and manifest.get(strategy) is not None:
        manifest.tell("ray-cluster-refused", strategy)  # the owner replaces its cluster, which therefore has none
    if not manifest.require(spec) or not manifest.require((*spec, "headGroupSpec")):
        return None
    if manifest.is_elsewhere((*spec, "managedBy")):
        return None
    autoscaling = manifest.flag((*spec, "enableInTreeAutoscaling"))
    groups = read_worker_groups(manifest, spec, autoscaling)
    if manifest.refused or is_operator_job(manifest, spec, groups, autoscaling):
        return None
    skipped = autoscaling and manifest.options.autoscaling == "Skip"
    if skipped and manifest.decline("autoscaling-skipped", (*spec, "enableInTreeAutoscaling")):
        return None
    head_path = (*spec, "headGroupSpec")
    head = manifest.template((*head_path, "template"), 1, head_path)
    if head is None:
        return None
    workers = [leaf for group in groups if (leaf := _read_leaf(manifest, group, autoscaling))]
    leaves = (Leaf("head", (head,), 1, head=True), *workers)
    return Composite("cluster", leaves, len(leaves))


def _read_leaf(manifest: Manifest, group: WorkerGroup, autoscaling: bool) -> Leaf | None:
    """The leaf of a worker group, or None with an info when it has no pods."""
    template = manifest.template((*group.path, "template"), group.pods, (*group.path, "replicas"))
    if template is None:
        return None
    if group.pods == 0:
        counted = "maxReplicas" if group.replicas > 0 else "replicas"  # the smaller one
        where = "suspend" if group.suspended else "numOfHosts" if group.hosts == 0 else counted
        manifest.tell("group-without-pods", (*group.path, where), where, name=group.name, replicas=group.replicas)
        return None
    if autoscaling:
        return Leaf(group.name, (template,), group.min_pods)
    leaf = manifest.leaf(group.name, template, group.min_pods)
    if manifest.settings.kuberay.version < (1, 6):
        return leaf
    leaf = leaf._replace(number=add_labels((_INDEX, group.replicas), (_HOST, group.hosts)))
    return leaf._replace(replicas=group.pods // group.hosts, by=_INDEX) if group.hosts > 1 else leaf


def _read_job(manifest: Manifest, spec: Path) -> Group | None:
    """The tree of the RayJobSpec at `spec`: None for a job that runs in a cluster which exists already."""
    if not manifest.require(spec):
        return None
    _check_job(manifest, spec)
    selector = (*spec, "clusterSelector")
    if manifest.get(selector):
        manifest.tell("existing-cluster", selector)
        return None
    return _read_cluster(manifest, (*spec, "rayClusterSpec"))


def _check_job(manifest: Manifest, spec: Path) -> None:
    """What KubeRay answers with status ValidationFailed."""
    selected = bool(manifest.get((*spec, "clusterSelector")))
    suspended = manifest.flag((*spec, "suspend"))
    if suspended and selected:
        manifest.tell("ray-job-refused", (*spec, "suspend"), "selected")
    elif suspended and not manifest.flag((*spec, "shutdownAfterJobFinishes")):
        manifest.tell("ray-job-refused", (*spec, "suspend"), "suspended")
    mode_path, retries_path = (*spec, "submissionMode"), (*spec, "backoffLimit")
    mode = manifest.text(mode_path, "K8sJobMode")
    retries = manifest.count(retries_path, 0, least=0)
    if retries > 0 and (selected or mode == "InteractiveMode"):
        reason = "clusterSelector" if selected else "InteractiveMode"
        manifest.tell("ray-job-refused", retries_path, "retried", reason=reason)
    if mode == "SidecarMode":
        if selected:
            manifest.tell("ray-job-refused", mode_path, "sidecar", key="clusterSelector")
        for key in ("submitterPodTemplate", "submitterConfig"):
            if manifest.get((*spec, key)) is not None:
                manifest.tell("ray-job-refused", (*spec, key), "sidecar", key=key)
        restart = (*spec, "rayClusterSpec", "headGroupSpec", "template", "spec", "restartPolicy")
        if manifest.text(restart) not in ("", "Never"):
            manifest.tell("ray-job-refused", restart, "restart")


def _read_service(manifest: Manifest) -> Group | None:
    """A new cluster is built beside the old one; with one group for both, old pods fill the gang of the new ones."""
    if manifest.get(_HEAD_SERVICE):
        manifest.tell("ray-service-refused", _HEAD_SERVICE)
    group = _read_cluster(manifest, _OF_SERVICE)
    in_place = manifest.text(("spec", "upgradeStrategy", "type")) == "None"
    if group is not None and not in_place and manifest.options.naming != "Revisioned":
        manifest.tell("rollout-shares-gang", ("spec", "upgradeStrategy"), "upgrade")
    return group


def _read_cronjob(manifest: Manifest) -> Group | None:
    """It has no concurrency policy, so nothing keeps runs from sharing the gang at once."""
    group = _read_job(manifest, ("spec", "jobTemplate"))
    if group is None:
        return None
    if manifest.options.requested:
        manifest.tell("runs-share-gang", ("spec", "schedule"), "requested")
        return group
    return None if manifest.decline("runs-share-gang", ("spec", "schedule"), "unasked") else group


def check_name(manifest: Manifest) -> None:
    """KubeRay accepts DNS-1035 labels that leave room for the names that it makes of them."""
    name, limit = manifest.ref.name, _LIMITS[manifest.ref.kind]
    path: Path = ("metadata", "name")
    if len(name) > limit:
        manifest.tell("ray-name", path, "long", length=len(name), limit=limit)
    elif name and not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name):
        manifest.tell("ray-name", path, name=name)


def is_operator_job(manifest: Manifest, spec: Path, groups: Sequence[WorkerGroup], autoscaling: bool) -> bool:
    """Whether the operator creates the gang of this resource itself, or sends its pods to another scheduler.

    Then a note predicts what it will create (schemas/kuberay/managers.json), and nothing is generated.
    """
    kind, manages = manifest.ref.kind, manifest.settings.kuberay.manages
    label = as_text(manifest.value, "metadata", "labels", KUBERAY_LABEL)
    apart = autoscaling or kind == "RayCronJob" or label.lower() != "true"
    if manifest.counting or (manages == "KubernetesWAS" and apart):
        return False
    for row in schemastore.load("kuberay/managers.json").get(manages, ()):
        if row.get("kind", kind) != kind or ("bare" in row and label):
            continue
        if "mode" in row and manifest.text(("spec", "submissionMode"), "K8sJobMode") != row["mode"]:
            continue
        name = manifest.ref.name
        cluster = name if kind == "RayCluster" else f"{name}-<random>"  # five random characters
        desired = 1 + sum(group.pods for group in groups)
        numbers = {
            "desired": desired,
            "least": 1 + sum(group.min_pods for group in groups) if autoscaling else desired,
            "wanted": 1 + sum((group.minimum or group.replicas) * group.hosts for group in groups),
            "parts": "".join(f", {group.name} {group.minimum * group.hosts}" for group in groups),
        }
        message = row["message"].format(name=cluster, owner=name if kind == "RayJob" else cluster, **numbers)
        path = tuple(row.get("place", spec))
        manifest.note(row["rule"], path, message, row.get("hint", ""))
        return True
    return False


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
        if group.minimum > group.maximum:
            manifest.tell("min-above-max", (*group.path, "minReplicas"), group=group)
        if group.suspended and autoscaling:
            manifest.tell("suspend-with-autoscaling", (*group.path, "suspend"), group=group)
    _check_names(manifest, groups)
    total = 1
    for group in groups:
        total, counted = total + group.pods, (*group.path, "replicas")
        if manifest.fits(group.pods, counted) and not manifest.fits(total, counted):
            break
    return groups


def _read_group(manifest: Manifest, path: Path, defaults: Mapping[str, int]) -> WorkerGroup:
    replicas = manifest.count((*path, "replicas"), defaults["replicas"])
    fields = ("minReplicas", "maxReplicas", "numOfHosts")
    least, most, hosts = (manifest.count((*path, field), defaults[field], least=0) for field in fields)
    name, suspended = manifest.text((*path, "groupName")), manifest.flag((*path, "suspend"))
    return WorkerGroup(path, name, replicas, least, most, hosts, suspended)


def _check_names(manifest: Manifest, groups: list[WorkerGroup]) -> None:
    first: dict[str, int] = {}
    for index, group in enumerate(groups):
        path = (*group.path, "groupName")
        longest = 57 if group.hosts > 1 else 63
        if not group.name:
            if not manifest.refused:
                manifest.note("field-missing", path, "a worker group needs a groupName")
        elif group.name == HEAD_GROUP:
            manifest.tell("group-name-reserved", path, group=group)
        elif group.name in first:
            manifest.tell("group-name-duplicate", path, group=group, other=first[group.name])
        elif len(group.name) > longest or not _LABEL_VALUE.fullmatch(group.name):
            limit = f"{longest} (numOfHosts is above 1)" if group.hosts > 1 else longest
            manifest.tell("group-name-invalid", path, group=group, limit=limit)
        first.setdefault(group.name, index)


#: A key is a slip of the pen when it is at least this like a known one (1 is equal).
_LIKENESS = 0.8


def prune(manifest: Manifest) -> None:
    """Make the manifest's `spec` the one that is stored, and leave a note on every field that gets lost and is read."""
    if isinstance(spec := manifest.get(("spec",)), dict):
        schema = schemastore.load(f"kuberay/{manifest.ref.kind.lower()}.json")
        manifest.value = {**manifest.value, "spec": _prune(manifest, spec, schema, ("spec",))}


def find_defaults() -> dict[str, int]:
    """What the API server writes into a worker group that lacks a field, whichever version was sent."""
    fields = schemastore.load("kuberay/raycluster.json")["properties"]["workerGroupSpecs"]["items"]["properties"]
    return {key: field["default"] for key, field in fields.items() if "default" in field}


def _prune(manifest: Manifest, value: Any, schema: Value, path: Path) -> Any:
    """`value` without what the version does not have. Levels that the schema does not describe stay as they are."""
    if "$ref" in schema:
        schema = schemastore.load(f"kuberay/{schema['$ref']}")
    if isinstance(value, list) and "items" in schema:
        return [_prune(manifest, element, schema["items"], (*path, index)) for index, element in enumerate(value)]
    fields: Mapping[str, Value] = schema.get("properties", {})
    if not fields or not isinstance(value, dict):
        return value
    version = "v1alpha1" if manifest.ref.api_version == "ray.io/v1alpha1" else "v1"
    kept = {}
    for key, child in value.items():
        field = fields.get(key)
        if field is None:
            _note_unknown(manifest, str(key), fields, path)
        elif version in field.get("x-krmfn-versions", (version,)):
            deep = "properties" in field or "items" in field or "$ref" in field
            kept[key] = _prune(manifest, child, field, (*path, key)) if deep else child
        elif child is not None and _is_read(field):
            manifest.tell("field-pruned", (*path, key), key=key, version=manifest.ref.api_version)
    return kept


def _note_unknown(manifest: Manifest, key: str, fields: Mapping[str, Value], path: Path) -> None:
    """Say so when `key` was probably meant to be a field that is read. Other unknown fields are no matter of ours."""
    meant = find_nearest(key, (name for name, field in fields.items() if _is_read(field)), _LIKENESS)
    if meant and meant not in (manifest.get(path) or ()):
        manifest.tell("field-unknown", (*path, key), key=key, place=format_path(path), meant=meant)


def _is_read(field: Value) -> bool:
    """Whether krmfn reads the field: the schemas say more about it than that it exists."""
    return "type" in field or "$ref" in field
