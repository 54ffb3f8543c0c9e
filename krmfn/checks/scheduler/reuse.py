"""Gangs that start once and not again: retries, suspension, runs and revisions that share a group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from krmfn.checks.rule import rule
from krmfn.checks.wording import name_min_count
from krmfn.config import Settings
from krmfn.config.selection import is_selected
from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT
from krmfn.model.findings import Finding
from krmfn.model.marks import KUEUE_QUEUE
from krmfn.model.values import as_int, as_mapping, dig
from krmfn.survey.census import Census, LinkedGang, Template, once
from krmfn.survey.jobs import Jobs, find_jobs, list_own_gangs


class Succession(NamedTuple):
    """Where a kind says that what it created before goes first: the field, its values that mean so, and its default."""

    path: Path
    apart: tuple[str, ...]
    default: Any
    what: str
    newcomers: str
    hint: str


_OVERLAP: Final = "runs may overlap, and the pods of one run count for the next in the gang"
_MEET: Final = "the old pods meet the quorum of the gang"
_SUCCESSIONS: Final = {
    ("batch", "CronJob"): Succession(
        ("spec", "concurrencyPolicy"),
        ("Forbid", "Replace"),
        "Allow",
        _OVERLAP,
        "the next run",
        "Set concurrencyPolicy: Forbid.",
    ),
    ("ray.io", "RayCronJob"): Succession(
        ("spec", "schedule"),
        (),
        ABSENT,
        _OVERLAP,
        "the next run",
        "Make sure that a run ends before the next one starts; a RayCronJob has no concurrencyPolicy.",
    ),
    ("apps", "Deployment"): Succession(
        ("spec", "strategy", "type"),
        ("Recreate",),
        "RollingUpdate",
        f"during a rolling update {_MEET}",
        "the new pods",
        "Use strategy type Recreate, or the policy basic.",
    ),
    ("ray.io", "RayService"): Succession(
        ("spec", "upgradeStrategy", "type"),
        ("None",),
        ABSENT,
        f"an upgrade builds a second cluster, and {_MEET}",
        "the new cluster",
        "Use naming: Revisioned, so that every revision has a separate group, or upgradeStrategy type None.",
    ),
}


@rule("retry-starves", "warning", "A retried pod of a Job is never scheduled after others have succeeded or failed.")
def find_retry_starves(census: Census, settings: Settings) -> Iterator[Finding]:
    for gang, template, jobs in _complete_jobs(census, settings):
        spec = as_mapping(template.item.value, *jobs.path)
        limit, counted = as_int(spec, "backoffLimitPerIndex"), f"{gang.group.counted} {gang.group.quorum}"
        lower = f"ower {name_min_count(gang.group, template.item)}"
        if limit is not None:
            message = (
                f"an index that failed {limit + 1} times gets no new pod: the pods become fewer than {counted}, and "
                "no later retry is ever scheduled"
            )
            hint = f"Remove backoffLimitPerIndex, or l{lower}."
            yield Finding(template.item, (*jobs.path, "backoffLimitPerIndex"), message, limit, hint=hint)
        if template.spec.get("restartPolicy") == "Never" and spec.get("backoffLimit") != 0:
            message = (
                f"after {_tell_successes(jobs)}, a retried pod can never reach {counted}: succeeded pods do not count"
            )
            hint = (
                f"L{lower}, or set backoffLimit: 0, or restartPolicy: OnFailure, which restarts containers in their "
                "pods."
            )
            yield Finding(template.item, (*template.spec_path, "restartPolicy"), message, "Never", hint=hint)


@rule("resume-starves", "warning", "A Job that is suspended and resumed may come back with fewer pods than minCount.")
def find_resume_starves(census: Census, settings: Settings) -> Iterator[Finding]:
    """A Job that a queue suspends and resumes: what has succeeded is missing after it."""
    for gang, template, jobs in _complete_jobs(census, settings) if census.has_text(KUEUE_QUEUE) else ():
        if template.item.kind == "AppWrapper":  # it deletes what it wraps, and creates it again
            continue
        if as_mapping(template.item.value, *jobs.labels).get(KUEUE_QUEUE):
            message = (
                "a resumed Job creates only the pods that have not succeeded: after "
                f"{_tell_successes(jobs)}, {gang.group.counted} {gang.group.quorum} can never be reached"
            )
            hint = f"Lower {name_min_count(gang.group, template.item)}, or make the pods finish together."
            yield Finding(template.item, (*jobs.labels, KUEUE_QUEUE), message, hint=hint)


@rule("tail-starves", "warning", "The last pods of a Job are fewer than the minCount of their group.")
def find_tail_starves(census: Census, settings: Settings) -> Iterator[Finding]:
    """A Job that runs its completions in waves, the last of which is smaller than the others."""
    for gang, template, jobs in _list_jobs(census, settings):
        tail = jobs.completions % jobs.parallel
        quorum, pods = gang.group.quorum, gang.pods
        if quorum is None or pods is None or not jobs.number or not tail:
            continue
        last = jobs.number * tail
        there = pods - jobs.number * (jobs.parallel - tail)
        if there >= quorum or pods < quorum:  # without the quorum not even the first ones start
            continue
        left = f"only {last} to create" if last > 1 else "only one to create"
        message = (
            f"with {jobs.completions} completions, {jobs.parallel} at a time, pods that finish together can leave "
            f"{left}, too few for {gang.group.counted} {quorum}: the last pods are then never scheduled"
        )
        hint = f"Use a multiple of {jobs.parallel}, or lower {name_min_count(gang.group, template.item)} to {there}."
        yield Finding(template.item, (*jobs.path, "completions"), message, jobs.completions, hint=hint)


@rule("rollout-shares-group", "warning", "Pods of a later run or revision join the group of the earlier one.")
def find_rollout_shares_group(census: Census, settings: Settings) -> Iterator[Finding]:
    """Runs of a CronJob or RayCronJob, revisions of a Deployment, clusters of a RayService."""
    for (group, kind), row in _SUCCESSIONS.items():
        for gang, owner in census.gangs_of(group, kind):
            value = dig(owner.value, *row.path)
            chain = (gang.group, *census.chain(gang.group)[0])
            if value in row.apart or is_selected(owner, settings) or all(each.policy != "gang" for each in chain):
                continue
            message = f"{row.what} {gang.group.name}, so {row.newcomers} may start incomplete"
            yield Finding(owner, row.path, message, value or row.default, hint=row.hint)


def _complete_jobs(census: Census, settings: Settings) -> Iterator[tuple[LinkedGang, Template, Jobs]]:
    """The Jobs in gangs that need all of their pods, more than one."""
    for gang, template, jobs in _list_jobs(census, settings):
        quorum, pods = gang.group.quorum, gang.pods
        if quorum is not None and pods is not None and quorum >= pods > 1:
            yield gang, template, jobs


@once
def _list_jobs(census: Census, settings: Settings) -> list[tuple[LinkedGang, Template, Jobs]]:
    return [
        (gang, template, jobs)
        for gang in (*census.gangs, *list_own_gangs(census, settings))
        for template in gang.templates
        if (jobs := find_jobs(template))
    ]


def _tell_successes(jobs: Jobs) -> str:
    """How many pods must have succeeded before one that is lost is missing: the others take the place of the first."""
    number = jobs.completions - jobs.parallel + 1
    return "one pod has succeeded" if number == 1 else f"{number} pods have succeeded"
