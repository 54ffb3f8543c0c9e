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


@rule(
    "delegated-template-unknown",
    "error",
    "The Job controller creates no group from the template that the annotation group-template-name names.",
    needs="job-scheduling",
)
def find_template_unknown(census: Census, _: Settings) -> Iterator[Finding]:
    """No such template, more Jobs than it can have groups, or Jobs that are suspended at first: then a warning."""
    for jobset, path, name, replicas in _delegated(census):
        for message, hint in _list_reasons(census, jobset, name, replicas):
            yield Finding(jobset, path, message, name, hint=hint)
        if dig(jobset.value, "spec", "suspend") is True or KUEUE_QUEUE in jobset.labels:
            message = (
                "the Jobs are created suspended, which counts as started: the Job controller never creates their "
                "groups, and the pods are scheduled one by one"
            )
            hint = "Link the pod templates to PodGroups in Git instead."
            yield Finding(jobset, path, message, name, hint=hint, severity="warning")


def _list_reasons(census: Census, jobset: Item, name: str, replicas: int) -> Iterator[tuple[str, str]]:
    """What is wrong with a template that Jobs name, and what to do."""
    wanted = ("jobset.x-k8s.io", "JobSet", jobset.name)
    found = (w for w in census.workloads.values() if w.namespace == jobset.space and w.controller == wanted)
    workload = next(found, None)
    words = list_words(("podGroupTemplates",))
    top = {each for each, (place, _) in workload.templates.items() if place[1] in words} if workload else set()
    if workload is None:
        yield (
            f"no Workload with the controllerRef JobSet {jobset.name} in the files checked: the Jobs get no groups, "
            "and their pods are scheduled one by one",
            "Add a Workload with controllerRef {apiGroup: jobset.x-k8s.io, kind: JobSet} and this template.",
        )
    elif name not in top:
        yield (
            f'Workload {workload.name} has no template "{name}" at the top level{suggest(name, top)}: the Jobs are '
            "created without groups",
            f"Use one of: {', '.join(sorted(top)) or 'none'}.",
        )
    if replicas > 1:
        yield (
            f"{replicas} Jobs use the template {name}, and the name of the PodGroup depends only on the Workload and "
            "the template: the second Job fails with AlreadyExists and creates no pods",
            "Split the replicated job into entries with replicas: 1, each with a separate template.",
        )


def _delegated(census: Census) -> Iterator[tuple[Item, Path, str, int]]:
    for jobset in census.kind("jobset.x-k8s.io", "JobSet"):
        for index, entry in enumerate(as_list(dig(jobset.value, "spec", "replicatedJobs"))):
            name = as_text(as_mapping(dig(entry, "template", "metadata", "annotations")).get(TEMPLATE_ANNOTATION))
            if name:
                path = ("spec", "replicatedJobs", index, "template", "metadata", "annotations", TEMPLATE_ANNOTATION)
                replicas = as_int(dig(entry, "replicas"))
                yield jobset, path, name, 1 if replicas is None else replicas


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
