"""Ray resources whose pods are not what a group in Git counts: submitters, clean-up pods, autoscaled workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from krmfn.checks.rule import rule
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.findings import Finding
from krmfn.model.kinds import find_ray_cluster, list_names
from krmfn.model.tree import Path
from krmfn.model.values import as_int, as_list, as_mapping, as_text, dig
from krmfn.survey.census import Census, LinkedGang

#: KubeRay's port for metrics, where the head does not name one.
_METRICS: Final = 8080


@rule("ray-submitter-linked", "error", "The submitter of a RayJob is in the gang of the cluster for which it waits.")
def find_submitter_linked(census: Census, settings: Settings) -> Iterator[Finding]:
    for kind, base in (("RayJob", ("spec",)), ("RayCronJob", ("spec", "jobTemplate"))):
        for item in census.kind("ray.io", kind):
            path: Path = (*base, "submitterPodTemplate", "spec", *settings.release.link)
            name = as_text(item.value, *path)
            groups = {template.link.group for template in census.templates_of(item) if template.link}
            if name and name in groups:
                message = (
                    f"the submitter links to {name}, the group of the cluster that it waits for: the submitter is "
                    "created when the cluster is ready, so it must not be in the cluster's gang"
                )
                hint = f"Remove {settings.release.link[0]} from submitterPodTemplate."
                yield Finding(item, path, message, name, hint=hint)


@rule("ray-head-ports", "error", "Two ports of a Ray head get the same number in the service that KubeRay creates.")
def find_head_ports(census: Census) -> Iterator[Finding]:
    """The service gets the head's ports by name, and 8080 as `metrics` where no port has that name."""
    for item, cluster, base in list_clusters(census):
        place = ("headGroupSpec", "template", "spec", "containers", 0, "ports")
        ports: dict[str, tuple[int, int]] = {}
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
                message = (
                    f"KubeRay adds the port {number} to the head's service as {other}, too: the API server refuses the "
                    "service, and no pod is created"
                )
                hint = "Name it metrics, or use another port number." if other == "metrics" else "Keep one of the two."
                yield Finding(item, (*base, *place, index), message, number, hint=hint)
                break


@rule(
    "ray-cleanup-joins-gang",
    "warning",
    "The Redis cleanup pod of a Ray cluster becomes a member of the cluster's gang.",
)
def find_cleanup_joins(census: Census) -> Iterator[Finding]:
    """Redis fault tolerance: the clean-up pod is made from the head's template, link included."""
    for item, cluster, base in list_clusters(census):
        options = cluster.get("gcsFaultToleranceOptions")
        on = isinstance(options, dict) and dig(options, "backend") in (None, "redis")
        on = on or item.annotations.get("ray.io/ft-enabled", "").lower() == "true"
        head = (*base, "headGroupSpec", "template")
        template = next((one for one in census.templates_of(item) if one.path == head), None)
        if on and template is not None and template.link is not None and not template.link.bridged:
            message = (
                f"the Redis cleanup pod uses the head's template and joins the group {template.link.group}: alone "
                "it never reaches minCount, so the deletion of the cluster is delayed until its deadline"
            )
            hint = "Set ENABLE_GCS_FT_REDIS_CLEANUP=false on the operator, or accept the delay."
            yield Finding(item, template.link.path, message, hint=hint)


@rule("ray-autoscaler-below-gang", "warning", "The Ray autoscaler may leave fewer pods than minCount.")
def find_autoscaler_below(census: Census) -> Iterator[Finding]:
    for gang in census.gangs if census.has_text("enableInTreeAutoscaling") else ():
        lowest = _lowest(census, gang)
        if gang.group.quorum is not None and lowest is not None and gang.group.quorum > lowest:
            item = next(owner for owner in gang.owners if autoscales(owner))
            message = (
                f"{gang.group.counted} is {gang.group.quorum}, and the Ray autoscaler may scale {item.kind} "
                f"{item.name} down to {lowest} pods: a replaced pod is then never scheduled"
            )
            hint = f"Set {gang.group.counted} to {lowest} (min-count: MinReplicas), or raise minReplicas."
            yield Finding(gang.group.item, gang.group.quorum_path, message, gang.group.quorum, hint=hint)


@rule("ray-autoscaler-beyond-gang", "info", "Pods that the Ray autoscaler adds do not start together.")
def find_autoscaler_beyond(census: Census) -> Iterator[Finding]:
    for item, cluster, base in list_clusters(census):
        linked = [template for template in census.templates_of(item) if template.link]
        if not linked or not autoscales(item):
            continue
        for index, group in enumerate(as_list(cluster, "workerGroupSpecs")):
            least, most = as_int(group, "minReplicas") or 0, as_int(group, "maxReplicas")
            if most is None or most > least:
                path = (*base, "workerGroupSpecs", index, "maxReplicas")
                message = (
                    f"workers between minReplicas {least} and maxReplicas {'(none)' if most is None else most} are "
                    "outside the quorum of the gang: those that exist at the start are tried together with it, and "
                    "later ones are scheduled one by one"
                )
                hint = (
                    "If single workers are useful, ignore this finding. Otherwise set minReplicas equal to maxReplicas."
                )
                yield Finding(item, path, message, most, hint=hint)
                break


@rule("ray-retry-shares-group", "info", "All retries of a RayJob use one group.")
def find_retry_shares_group(census: Census) -> Iterator[Finding]:
    """RayJob retries and resumes make a new cluster while pods of the old one may still be terminating."""
    for gang, item in census.gangs_of("ray.io", "RayJob"):
        limit = as_int(item.value, "spec", "backoffLimit") or 0
        if limit > 0 and gang.group.policy == "gang":
            message = (
                f"a retry creates a new cluster in the same group {gang.group.name}; pods of the old cluster "
                "count while they terminate, so the new cluster may start incomplete"
            )
            hint = "Set backoffLimit: 0 and start a new RayJob instead, or accept this."
            yield Finding(item, ("spec", "backoffLimit"), message, limit, hint=hint)


def list_clusters(census: Census) -> Iterator[tuple[Item, dict[str, Any], Path]]:
    """Each Ray resource with its cluster, and where that is."""
    for kind in list_names("ray.io"):
        for item in census.kind("ray.io", kind):
            base = find_ray_cluster(kind)
            yield item, dict(as_mapping(item.value, *base)), base


def autoscales(item: Item) -> bool:
    """Whether the autoscaler changes the workers of a Ray resource."""
    base = find_ray_cluster(item.kind) if item.ref.group == "ray.io" else ()
    return bool(base) and dig(item.value, *base, "enableInTreeAutoscaling") is True


def _lowest(census: Census, gang: LinkedGang) -> int | None:
    """The fewest pods of a gang that autoscales: the head and minReplicas times hosts; None when nothing autoscales."""
    if not any(autoscales(owner) for owner in gang.owners):
        return None
    total = 0
    for template in gang.templates:
        if not autoscales(template.item) or template.path[-2] == "headGroupSpec":
            total += 1 if template.path[-2:-1] == ("headGroupSpec",) else template.pods or 0
            continue
        group = as_mapping(template.item.value, *template.path[:-1])
        hosts = as_int(group, "numOfHosts")
        total += max(as_int(group, "minReplicas") or 0, 0) * (1 if hosts is None else hosts)
    return total
