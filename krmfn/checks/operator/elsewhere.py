"""Gangs whose pods are in another cluster, or in a Ray cluster that runs already, while their group is here.

Source: Kueue v0.19.2 pkg/controller/jobframework/defaults.go (managedBy is written where a check of the ClusterQueue is
MultiKueue's), pkg/controller/admissionchecks/multikueue; KubeRay v1.7.0 controllers/ray/rayjob_controller.go.
"""

from __future__ import annotations

from krmfn.capacity.pods import find_queue
from krmfn.checks.operator.ray import list_jobs
from krmfn.checks.rule import Matches, rule, tell
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.kinds import find_kind
from krmfn.model.marks import KUEUE_QUEUE
from krmfn.model.tree import Path
from krmfn.model.values import as_list, as_text, dig
from krmfn.survey.census import Census

_KUEUE = "kueue.x-k8s.io"
_MULTIKUEUE = "kueue.x-k8s.io/multikueue"


@rule("gang-elsewhere")
def find_gang_elsewhere(census: Census) -> Matches:
    for gang in census.gangs:
        for owner in gang.owners:
            manager, path = _find_manager(owner, census)
            if manager:
                yield tell(owner, path, manager, case="multikueue" if manager == _MULTIKUEUE else "", gang=gang)


def _find_manager(owner: Item, census: Census) -> tuple[str, Path]:
    """The controller that an object is handed to, and the field that says so. MultiKueue, where the queue of an object
    has a check of it: Kueue then writes managedBy into the object."""
    kind, queue = find_kind(owner.ref), find_queue(owner, census.facts)
    if kind is None or not kind.managed_by:
        return "", ()
    manager = as_text(owner.value, *kind.managed_by)
    if manager not in ("", kind.manager):
        return manager, kind.managed_by
    strategy = as_list(queue, "spec", "admissionChecksStrategy", "admissionChecks")
    names = [*as_list(queue, "spec", "admissionChecks"), *(dig(entry, "name") for entry in strategy)]
    checks = census.facts.by_name(_KUEUE, "AdmissionCheck")
    if any(dig(checks.get(as_text(each)), "spec", "controllerName") == _MULTIKUEUE for each in names):
        return _MULTIKUEUE, ("metadata", "labels", KUEUE_QUEUE)
    return "", ()


@rule("ray-cluster-unused")
def find_ray_cluster_unused(census: Census, settings: Settings) -> Matches:
    for item, base in list_jobs(census):
        if not dig(item.value, *base, "clusterSelector"):
            continue
        link = (*base, "submitterPodTemplate", "spec", *settings.release.link)
        names = {each.link.group: each.link.path for each in census.templates_of(item) if each.link}
        name, path = next(iter(names.items()), (as_text(item.value, *link), link))
        group = census.groups.get((item.space, name))
        if name and (names or (group is not None and (group.quorum or 1) > 1)):
            yield tell(item, path, name, kind=item.kind)
