"""The Jobs behind pod templates: where their spec is, how many pods each has at once and in all, how many there are.
Groups of a LeaderWorkerSet count as Jobs do. And the gangs that the Job controller makes itself.

Source: the Job controller (job_scheduling_manager.go of Kubernetes 1.37: a gang without minCount is as large as the
parallelism), JobSet's constructJobsFromTemplate, the StatefulSets of LeaderWorkerSet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, NamedTuple

from krmfn.config.settings import Settings
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.krm.results import ResourceRef
from krmfn.model.kinds import KINDS
from krmfn.model.marks import KUEUE_QUEUE, POD_GROUP, POD_GROUP_BY
from krmfn.model.values import as_int, as_mapping, as_text, dig
from krmfn.releases.spelling import list_words
from krmfn.survey.census import Census, LinkedGang, Template, once
from krmfn.survey.groups import Group, Workload, read_policy

#: By which Jobs name the template of their group, and the Workload that it is in.
TEMPLATE_ANNOTATION: Final = "scheduling.k8s.io/group-template-name"
WORKLOAD_ANNOTATION: Final = "scheduling.k8s.io/workload-name"
#: Where a true value says that there are no pods.
SUSPENDED: Final = (("spec", "suspend"), ("spec", "runPolicy", "suspend"))
#: The kinds that make Jobs, each with the place of the labels by which Kueue finds its queue.
_KINDS: Final = {
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
        ref = ResourceRef(as_text(dig(wrapped, "apiVersion")), as_text(dig(wrapped, "kind")), "")
    if (ref.group, ref.kind) not in _KINDS:
        return None
    spec = dig(template.item.value, *path[:-1])
    parallelism = as_int(dig(spec, "parallelism"))
    parallelism = 1 if parallelism is None else parallelism
    completions = as_int(dig(spec, "completions"))
    completions = parallelism if completions is None else completions
    parallel = min(parallelism, completions)
    if parallel < 1:
        return None
    number = None if template.pods is None else template.pods // parallel
    return Jobs(path[:-1], parallel, completions, number, _KINDS[ref.group, ref.kind])


def count_first(template: Template) -> int | None:
    """How many pods of a template of a JobSet or LeaderWorkerSet are the first of their Job; None for other kinds."""
    if template.path[-1] == "leaderTemplate":
        return template.pods
    if template.path[-1] == "workerTemplate":
        owner = dig(template.item.value, *template.path[:-1])
        if dig(owner, "leaderTemplate") is not None:
            return 0
        size = as_int(dig(owner, "size")) or 1
        return None if template.pods is None else template.pods // size
    jobs = find_jobs(template)
    return jobs.number if jobs else None


def is_suspended(item: Item) -> bool:
    """Whether an object makes no pods until somebody resumes it."""
    return any(dig(item.value, *path) is True for path in SUSPENDED)


def count_indexed(spec: Mapping[str, Any]) -> int:
    """The pods of a Job whose pods all run at once, each under its index: the ones that are a gang; 0 of others."""
    width = as_int(spec.get("parallelism")) or 0
    return width if spec.get("completionMode") == "Indexed" and as_int(spec.get("completions")) == width else 0


class Delegation(NamedTuple):
    """The template of a Workload that Jobs name as that of their group: by `annotations`, which are at `place`. Until
    1.38 `workload` is the one whose controllerRef is the parent of the Jobs; from then on they name it."""

    place: Path
    annotations: Mapping[str, Any]
    workload: Workload | None

    @property
    def templates(self) -> dict[str, Mapping[str, Any]]:
        """What can be named: templates at the top of the Workload, by their names."""
        words = list_words(("podGroupTemplates",))
        known = self.workload.templates.items() if self.workload else ()
        return {name: spec for name, (path, spec) in known if path[1] in words}


def read_delegation(census: Census, settings: Settings, template: Template) -> Delegation | None:
    """What the Jobs of a template delegate, where they do."""
    jobs, item = find_jobs(template), template.item
    place = (*jobs.path[:-1], "metadata", "annotations") if jobs else ()
    notes = as_mapping(dig(item.value, *place)) if jobs else {}
    if settings.release.has("named-delegation"):
        workload = census.workloads.get((item.space, as_text(notes.get(WORKLOAD_ANNOTATION))))
        return Delegation(place, notes, workload) if {TEMPLATE_ANNOTATION, WORKLOAD_ANNOTATION} & {*notes} else None
    if not notes.get(TEMPLATE_ANNOTATION) or item.kind != "JobSet":
        return None
    wanted = (item.ref.group, item.kind, item.name)
    mine = (each for each in census.workloads.values() if each.namespace == item.space and each.controller == wanted)
    return Delegation(place, notes, next(mine, None))


@once
def list_own_gangs(census: Census, settings: Settings) -> list[LinkedGang]:
    """The gangs that the Job controller makes, read as if their groups were there: of Jobs with `spec.scheduling`, and
    in 1.36 of all that are Indexed and run at once, and those whose template Jobs name. Of Jobs that do not link to a
    group; until 1.38 of those without a controller of their own. None while the gate is said to be off."""
    gate = settings.release.features.get("job-scheduling")
    unasked = gate is None and settings.has("job-groups")
    if not unasked and (gate is None or settings.feature_gates.get(gate) is False):
        return []
    found: list[LinkedGang] = []
    for item in (item for kind in _KINDS for item in census.kind(*kind)):
        for template in census.templates_of(item):
            jobs = find_jobs(template)
            job = as_mapping(dig(item.value, *jobs.path)) if jobs else {}
            elsewhere = as_text(job.get("managedBy")) not in ("", KINDS["batch", "Job"].manager)
            if jobs and not template.link and not elsewhere and (own := _find_own(census, settings, template, jobs)):
                spec, path = own
                policy, quorum, field = read_policy(spec.get("schedulingPolicy"), "PodGroup")
                parallelism = as_int(job.get("parallelism"))
                parallelism = 1 if parallelism is None else parallelism
                quorum = parallelism if quorum is None else quorum
                if policy == "gang" and quorum <= parallelism:  # the API server refuses more
                    place = (*path, "schedulingPolicy", "gang", field) if path[-1] == "scheduling" else path
                    group = Group(item, item.space, item.name, path, policy, quorum, place, "", "", "", spec)
                    found.append(LinkedGang(group, (template,)))
    return found


def _find_own(
    census: Census, settings: Settings, template: Template, jobs: Jobs
) -> tuple[Mapping[str, Any], Path] | None:
    """The spec of the group that the Job controller makes for Jobs, and where it comes from; None where it makes none
    or a basic one unasked."""
    item, job, release = template.item, as_mapping(dig(template.item.value, *jobs.path)), settings.release
    if not release.has("job-scheduling"):
        gang = item.kind == "Job" and count_indexed(job) > 1
        return ({"schedulingPolicy": {"gang": {}}}, jobs.path) if gang else None
    if delegation := read_delegation(census, settings, template):
        name = as_text(delegation.annotations.get(TEMPLATE_ANNOTATION))
        spec, workload = delegation.templates.get(name), delegation.workload
        if spec is None or workload is None or is_suspended(item) or KUEUE_QUEUE in item.labels:
            return None
        reference, entry = release.template
        return {**spec, reference: {"workloadName": workload.name, entry: name}}, delegation.place
    if item.kind != "Job" and not release.has("owned-job-scheduling"):
        return None
    path = (*jobs.path, "scheduling")
    return as_mapping(dig(item.value, *path)), path


def add_own_groups(items: Sequence[Item], settings: Settings, several: bool = False) -> list[Item]:
    """The items and, for each gang that the Job controller makes, a PodGroup; the Job, in its place, links to it, as
    the controller links its pods. `several` Jobs of one template are told apart by the link bridge's annotations, which
    is good enough for a picture; without it they are left as they are."""
    from krmfn.survey.counting import count_all

    census, release = count_all(items, settings), settings.release
    made: dict[int, Item] = {}
    groups: list[Item] = []
    for number, gang in enumerate(list_own_gangs(census, settings)):
        template, job = gang.templates[0], gang.group.item
        jobs, index = find_jobs(template), KINDS[job.ref.group, job.kind].templates[0].index_label
        if not jobs or not jobs.number or (jobs.number > 1 and not (several and index)):
            continue
        name = f"{job.name}-pgt-{number}"
        linked = made.setdefault(id(job), Item.hold(deepcopy(dict(job.value)), job.file))
        linked.remove((*jobs.path, "scheduling"))
        if jobs.number > 1:
            linked.set((*template.path, "metadata", "annotations"), {POD_GROUP: name, POD_GROUP_BY: index})
        else:
            linked.set((*template.spec_path, *release.link), name)
        policy = {"schedulingPolicy": {"gang": {release.call("minCount"): gang.group.quorum}}}
        spec = {key: value for key, value in gang.group.spec.items() if key != "name"} | policy
        owner = {"apiVersion": job.api_version, "kind": job.kind, "name": job.name, "uid": "-", "controller": True}
        space = {"namespace": job.namespace} if job.namespace else {}
        head = {"apiVersion": release.api_version("PodGroup"), "kind": "PodGroup", "spec": spec}
        for each in [f"{name}-{number}" for number in range(jobs.number)] if jobs.number > 1 else [name]:
            groups.append(Item.hold({**head, "metadata": {"name": each, **space, "ownerReferences": [owner]}}))
    return [*(made.get(id(item), item) for item in items), *groups]
