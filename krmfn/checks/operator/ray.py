"""Ray resources whose pods are not what a group in Git counts: submitters, clean-up pods, autoscaled workers; and what
the KubeRay operator does by itself (`kuberay.manages`) against what stands in Git.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from krmfn.checks.rule import Matches, rule, tell, tell_quorum
from krmfn.config import Settings
from krmfn.config.selection import KUBERAY_LABEL, is_selected
from krmfn.krm.item import Item
from krmfn.model.kinds import find_ray_cluster, list_names
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.tree import Path
from krmfn.model.values import Fields, as_count, as_int, as_list, as_mapping, as_text, dig
from krmfn.survey.census import Census, LinkedGang

#: KubeRay's port for metrics, where the head does not name one.
_METRICS = 8080


@rule("ray-submitter-linked")
def find_submitter_linked(census: Census, settings: Settings) -> Matches:
    for item, base in list_jobs(census):
        path = (*base, "submitterPodTemplate", "spec", *settings.release.link)
        name = as_text(item.value, *path)
        groups = {template.link.group for template in census.templates_of(item) if template.link}
        if name and name in groups:
            yield tell(item, path, name)


@rule("ray-head-ports")
def find_head_ports(census: Census) -> Matches:
    """The service gets the head's ports by name, and 8080 as `metrics` where no port has that name."""
    for item, cluster, base in list_clusters(census):
        place = ("headGroupSpec", "template", "spec", "containers", 0, "ports")
        ports = {}
        for index, port in enumerate(as_list(cluster, *place)):
            number = as_int(port, "containerPort")
            if number is not None:
                ports[as_text(port, "name") or f"{number}-port"] = (number, index)
        if not ports:
            continue
        numbers = {number: name for name, (number, _) in ports.items()}
        for name, (number, index) in ports.items():
            other = "metrics" if "metrics" not in ports and number == _METRICS else numbers[number]
            if other != name:
                case = "metrics" if other == "metrics" else ""
                yield tell(item, (*base, *place, index), number, case=case, other=other)
                break


@rule("ray-cleanup-joins-gang")
def find_cleanup_joins(census: Census) -> Matches:
    """Redis fault tolerance: the clean-up pod is made from the head's template, link included."""
    for item, cluster, base in list_clusters(census):
        options = cluster.get("gcsFaultToleranceOptions")
        on = isinstance(options, dict) and dig(options, "backend") in (None, "redis")
        on = on or item.annotations.get("ray.io/ft-enabled", "").lower() == "true"
        head = (*base, "headGroupSpec", "template")
        for template in census.templates_of(item) if on else ():
            if template.path == head and template.link and not template.link.bridged:
                yield tell(item, template.link.path, template=template)


@rule("ray-autoscaler-below-gang")
def find_autoscaler_below(census: Census) -> Matches:
    for gang in census.gangs if census.has_text("enableInTreeAutoscaling") else ():
        lowest = _lowest(gang)
        if lowest is not None and gang.quorum > lowest:
            item = next(owner for owner in gang.owners if autoscales(owner))
            yield tell_quorum(gang.group, gang=gang, owner=item, lowest=lowest)


@rule("ray-autoscaler-beyond-gang")
def find_autoscaler_beyond(census: Census) -> Matches:
    for item, cluster, base in list_clusters(census):
        linked = [template for template in census.templates_of(item) if template.link]
        if not linked or not autoscales(item):
            continue
        for index, group in enumerate(as_list(cluster, "workerGroupSpecs")):
            least, most = as_int(group, "minReplicas") or 0, as_int(group, "maxReplicas")
            if most is None or most > least:
                yield tell(item, (*base, "workerGroupSpecs", index, "maxReplicas"), most, least=least)
                break


@rule("ray-retry-shares-group")
def find_retry_shares_group(census: Census) -> Matches:
    """RayJob retries and resumes make a new cluster while pods of the old one may still be terminating."""
    for gang, item in census.gangs_of("ray.io", "RayJob"):
        limit = as_int(item.value, "spec", "backoffLimit") or 0
        if limit > 0 and gang.group.policy == "gang":
            yield tell(item, ("spec", "backoffLimit"), limit, gang=gang)


def list_jobs(census: Census) -> Iterator[tuple[Item, Path]]:
    """Each RayJob and RayCronJob with the place of its RayJobSpec."""
    for kind in ("RayJob", "RayCronJob"):
        for item in census.kind("ray.io", kind):
            yield item, find_ray_cluster(kind)[:-1]


def list_clusters(census: Census) -> Iterator[tuple[Item, Fields, Path]]:
    """Each Ray resource with its cluster, and where that is."""
    for kind in list_names("ray.io"):
        for item in census.kind("ray.io", kind):
            base = find_ray_cluster(kind)
            yield item, dict(as_mapping(item.value, *base)), base


def autoscales(item: Item) -> bool:
    """Whether the autoscaler changes the workers of a Ray resource."""
    base = find_ray_cluster(item.kind) if item.group == "ray.io" else ()
    return bool(base) and dig(item.value, *base, "enableInTreeAutoscaling") is True


def _lowest(gang: LinkedGang) -> int | None:
    """The fewest pods of a gang that autoscales: the head and minReplicas times hosts; None when nothing autoscales."""
    if not any(map(autoscales, gang.owners)):
        return None
    total = 0
    for template in gang.templates:
        if not autoscales(template.item) or template.path[-2] == "headGroupSpec":
            total += 1 if template.path[-2:-1] == ("headGroupSpec",) else template.pods or 0
            continue
        group = as_mapping(template.item.value, *template.path[:-1])
        total += max(as_int(group, "minReplicas") or 0, 0) * as_count(group, "numOfHosts")
    return total


_SCHEDULERS = {"YuniKorn": "yunikorn", **{choice: row.name for choice, row in SCHEDULERS.items()}}


@rule("operator-replaces-link", once=True)
def find_link_replaced(census: Census, settings: Settings) -> Matches:
    """With KubernetesWAS of what it manages itself; with another batch scheduler of all Ray pods."""
    manages = settings.kuberay.manages
    for template in census.templates if manages == "KubernetesWAS" or manages in _SCHEDULERS else ():
        item, link = template.item, template.link
        if link is None or item.group != "ray.io":
            continue
        if manages == "KubernetesWAS":
            own = f"{item.name}-cluster" if item.kind == "RayCluster" else "<cluster>-cluster"
            # Labelled, and not autoscaling; crons hand no label down.
            managed = item.kind != "RayCronJob" and _has_label(item) and not autoscales(item)
            is_replaced, case = managed and link.group != own, ""
        else:
            own, is_replaced, case = _SCHEDULERS[manages], not is_selected(item, settings), "scheduler"
        if is_replaced:
            yield tell(item, link.path, link.group, case=case, own=own, manages=manages)


@rule("operator-release")
def find_operator_release(census: Census, settings: Settings) -> Matches:
    """KubernetesWAS of KubeRay 1.7 runs with Kubernetes 1.36 only."""
    if settings.kuberay.manages != "KubernetesWAS":
        return
    version = settings.kuberay.version
    served = "v1alpha2" in settings.release.kinds.get("PodGroup", ())
    if version < (1, 7) or (version == (1, 7) and not served):
        for item, *_ in islice(list_clusters(census), 1):
            yield tell(item, ("apiVersion",), case="" if version == (1, 7) else "old", version=version)


@rule("operator-skips-autoscaling")
def find_autoscaling_unmanaged(census: Census, settings: Settings) -> Matches:
    if settings.kuberay.manages != "KubernetesWAS":
        return
    for item, _cluster, base in list_clusters(census):
        if item.kind != "RayCronJob" and _has_label(item) and autoscales(item):
            yield tell(item, (*base, "enableInTreeAutoscaling"), True)


def _has_label(item: Item) -> bool:
    return item.labels.get(KUBERAY_LABEL, "").lower() == "true"
