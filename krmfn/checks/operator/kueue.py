"""Kueue beside native groups: two systems that both decide when pods start."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import rule
from krmfn.checks.wording import name_all
from krmfn.config import Settings
from krmfn.krm.types import Final
from krmfn.model.findings import Finding
from krmfn.model.gotext import parse_int
from krmfn.model.marks import KUEUE_MINIMUM, KUEUE_QUEUE
from krmfn.model.tree import Path
from krmfn.model.values import as_mapping, dig
from krmfn.survey.census import Census
from krmfn.survey.jobs import find_jobs, is_suspended

#: Kinds of which Kueue makes several workloads (pkg/controller/jobs): the pods of a Deployment get no pod group.
_PARTS: Final = {"LeaderWorkerSet": "group by group", "Deployment": "pod by pod"}
_TOPOLOGY: Final = ("kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology")


@rule("kueue-partial-admission", "warning", "Kueue may admit fewer pods than minCount.")
def find_partial_admission(census: Census, _: Settings) -> Iterator[Finding]:
    """Kueue may lower parallelism, minCount stays."""
    for gang in census.gangs if census.has_text(KUEUE_MINIMUM) else ():
        for owner in gang.owners:
            if KUEUE_MINIMUM in owner.annotations and gang.group.quorum is not None:
                least = owner.annotations[KUEUE_MINIMUM]
                if (parse_int(least) or 0) >= gang.group.quorum:
                    continue
                message = (
                    f"Kueue may admit this {owner.kind} with {least} pods, but {gang.group.counted} of "
                    f"{gang.group.name} is {gang.group.quorum}: then no pod is ever scheduled"
                )
                hint = f"Set {gang.group.counted} to at most {least}, or remove the annotation."
                path = ("metadata", "annotations", KUEUE_MINIMUM)
                yield Finding(owner, path, message, least, hint=hint)


@rule("kueue-several-workloads", "warning", "One gang consists of several Kueue workloads.")
def find_several_workloads(census: Census, _: Settings) -> Iterator[Finding]:
    """One gang over objects that Kueue admits one by one."""
    for gang in census.gangs if census.has_text(KUEUE_QUEUE) else ():
        queued = [owner for owner in gang.owners if KUEUE_QUEUE in owner.labels]
        parts = [part for owner in queued if (part := _PARTS.get(owner.kind))]
        if gang.group.policy == "gang" and (gang.group.quorum or 0) > 1 and (len(queued) > 1 or parts):
            message = (
                f"Kueue admits {name_all(queued)} {parts[0] if len(queued) == 1 else 'one by one'}, but "
                "the gang waits for all pods: the admitted pods use quota without running"
            )
            hint = "Use one Kueue workload per gang."
            yield Finding(gang.group.item, gang.group.quorum_path, message, hint=hint)


@rule("kueue-topology-differs", "info", "Kueue and the group use different topology keys.")
def find_two_topologies(census: Census, _: Settings) -> Iterator[Finding]:
    for gang in census.gangs_with("schedulingConstraints"):
        key = gang.group.topology_key
        for template in gang.templates if key else ():
            annotations = as_mapping(template.metadata.get("annotations"))
            for name in _TOPOLOGY:
                other = annotations.get(name)
                if isinstance(other, str) and other != key:
                    message = (
                        f"Kueue places the pods by {other}, the PodGroup {gang.group.name} by {key}: the gang must "
                        "fit into the domain that Kueue chose, or it is never scheduled"
                    )
                    hint = "Use one label key in both places, or only one of them."
                    path = (*template.path, "metadata", "annotations", name)
                    yield Finding(template.item, path, message, other, hint=hint)


@rule("kueue-queue-unread", "warning", "The name of a Kueue queue stands where Kueue does not read it.")
def find_queue_unread(census: Census, _: Settings) -> Iterator[Finding]:
    for item in census.objects if census.has_text(KUEUE_QUEUE) else ():
        templates = census.templates_of(item)
        if KUEUE_QUEUE in item.labels or not templates:
            continue
        path: Path = (*templates[0].path, "metadata", "labels", KUEUE_QUEUE)
        said = "of a Job from its own label, not from that of its pods"
        if KUEUE_QUEUE in item.annotations:
            path, said = ("metadata", "annotations", KUEUE_QUEUE), "from a label, since v0.15 not from this annotation"
        elif (item.ref.group, item.kind) != ("batch", "Job") or not is_suspended(item) or not dig(item.value, *path):
            continue
        end = "nobody resumes it" if is_suspended(item) else "its pods start without a queue"
        hint = f"Move {KUEUE_QUEUE} to metadata.labels of the {item.kind}."
        yield Finding(item, path, f"Kueue reads the queue {said}: {end}", dig(item.value, *path), hint=hint)


@rule("kueue-minimum-refused", "error", "Kueue refuses a Job, because of the minimum for partial admission.")
def find_minimum_refused(census: Census, _: Settings) -> Iterator[Finding]:
    for job in census.kind("batch", "Job") if census.has_text(KUEUE_MINIMUM) else ():
        templates, least = census.templates_of(job), job.annotations.get(KUEUE_MINIMUM)
        jobs = find_jobs(templates[0]) if templates else None
        if least is None or jobs is None or 0 < (parse_int(least) or 0) < jobs.parallel:
            continue
        most = jobs.parallel - 1
        message = f"the minimum {least} is not below the number of pods, {jobs.parallel}: Kueue refuses the Job"
        if (parse_int(least) or 0) < 1:
            message = f"the minimum {least} is not a positive number: Kueue refuses the Job"
        hint = f"Write a number from 1 to {most}, or remove the annotation." if most else "Remove the annotation."
        yield Finding(job, ("metadata", "annotations", KUEUE_MINIMUM), message, least, hint=hint)
