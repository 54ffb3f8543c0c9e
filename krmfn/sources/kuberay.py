"""What the KubeRay operator does with any Ray kind: which names it accepts, which link fields its CRDs keep, and what
it creates by itself when it is set up to.

Source: kuberay v1.7.0 `controllers/ray/utils/validation.go`, `controllers/ray/batchscheduler/`, and the CRDs of
v1.3.0 to v1.7.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from krmfn.config.selection import KUBERAY_LABEL
from krmfn.krm.paths import Path
from krmfn.model.kinds import kuberay_keeps
from krmfn.releases import schemastore
from krmfn.sources.manifest import Manifest
from krmfn.sources.raygroups import WorkerGroup


def check_name(manifest: Manifest, limit: int) -> None:
    """KubeRay accepts DNS-1035 labels of at most `limit` characters; below them it builds names of its own."""
    name = manifest.ref.name
    if not name:
        return
    path: Path = ("metadata", "name")
    if len(name) > limit:
        manifest.tell("ray-name", path, "long", length=len(name), limit=limit)
    elif not (name[0].isalpha() and name[-1].isalnum() and name.replace("-", "").isalnum() and name == name.lower()):
        manifest.tell("ray-name", path, name=name)


def check_owned_cluster(manifest: Manifest, spec: Path) -> None:
    """A cluster that a RayJob or a RayService owns is replaced by its owner, so it has no upgrade strategy."""
    path = (*spec, "upgradeStrategy", "type")
    if manifest.get(path) is not None:
        manifest.tell("ray-cluster-refused", path)


def check_pruned_link(manifest: Manifest, template: Path) -> None:
    """Leave a note when the installed CRDs drop the field that links a pod template to its group."""
    settings = manifest.settings
    if settings.scheduler != "Kubernetes":
        return  # Volcano's link is an annotation, which every version keeps
    if manifest.bridged:
        return
    if "customResourceDefinitions" in settings.cluster:
        return  # the checks look into the CRDs themselves
    field = settings.release.link[0]
    if not kuberay_keeps(settings.kuberay.version, field):
        version = ".".join(map(str, settings.kuberay.version))
        keepers = "1.6" if field == "workloadRef" else "1.7 or later"
        bridge = "; or set link: Auto" if settings.release.has("pod-groups") else ""
        about = {"version": version, "field": field, "keepers": keepers, "bridge": bridge}
        manifest.tell("link-pruned", (*template, "spec"), "KubeRay", **about)


_MODE: Final = ("spec", "submissionMode")


def is_operator_job(manifest: Manifest, spec: Path, groups: Sequence[WorkerGroup], autoscaling: bool) -> bool:
    """Whether the operator creates the gang of this resource itself, or sends its pods to another scheduler.

    Then a note predicts what it will create (schemas/kuberay/managers.json), and nothing is generated.
    """
    kind, label, manages = manifest.ref.kind, manifest.label(KUBERAY_LABEL), manifest.settings.kuberay.manages
    apart = autoscaling or kind == "RayCronJob" or (label or "").lower() != "true"
    if manifest.counting or (manages == "KubernetesWAS" and apart):
        return False
    for row in schemastore.load("kuberay/managers.json").get(manages, ()):
        if row.get("kind", kind) != kind or ("bare" in row and label is not None):
            continue
        if "mode" in row and manifest.text(_MODE, "K8sJobMode") != row["mode"]:
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
