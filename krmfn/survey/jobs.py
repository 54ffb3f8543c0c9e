"""The Jobs behind pod templates: where their spec is, how many there are, and how many pods each has. Also the gangs
that the Job controller creates itself.

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

#: The annotations by which Jobs name the template of their group, and the Workload that has the template.
TEMPLATE_ANNOTATION = "scheduling.k8s.io/group-template-name"
WORKLOAD_ANNOTATION = "scheduling.k8s.io/workload-name"
#: The fields that suspend an object if they are true: it has no pods.
SUSPENDED = (("spec", "suspend"), ("spec", "runPolicy", "suspend"))
#: The kinds that make Jobs, each with the place of the labels by which Kueue finds its queue.
_KINDS = {
    ("batch", "Job"): ("metadata", "labels"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "metadata", "labels"),
    ("jobset.x-k8s.io", "JobSet"): ("metadata", "labels"),
}


class Jobs(NamedTuple):
    """Equal Jobs: the `path` of their spec, how many pods each has at once (`parallel`) and in all (`completions`), and
    how many Jobs there are (`number`, None if unknown). `labels` is the path of the labels that may name a queue."""

    path: Path
    parallel: int
    completions: int
    number: int | None
    labels: Path


def find_jobs(template: Template) -> Jobs | None:
    """The Jobs that create the pods of a template; None where no Job does, or where it has no pods."""
    ref, path = template.item.ref, template.path
    if ref.kind == "AppWrapper":
        wrapped = dig(template.item.value, *path[:4])  # spec.components[0].template
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
    """How many pods of a template are the first of their Job or LeaderWorkerSet group; None if that is unknown."""
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
    """Whether an object creates no pods until somebody resumes it."""
    return any(dig(item.value, *path) is True for path in SUSPENDED)


def count_indexed(spec: Value) -> int:
    """How many pods an Indexed Job has if all run at once, which makes them a gang; 0 for other Jobs."""
    width = as_int(spec, "parallelism") or 0
    return width if spec.get("completionMode") == "Indexed" and as_int(spec, "completions") == width else 0


class Delegation(NamedTuple):
    """Jobs that name a template of a Workload as that of their group, by the `annotations` at `place`. The `workload`
    is the one whose controllerRef is the parent of the Jobs; from 1.38 on, the one that they name. `templates` are
    those at its top."""

    place: Path
    annotations: Value
    workload: Workload | None
    templates: Mapping[str, Value]


def read_delegation(census: Census, settings: Settings, template: Template) -> Delegation | None:
    """How the Jobs of a template name the template of their group; None where they do not."""
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
    """The gangs that the Job controller creates, read as if their groups were in the input; none while the gate is
    off. They are those of Jobs with `spec.scheduling` and of Jobs that name the template of their group; in 1.36, of
    all Indexed Jobs whose pods run at once. A Job that links to a group, or has another controller, gets none."""
    release = settings.release
    if release.has("job-scheduling"):
        is_off = settings.feature_gates.get(release.features["job-scheduling"]) is False
        word = b"scheduling"  # such a Job has it somewhere
    else:
        is_off = not settings.has("job-groups")
        word = b"Indexed"
    if is_off:
        return []
    items = (item for kind in _KINDS for item in list_holding(census.kind(*kind), word))
    gangs = (_read_own_gang(census, settings, each) for item in items for each in census.templates_of(item))
    return [gang for gang in gangs if gang]


def _read_own_gang(census: Census, settings: Settings, template: Template) -> LinkedGang | None:
    """The gang that the Job controller creates for the pods of a template; None if it creates none."""
    item, jobs = template.item, find_jobs(template)
    if not jobs or template.link:
        return None
    job = as_mapping(item.value, *jobs.path)
    if as_text(job, "managedBy") not in ("", KINDS["batch", "Job"].manager):
        return None
    spec, path = _find_own_spec(census, settings, template)
    policy, quorum, field = read_policy(spec.get("schedulingPolicy"), "PodGroup")
    width = as_count(job, "parallelism")
    quorum = width if quorum is None else quorum
    if policy != "gang" or quorum > width:  # the API server refuses more
        return None
    place = (*path, "schedulingPolicy", "gang", field) if path[-1] == "scheduling" else path
    group = Group(item, item.space, item.name, path, policy, quorum, place, "", "", "", spec)
    return LinkedGang(group, (template,))


def _find_own_spec(census: Census, settings: Settings, template: Template) -> tuple[Value, Path]:
    """The spec of the group that the Job controller creates, empty if it creates none, and the path of its source."""
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
    """The items, and the PodGroups that the Job controller creates. Each Job is replaced by a copy that links to its
    PodGroup, as the controller links the pods; of several Jobs, pods find theirs as those of the link bridge do."""
    from krmfn.survey.counting import count_all

    some = [item for item in items if item.group_kind in (*_KINDS, (GROUP, "Workload"))]
    census = count_all(some, settings)
    copies: dict[int, Item] = {}
    groups: list[Item] = []
    for number, gang in enumerate(list_own_gangs(census, settings)):
        template, job = gang.templates[0], gang.group.item
        jobs, labels = find_jobs(template), KINDS[job.group_kind].templates[0].index_labels
        if not jobs or not jobs.number or (jobs.number > 1 and not labels):
            continue
        name = f"{job.name}-pgt-{number}"
        linked = copies.setdefault(id(job), Item.hold(deepcopy(dict(job.value)), job.file))
        linked.remove((*jobs.path, "scheduling"))
        if jobs.number > 1:
            linked.set((*template.path, "metadata", "annotations"), {POD_GROUP: name, POD_GROUP_BY: labels[0]})
            groups += [_make_group(f"{name}-{index}", gang.group, settings) for index in range(jobs.number)]
        else:
            linked.set((*template.spec_path, *settings.release.link), name)
            groups.append(_make_group(name, gang.group, settings))
    return [*(copies.get(id(item), item) for item in items), *groups]


def _make_group(name: str, group: Group, settings: Settings) -> Item:
    """A PodGroup as the Job controller creates it for a Job."""
    job, release = group.item, settings.release
    policy = {"schedulingPolicy": {"gang": {release.call("minCount"): group.quorum}}}
    spec = {key: value for key, value in group.spec.items() if key != "name"} | policy
    owner = {"apiVersion": job.api_version, "kind": job.kind, "name": job.name, "uid": "-", "controller": True}
    space = {"namespace": job.namespace} if job.namespace else {}
    metadata = {"name": name, **space, "ownerReferences": [owner]}
    version = release.api_version("PodGroup")
    return Item.hold({"apiVersion": version, "kind": "PodGroup", "spec": spec, "metadata": metadata})
