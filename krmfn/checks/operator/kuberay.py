"""What the KubeRay operator does by itself (`kuberay.manages`) against what stands in Git."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from krmfn.checks.operator.ray import autoscales, list_clusters
from krmfn.checks.rule import rule
from krmfn.config import Settings
from krmfn.config.selection import KUBERAY_LABEL, is_selected
from krmfn.krm.item import Item
from krmfn.model.findings import Finding
from krmfn.model.kinds import list_names
from krmfn.survey.census import Census

_SCHEDULERS: Final = {
    "Volcano": "volcano",
    "YuniKorn": "yunikorn",
    "SchedulerPlugins": "scheduler-plugins-scheduler",
    "KAI": "kai-scheduler",
}


@rule("operator-replaces-link", "error", "KubeRay replaces the link of a resource, or the scheduler that reads it.")
def find_link_replaced(census: Census, settings: Settings) -> Iterator[Finding]:
    """With KubernetesWAS of what it manages itself; with another batch scheduler of all Ray pods."""
    manages = settings.kuberay.manages
    seen: set[int] = set()
    for template in census.templates if manages == "KubernetesWAS" or manages in _SCHEDULERS else ():
        item, link = template.item, template.link
        if link is None or id(item) in seen or item.ref.group != "ray.io":
            continue
        if manages == "KubernetesWAS":
            own = f"{item.name}-cluster" if item.kind == "RayCluster" else "<cluster>-cluster"
            is_replaced = _is_managed(item) and link.group != own
            message = (
                f"the operator replaces this link with its own PodGroup ({own}), because the resource is labelled "
                f"{KUBERAY_LABEL}: the group {link.group} gets no pods"
            )
            hint = "Remove the label, or the groups and links from Git."
        else:
            is_replaced = not is_selected(item, settings)
            message = (
                f"the operator (kuberay.manages: {manages}) assigns all Ray pods to {_SCHEDULERS[manages]}, which "
                f"ignores the group {link.group}: the pods are not scheduled as a gang"
            )
            hint = "Remove groups and links of Ray resources from Git, or turn the operator's batch scheduler off."
        if is_replaced:
            seen.add(id(item))
            yield Finding(item, link.path, message, link.group, hint=hint)


@rule("operator-release", "error", "This version of KubeRay cannot manage gangs on this Kubernetes release.")
def find_operator_release(census: Census, settings: Settings) -> Iterator[Finding]:
    """KubernetesWAS of KubeRay 1.7 runs with Kubernetes 1.36 only."""
    if settings.kuberay.manages != "KubernetesWAS":
        return
    version = settings.kuberay.version
    if version < (1, 7):
        message = (
            f"KubeRay {version[0]}.{version[1]} does not have the feature gate KubernetesWAS, which exists since 1.7"
        )
    elif version == (1, 7) and "v1alpha2" not in settings.release.kinds.get("PodGroup", ()):
        message = (
            f"KubeRay 1.7 with KubernetesWAS needs scheduling.k8s.io/v1alpha2, which Kubernetes {settings.release} "
            "does not serve: the operator exits when it starts"
        )
    else:
        return
    for kind in list_names("ray.io"):
        for item in census.kind("ray.io", kind):
            hint = "Correct kuberay.manages, or use matching versions of KubeRay and Kubernetes."
            yield Finding(item, ("apiVersion",), message, hint=hint)
            return


@rule("operator-skips-autoscaling", "warning", "KubeRay does not create a gang for a cluster that uses the autoscaler.")
def find_autoscaling_unmanaged(census: Census, settings: Settings) -> Iterator[Finding]:
    if settings.kuberay.manages != "KubernetesWAS":
        return
    for item, _cluster, base in list_clusters(census):
        if item.kind != "RayCronJob" and _has_label(item) and autoscales(item):
            message = (
                f"{KUBERAY_LABEL} has no effect: the operator creates no gang for a cluster that autoscales, and "
                "reports it in its log only"
            )
            hint = (
                "Turn enableInTreeAutoscaling off, or let krmfn generate the gang (autoscaling: MinReplicas, "
                "without the label)."
            )
            yield Finding(item, (*base, "enableInTreeAutoscaling"), message, True, hint=hint)


def _has_label(item: Item) -> bool:
    return item.labels.get(KUBERAY_LABEL, "").lower() == "true"


def _is_managed(item: Item) -> bool:
    """Whether the operator makes the gang of this Ray resource: labelled, not autoscaling. Crons hand no label down."""
    return item.ref.group == "ray.io" and item.kind != "RayCronJob" and _has_label(item) and not autoscales(item)
