"""Ray (ray.io/v1, v1alpha1): a RayCluster is a composite of the head and the worker groups; the other kinds bring one.

The submitter of a RayJob is never in the gang: its pod is made when the cluster is ready, or it is a container of the
head. A RayService has two clusters during an upgrade. All runs of a RayCronJob share one gang; `spec.jobTemplate` is a
RayJobSpec itself, so no label reaches a run and no operator makes a gang for it.
The arithmetic is in `raygroups`. Source: kuberay v1.7.0 `apis/ray/v1`, `controllers/ray/utils/validation.go`,
`controllers/ray/rayservice_controller.go`.
"""

from __future__ import annotations

from typing import Final

from krmfn.krm.paths import Path
from krmfn.model.podnumber import add_labels
from krmfn.model.tree import Composite, Group, Leaf
from krmfn.sources.kuberay import check_name, check_owned_cluster, check_pruned_link, is_operator_job
from krmfn.sources.manifest import Manifest
from krmfn.sources.rayfields import prune
from krmfn.sources.raygroups import WorkerGroup, read_worker_groups

#: The number of a replica of several hosts (utils/constant.go, feature gate RayMultiHostIndexing, on since v1.6.0).
_INDEX = "ray.io/worker-group-replica-index"
_HOST = "ray.io/replica-host-index"
#: The longest names that KubeRay accepts. It adds a dash and five characters for the RayCluster of a RayJob or a
#: RayService, and a dash and the minutes of Unix time for the RayJob of a RayCronJob.
_LIMITS: Final = {"RayCluster": 53, "RayJob": 47, "RayService": 47, "RayCronJob": 36}
#: The field is not called rayClusterSpec here.
_OF_SERVICE: Path = ("spec", "rayClusterConfig")
_HEAD_SERVICE: Path = (*_OF_SERVICE, "headGroupSpec", "headService", "metadata", "name")


def _begin(manifest: Manifest) -> None:
    check_name(manifest, _LIMITS[manifest.ref.kind])
    prune(manifest)


def read_raycluster(manifest: Manifest) -> Group | None:
    """The tree of a RayCluster."""
    _begin(manifest)
    return _read_cluster(manifest, ("spec",))


def _read_cluster(manifest: Manifest, spec: Path) -> Group | None:
    """The tree of the RayClusterSpec at `spec`: leaf `head`, then a leaf per worker group that has pods.

    A suspended cluster is read as if it ran, because its groups must exist when it resumes.
    """
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
    leaves = [Leaf("head", (head,), 1, head=True)]
    for group in groups:
        leaf = _read_leaf(manifest, group, autoscaling)
        if leaf:
            leaves.append(leaf)
    check_pruned_link(manifest, head.path)
    return Composite("cluster", tuple(leaves), len(leaves))


def _read_leaf(manifest: Manifest, group: WorkerGroup, autoscaling: bool) -> Leaf | None:
    """The leaf of a worker group, or None with an info when it has no pods."""
    count_path = (*group.path, "replicas")
    template = manifest.template((*group.path, "template"), group.pods, count_path)
    if template is None:
        return None
    if group.pods == 0:
        reason = "is suspended" if group.suspended else "has numOfHosts 0" if group.hosts == 0 else "replicas is 0"
        message = f"worker group {group.name} has no pods ({reason}): it is left out of the gang"
        where = "suspend" if group.suspended else "numOfHosts" if group.hosts == 0 else "replicas"
        manifest.note("group-without-pods", (*group.path, where), message)
        return None
    if autoscaling:
        return Leaf(group.name, (template,), group.min_pods)
    leaf = manifest.leaf(group.name, template, group.min_pods)
    if manifest.settings.kuberay.version < (1, 6):
        return leaf
    leaf = leaf._replace(number=add_labels((_INDEX, group.replicas), (_HOST, group.hosts)))
    return leaf._replace(replicas=group.pods // group.hosts, by=_INDEX) if group.hosts > 1 else leaf


def read_rayjob(manifest: Manifest) -> Group | None:
    """The tree of a RayJob."""
    _begin(manifest)
    return _read_job(manifest, ("spec",))


def _read_job(manifest: Manifest, spec: Path) -> Group | None:
    """The tree of the RayJobSpec at `spec`: None for a job that runs in a cluster which exists already."""
    if not manifest.require(spec):
        return None
    _check_job(manifest, spec)
    selector = (*spec, "clusterSelector")
    if manifest.get(selector):
        manifest.tell("existing-cluster", selector)
        return None
    cluster = (*spec, "rayClusterSpec")
    check_owned_cluster(manifest, cluster)
    return _read_cluster(manifest, cluster)


def _check_job(manifest: Manifest, spec: Path) -> None:
    """What KubeRay answers with status ValidationFailed."""
    selected = bool(manifest.get((*spec, "clusterSelector")))
    suspended = manifest.flag((*spec, "suspend"))
    if suspended and selected:
        _refuse(manifest, (*spec, "suspend"), "a RayJob with clusterSelector cannot be suspended")
    elif suspended and not manifest.flag((*spec, "shutdownAfterJobFinishes")):
        _refuse(manifest, (*spec, "suspend"), "a suspended RayJob requires shutdownAfterJobFinishes: true")
    mode_path, retries_path = (*spec, "submissionMode"), (*spec, "backoffLimit")
    mode = manifest.text(mode_path, "K8sJobMode")
    retries = manifest.count(retries_path, 0, least=0)
    if retries > 0 and (selected or mode == "InteractiveMode"):
        reason = "clusterSelector" if selected else "InteractiveMode"
        _refuse(manifest, retries_path, f"a RayJob with {reason} cannot be retried: backoffLimit must be 0")
    if mode == "SidecarMode":
        _check_sidecar_mode(manifest, spec, selected)


def _check_sidecar_mode(manifest: Manifest, spec: Path, selected: bool) -> None:
    if selected:
        _refuse(manifest, (*spec, "submissionMode"), "SidecarMode excludes clusterSelector")
    for key in ("submitterPodTemplate", "submitterConfig"):
        if manifest.get((*spec, key)) is not None:
            _refuse(manifest, (*spec, key), f"SidecarMode excludes {key}")
    restart = (*spec, "rayClusterSpec", "headGroupSpec", "template", "spec", "restartPolicy")
    if manifest.text(restart) not in ("", "Never"):
        _refuse(manifest, restart, "SidecarMode requires restartPolicy Never in the head")


def _refuse(manifest: Manifest, path: Path, message: str) -> None:
    manifest.note("ray-job-refused", path, f"{message}: KubeRay refuses the RayJob")


def read_rayservice(manifest: Manifest) -> Group | None:
    """The tree of a RayService."""
    _begin(manifest)
    if manifest.get(_HEAD_SERVICE):
        manifest.tell("ray-service-refused", _HEAD_SERVICE)
    check_owned_cluster(manifest, _OF_SERVICE)
    group = _read_cluster(manifest, _OF_SERVICE)
    if group is not None:
        _check_upgrade(manifest)
    return group


def _check_upgrade(manifest: Manifest) -> None:
    """A new cluster is built beside the old one; with one group for both, old pods fill the gang of the new ones."""
    strategy = manifest.text(("spec", "upgradeStrategy", "type"))
    if strategy == "None" or manifest.options.naming == "Revisioned":
        return
    manifest.tell("rollout-shares-gang", ("spec", "upgradeStrategy"), "upgrade")


def read_raycronjob(manifest: Manifest) -> Group | None:
    """The tree of a RayCronJob. It has no concurrency policy, so nothing keeps runs from sharing the gang at once."""
    _begin(manifest)
    group = _read_job(manifest, ("spec", "jobTemplate"))
    if group is None:
        return None
    if manifest.options.requested:
        manifest.tell("runs-share-gang", ("spec", "schedule"), "requested")
        return group
    return None if manifest.decline("runs-share-gang", ("spec", "schedule"), "unasked") else group
