"""RayJob (ray.io/v1, v1alpha1): the tree of the cluster that it brings. Also reads the RayJobSpec in a RayCronJob.

The submitter is never in the gang: its pod is made when the cluster is ready, or it is a container of the head.
Source: kuberay v1.7.0 `apis/ray/v1/rayjob_types.go`, `controllers/ray/utils/validation.go`.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.tree import Group
from krmfn.sources.kuberay import check_name, check_owned_cluster
from krmfn.sources.manifest import Manifest
from krmfn.sources.raycluster import read_cluster_spec
from krmfn.sources.rayfields import prune

#: KubeRay adds a dash and five characters for the RayCluster, whose limit is 53.
NAME_LIMIT = 47


def read_rayjob(manifest: Manifest) -> Group | None:
    """The tree of a RayJob."""
    check_name(manifest, NAME_LIMIT)
    prune(manifest)
    return read_rayjob_spec(manifest, ("spec",))


def read_rayjob_spec(manifest: Manifest, spec: Path) -> Group | None:
    """The tree of the RayJobSpec at `spec`: None for a job that runs in a cluster which exists already."""
    if not manifest.require(spec):
        return None
    _check_spec(manifest, spec)
    selector = (*spec, "clusterSelector")
    if manifest.get(selector):
        message = "the job runs in a RayCluster that already exists: nothing is generated for the RayJob"
        manifest.note("existing-cluster", selector, message)
        return None
    cluster = (*spec, "rayClusterSpec")
    check_owned_cluster(manifest, cluster)
    return read_cluster_spec(manifest, cluster)


def _check_spec(manifest: Manifest, spec: Path) -> None:
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
