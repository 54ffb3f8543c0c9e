"""Gangs that start once and not again: retries, suspension, runs and revisions that share a group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from krmfn.checks.rule import Matches, name_min_count, rule, tell
from krmfn.config import Settings
from krmfn.config.selection import is_selected
from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT
from krmfn.model.marks import KUEUE_QUEUE
from krmfn.model.values import as_int, as_mapping, dig
from krmfn.survey.census import Census, LinkedGang, Template, once
from krmfn.survey.jobs import Jobs, find_jobs, list_own_gangs


class Succession(NamedTuple):
    """Where a kind says that what it created before goes first: the field, its values that mean so, and its default."""

    path: Path
    apart: tuple[str, ...]
    default: Any = ABSENT


_SUCCESSIONS: Final = {
    ("batch", "CronJob"): Succession(("spec", "concurrencyPolicy"), ("Forbid", "Replace"), "Allow"),
    ("ray.io", "RayCronJob"): Succession(("spec", "schedule"), ()),
    ("apps", "Deployment"): Succession(("spec", "strategy", "type"), ("Recreate",), "RollingUpdate"),
    ("ray.io", "RayService"): Succession(("spec", "upgradeStrategy", "type"), ("None",)),
}


@rule("retry-starves")
def find_retry_starves(census: Census, settings: Settings) -> Matches:
    for gang, template, jobs in _complete_jobs(census, settings):
        spec = as_mapping(template.item.value, *jobs.path)
        limit, counted = as_int(spec, "backoffLimitPerIndex"), f"{gang.group.counted} {gang.group.quorum}"
        lower = f"ower {name_min_count(gang.group, template.item)}"
        if limit is not None:
            yield tell(
                template.item,
                (*jobs.path, "backoffLimitPerIndex"),
                limit,
                times=limit + 1,
                counted=counted,
                lower=lower,
            )
        if template.spec.get("restartPolicy") == "Never" and spec.get("backoffLimit") != 0:
            yield tell(
                template.item,
                (*template.spec_path, "restartPolicy"),
                "Never",
                case="succeeded",
                successes=_tell_successes(jobs),
                counted=counted,
                lower=lower,
            )


@rule("resume-starves")
def find_resume_starves(census: Census, settings: Settings) -> Matches:
    """A Job that a queue suspends and resumes: what has succeeded is missing after it."""
    for gang, template, jobs in _complete_jobs(census, settings) if census.has_text(KUEUE_QUEUE) else ():
        if template.item.kind == "AppWrapper":  # it deletes what it wraps, and creates it again
            continue
        if as_mapping(template.item.value, *jobs.labels).get(KUEUE_QUEUE):
            yield tell(
                template.item,
                (*jobs.labels, KUEUE_QUEUE),
                successes=_tell_successes(jobs),
                gang=gang,
                field=name_min_count(gang.group, template.item),
            )


@rule("tail-starves")
def find_tail_starves(census: Census, settings: Settings) -> Matches:
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
        yield tell(
            template.item,
            (*jobs.path, "completions"),
            jobs.completions,
            jobs=jobs,
            left=left,
            gang=gang,
            quorum=quorum,
            field=name_min_count(gang.group, template.item),
            there=there,
        )


@rule("rollout-shares-group")
def find_rollout_shares_group(census: Census, settings: Settings) -> Matches:
    """Runs of a CronJob or RayCronJob, revisions of a Deployment, clusters of a RayService."""
    for (group, kind), row in _SUCCESSIONS.items():
        for gang, owner in census.gangs_of(group, kind):
            value = dig(owner.value, *row.path)
            chain = (gang.group, *census.chain(gang.group)[0])
            if value in row.apart or is_selected(owner, settings) or all(each.policy != "gang" for each in chain):
                continue
            yield tell(owner, row.path, value or row.default, case=kind, gang=gang)


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
