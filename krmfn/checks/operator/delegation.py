"""Groups that the Job controller makes from a parent's Workload (annotation scheduling.k8s.io/group-template-name)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from krmfn.checks.operator.jobs import TEMPLATE_ANNOTATION
from krmfn.checks.rule import Check
from krmfn.checks.wording import suggest
from krmfn.model.findings import Finding, Note, Rule
from krmfn.survey.values import as_int, as_list, as_mapping, as_text, dig

if TYPE_CHECKING:
    from krmfn.config import Settings
    from krmfn.krm.item import Item
    from krmfn.model.tree import Path
    from krmfn.survey.census import Census
    from krmfn.survey.groups import Workload


def find_template_unknown(census: Census, _: Settings) -> Iterator[Finding]:
    """The annotation names a template that the parent's Workload does not have."""
    for jobset, path, name, _replicas in _delegated(census):
        workload = _workload_of(census, jobset)
        top = {
            template
            for template, (place, _) in (workload.templates.items() if workload else ())
            if place[1] == "podGroupTemplates"
        }
        if workload is None:
            message = (
                f"no Workload of the input has the controllerRef JobSet {jobset.name}: the Jobs are made without groups"
            )
            hint = "Add a Workload with controllerRef {apiGroup: jobset.x-k8s.io, kind: JobSet} and this template."
        elif name not in top:
            message = (
                f'Workload {workload.name} has no template "{name}" at the top level{suggest(name, top)}: the Jobs are '
                "made without groups"
            )
            hint = f"Use one of: {', '.join(sorted(top)) or 'none'}."
        else:
            continue
        yield Finding(jobset, Note("delegated-template-unknown", path, message, name, hint=hint))


def find_template_shared(census: Census, _: Settings) -> Iterator[Finding]:
    """Several Jobs would get a PodGroup of the same name."""
    for jobset, path, name, replicas in _delegated(census):
        if replicas > 1:
            message = (
                f"{replicas} Jobs use the template {name}, and the PodGroup's name is made from Workload and template "
                "only: the second Job fails with AlreadyExists and makes no pods"
            )
            hint = "Unroll the replicated job into entries with replicas: 1 and a template each."
            yield Finding(jobset, Note("delegated-template-shared", path, message, name, hint=hint))


def find_delegated_suspended(census: Census, _: Settings) -> Iterator[Finding]:
    """Jobs that are created suspended never get their group."""
    for jobset, path, name, _replicas in _delegated(census):
        if dig(jobset.value, "spec", "suspend") is True or "kueue.x-k8s.io/queue-name" in jobset.labels:
            message = (
                "the Jobs are created suspended, which counts as started: the Job controller never makes their groups, "
                "and the pods are scheduled one by one"
            )
            hint = "Link the pod templates to groups in Git instead."
            yield Finding(jobset, Note("delegated-suspended", path, message, name, hint=hint))


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


CHECKS = (
    Check(
        Rule(
            "delegated-template-unknown",
            "operator",
            "error",
            "The annotation group-template-name names a template that no Workload of the parent has.",
            "The 1.37 Job controller looks for a Workload whose controllerRef is the Job's parent, and in it for a "
            "top-level template of that name. Without it the pods are made without a group, and later syncs do not "
            "repair that.",
            "Add the Workload before the JobSet, or correct the name.",
            ("1.37",),
            ("kubernetes pkg/controller/job", "kubernetes/kubernetes#141380"),
        ),
        find_template_unknown,
    ),
    Check(
        Rule(
            "delegated-template-shared",
            "operator",
            "error",
            "Several Jobs are to get a group from one template.",
            "The name of a delegated PodGroup is a function of Workload and template. Two Jobs with one template "
            "collide.",
            "Use replicas: 1 and a template for each entry.",
            ("1.37",),
            ("kubernetes pkg/controller/job",),
        ),
        find_template_shared,
    ),
    Check(
        Rule(
            "delegated-suspended",
            "operator",
            "warning",
            "Jobs that are created suspended never get their delegated group.",
            "A Job that ever had the condition Suspended counts as started. A JobSet that is suspended, or queued by "
            "Kueue, creates its Jobs suspended.",
            "Link the pod templates to groups in Git.",
            ("1.37",),
            ("kubernetes pkg/controller/job",),
        ),
        find_delegated_suspended,
    ),
)
