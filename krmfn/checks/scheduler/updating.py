"""What a change of the link does to pods that run: who replaces them, and whether their new group's quorum is ever met.

The group of a pod cannot change. A template that names another group makes new members of it, and how many of them
exist at once is up to the controller. Source: the rollouts of Deployment, StatefulSet and LeaderWorkerSet, and the
reconcilers that only create what is missing (KubeRay, the training operator, ReplicaSet).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from krmfn.checks.rule import Match, Matches, rule, tell
from krmfn.config import Settings
from krmfn.config.selection import is_selected
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT
from krmfn.model.findings import Finding
from krmfn.model.identity import identify
from krmfn.model.kinds import find_kind
from krmfn.model.rollouts import ROLLOUTS, share
from krmfn.model.values import Key, as_text, dig
from krmfn.survey.census import Census, LinkedGang, Template, count_pods, once, take_census
from krmfn.survey.jobs import is_suspended

#: Groups whose kinds delete their pods when they are suspended.
_SUSPENDED: Final = ("ray.io", "kubeflow.org")


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
    needed = None if census.chain(gang.group)[0] else gang.group.quorum or 1
    group = was.link.group if was.link else ""
    return _judge(census, old, Move(template.item, template.link.path, group, gang.group.name, needed, None))


def _judge(census: Census, old: Item, step: Move) -> Move | None:
    """The step with what the controller of its object creates at once; None where the group gets what it waits for."""
    item = step.item
    kind = find_kind(item.ref.group, item.kind)
    count = ROLLOUTS.get((item.ref.group, item.kind))
    if kind is None or not (kind.kept or count):
        return None
    if is_suspended(old) or is_suspended(item):
        return None
    at_once = count(item.value) if count else None
    if at_once is None and is_recreated(item):
        return None
    pods = count_pods(census.templates_of(item))
    if at_once is not None and pods is not None and at_once >= pods:
        return None
    if step.needed is not None and step.needed <= (at_once or 1):
        return None
    return step._replace(at_once=at_once)


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


def describe(step: Move) -> Key:
    """What becomes of the pods, and what to do."""
    waits = "all groups of its tree" if step.needed is None else f"{step.needed} pods"
    group, item = step.group or "the group that krmfn generates", step.item
    if step.at_once is not None:
        pods = "1 pod" if step.at_once == 1 else f"{step.at_once} pods"
        told = f"the rolling update creates {pods} at a time in {group}, which waits for {waits}"
        return f"{told}: the update never ends", _HINTS[item.kind]
    stay = f"members of {step.before}" if step.before else "outside of any group"
    message = (
        f"running pods stay {stay}; a pod that replaces one of them is in {group}, which waits for {waits}: it is "
        "never scheduled"
    )
    if item.ref.group not in _SUSPENDED:
        return message, f"Delete the {item.kind} and create it again, so that all pods are created together."
    return message, f"Suspend the {item.kind} with this change until its pods are gone, or delete and create it again."


@rule("replaced-pod-starves")
def find_replaced_pod_starves(census: Census, settings: Settings) -> Iterator[Finding | Match]:
    yield from _tell(census, settings, rolls=False)


@rule("rollout-starves")
def find_rollout_starves(census: Census, settings: Settings) -> Iterator[Finding | Match]:
    """Objects that replace their pods in steps which are smaller than the quorum of the new group, and replicas that
    an update adds for a while."""
    yield from _tell(census, settings, rolls=True)
    yield from _find_surges(census)


def _find_surges(census: Census) -> Matches:
    """A LeaderWorkerSet with a group per replica, whose rolling update creates more replicas for a while."""
    seen: set[int] = set()
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


def _tell(census: Census, settings: Settings, rolls: bool) -> Iterator[Finding | Match]:
    if not census.old:
        return
    for step in (*find_steps(census).values(), *_find_opted_in(census, settings)):
        if (step.at_once is not None) == rolls:
            message, hint = describe(step)
            rule_id = "rollout-starves" if rolls else "replaced-pod-starves"
            yield Finding(step.item, step.path, message, step.group or ABSENT, hint=hint, rule=rule_id)


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


_HINTS: Final = {
    "Deployment": "Use strategy type Recreate, or maxSurge 100%.",
    "StatefulSet": "Use updateStrategy type OnDelete and delete all pods after the change.",
    "LeaderWorkerSet": "Set maxUnavailable to 100%, or generate one group per replica (granularity: Replica).",
}
