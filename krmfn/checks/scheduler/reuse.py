"""Gangs that start once and not again: retries, suspension, runs and revisions that share a group."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import rule
from krmfn.checks.selected import is_selected
from krmfn.model.findings import Finding
from krmfn.survey.values import as_int, dig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krmfn.config import Settings
    from krmfn.survey.census import Census, Gang, Template

QUEUE = "kueue.x-k8s.io/queue-name"


@rule("retry-starves", "warning", "A retried pod of a Job is never scheduled after others have succeeded.")
def find_retry_starves(census: Census, _: Settings) -> Iterator[Finding]:
    """A Job whose failed pods are replaced by pods that may miss the quorum."""
    for gang, template in _complete_jobs(census):
        spec = dig(template.item.value, *_job_spec(template))
        if template.spec.get("restartPolicy") != "Never" or dig(spec, "backoffLimit") == 0:
            continue
        message = (
            f"after one pod has succeeded, a retried pod can never reach minCount {gang.group.quorum}: succeeded "
            "pods do not count"
        )
        hint = "Use restartPolicy: OnFailure, backoffLimit: 0, or a smaller minCount."
        path = (*template.spec_path, "restartPolicy")
        yield Finding(template.item, path, message, "Never", hint=hint)


@rule("resume-starves", "warning", "A Job that is suspended and resumed may come back with fewer pods than minCount.")
def find_resume_starves(census: Census, _: Settings) -> Iterator[Finding]:
    """A Job that a queue suspends and resumes: the finished indexes are missing after it."""
    for gang, template in _complete_jobs(census):
        item = template.item
        if dig(item.value, *_job_spec(template), "completionMode") == "Indexed" and QUEUE in item.labels:
            message = (
                "a resumed Job creates only the pods of unfinished indexes: after one index has finished, "
                f"minCount {gang.group.quorum} can never be reached"
            )
            hint = "Lower minCount, or make the pods finish together."
            yield Finding(item, ("metadata", "labels", QUEUE), message, hint=hint)


@rule("failed-index-starves", "warning", "A Job with backoffLimitPerIndex can end up with fewer pods than minCount.")
def find_failed_index_starves(census: Census, _: Settings) -> Iterator[Finding]:
    """backoffLimitPerIndex: an index that failed for good is never made again."""
    for gang, template in _complete_jobs(census):
        path = (*_job_spec(template), "backoffLimitPerIndex")
        limit = as_int(dig(template.item.value, *path))
        if limit is not None:
            message = (
                f"an index that failed {limit + 1} times gets no new pod: the pods become fewer than minCount "
                f"{gang.group.quorum}, and no later retry is ever scheduled"
            )
            hint = "Remove backoffLimitPerIndex, or lower minCount."
            yield Finding(template.item, path, message, limit, hint=hint)


@rule("runs-share-group", "warning", "Overlapping runs of a CronJob share one group.")
def find_runs_share_group(census: Census, settings: Settings) -> Iterator[Finding]:
    """Runs of a CronJob or RayCronJob that overlap and link to one group."""
    for gang in census.gangs:
        for owner in gang.owners:
            if (owner.ref.group, owner.kind) == ("batch", "CronJob"):
                if dig(owner.value, "spec", "concurrencyPolicy") in ("Forbid", "Replace"):
                    continue
                path, hint = ("spec", "concurrencyPolicy"), "Set concurrencyPolicy: Forbid."
            elif (owner.ref.group, owner.kind) == ("ray.io", "RayCronJob"):
                path, hint = (
                    ("spec", "schedule"),
                    "Make sure that a run ends before the next one starts; a RayCronJob has no concurrencyPolicy.",
                )
            else:
                continue
            if is_selected(owner, settings):
                continue
            message = (
                f"runs may overlap, and all of them link to the group {gang.group.name}: pods of one run count for "
                "the next, which may start incomplete"
            )
            yield Finding(owner, path, message, dig(owner.value, *path) or "Allow", hint=hint)


@rule("rollout-shares-group", "warning", "A rolling update of a Deployment replaces pods step by step within one gang.")
def find_rollout_shares_group(census: Census, settings: Settings) -> Iterator[Finding]:
    """A Deployment that replaces its pods in steps while old and new ones are in one gang."""
    for gang in census.gangs:
        for owner in gang.owners:
            if (owner.ref.group, owner.kind) != ("apps", "Deployment") or gang.group.policy != "gang":
                continue
            if dig(owner.value, "spec", "strategy", "type") != "Recreate" and not is_selected(owner, settings):
                message = (
                    f"during a rolling update the old pods meet the quorum of the gang {gang.group.name}: the new "
                    "pods start one by one"
                )
                hint = "Use strategy type Recreate, or the policy basic."
                path = ("spec", "strategy", "type")
                yield Finding(owner, path, message, "RollingUpdate", hint=hint)


@rule(
    "upgrade-shares-group",
    "warning",
    "During an upgrade of a RayService the new cluster uses the group of the old one.",
)
def find_upgrade_shares_group(census: Census, settings: Settings) -> Iterator[Finding]:
    """A RayService that builds its next cluster beside the old one, with the same group."""
    for gang in census.gangs:
        for owner in gang.owners:
            strategy = dig(owner.value, "spec", "upgradeStrategy", "type")
            if (owner.ref.group, owner.kind) != ("ray.io", "RayService") or strategy == "None":
                continue
            if is_selected(owner, settings):
                continue
            message = (
                f"an upgrade builds a second cluster that links to the same group {gang.group.name}: the old pods "
                "meet the quorum, so the new cluster may start incomplete"
            )
            hint = "Use naming: Revisioned, so that every revision has a separate group, or upgradeStrategy type None."
            yield Finding(owner, ("spec", "upgradeStrategy"), message, hint=hint)


def _job_spec(template: Template) -> tuple[str, ...]:
    return ("spec", "jobTemplate", "spec") if template.item.kind == "CronJob" else ("spec",)


def _complete_jobs(census: Census) -> Iterator[tuple[Gang, Template]]:
    """Jobs and CronJobs in a gang that needs all of its pods, more than one."""
    for gang in census.gangs:
        if gang.group.quorum is None or gang.pods is None or gang.group.quorum < gang.pods or gang.pods < 2:
            continue
        for template in gang.templates:
            if template.item.ref.group == "batch" and template.item.kind in ("Job", "CronJob"):
                yield gang, template
