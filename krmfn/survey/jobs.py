"""The Jobs behind pod templates: where their spec is, how many pods each has at once and in all, how many there are.
Groups of a LeaderWorkerSet count as Jobs do. And the gangs that the Job controller makes itself.

Source: the Job controller (job_scheduling_manager.go of Kubernetes 1.37: a gang without minCount is as large as the
parallelism), JobSet's constructJobsFromTemplate, the StatefulSets of LeaderWorkerSet.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import NamedTuple

from krmfn.config.settings import Settings
from krmfn.krm.item import Item, Items, list_holding
from krmfn.krm.paths import Path
from krmfn.krm.results import ResourceRef
from krmfn.model.kinds import KINDS
from krmfn.model.marks import KUEUE_QUEUE, POD_GROUP, POD_GROUP_BY
from krmfn.model.values import Value, as_count, as_int, as_mapping, as_text, dig
from krmfn.releases.release import GROUP
from krmfn.releases.spelling import list_words
from krmfn.survey.census import Census, LinkedGang, Template, once
from krmfn.survey.groups import Group, Workload, read_policy

#: By which Jobs name the template of their group, and the Workload that it is in.
TEMPLATE_ANNOTATION = "scheduling.k8s.io/group-template-name"
WORKLOAD_ANNOTATION = "scheduling.k8s.io/workload-name"
#: Where a true value says that there are no pods.
SUSPENDED = (("spec", "suspend"), ("spec", "runPolicy", "suspend"))
#: The kinds that make Jobs, each with the place of the labels by which Kueue finds its queue.
_KINDS = {
    ("batch", "Job"): ("metadata", "labels"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "metadata", "labels"),
    ("jobset.x-k8s.io", "JobSet"): ("metadata", "labels"),
}


class Jobs(NamedTuple):
    """Jobs alike: the `path` of their spec, how many pods each has at once (`parallel`) and in all (`completions`), and
    how many there are (`number`, None where that is not known). `labels` is where the label of a queue may be."""

    path: Path
    parallel: int
    completions: int
    number: int | None
    labels: Path


def find_jobs(template: Template) -> Jobs | None:
    """The Jobs that the pods of a template are of; None where they are of none."""
    ref, path = template.item.ref, template.path
    if ref.kind == "AppWrapper":
        wrapped = dig(template.item.value, *path[:4])
        ref = ResourceRef(as_text(wrapped, "apiVersion"), as_text(wrapped, "kind"), "")
    if ref.group_kind not in _KINDS:
        return None
    spec = dig(template.item.value, *path[:-1])
    parallelism = as_count(spec, "parallelism")
    completions = as_count(spec, "completions", default=parallelism)
    parallel = min(parallelism, completions)
    if parallel < 1:
        return None
    number = None if template.pods is None else template.pods // parallel
    return Jobs(path[:-1], parallel, completions, number, _KINDS[ref.group_kind])


def count_first(template: Template) -> int | None:
    """How many pods of a template of a JobSet or LeaderWorkerSet are the first of their Job; None for other kinds."""
    if template.path[-1] == "leaderTemplate":
        return template.pods
    if template.path[-1] == "workerTemplate":
        owner = dig(template.item.value, *template.path[:-1])
        if dig(owner, "leaderTemplate") is not None:
            return 0
        size = as_int(owner, "size") or 1
        return None if template.pods is None else template.pods // size
    jobs = find_jobs(template)
    return jobs.number if jobs else None


def is_suspended(item: Item) -> bool:
    """Whether an object makes no pods until somebody resumes it."""
    return any(dig(item.value, *path) is True for path in SUSPENDED)


def count_indexed(spec: Value) -> int:
    """The pods of a Job whose pods all run at once, each under its index: the ones that are a gang; 0 of others."""
    width = as_int(spec, "parallelism") or 0
    return width if spec.get("completionMode") == "Indexed" and as_int(spec, "completions") == width else 0


class Delegation(NamedTuple):
    """The template of a Workload that Jobs name as that of their group, by `annotations`, which are at `place`. Until
    1.38 `workload` is the one whose controllerRef is the parent of the Jobs; from then on they name it. `templates` are
    those at its top."""

    place: Path
    annotations: Value
    workload: Workload | None
    templates: Mapping[str, Value]


def read_delegation(census: Census, settings: Settings, template: Template) -> Delegation | None:
    """What the Jobs of a template delegate, where they do."""
    jobs, item = find_jobs(template), template.item
    place = (*jobs.path[:-1], "metadata", "annotations") if jobs else ()
    notes = as_mapping(item.value, *place) if jobs else {}
    named = settings.release.has("named-delegation")
    if not notes.get(TEMPLATE_ANNOTATION) and not (named and WORKLOAD_ANNOTATION in notes):
        return None
    if not named and item.kind != "JobSet":
        return None
    wanted = as_text(notes.get(WORKLOAD_ANNOTATION)) if named else (*item.group_kind, item.name)
    known = (each for each in census.workloads.values() if each.namespace == item.space)
    workload = next((each for each in known if wanted == (each.name if named else each.controller)), None)
    words = list_words(("podGroupTemplates",))
    every = workload.templates.items() if workload else ()
    return Delegation(place, notes, workload, {name: spec for name, (path, spec) in every if path[1] in words})


@once
def list_own_gangs(census: Census, settings: Settings) -> list[LinkedGang]:
    """The gangs that the Job controller makes, read as if their groups were there: of Jobs with `spec.scheduling`, and
    in 1.36 of all that are Indexed and run at once, and those whose template Jobs name. Of Jobs that do not link to a
    group; until 1.38 of those without a controller of their own. None while the gate is said to be off."""
    gate = settings.release.features.get("job-scheduling")
    if settings.feature_gates.get(gate) is False if gate else not settings.has("job-groups"):
        return []
    found = []
    word = b"scheduling" if settings.release.has("job-scheduling") else b"Indexed"  # what such Jobs have somewhere
    for item in (item for kind in _KINDS for item in list_holding(census.kind(*kind), word)):
        for template in census.templates_of(item):
            jobs = find_jobs(template)
            job = as_mapping(item.value, *jobs.path) if jobs else {}
            if not jobs or template.link or as_text(job, "managedBy") not in ("", KINDS["batch", "Job"].manager):
                continue
            spec, path = _find_own(census, settings, template)
            policy, quorum, field = read_policy(spec.get("schedulingPolicy"), "PodGroup")
            width = as_count(job, "parallelism")
            quorum = width if quorum is None else quorum
            if policy == "gang" and quorum <= width:  # the API server refuses more
                place = (*path, "schedulingPolicy", "gang", field) if path[-1] == "scheduling" else path
                group = Group(item, item.space, item.name, path, policy, quorum, place, "", "", "", spec)
                found.append(LinkedGang(group, (template,)))
    return found


def _find_own(census: Census, settings: Settings, template: Template) -> tuple[Value, Path]:
    """The spec of the group that the Job controller makes for Jobs, and where it comes from; empty where none."""
    item, path, release = template.item, template.path[:-1], settings.release
    if not release.has("job-scheduling"):
        gang = item.kind == "Job" and count_indexed(as_mapping(item.value, *path)) > 1
        return ({"schedulingPolicy": {"gang": {}}} if gang else {}), path
    if delegation := read_delegation(census, settings, template):
        name = as_text(delegation.annotations.get(TEMPLATE_ANNOTATION))
        if is_suspended(item) or KUEUE_QUEUE in item.labels or name not in delegation.templates:
            return {}, ()
        reference, entry = release.template
        workload = delegation.workload.name if delegation.workload else ""
        return {**delegation.templates[name], reference: {"workloadName": workload, entry: name}}, delegation.place
    own = item.kind == "Job" or release.has("owned-job-scheduling")
    return (as_mapping(item.value, *path, "scheduling") if own else {}), (*path, "scheduling")


def add_own_groups(items: Items, settings: Settings) -> list[Item]:
    """The items and, for each gang that the Job controller makes, a PodGroup; the Job, in its place, links to it, as
    the controller links its pods. Several Jobs of one template are told apart as the link bridge does it, by the label
    with their number."""
    from krmfn.survey.counting import count_all

    some = [item for item in items if item.group_kind in (*_KINDS, (GROUP, "Workload"))]
    census, release = count_all(some, settings), settings.release
    made: dict[int, Item] = {}
    groups = []
    for number, gang in enumerate(list_own_gangs(census, settings)):
        template, job = gang.templates[0], gang.group.item
        jobs, (index, *_) = find_jobs(template), KINDS[job.group_kind].templates[0].index_labels or ("",)
        if not jobs or not jobs.number or (jobs.number > 1 and not index):
            continue
        name = f"{job.name}-pgt-{number}"
        linked = made.setdefault(id(job), Item.hold(deepcopy(dict(job.value)), job.file))
        linked.remove((*jobs.path, "scheduling"))
        names = [name]
        if jobs.number > 1:
            linked.set((*template.path, "metadata", "annotations"), {POD_GROUP: name, POD_GROUP_BY: index})
            names = [f"{name}-{number}" for number in range(jobs.number)]
        else:
            linked.set((*template.spec_path, *release.link), name)
        policy = {"schedulingPolicy": {"gang": {release.call("minCount"): gang.group.quorum}}}
        spec = {key: value for key, value in gang.group.spec.items() if key != "name"} | policy
        owner = {"apiVersion": job.api_version, "kind": job.kind, "name": job.name, "uid": "-", "controller": True}
        space = {"namespace": job.namespace} if job.namespace else {}
        head = {"apiVersion": release.api_version("PodGroup"), "kind": "PodGroup", "spec": spec}
        metas = ({"name": each, **space, "ownerReferences": [owner]} for each in names)
        groups += [Item.hold({**head, "metadata": metadata}) for metadata in metas]
    return [*(made.get(id(item), item) for item in items), *groups]
