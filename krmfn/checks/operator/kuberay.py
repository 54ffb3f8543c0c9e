"""What the KubeRay operator does by itself (`kuberay.manages`) against what stands in Git."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from krmfn.checks.operator.ray import autoscales, list_clusters
from krmfn.checks.rule import Match, rule, tell
from krmfn.config import Settings
from krmfn.config.selection import KUBERAY_LABEL, is_selected
from krmfn.krm.item import Item
from krmfn.model.kinds import list_names
from krmfn.survey.census import Census

_SCHEDULERS: Final = {
    "Volcano": "volcano",
    "YuniKorn": "yunikorn",
    "SchedulerPlugins": "scheduler-plugins-scheduler",
    "KAI": "kai-scheduler",
}


@rule("operator-replaces-link")
def find_link_replaced(census: Census, settings: Settings) -> Iterator[Match]:
    """With KubernetesWAS of what it manages itself; with another batch scheduler of all Ray pods."""
    manages = settings.kuberay.manages
    seen: set[int] = set()
    for template in census.templates if manages == "KubernetesWAS" or manages in _SCHEDULERS else ():
        item, link = template.item, template.link
        if link is None or id(item) in seen or item.ref.group != "ray.io":
            continue
        if manages == "KubernetesWAS":
            own = f"{item.name}-cluster" if item.kind == "RayCluster" else "<cluster>-cluster"
            is_replaced, case = _is_managed(item) and link.group != own, ""
        else:
            own, is_replaced, case = _SCHEDULERS[manages], not is_selected(item, settings), "scheduler"
        if is_replaced:
            seen.add(id(item))
            yield tell(item, link.path, link.group, case=case, own=own, manages=manages)


@rule("operator-release")
def find_operator_release(census: Census, settings: Settings) -> Iterator[Match]:
    """KubernetesWAS of KubeRay 1.7 runs with Kubernetes 1.36 only."""
    if settings.kuberay.manages != "KubernetesWAS":
        return
    version = settings.kuberay.version
    served = "v1alpha2" in settings.release.kinds.get("PodGroup", ())
    if version > (1, 7) or (version == (1, 7) and served):
        return
    for kind in list_names("ray.io"):
        for item in census.kind("ray.io", kind):
            yield tell(item, ("apiVersion",), case="" if version == (1, 7) else "old", version=version)
            return


@rule("operator-skips-autoscaling")
def find_autoscaling_unmanaged(census: Census, settings: Settings) -> Iterator[Match]:
    if settings.kuberay.manages != "KubernetesWAS":
        return
    for item, _cluster, base in list_clusters(census):
        if item.kind != "RayCronJob" and _has_label(item) and autoscales(item):
            yield tell(item, (*base, "enableInTreeAutoscaling"), True)


def _has_label(item: Item) -> bool:
    return item.labels.get(KUBERAY_LABEL, "").lower() == "true"


def _is_managed(item: Item) -> bool:
    """Whether the operator makes the gang of this Ray resource: labelled, not autoscaling. Crons hand no label down."""
    return item.ref.group == "ray.io" and item.kind != "RayCronJob" and _has_label(item) and not autoscales(item)
