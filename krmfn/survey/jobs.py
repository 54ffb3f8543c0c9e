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
from krmfn.krm.item import Item, list_holding
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


def count_indexed(spec: Mapping[str, Any]) -> int:
    """The pods of a Job whose pods all run at once, each under its index: the ones that are a gang; 0 of others."""
    width = as_int(spec.get("parallelism")) or 0
    return width if spec.get("completionMode") == "Indexed" and as_int(spec.get("completions")) == width else 0


@once
def list_own_gangs(census: Census, settings: Settings) -> list[LinkedGang]:
    """The gangs that the Job controller makes, read as if their groups were there: of Jobs with `spec.scheduling`, and
    in 1.36 of all that are Indexed and run at once. Of Jobs that neither link to a group nor have another controller,
    which matters no more from 1.38 on; none while the gate is said to be off."""
    gate = settings.release.features.get("job-scheduling")
    unasked = gate is None and settings.has("job-groups")
    if not unasked and (gate is None or settings.feature_gates.get(gate) is False):
        return []
    owned = settings.release.has("owned-job-scheduling")
    found: list[LinkedGang] = []
    for item in (item for kind in (_KINDS if owned else (("batch", "Job"),)) for item in census.kind(*kind)):
        for template in census.templates_of(item):
            jobs = find_jobs(template)
            job = as_mapping(dig(item.value, *jobs.path)) if jobs else {}
            spec = {"schedulingPolicy": {"gang": {}}} if unasked else as_mapping(job.get("scheduling"))
            policy, quorum, field = read_policy(spec.get("schedulingPolicy"), "PodGroup")
            elsewhere = as_text(job.get("managedBy")) not in ("", KINDS["batch", "Job"].manager)
            if not jobs or policy != "gang" or template.link or elsewhere:
                continue
            parallelism = as_int(job.get("parallelism"))
            parallelism = 1 if parallelism is None else parallelism
            quorum = parallelism if quorum is None else quorum
            if quorum > parallelism or (unasked and count_indexed(job) < 2):
                continue  # the API server refuses it
            path = jobs.path if unasked else (*jobs.path, "scheduling", "schedulingPolicy")
            place = path if unasked else (*path, "gang", field)
            within = path if unasked else path[:-1]
            group = Group(item, item.space, item.name, within, policy, quorum, place, "", "", "", spec)
            found.append(LinkedGang(group, (template,)))
    return found


def add_own_groups(items: Sequence[Item], settings: Settings) -> list[Item]:
    """The items and, for each gang that the Job controller makes, a PodGroup; the Job, in its place, links to it, as
    the controller links its pods. Several Jobs of one template are left as they are."""
    from krmfn.survey.counting import count_all

    if not list_holding(items, b"parallelism"):
        return [*items]
    census, release = count_all(items, settings), settings.release
    made: dict[int, Item] = {}
    groups, owners = [], list[Item]()
    for gang in list_own_gangs(census, settings):
        template, job = gang.templates[0], gang.group.item
        jobs = find_jobs(template)
        if jobs and jobs.number == 1 and "PodGroup" in release.kinds:
            name = f"{job.name}-pgt-{sum(each is job for each in owners)}"
            owners.append(job)
            linked = made.setdefault(id(job), Item.hold(deepcopy(dict(job.value)), job.file))
            linked.set((*template.spec_path, *release.link), name)
            linked.remove((*jobs.path, "scheduling"))
            own = {"schedulingPolicy": {"gang": {release.call("minCount"): gang.group.quorum}}}
            owner = {"apiVersion": job.api_version, "kind": job.kind, "name": job.name, "uid": "-", "controller": True}
            space = {"namespace": job.namespace} if job.namespace else {}
            metadata = {"name": name, **space, "ownerReferences": [owner]}
            head = {"apiVersion": release.api_version("PodGroup"), "kind": "PodGroup", "metadata": metadata}
            groups.append(Item.hold({**head, "spec": {**gang.group.spec, **own}}))
    return [*(made.get(id(item), item) for item in items), *groups]
