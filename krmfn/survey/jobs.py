"""The Jobs behind pod templates: where their spec is, how many pods each has at once and in all, how many there are.
Groups of a LeaderWorkerSet count as Jobs do. And the gangs that the Job controller makes itself.

Source: the Job controller (job_scheduling_manager.go of Kubernetes 1.37: a gang without minCount is as large as the
parallelism), JobSet's constructJobsFromTemplate, the StatefulSets of LeaderWorkerSet.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from krmfn.config.settings import Settings
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.krm.results import ResourceRef
from krmfn.model.kinds import KINDS
from krmfn.model.values import as_int, as_mapping, as_text, dig
from krmfn.survey.census import Census, LinkedGang, Template, once
from krmfn.survey.groups import Group, read_policy

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


@once
def list_own_gangs(census: Census, settings: Settings) -> list[LinkedGang]:
    """The gangs of Jobs with `spec.scheduling`, read as if their groups were there: of Jobs that neither link to a
    group nor have another controller; none while the gate is said to be off."""
    gate = settings.release.features.get("job-scheduling")
    if gate is None or settings.feature_gates.get(gate) is False:
        return []
    found: list[LinkedGang] = []
    for job in census.kind("batch", "Job"):
        spec = as_mapping(dig(job.value, "spec", "scheduling"))
        if not spec:
            continue
        path = ("spec", "scheduling", "schedulingPolicy")
        policy, quorum, field = read_policy(spec.get("schedulingPolicy"), "PodGroup")
        templates = census.templates_of(job)
        manager = as_text(dig(job.value, "spec", "managedBy"))
        if policy != "gang" or not templates or templates[0].link or manager not in ("", KINDS["batch", "Job"].manager):
            continue
        parallelism = as_int(dig(job.value, "spec", "parallelism"))
        parallelism = 1 if parallelism is None else parallelism
        quorum = parallelism if quorum is None else quorum
        if quorum > parallelism:
            continue  # the API server refuses it
        place = (*path, "gang", field)
        group = Group(job, job.space, job.name, path[:2], policy, quorum, place, "", "", "", spec)
        found.append(LinkedGang(group, tuple(templates)))
    return found
