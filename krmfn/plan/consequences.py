"""What a planned action means for running pods, and which names have to change with it.

Source: observations on Kubernetes 1.37 (finalizer of PodGroups, none on Workloads). The data of a release says which
kinds have one.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.scheduler.reuse import describe, find_steps, is_recreated
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT
from krmfn.plan.records import Change, JoinedField
from krmfn.releases.release import GROUP, Release
from krmfn.releases.spelling import COUNTS, LINK_FIELDS, find_finalizer
from krmfn.survey.census import Census

#: What a change of a field does that describes the cluster of another resource.
_OF_CLUSTERS = {
    ("ray.io", "RayService"): (
        "rayClusterConfig",
        "KubeRay may build a second cluster beside the running one; both gangs need room at the same time.",
    ),
    ("ray.io", "RayJob"): (
        "rayClusterSpec",
        "A running RayJob ignores changes of rayClusterSpec; they apply to its next cluster.",
    ),
}


def explain_replacement(item: Item, census: Census, release: Release) -> Iterator[str]:
    """What deleting `item` and making it anew does."""
    finalizer = find_finalizer(item.kind, release) if item.group == GROUP else ""
    if item.group == GROUP and item.kind == "PodGroup":
        yield (
            f"The finalizer {finalizer} delays the deletion while pods of the group run; until then a group of "
            "this name cannot be created (HTTP 409). Give the group a new name."
        )
        if any(owner.kind == "Job" for gang in census.gangs if gang.group.item is item for owner in gang.owners):
            yield "The link in a Job's template cannot change either: replace the Job as well, under a new name."
        if item.labels.get("app.kubernetes.io/managed-by") == "krmfn":
            yield "naming: Revisioned (annotation krmfn.dev/naming) gives a generated group a new name by itself."
    elif finalizer:
        yield (
            f"The finalizer {finalizer} delays the deletion while child groups name it as their parent; until then a "
            f"{item.kind} of this name cannot be created (HTTP 409). Give it and its children new names."
        )
    elif item.group == GROUP and item.kind == "CompositePodGroup":
        yield (
            "The CompositePodGroup has no finalizer and is deleted at once. Running pods stay; new pods of its "
            "child groups wait until it is created again. Give it a new name to avoid the gap."
        )
    elif item.group == GROUP:
        yield "The scheduler does not read Workloads: deleting and creating it does not touch pods."
    elif item.group_kind == ("batch", "Job"):
        yield "The Job is deleted with its pods and starts from the beginning."
    else:
        yield f"The {item.kind} is deleted with its pods and created again."


def explain_update(item: Item, changes: tuple[Change, ...], census: Census) -> Iterator[str]:
    """What an update in place does beyond the obvious."""
    paths = [change.path for change in changes]
    counts = {path[-1] for path in paths if path and path[-1] in COUNTS["PodGroup"]}
    if item.group == GROUP and counts:
        field = min(map(str, counts))
        yield f"The new {field} applies from the next scheduling attempt; running pods are not affected."
    links = any(not LINK_FIELDS.isdisjoint(path) for path in paths)
    step = find_steps(census).get(id(item))
    if step is not None:
        told = describe(step)
        yield f"{told.message[0].upper()}{told.message[1:]}. {told.hint}"
    unlinked = any(change.path[-1] in LINK_FIELDS and change.new is ABSENT for change in changes)
    if item.group == "ray.io" and is_recreated(item):
        if any("template" in path for path in paths):
            yield "KubeRay deletes all pods and creates them again (upgradeStrategy Recreate)."
    elif unlinked and not any(template.link for template in census.templates_of(item)):
        yield "Running pods stay members of their group; pods created from now on are scheduled one by one."
    elif step is None and links and item.group == "ray.io" and item.kind == "RayCluster":
        yield (
            "Running pods keep their group; only new pods get the new link, so the gang is mixed until all pods "
            "are created again."
        )
    field, consequence = _OF_CLUSTERS.get(item.group_kind, ("", ""))
    if any(path[:2] == ("spec", field) for path in paths):
        yield consequence
    lost = {t.link.group for t in census.dangling if t.item is item and t.link and t.link.by}
    if lost:
        groups = f"PodGroup{'' if len(lost) == 1 else 's'} {', '.join(sorted(lost))}"
        yield f"There is no {groups}: the pods of such a replica are never scheduled. krmfn generate writes it."
    if item.group == "apps" and links and step is None:
        yield "Pods are replaced in a rollout; meanwhile old and new pods are in different groups."


def explain_removal(item: Item, census: Census, release: Release) -> Iterator[str]:
    """What it means that `item`, an object of the old state, is gone. `census` is the new state's."""
    if item.group != GROUP:
        return
    finalizer = find_finalizer(item.kind, release)
    if item.kind == "PodGroup":
        users = [t.item for t in census.dangling if t.link and (t.item.space, t.link.group) == item.key]
        if users:
            yield f"{users[0].kind} {users[0].name} still links to it: its new pods are never scheduled."
        if finalizer:
            yield f"The finalizer {finalizer} keeps it while pods of the group run."
    elif item.kind == "CompositePodGroup":
        orphans = [gang.group.name for gang in census.gangs if (gang.group.namespace, gang.group.parent) == item.key]
        if orphans:
            yield f"{orphans[0]} still names it as its parent: its new pods are never scheduled."
        if finalizer:
            yield f"The finalizer {finalizer} keeps it while child groups name it as their parent."


def list_renames(item: Item, census: Census) -> Iterator[JoinedField]:
    """The fields of the new state that hold the name of a group that has to get a new one, its own first."""
    if item.group != GROUP or item.kind not in ("PodGroup", "CompositePodGroup"):
        return
    yield _place(item, ("metadata", "name"))
    for gang in census.gangs:
        if gang.group.item is item:
            yield from (_place(template.item, template.link.path) for template in gang.templates if template.link)
    if item.kind == "CompositePodGroup":
        groups = (*(gang.group for gang in census.gangs), *census.composites.values())
        for child in {id(group.item): group for group in groups}.values():
            if (child.namespace, child.parent) == item.key:
                yield _place(child.item, ("spec", "parentCompositePodGroupName"))


def _place(item: Item, path: Path) -> JoinedField:
    return JoinedField(item.ref, path, item.locate(path))
