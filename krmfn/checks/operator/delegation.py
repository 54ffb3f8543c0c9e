"""Groups that controllers make: of the Job controller from a parent's Workload (annotation
scheduling.k8s.io/group-template-name), and of others for their own kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.checks.rule import Match, rule, tell
from krmfn.checks.wording import suggest
from krmfn.config import Settings
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


@rule("delegated-template-unknown")
def find_template_unknown(census: Census, settings: Settings) -> Iterator[Match]:
    """No such template, more Jobs than it can have groups, or Jobs that are suspended at first: then a warning."""
    for template in (each for each in census.templates if not each.link):
        delegation = read_delegation(census, settings, template)
        if delegation is None:
            continue
        item, path = template.item, (*delegation.place, TEMPLATE_ANNOTATION)
        name = as_text(delegation.annotations.get(TEMPLATE_ANNOTATION))
        about: dict[str, Any] = {"name": name, "near": suggest(name, delegation.templates), "delegation": delegation}
        for case, more in _list_reasons(settings, delegation, template, name):
            yield tell(item, path, name, case=case, **about, **more)
        if is_suspended(item) or KUEUE_QUEUE in item.labels:
            yield tell(item, path, name, severity="warning")


def _list_reasons(
    settings: Settings, delegation: Delegation, template: Template, name: str
) -> Iterator[tuple[str, dict[str, Any]]]:
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
def find_own_scheduling_and_link(census: Census, settings: Settings) -> Iterator[Match]:
    for owner in (owner for key in KINDS for owner in census.kind(*key)):
        if path := find_own_scheduling(owner.ref.group, owner.kind, settings.release):
            links = [template.link for template in census.templates_of(owner) if template.link]
            if links and dig(owner.value, *path) is not None:
                yield tell(owner, path, links=links)
