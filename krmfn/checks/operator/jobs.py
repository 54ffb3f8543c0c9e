"""What the Job controller does with the gate WorkloadWithJob, and what it does not; groups that it makes from a
parent's Workload (annotation scheduling.k8s.io/group-template-name), and those that others make for their own kinds."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import Matches, rule, suggest, tell
from krmfn.config import Settings
from krmfn.krm.item import Item, list_holding
from krmfn.model.kinds import KINDS, find_own_scheduling
from krmfn.model.marks import KUEUE_QUEUE
from krmfn.model.values import Fields, as_mapping, as_text, dig
from krmfn.releases.release import first_release
from krmfn.survey.census import Census, Template
from krmfn.survey.jobs import (
    TEMPLATE_ANNOTATION,
    WORKLOAD_ANNOTATION,
    Delegation,
    count_indexed,
    find_jobs,
    is_suspended,
    read_delegation,
)

#: `<job>-pgt-0` has to be a DNS label of 63 characters.
LONGEST_NAME = 57


@rule("job-scheduling-unused")
def find_scheduling_unused(census: Census) -> Matches:
    for job in census.kind("batch", "Job"):
        templates = census.templates_of(job)
        if "scheduling" in as_mapping(job.value, "spec") and templates and templates[0].link:
            yield tell(job, ("spec", "scheduling"), name=templates[0].link.group)


@rule("job-scheduling-ignored")
def find_scheduling_ignored(census: Census, settings: Settings) -> Matches:
    for item in (*census.kind("batch", "CronJob"), *census.kind("jobset.x-k8s.io", "JobSet")):
        for template in census.templates_of(item):
            jobs = find_jobs(template)
            path = (*jobs.path, "scheduling") if jobs else ()
            if path and dig(item.value, *path) is not None and read_delegation(census, settings, template) is None:
                yield tell(item, path, runs=", with concurrencyPolicy: Forbid" if item.kind == "CronJob" else "")


@rule("job-gang-lost")
def find_gang_lost(census: Census, settings: Settings) -> Matches:
    """A Job that a release with job-groups made a gang of by itself; one with job-scheduling does not."""
    if not settings.has("job-groups"):
        return
    for job in _root_jobs(census):
        spec = as_mapping(job.value, "spec")
        width = count_indexed(spec)
        if width > 1 and "scheduling" not in spec:
            yield tell(job, ("spec",), earlier=first_release("job-groups"), width=width)


@rule("job-name-too-long")
def find_name_too_long(census: Census, settings: Settings) -> Matches:
    if not settings.has("job-groups"):
        return
    for job in _root_jobs(census):
        concerned = settings.has("job-scheduling") or count_indexed(as_mapping(job.value, "spec")) > 1
        is_long = len(job.name.encode()) > LONGEST_NAME and not settings.release.has("cut-names")
        if concerned and (is_long or "." in job.name):
            wrong = "has a dot" if "." in job.name else f"has {len(job.name.encode())} bytes"
            yield tell(job, ("metadata", "name"), job.name, wrong=wrong)


@rule("controller-unlinked")
def find_controller_unlinked(census: Census, settings: Settings) -> Matches:
    workloads = {id(entry.item): entry for entry in census.workloads.values()}.values()
    kinds = {workload.controller[:2] for workload in workloads}
    items = {(item.space, *kind, item.name): item for kind in kinds for item in census.kind(*kind)}
    for workload in workloads:
        item = items.get((workload.namespace, *workload.controller))
        links = [template.link for template in census.templates_of(item)] if item is not None else []
        if item is None or not links or any(links):
            continue
        named = item.kind == "JobSet" or settings.release.has("named-delegation")
        if named and TEMPLATE_ANNOTATION in str(item.value):
            continue
        alone = "and the pods are scheduled one by one"
        effect = f"the reference has no effect, {alone}"
        if item.group_kind == ("batch", "Job") and settings.has("job-groups"):
            effect = f"the Job controller of {settings.release} then creates no gang, {alone}"
            if settings.has("job-scheduling"):
                effect = "the Job controller creates a second Workload and PodGroup"
        yield tell(workload.item, ("spec", "controllerRef"), item.name, owner=item, effect=effect)


def _root_jobs(census: Census) -> Iterator[Item]:
    """Jobs that the controller makes groups for: no link, no other controller."""
    for job in census.kind("batch", "Job"):
        templates = census.templates_of(job)
        managed = as_text(job.value, "spec", "managedBy")
        if managed in ("", KINDS["batch", "Job"].manager) and templates and templates[0].link is None:
            yield job


@rule("delegated-template-unknown")
def find_template_unknown(census: Census, settings: Settings) -> Matches:
    """No such template, more Jobs than it can have groups, or Jobs that are suspended at first: then a warning."""
    naming = list_holding(census.objects, TEMPLATE_ANNOTATION.encode(), WORKLOAD_ANNOTATION.encode())
    for template in (each for item in naming for each in census.templates_of(item)):
        delegation = None if template.link else read_delegation(census, settings, template)
        if delegation is None:
            continue
        item, path = template.item, (*delegation.place, TEMPLATE_ANNOTATION)
        name = as_text(delegation.annotations.get(TEMPLATE_ANNOTATION))
        about: Fields = {"name": name, "near": suggest(name, delegation.templates), "delegation": delegation}
        for case, more in _list_reasons(settings, delegation, template, name):
            yield tell(item, path, name, case=case, **about, **more)
        if is_suspended(item) or KUEUE_QUEUE in item.labels:
            yield tell(item, path, name, warning=True)


def _list_reasons(
    settings: Settings, delegation: Delegation, template: Template, name: str
) -> Iterator[tuple[str, Fields]]:
    """What is wrong with a template that Jobs name: cases of the rule, each with what else there is to say."""
    is_named = settings.release.has("named-delegation")
    workload, top = delegation.workload, delegation.templates
    wanted = as_text(delegation.annotations.get(WORKLOAD_ANNOTATION))
    if is_named and not (name and wanted):
        if template.item.kind == "JobSet":  # of others the API server says it
            yield "half", {"missing": WORKLOAD_ANNOTATION if name else TEMPLATE_ANNOTATION}
    elif workload is None:
        yield "no-workload" if is_named else "no-controller", {"wanted": wanted}
    elif name not in top:
        effect = "the Job controller creates no pods" if is_named else "the Jobs are created without groups"
        yield "no-template", {"effect": effect, "known": ", ".join(sorted(top)) or "none"}
    jobs = find_jobs(template)
    if jobs and jobs.number and jobs.number > 1 and not is_named:
        yield "several", {"jobs": jobs}


@rule("own-scheduling-and-link")
def find_own_scheduling_and_link(census: Census, settings: Settings) -> Matches:
    for owner in (owner for key in KINDS for owner in census.kind(*key)):
        path = find_own_scheduling(owner.ref, settings.release)
        links = [template.link for template in census.templates_of(owner) if template.link]
        if path and links and dig(owner.value, *path) is not None:
            yield tell(owner, path, links=links)
