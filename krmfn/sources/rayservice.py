"""RayService (ray.io/v1, v1alpha1): the tree of its cluster, of which there are two during an upgrade.

Source: kuberay v1.7.0 `apis/ray/v1/rayservice_types.go`, `controllers/ray/rayservice_controller.go`.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.tree import Group
from krmfn.sources.kuberay import check_name, check_owned_cluster
from krmfn.sources.manifest import Manifest
from krmfn.sources.raycluster import read_cluster_spec
from krmfn.sources.rayfields import prune

#: The field is not called rayClusterSpec here.
CLUSTER: Path = ("spec", "rayClusterConfig")
NAME_LIMIT = 47
_HEAD_SERVICE: Path = (*CLUSTER, "headGroupSpec", "headService", "metadata", "name")


def read_rayservice(manifest: Manifest) -> Group | None:
    """The tree of a RayService."""
    check_name(manifest, NAME_LIMIT)
    prune(manifest)
    if manifest.get(_HEAD_SERVICE):
        message = "a RayService must not name its head service: KubeRay refuses the RayService"
        manifest.note("ray-service-refused", _HEAD_SERVICE, message, "Remove the name.")
    check_owned_cluster(manifest, CLUSTER)
    group = read_cluster_spec(manifest, CLUSTER)
    if group is not None:
        _check_upgrade(manifest)
    return group


def _check_upgrade(manifest: Manifest) -> None:
    """A new cluster is built beside the old one; with one group for both, old pods fill the gang of the new ones."""
    strategy = manifest.text(("spec", "upgradeStrategy", "type"))
    if strategy == "None" or manifest.options.naming == "Revisioned":
        return
    message = (
        "an upgrade builds a second cluster in the same gang, whose quorum the first cluster already meets: the "
        "new pods start one by one"
    )
    hint = "Set naming: Revisioned, so that every revision is a separate gang."
    manifest.note("rollout-shares-gang", ("spec", "upgradeStrategy"), message, hint)
