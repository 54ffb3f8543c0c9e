"""Groups that controllers make: of the Job controller from a parent's Workload (annotation
scheduling.k8s.io/group-template-name), and of others for their own kinds."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.operator.jobs import TEMPLATE_ANNOTATION
from krmfn.checks.rule import rule
from krmfn.checks.wording import suggest
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.findings import Finding
from krmfn.model.kinds import KINDS, find_own_scheduling
from krmfn.model.marks import KUEUE_QUEUE
from krmfn.model.tree import Path
from krmfn.model.values import as_int, as_list, as_mapping, as_text, dig
from krmfn.releases.spelling import list_words
from krmfn.survey.census import Census
from krmfn.survey.groups import Workload


@rule(
    "delegated-template-unknown",
    "error",
    "The annotation group-template-name names a template that no Workload of the parent has.",
    needs="job-scheduling",
)
def find_template_unknown(census: Census, _: Settings) -> Iterator[Finding]:
    for jobset, path, name, _replicas in _delegated(census):
        workload = _workload_of(census, jobset)
        top = {
            template
            for template, (place, _) in (workload.templates.items() if workload else ())
            if place[1] in list_words(("podGroupTemplates",))
        }
        if workload is None:
            message = (
                f"no Workload with the controllerRef JobSet {jobset.name} in the files checked: the Jobs get "
                "no groups, and their pods are scheduled one by one"
            )
            hint = "Add a Workload with controllerRef {apiGroup: jobset.x-k8s.io, kind: JobSet} and this template."
        elif name not in top:
            message = (
                f'Workload {workload.name} has no template "{name}" at the top level{suggest(name, top)}: the Jobs are '
                "created without groups"
            )
            hint = f"Use one of: {', '.join(sorted(top)) or 'none'}."
        else:
            continue
        yield Finding(jobset, path, message, name, hint=hint)


@rule("delegated-template-shared", "error", "Several Jobs use one template for their groups.", needs="job-scheduling")
def find_template_shared(census: Census, _: Settings) -> Iterator[Finding]:
    for jobset, path, name, replicas in _delegated(census):
        if replicas > 1:
            message = (
                f"{replicas} Jobs use the template {name}, and the name of the PodGroup depends only on the "
                "Workload and the template: the second Job fails with AlreadyExists and creates no pods"
            )
            hint = "Split the replicated job into entries with replicas: 1, each with a separate template."
            yield Finding(jobset, path, message, name, hint=hint)


@rule(
    "delegated-suspended",
    "warning",
    "A Job that is created suspended never gets the group of its parent's Workload.",
    needs="job-scheduling",
)
def find_delegated_suspended(census: Census, _: Settings) -> Iterator[Finding]:
    for jobset, path, name, _replicas in _delegated(census):
        if dig(jobset.value, "spec", "suspend") is True or KUEUE_QUEUE in jobset.labels:
            message = (
                "the Jobs are created suspended, which counts as started: the Job controller never creates their "
                "groups, and the pods are scheduled one by one"
            )
            hint = "Link the pod templates to PodGroups in Git instead."
            yield Finding(jobset, path, message, name, hint=hint)


def _delegated(census: Census) -> Iterator[tuple[Item, Path, str, int]]:
    for jobset in census.kind("jobset.x-k8s.io", "JobSet"):
        for index, entry in enumerate(as_list(dig(jobset.value, "spec", "replicatedJobs"))):
            name = as_text(as_mapping(dig(entry, "template", "metadata", "annotations")).get(TEMPLATE_ANNOTATION))
            if name:
                path = ("spec", "replicatedJobs", index, "template", "metadata", "annotations", TEMPLATE_ANNOTATION)
                replicas = as_int(dig(entry, "replicas"))
                yield jobset, path, name, 1 if replicas is None else replicas


def _workload_of(census: Census, jobset: Item) -> Workload | None:
    wanted = ("jobset.x-k8s.io", "JobSet", jobset.name)
    found = (w for w in census.workloads.values() if w.namespace == jobset.space and w.controller == wanted)
    return next(found, None)


@rule(
    "own-scheduling-and-link", "warning", "A resource whose controller creates its groups also links to another group."
)
def find_own_scheduling_and_link(census: Census, settings: Settings) -> Iterator[Finding]:
    for owner in (owner for key in KINDS for owner in census.kind(*key)):
        if path := find_own_scheduling(owner.ref.group, owner.kind, settings.release):
            links = [template.link for template in census.templates_of(owner) if template.link]
            if links and dig(owner.value, *path) is not None:
                message = (
                    f"{path[-1]} makes the controller put the pods into its own group, but the pods link to "
                    f"{links[0].group}: a pod is in one group only, so the other group never starts"
                )
                hint = f"Remove {'.'.join(path)}, or the link and the group {links[0].group}."
                yield Finding(owner, path, message, hint=hint)
