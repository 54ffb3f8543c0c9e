"""What the Job controller does with the gate WorkloadWithJob, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from krmfn.checks.rule import rule
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.findings import Finding
from krmfn.model.kinds import KINDS
from krmfn.model.values import as_mapping, as_text, dig
from krmfn.releases.release import first_release
from krmfn.survey.census import Census
from krmfn.survey.jobs import TEMPLATE_ANNOTATION, count_indexed, find_jobs, read_delegation

#: `<job>-pgt-0` has to be a DNS label of 63 characters.
LONGEST_NAME: Final = 57


@rule(
    "job-scheduling-unused", "warning", "A Job sets both spec.scheduling and a link to a group.", needs="job-scheduling"
)
def find_scheduling_unused(census: Census) -> Iterator[Finding]:
    for job in census.kind("batch", "Job"):
        templates = census.templates_of(job)
        if "scheduling" in as_mapping(job.value, "spec") and templates and templates[0].link:
            name = templates[0].link.group
            message = (
                f"this field has no effect: the pods link to the PodGroup {name}, so the Job controller "
                "creates no group"
            )
            hint = "Remove spec.scheduling or the link. A later release will refuse both together."
            yield Finding(job, ("spec", "scheduling"), message, hint=hint)


@rule(
    "job-scheduling-ignored",
    "warning",
    "The field scheduling in a Job template of a CronJob or JobSet has no effect.",
    needs="job-scheduling",
    lacks="owned-job-scheduling",
)
def find_scheduling_ignored(census: Census, settings: Settings) -> Iterator[Finding]:
    for template in census.templates:
        jobs, item = find_jobs(template), template.item
        path = (*jobs.path, "scheduling") if jobs and item.kind in ("CronJob", "JobSet") else ()
        if path and dig(item.value, *path) is not None and read_delegation(census, settings, template) is None:
            message = (
                f"the Jobs of a {item.kind} have a controller, and the Job controller of {settings.release} creates "
                "groups only for Jobs without one: scheduling has no effect"
            )
            runs = ", with concurrencyPolicy: Forbid" if item.kind == "CronJob" else ""
            yield Finding(item, path, message, hint=f"Link the pod template to a group (krmfn generate){runs}.")


@rule(
    "job-gang-lost",
    "warning",
    "A Job that an earlier release starts as a gang starts pod by pod.",
    needs="job-scheduling",
)
def find_gang_lost(census: Census, settings: Settings) -> Iterator[Finding]:
    """A Job that a release with job-groups made a gang of by itself; one with job-scheduling does not."""
    if not settings.has("job-groups"):
        return
    for job in _root_jobs(census):
        spec = as_mapping(job.value, "spec")
        width = count_indexed(spec)
        if width > 1 and "scheduling" not in spec:
            message = (
                f"{first_release('job-groups')} creates a gang for {width} pods of this Job; {settings.release} "
                "creates a group with the policy basic, so the pods start one by one"
            )
            hint = "Add scheduling: {schedulingPolicy: {gang: {}}} when the Job is created, or link it to a group."
            yield Finding(job, ("spec",), message, hint=hint)


@rule(
    "job-name-too-long",
    "error",
    "The Job controller cannot build a Workload from this Job's name and creates no pods.",
    needs="job-groups",
)
def find_name_too_long(census: Census, settings: Settings) -> Iterator[Finding]:
    if not settings.has("job-groups"):
        return
    for job in _root_jobs(census):
        width = count_indexed(as_mapping(job.value, "spec"))
        concerned = settings.has("job-scheduling") or width > 1
        is_long = len(job.name.encode()) > LONGEST_NAME and not settings.release.has("cut-names")
        if concerned and (is_long or "." in job.name):
            wrong = "has a dot" if "." in job.name else f"has {len(job.name.encode())} bytes"
            message = (
                f"the name {wrong}, and the Job controller needs {job.name[:20]}…-pgt-0 to be a DNS label: it "
                "creates neither a Workload nor pods"
            )
            hint = f"Use a name of at most {LONGEST_NAME} characters without dots, or link the pod template to a group."
            yield Finding(job, ("metadata", "name"), message, job.name, hint=hint)


@rule("controller-unlinked", "warning", "A Workload names a controller whose pods are not linked to a group.")
def find_controller_unlinked(census: Census, settings: Settings) -> Iterator[Finding]:
    workloads = {id(entry.item): entry for entry in census.workloads.values()}.values()
    kinds = {workload.controller[:2] for workload in workloads}
    items = {(item.space, *kind, item.name): item for kind in kinds for item in census.kind(*kind)}
    for workload in workloads:
        item = items.get((workload.namespace, *workload.controller))
        templates = census.templates_of(item) if item is not None else ()
        if item is None or not templates or any(template.link for template in templates):
            continue
        named = item.kind == "JobSet" or settings.release.has("named-delegation")
        delegated = named and TEMPLATE_ANNOTATION in str(item.value)
        if delegated:
            continue
        effect = "the reference has no effect, and the pods are scheduled one by one"
        if (item.ref.group, item.kind) == ("batch", "Job") and settings.has("job-groups"):
            effect = (
                f"the Job controller of {settings.release} then creates no gang, and the pods are scheduled one by one"
                if not settings.has("job-scheduling")
                else "the Job controller creates a second Workload and PodGroup"
            )
        message = f"controllerRef names {item.kind} {item.name}, whose pods are not linked to a group: {effect}"
        hint = f"Set {'.'.join(settings.release.link)} in the pod template, as krmfn generate does."
        yield Finding(workload.item, ("spec", "controllerRef"), message, item.name, hint=hint)


def _root_jobs(census: Census) -> Iterator[Item]:
    """Jobs that the controller makes groups for: no link, no other controller."""
    for job in census.kind("batch", "Job"):
        templates = census.templates_of(job)
        managed = as_text(job.value, "spec", "managedBy")
        if managed in ("", KINDS["batch", "Job"].manager) and templates and templates[0].link is None:
            yield job
