"""Gangs that start once and not again: retries, suspension, runs and revisions that share a group; and what a change of
the link does to pods that run: who replaces them, and whether their new group's quorum is ever met.

The group of a pod cannot change. A template that names another group makes new members of it, and how many of them
exist at once is up to the controller. Source: the rollouts of Deployment, StatefulSet and LeaderWorkerSet, and the
reconcilers that only create what is missing (KubeRay, the training operator, ReplicaSet)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from krmfn.checks.rule import Matches, name_min_count, rule, tell
from krmfn.config import Settings
from krmfn.config.selection import is_selected
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT
from krmfn.model.findings import Findings, Note
from krmfn.model.kinds import find_kind
from krmfn.model.marks import KUEUE_QUEUE
from krmfn.model.rollouts import ROLLOUTS, share
from krmfn.model.rules import tell as note
from krmfn.model.values import Fields, Key, Names, as_int, as_mapping, as_text, dig, identify
from krmfn.model.wording import count
from krmfn.survey.census import Census, LinkedGang, Template, count_pods, once, take_census
from krmfn.survey.jobs import Jobs, find_jobs, is_suspended, list_own_gangs

#: Where a kind says that what it created before goes first: the field, its values that mean so, and its default.
_SUCCESSIONS: Mapping[Key, tuple[Path, Names, Any]] = {
    ("batch", "CronJob"): (("spec", "concurrencyPolicy"), ("Forbid", "Replace"), "Allow"),
    ("ray.io", "RayCronJob"): (("spec", "schedule"), (), ABSENT),
    ("apps", "Deployment"): (("spec", "strategy", "type"), ("Recreate",), "RollingUpdate"),
    ("ray.io", "RayService"): (("spec", "upgradeStrategy", "type"), ("None",), ABSENT),
}


@rule("retry-starves")
def find_retry_starves(census: Census, settings: Settings) -> Matches:
    for gang, template, jobs in _complete_jobs(census, settings):
        spec = as_mapping(template.item.value, *jobs.path)
        limit, counted = as_int(spec, "backoffLimitPerIndex"), f"{gang.group.counted} {gang.group.quorum}"
        about: Fields = {"counted": counted, "lower": f"ower {name_min_count(gang.group, template.item)}"}
        if limit is not None:
            yield tell(template.item, (*jobs.path, "backoffLimitPerIndex"), limit, times=limit + 1, **about)
        if template.spec.get("restartPolicy") == "Never" and spec.get("backoffLimit") != 0:
            about["successes"] = _tell_successes(jobs)
            yield tell(template, ("restartPolicy",), "Never", case="succeeded", **about)


@rule("resume-starves")
def find_resume_starves(census: Census, settings: Settings) -> Matches:
    """A Job that a queue suspends and resumes: what has succeeded is missing after it."""
    for gang, template, jobs in _complete_jobs(census, settings) if census.has_text(KUEUE_QUEUE) else ():
        if template.item.kind == "AppWrapper":  # it deletes what it wraps, and creates it again
            continue
        if as_mapping(template.item.value, *jobs.labels).get(KUEUE_QUEUE):
            field = name_min_count(gang.group, template.item)
            path = (*jobs.labels, KUEUE_QUEUE)
            yield tell(template.item, path, successes=_tell_successes(jobs), gang=gang, field=field)


@rule("tail-starves")
def find_tail_starves(census: Census, settings: Settings) -> Matches:
    """A Job that runs its completions in waves, the last of which is smaller than the others."""
    for gang, template, jobs in _list_jobs(census, settings):
        tail = jobs.completions % jobs.parallel
        quorum, pods = gang.quorum, gang.pods
        if pods is None or not jobs.number or not tail:
            continue
        last, there = jobs.number * tail, pods - jobs.number * (jobs.parallel - tail)
        if not there < quorum <= pods:  # without the quorum not even the first ones start
            continue
        left = f"only {last} to create" if last > 1 else "only one to create"
        item, path, told = template.item, (*jobs.path, "completions"), jobs.completions
        field = name_min_count(gang.group, item)
        yield tell(item, path, told, field=field, left=left, gang=gang, quorum=quorum, there=there, jobs=jobs)


@rule("rollout-shares-group")
def find_rollout_shares_group(census: Census, settings: Settings) -> Matches:
    """Runs of a CronJob or RayCronJob, revisions of a Deployment, clusters of a RayService."""
    for (group, kind), (path, apart, default) in _SUCCESSIONS.items():
        for gang, owner in census.gangs_of(group, kind):
            value = dig(owner.value, *path)
            chain = census.lineage(gang.group)
            if value in apart or is_selected(owner, settings) or all(each.policy != "gang" for each in chain):
                continue
            yield tell(owner, path, value or default, case=kind, gang=gang)


def _complete_jobs(census: Census, settings: Settings) -> Iterator[tuple[LinkedGang, Template, Jobs]]:
    """The Jobs in gangs that need all of their pods, more than one."""
    for gang, template, jobs in _list_jobs(census, settings):
        if gang.pods is not None and gang.quorum >= gang.pods > 1:
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


#: Groups whose kinds delete their pods when they are suspended.
_SUSPENDED = ("ray.io", "kubeflow.org")


class Move(NamedTuple):
    """A template that gets into another group than before. `before` is that group, "" for none; `needed` is how many
    pods the new one waits for, None for those of a whole tree; `at_once` is how many pods of the new group the
    controller creates before any of them runs, None where it replaces none by itself."""

    item: Item
    path: Path
    before: str
    group: str
    needed: int | None
    at_once: int | None


@once
def find_steps(census: Census) -> Mapping[int, Move]:
    """The first change of each object after which pods are never scheduled, by the id of its item."""
    steps: dict[int, Move] = {}
    if not census.old:
        return steps
    before = take_census(census.old, ())
    earlier = {identify(item.ref): item for item in census.old if before.templates_of(item)}
    used = {(gang.group.namespace, gang.group.name) for gang in before.gangs if gang.templates}
    for gang in census.gangs:
        # Pods that run may already be members of a group that was there.
        if (gang.group.namespace, gang.group.name) in used or gang.group.policy not in ("gang", "basic"):
            continue
        for template in gang.templates:
            old = earlier.get(identify(template.item.ref))
            if id(template.item) in steps or old is None:
                continue
            step = _compare(template, old, before, gang, census)
            if step is not None:
                steps[id(template.item)] = step
    return steps


def _compare(template: Template, old: Item, before: Census, gang: LinkedGang, census: Census) -> Move | None:
    key = _name_places(template.item, template.path)
    was = next((each for each in before.templates_of(old) if _name_places(old, each.path) == key), None)
    if was is None or 0 in (was.pods, template.pods) or template.link is None or template.link.by:
        return None
    needed = None if census.ancestors(gang.group) else gang.quorum or 1
    group = was.link.group if was.link else ""
    return _judge(census, old, Move(template.item, template.link.path, group, gang.group.name, needed, None))


def _judge(census: Census, old: Item, step: Move) -> Move | None:
    """The step with what the controller of its object creates at once; None where the group gets what it waits for."""
    item = step.item
    kind, rollout = find_kind(item.ref), ROLLOUTS.get(item.group_kind)
    if kind is None or not (kind.kept or rollout) or is_suspended(old) or is_suspended(item):
        return None
    at_once, pods = rollout(item.value) if rollout else None, count_pods(census.templates_of(item))
    whole = is_recreated(item) if at_once is None else pods is not None and at_once >= pods
    met = step.needed is not None and step.needed <= (at_once or 1)
    return None if whole or met else step._replace(at_once=at_once)


def _find_opted_in(census: Census, settings: Settings) -> Iterator[Move]:
    """Objects that ask for a gang now and did not before; their groups and links are not written yet."""
    earlier = {identify(item.ref): item for item in census.old or ()} if census.asking else {}
    for item in census.asking:
        old = earlier.get(identify(item.ref))
        pods = count_pods(census.templates_of(item))
        if old is None or is_selected(old, settings) or not pods:
            continue
        step = _judge(census, old, Move(item, ("metadata", "annotations"), "", "", pods, None))
        if step is not None and id(item) not in find_steps(census):
            yield step


def describe(step: Move) -> Note:
    """What becomes of the pods, and what to do."""
    waits = "all groups of its tree" if step.needed is None else f"{step.needed} pods"
    about = {"group": step.group or "the group that krmfn generates", "waits": waits, "kind": step.item.kind}
    current = step.group or ABSENT
    if step.at_once is not None:
        pods = count(step.at_once, "pod")
        return note("rollout-starves", step.path, step.item.kind, current, pods=pods, **about)
    stay = f"members of {step.before}" if step.before else "outside of any group"
    case = "suspended" if step.item.group in _SUSPENDED else ""
    return note("replaced-pod-starves", step.path, case, current, stay=stay, **about)


@rule("replaced-pod-starves")
def find_replaced_pod_starves(census: Census, settings: Settings) -> Matches:
    return _tell(census, settings, "replaced-pod-starves")


@rule("rollout-starves")
def find_rollout_starves(census: Census, settings: Settings) -> Matches:
    """Pods that are replaced in steps smaller than the quorum of the new group, and replicas that an update adds."""
    yield from _tell(census, settings, "rollout-starves")
    yield from _find_surges(census)


def _find_surges(census: Census) -> Matches:
    """A LeaderWorkerSet with a group per replica, whose rolling update creates more replicas for a while."""
    seen = set()
    for template in census.templates:
        link, item = template.link, template.item
        if link is None or not link.by or not template.replicas or id(item) in seen:
            continue
        path = ("spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge")
        value = dig(item.value, *path)
        surge = min(share(value, template.replicas, up=True), template.replicas)
        first = f"{link.group}-{template.replicas}"
        if item.kind != "LeaderWorkerSet" or surge < 1 or (item.space, first) in census.groups:
            continue
        seen.add(id(item))
        pods = "1 replica" if surge == 1 else f"up to {surge} replicas"
        yield tell(item, path, value, pods=pods, template=template, first=first)


def _tell(census: Census, settings: Settings, id: str) -> Findings:
    steps = (*find_steps(census).values(), *_find_opted_in(census, settings)) if census.old else ()
    return (told.on(step.item) for step in steps if (told := describe(step)).rule == id)


def _name_places(item: Item, path: Path) -> Sequence[str | int]:
    """A path whose entries of lists are called by their names, so that it leads to the same entry in both states."""
    return [_name(dig(item.value, *path[: place + 1]), part) for place, part in enumerate(path)]


def _name(entry: object, part: str | int) -> str | int:
    if isinstance(part, str):
        return part
    return as_text(entry, "groupName") or as_text(entry, "name") or part


def is_recreated(item: Item) -> bool:
    """Whether KubeRay deletes all pods of a RayCluster and creates them again when their template changes."""
    return item.kind == "RayCluster" and dig(item.value, "spec", "upgradeStrategy", "type") == "Recreate"
