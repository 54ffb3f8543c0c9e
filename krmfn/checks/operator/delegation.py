"""Groups that controllers make: of the Job controller from a parent's Workload (annotation
scheduling.k8s.io/group-template-name), and of others for their own kinds."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import rule
from krmfn.checks.wording import suggest
from krmfn.config import Settings
from krmfn.model.findings import Finding
from krmfn.model.kinds import KINDS, find_own_scheduling
from krmfn.model.marks import KUEUE_QUEUE
from krmfn.model.values import as_text, dig
from krmfn.survey.census import Census, Template
from krmfn.survey.jobs import (
    TEMPLATE_ANNOTATION,
    WORKLOAD_ANNOTATION,
    Delegation,
    find_jobs,
    is_suspended,
    read_delegation,
)


@rule(
    "delegated-template-unknown",
    "error",
    "The Job controller creates no group from the template that the annotation group-template-name names.",
    needs="job-scheduling",
)
def find_template_unknown(census: Census, settings: Settings) -> Iterator[Finding]:
    """No such template, more Jobs than it can have groups, or Jobs that are suspended at first: then a warning."""
    for template in (each for each in census.templates if not each.link):
        delegation = read_delegation(census, settings, template)
        if delegation is None:
            continue
        item, path = template.item, (*delegation.place, TEMPLATE_ANNOTATION)
        name = as_text(delegation.annotations.get(TEMPLATE_ANNOTATION))
        for message, hint in _list_reasons(settings, delegation, template, name):
            yield Finding(item, path, message, name, hint=hint)
        if is_suspended(item) or KUEUE_QUEUE in item.labels:
            message = (
                "the Jobs are created suspended, which counts as started: the Job controller never creates their "
                "groups, and the pods are scheduled one by one"
            )
            hint = "Link the pod templates to PodGroups in Git instead."
            yield Finding(item, path, message, name, hint=hint, severity="warning")


def _list_reasons(
    settings: Settings, delegation: Delegation, template: Template, name: str
) -> Iterator[tuple[str, str]]:
    """What is wrong with a template that Jobs name, and what to do."""
    is_named = settings.release.has("named-delegation")
    workload, top = delegation.workload, delegation.templates
    wanted = as_text(delegation.annotations.get(WORKLOAD_ANNOTATION))
    if is_named and not (name and wanted):
        if template.item.kind == "JobSet":  # of others the API server says it
            message = f"the annotation {WORKLOAD_ANNOTATION if name else TEMPLATE_ANNOTATION} is missing"
            yield f"{message}: the API server refuses the Jobs", "Set both annotations, or none."
    elif workload is None and is_named:
        yield (
            f"no Workload {wanted} in the files checked: the Job controller creates no pods until it is there",
            "Add this Workload, or correct the annotation.",
        )
    elif workload is None:
        yield (
            f"no Workload with the controllerRef JobSet {template.item.name} in the files checked: the Jobs get no "
            "groups, and their pods are scheduled one by one",
            "Add a Workload with controllerRef {apiGroup: jobset.x-k8s.io, kind: JobSet} and this template.",
        )
    elif name not in top:
        effect = "the Job controller creates no pods" if is_named else "the Jobs are created without groups"
        yield (
            f'Workload {workload.name} has no template "{name}" at the top level{suggest(name, top)}: {effect}',
            f"Use one of: {', '.join(sorted(top)) or 'none'}.",
        )
    jobs = find_jobs(template)
    if jobs and jobs.number and jobs.number > 1 and not is_named:
        yield (
            f"{jobs.number} Jobs use the template {name}, and the name of the PodGroup depends only on the Workload "
            "and the template: the second Job fails with AlreadyExists and creates no pods",
            "Split the replicated job into entries with replicas: 1, each with a separate template.",
        )


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
