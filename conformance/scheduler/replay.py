"""Recorded decisions against what krmfn says of the same manifests: who was told "never" and ran, who was not told.

An error of the stage `scheduler` says that pods are never scheduled, one of the stage `server` that an object is never
stored. It speaks of the groups that the object, or the
template at its path, belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from conformance.scheduler.cluster import NAMESPACES
from conformance.scheduler.pods import expand
from conformance.scheduler.verdicts import judge, link_of, read_groups, root_of
from krmfn.config import read_settings
from krmfn.krm import Item
from krmfn.model.findings import Finding
from krmfn.pipeline import find_all

Value = dict[str, Any]


#: Kinds of which a scenario stores all that there are.
LISTED = (
    *("Pod", "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "ResourceClaim", "RuntimeClass"),
    *("PodGroup", "Workload", "PriorityClass"),
)


class Verdict(NamedTuple):
    """A gang's root: what the scheduler did with it ("ran", "partly" or "never"), the rules that said never,
    and the groups that pods link to."""

    scenario: str
    gang: str
    root: str
    kind: str
    spoilt: tuple[str, ...]
    decided: str
    claims: tuple[str, ...]
    links: tuple[str, ...]


def replay(scenarios: Iterable[Value]) -> Iterator[Verdict]:
    """One verdict for every root group that has pods."""
    for scenario in scenarios:
        yield from replay_one(scenario)


def replay_one(scenario: Value, findings: Sequence[tuple[Value, Finding]] | None = None) -> Iterator[Verdict]:
    """The verdicts of one scenario; `findings` are those of krmfn, asked for when not given."""
    said = predict(scenario) if findings is None else findings
    for gang in scenario["gangs"]:
        objects = gang["objects"]
        groups = read_groups(objects)
        pods = [pod for value in objects for pod in expand(value)]
        started = started_groups(scenario, gang)
        claims: dict[str, list[str]] = {}
        for value, finding in said:
            if not any(value is each for each in objects):
                continue
            for link in links_at(value, finding.path, objects):
                claims.setdefault(link, []).append(finding.rule)
        links = {link_of(pod): None for pod in pods if link_of(pod)}
        for root in {root_of(link, groups): None for link in links}:
            below = [link for link in links if root_of(link, groups) == root]
            names = (root, *below)
            ran = all(started.get(name) for name in names)
            some = any(started.get(name) for name in names)
            tree = {*names, *(name for name in groups if root_of(name, groups) == root)}
            told = tuple(sorted({rule for name in tree for rule in claims.get(name, ())}))
            wrong = tuple(sorted({rule for name in tree if started.get(name) for rule in claims.get(name, ())}))
            decided = "ran" if ran else "partly" if some else "never"
            if wrong and not ran:  # said of a group that started, while another of the same gang did not
                told = tuple(rule for rule in told if rule not in wrong) or told
            yield Verdict(
                scenario["id"], gang["name"], root, gang["kind"], tuple(gang["spoilt"]), decided, told, tuple(below)
            )


#: Why the conditions of krmfn.capacity let a gang pass that never started, by what the scheduler or the server said;
#: and what a proof would cost.
REASONS = (
    (
        "SchedulingGated",
        "pods carry a scheduling gate: something may remove it",
        "krmfn does not see who removes gates; it says that the gang waits for that (gated-member)",
    ),
    (
        "unbound immediate",
        "a claim is not bound yet: something may bind it",
        "whether a provisioner runs and has room is in no object",
    ),
    (
        "is invalid",
        "the pod template is not valid: the server refuses the workload already",
        "the pods of an operator hold containers that it adds: what the server says of the sum needs the operator",
    ),
    (
        "exceeded quota",
        "pods of others use up a quota",
        "which of several gangs gets the quota depends on the order in which their pods are made",
    ),
    (
        "SchedulerError",
        "the scheduler fails",
        "the scheduler should not: it ended its attempt with an error about a claim that is not bound",
    ),
    (
        "didn't match pod",
        "rules between pods leave no room in the order in which the scheduler takes them",
        "affinity, anti-affinity and spreading among the pods to come: which sets of nodes satisfy all of them is a "
        "search without bound; the simulator tries the scheduler's order instead",
    ),
    (
        "Unschedulable",
        "it fits, but not in the order in which the scheduler takes pods and groups",
        "the pods fit if they are packed well, and the scheduler does not move a pod that it has placed: only its own "
        "code says how it packs; the simulator runs it",
    ),
    (
        "",
        "the scheduler holds it back without a word",
        "no condition and no event was written until the recording ended, and the simulator starts most of them",
    ),
)
#: Reasons that stand in the scenario, and not in what was said.
FOREIGN = (
    "the pods name a scheduler that does not run here",
    "another scheduler may be installed: a warning, because a proof needs to know that none is",
)
OFF = (
    "the scheduler knows no groups: pods are placed one by one",
    "its pods run, or some of them, but not as a gang: told as a warning (cluster-gate-off), because pods start",
)


def explain(scenario: Value, verdict: Verdict) -> str:
    """Why a gang that never started was not told, from the scenario and the recorded words."""
    (gang,) = (each for each in scenario["gangs"] if each["name"] == verdict.gang)
    names = {pod["spec"].get("schedulerName") for value in gang["objects"] for pod in expand(value)}
    said = []
    for name, outcome in scenario["alone"].items():
        if name.split()[0] == verdict.gang:
            said += [text for text, _ in outcome["said"]] + list(outcome["refused"].values())
    if not said and names - {None, "", "default-scheduler"}:
        return FOREIGN[0]
    reason = next(reason for mark, reason, _ in REASONS if any(mark in text for text in said) or not mark)
    if not scenario["scheduler_gates"].get("GenericWorkload") and "Unschedulable" in ("".join(said) or "Unschedulable"):
        return OFF[0]
    return reason


def started_groups(scenario: Value, gang: Value) -> dict[str, bool]:
    """Every group of the gang: whether it started in any of the trials."""
    started: dict[str, bool] = {}
    for name, outcome in [("", scenario["together"]), *scenario["alone"].items()]:
        if name and name.split()[0] != gang["name"]:
            continue
        pods = [pod for value in gang["objects"] for pod in expand(value)]
        for group, ran in judge(gang["objects"], pods, outcome["bound"]).items():
            started[group] = started.get(group, False) or ran
    return started


def predict(scenario: Value) -> list[tuple[Value, Finding]]:
    """The errors of the stages server and scheduler, each with the object of the scenario that it is about."""
    settings = read_settings(configuration(scenario))
    values = [value for gang in scenario["gangs"] for value in gang["objects"]]
    items = [Item.new(value) for value in values]
    places = {id(item): value for item, value in zip(items, values, strict=True)}
    found = find_all(items, settings, None, ("server", "scheduler"), "apply")
    from krmfn.model.rules import RULES

    return [
        (places[id(finding.item)], finding)
        for finding in found
        if (finding.severity or RULES[finding.rule].severity) == "error"
        and RULES[finding.rule].stage in ("server", "scheduler")
        and id(finding.item) in places
    ]


def configuration(scenario: Value) -> Value:
    """The configuration of a scenario, with its cluster as facts."""
    spaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels)}}
        for name, labels in NAMESPACES.items()
    ]
    cluster = {
        "items": [*spaces, *scenario["nodes"], *scenario["stored"], *scenario["running"]],
        "featureGates": {"kube-scheduler": scenario["scheduler_gates"]},
        "schedulers": ["default-scheduler"],
        "listed": list(LISTED),
    }
    spec = {"kubernetes": {"version": scenario["release"], "featureGates": scenario["gates"]}, "cluster": cluster}
    return {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "metadata": {"name": "facts"}, "spec": spec}


def links_at(value: Value, path: Sequence[str | int], objects: Sequence[Value]) -> list[str]:
    """The groups that a finding at this path of an object speaks of."""
    groups = read_groups([value])
    if groups:
        names = list(groups)
        if value["kind"] == "CompositePodGroup":
            every = read_groups(objects)
            names += [name for name in every if root_of(name, every) == names[0]]
        if value["kind"] == "Workload" and len(path) > 2 and path[1] == "podGroups":
            names = names[int(path[2]) : int(path[2]) + 1]
        return names
    pods = list(expand(value))
    links = {link_of(pod): None for pod in pods if link_of(pod)}
    spec: Any = value
    for step in path:
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            break
        spec = spec[int(step)] if isinstance(spec, list) else spec.get(step) if isinstance(spec, dict) else None
    if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
        pod = {"metadata": {"namespace": value["metadata"].get("namespace", "default")}, "spec": spec}
        return [link_of(pod)] if link_of(pod) else []
    return list(links)
