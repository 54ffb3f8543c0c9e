"""What the KubeRay operator does with any Ray kind: which names it accepts, which link fields its CRDs keep, and what
it creates by itself when it is set up to.

Source: kuberay v1.7.0 `controllers/ray/utils/validation.go`, `controllers/ray/batchscheduler/`, and the CRDs of
v1.3.0 to v1.7.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from krmfn.config.selection import KUBERAY_LABEL
from krmfn.krm.paths import Path
from krmfn.model.kinds import kuberay_keeps
from krmfn.sources.manifest import Manifest
from krmfn.sources.raygroups import WorkerGroup


def check_name(manifest: Manifest, limit: int) -> None:
    """KubeRay accepts DNS-1035 labels of at most `limit` characters; below them it builds names of its own."""
    name = manifest.ref.name
    if not name:
        return
    path: Path = ("metadata", "name")
    if len(name) > limit:
        message = f"the name has {len(name)} characters: KubeRay refuses a {manifest.ref.kind} with more than {limit}"
        manifest.note("ray-name", path, message, f"Shorten it to {limit} characters.")
    elif not (name[0].isalpha() and name[-1].isalnum() and name.replace("-", "").isalnum() and name == name.lower()):
        message = f'"{name}" is not a DNS-1035 label: KubeRay refuses the {manifest.ref.kind}'
        manifest.note("ray-name", path, message, "Use lower case letters, digits and -; start with a letter.")


def check_owned_cluster(manifest: Manifest, spec: Path) -> None:
    """A cluster that a RayJob or a RayService owns is replaced by its owner, so it has no upgrade strategy."""
    path = (*spec, "upgradeStrategy", "type")
    if manifest.get(path) is not None:
        message = (
            "only a RayCluster without an owner can have an upgrade strategy: KubeRay refuses the cluster of this "
            f"{manifest.ref.kind}"
        )
        manifest.note("ray-cluster-refused", path, message, "Remove it.")


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
        message = (
            f"the CRDs of KubeRay {version} drop spec.{field} from pod templates: the pods are scheduled one by one"
        )
        keepers = "1.6" if field == "workloadRef" else "1.7 or later"
        bridge = "; or set link: Auto" if settings.release.has("pod-groups") else ""
        hint = f"Install the CRDs of KubeRay {keepers}, and set kuberay.version{bridge}."
        manifest.note("link-pruned", (*template, "spec"), message, hint)


def is_operator_job(manifest: Manifest, spec: Path, groups: Sequence[WorkerGroup], autoscaling: bool) -> bool:
    """Whether the operator creates the gang of this resource itself, or sends its pods to another scheduler.

    Then a note predicts what it will create, and nothing is generated.
    """
    predict = _PREDICTIONS.get(manifest.settings.kuberay.manages)
    return predict is not None and not manifest.counting and predict(manifest, spec, groups, autoscaling)


def _predict_kubernetes_was(manifest: Manifest, spec: Path, groups: Sequence[WorkerGroup], autoscaling: bool) -> bool:
    """Gate KubernetesWAS: labelled clusters without autoscaling. RayJob and RayService hand their labels down."""
    opted_in = (manifest.label(KUBERAY_LABEL) or "").lower() == "true"
    if not opted_in or autoscaling or manifest.ref.kind == "RayCronJob":
        return False
    name = _cluster_name(manifest)
    message = f"KubeRay creates Workload {name} and PodGroup {name}-cluster with minCount {_count_desired(groups)}"
    manifest.note("operator-manages", ("metadata", "labels", KUBERAY_LABEL), f"{message} itself: nothing is generated")
    return True


def _predict_volcano(manifest: Manifest, spec: Path, groups: Sequence[WorkerGroup], autoscaling: bool) -> bool:
    owner = manifest.ref.name if manifest.ref.kind == "RayJob" else _cluster_name(manifest)
    members = 1 + sum(group.min_pods for group in groups) if autoscaling else _count_desired(groups)
    message = f"KubeRay creates Volcano's PodGroup ray-{owner}-pg with minMember {members} itself: nothing is generated"
    manifest.note("operator-manages", spec, message)
    return True


def _predict_yunikorn(manifest: Manifest, spec: Path, groups: Sequence[WorkerGroup], autoscaling: bool) -> bool:
    if manifest.label(KUBERAY_LABEL) is None:
        return _note_foreign_scheduler(manifest, "yunikorn")
    parts = ["headgroup 1", *(f"{group.name} {group.minimum * group.hosts}" for group in groups)]
    message = f"KubeRay writes YuniKorn's task groups ({', '.join(parts)}) itself: nothing is generated"
    manifest.note("operator-manages", spec, message)
    return True


def _predict_scheduler_plugins(
    manifest: Manifest, spec: Path, groups: Sequence[WorkerGroup], autoscaling: bool
) -> bool:
    if manifest.ref.kind == "RayJob":
        message = "KubeRay does not support RayJobs with scheduler-plugins: this RayJob stays Initializing"
        manifest.note("operator-refuses", spec, message, "Use a RayCluster, or another batch scheduler.")
        return True
    if manifest.label(KUBERAY_LABEL) is None:
        return _note_foreign_scheduler(manifest, "scheduler-plugins-scheduler")
    message = f"KubeRay creates PodGroup {_cluster_name(manifest)} of scheduling.x-k8s.io with minMember "
    manifest.note("operator-manages", spec, f"{message}{_count_desired(groups)} itself: nothing is generated")
    return True


def _predict_kai(manifest: Manifest, spec: Path, groups: Sequence[WorkerGroup], autoscaling: bool) -> bool:
    submission = ("spec", "submissionMode")
    if manifest.ref.kind == "RayJob" and manifest.text(submission, "K8sJobMode") == "K8sJobMode":
        message = "KubeRay does not support RayJobs of K8sJobMode with KAI: this RayJob stays Initializing"
        manifest.note("operator-refuses", submission, message, "Set submissionMode: HTTPMode.")
        return True
    members = 1 + sum((group.minimum or group.replicas) * group.hosts for group in groups)
    message = f"KAI creates a pod group with minAvailable {members} itself: nothing is generated"
    manifest.note("operator-manages", spec, message)
    return True


def _note_foreign_scheduler(manifest: Manifest, scheduler: str) -> bool:
    message = (
        f"KubeRay assigns all Ray pods to {scheduler}, which ignores PodGroups of scheduling.k8s.io: nothing is "
        "generated"
    )
    hint = f'To let the operator create the gang, add the label {KUBERAY_LABEL}: "true".'
    manifest.note("operator-schedules", ("metadata", "labels", KUBERAY_LABEL), message, hint)
    return True


def _count_desired(groups: Sequence[WorkerGroup]) -> int:
    return 1 + sum(group.pods for group in groups)


def _cluster_name(manifest: Manifest) -> str:
    """The name of the RayCluster; those of RayJob and RayService end in five random characters."""
    return manifest.ref.name if manifest.ref.kind == "RayCluster" else f"{manifest.ref.name}-<random>"


_Prediction = Callable[[Manifest, Path, Sequence[WorkerGroup], bool], bool]

_PREDICTIONS: Mapping[str, _Prediction] = {
    "KubernetesWAS": _predict_kubernetes_was,
    "Volcano": _predict_volcano,
    "YuniKorn": _predict_yunikorn,
    "SchedulerPlugins": _predict_scheduler_plugins,
    "KAI": _predict_kai,
}
