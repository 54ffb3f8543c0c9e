"""RayCluster (ray.io/v1, v1alpha1): a composite of the head and the worker groups.

Also reads the RayClusterSpec inside the other Ray kinds. The arithmetic is in `raygroups`.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.tree import Composite, Group, Leaf
from krmfn.sources.kuberay import check_name, check_pruned_link, is_operator_job
from krmfn.sources.manifest import Manifest
from krmfn.sources.rayfields import prune
from krmfn.sources.raygroups import WorkerGroup, read_worker_groups

SPEC: Path = ("spec",)
#: The number of a replica of several hosts (utils/constant.go, feature gate RayMultiHostIndexing, on since v1.6.0).
_INDEX = "ray.io/worker-group-replica-index"
#: The longest name that KubeRay accepts for a RayCluster of its own (utils/validation.go).
NAME_LIMIT = 53


def read_raycluster(manifest: Manifest) -> Group | None:
    """The tree of a RayCluster."""
    check_name(manifest, NAME_LIMIT)
    prune(manifest)
    return read_cluster_spec(manifest, SPEC)


def read_cluster_spec(manifest: Manifest, spec: Path) -> Group | None:
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
    if autoscaling and manifest.options.autoscaling == "Skip":
        message = "the cluster autoscales, so its number of pods changes at run time: no gang is generated"
        hint = "For a gang of head and minReplicas of every group, set autoscaling: MinReplicas and granularity: Group."
        if manifest.decline("autoscaling-skipped", (*spec, "enableInTreeAutoscaling"), message, hint):
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
    if group.hosts > 1 and manifest.settings.kuberay.version >= (1, 6):
        return leaf._replace(replicas=group.pods // group.hosts, by=_INDEX)
    return leaf
