"""Gangs whose pods are in another cluster, or in a Ray cluster that runs already, while their group is here.

Source: Kueue v0.19.2 pkg/controller/jobframework/defaults.go (managedBy is written where a check of the ClusterQueue is
MultiKueue's), pkg/controller/admissionchecks/multikueue; KubeRay v1.7.0 controllers/ray/rayjob_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from krmfn.checks.rule import rule
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.findings import Finding
from krmfn.model.kinds import find_kind
from krmfn.model.marks import KUEUE_QUEUE
from krmfn.model.tree import Path
from krmfn.model.values import as_list, as_text, dig
from krmfn.survey.census import Census

_KUEUE: Final = "kueue.x-k8s.io"
_MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"


@rule("gang-elsewhere", "warning", "The pods of a gang are created in another cluster than its group.")
def find_gang_elsewhere(census: Census) -> Iterator[Finding]:
    for gang in census.gangs:
        for owner in gang.owners:
            manager, path = _find_manager(owner) or _find_dispatcher(owner, census) or ("", ())
            if not manager:
                continue
            group = gang.group.name
            message = (
                f"{manager} manages this {owner.kind}: no pods are created in this cluster, and the group {group} "
                "stays without pods"
            )
            hint = f"Remove {'.'.join(map(str, path))}, or the group {group} from this cluster."
            if manager == _MULTIKUEUE:
                message = (
                    f"MultiKueue creates the pods of this {owner.kind} in a worker cluster, and does not create the "
                    f"group {group} there: they wait for a group that has to exist there already"
                )
                hint = f"Add the group {group} to the worker clusters, and look there for what keeps it waiting."
            yield Finding(owner, path, message, manager, hint=hint)


def _find_manager(owner: Item) -> tuple[str, Path] | None:
    """The controller that an object is handed to, and the field that says so."""
    kind = find_kind(owner.ref.group, owner.kind)
    path = tuple(kind.managed_by.split("/")) if kind and kind.managed_by else ()
    manager = as_text(owner.value, *path) if path else ""
    return (manager, path) if kind and manager not in ("", kind.manager) else None


def _find_dispatcher(owner: Item, census: Census) -> tuple[str, Path] | None:
    """MultiKueue, where the queue of an object has a check of it: Kueue then writes managedBy into the object."""
    facts, kind = census.facts, find_kind(owner.ref.group, owner.kind)
    name = owner.labels.get(KUEUE_QUEUE, "")
    if not name or kind is None or not kind.managed_by:
        return None
    local = facts.by_place(_KUEUE, "LocalQueue").get((owner.space, name))
    queue = facts.by_name(_KUEUE, "ClusterQueue").get(as_text(local, "spec", "clusterQueue"))
    strategy = as_list(queue, "spec", "admissionChecksStrategy", "admissionChecks")
    names = [*as_list(queue, "spec", "admissionChecks"), *(dig(entry, "name") for entry in strategy)]
    checks = facts.by_name(_KUEUE, "AdmissionCheck")
    if any(dig(checks.get(as_text(each)), "spec", "controllerName") == _MULTIKUEUE for each in names):
        return _MULTIKUEUE, ("metadata", "labels", KUEUE_QUEUE)
    return None


@rule("ray-cluster-unused", "error", "A RayJob with clusterSelector has pods in a group that are never created.")
def find_ray_cluster_unused(census: Census, settings: Settings) -> Iterator[Finding]:
    for kind, base in (("RayJob", ("spec",)), ("RayCronJob", ("spec", "jobTemplate"))):
        for item in census.kind("ray.io", kind):
            if not dig(item.value, *base, "clusterSelector"):
                continue
            link = (*base, "submitterPodTemplate", "spec", *settings.release.link)
            names = {each.link.group: each.link.path for each in census.templates_of(item) if each.link}
            name, path = next(iter(names.items()), (as_text(item.value, *link), link))
            group = census.groups.get((item.space, name))
            if not name or (not names and (group is None or (group.quorum or 1) < 2)):
                continue
            message = (
                f"the {kind} runs in a RayCluster that exists already (clusterSelector), and KubeRay creates no "
                f"cluster for it: the group {name} never gets the pods that it waits for"
            )
            hint = "Remove clusterSelector, or the group and the links to it: the gang is that of the RayCluster."
            yield Finding(item, path, message, name, hint=hint)
