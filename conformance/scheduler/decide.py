"""Applies a scenario to a control plane and writes down what the scheduler did with it.

First everything together; then every gang that did not start, alone in the empty cluster: what does not start there
never does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random
from typing import Any

from conformance.scheduler.cluster import Outcome, clean, create, read_outcome, reset_quotas, wait_quiet
from conformance.scheduler.plane import Plane
from conformance.scheduler.pods import expand
from conformance.scheduler.verdicts import judge, link_of, read_groups, root_of

Value = dict[str, Any]
GROUPS = ("Workload", "CompositePodGroup", "PodGroup")


def decide(plane: Plane, scenario: Value) -> Value:
    """The scenario with `together` and `alone`: {gang or root: outcome}. What the scenario before
    left is removed first; raises LeftOver when that fails."""
    objects = [value for gang in scenario["gangs"] for value in gang["objects"]]
    with_controller = scenario["profile"] == "all" and Random(scenario["id"]).random() < 0.08
    clean(plane, plane.applied)
    plane.applied = [*scenario["stored"], *objects]
    refused = create(plane, [*scenario["nodes"], *scenario["stored"]])
    refused |= create(plane, scenario["running"])
    together = _apply(plane, scenario, objects, with_controller, refused)
    started = judge(objects, _pods(objects), together.bound)
    alone: dict[str, Value] = {}
    for gang in scenario["gangs"]:
        for name, selected in _trials(gang, started):
            if len(scenario["gangs"]) == 1 and not scenario["running"] and name == gang["name"]:
                outcome = together
            else:
                clean(plane, [value for value in objects if value["kind"] not in GROUPS], nodes=False)
                reset_quotas(plane, scenario["stored"])
                outcome = _apply(plane, scenario, selected, False, {})
            alone[name] = _spell(outcome)
            started |= {key: True for key, ran in judge(selected, _pods(selected), outcome.bound).items() if ran}
    return {**scenario, "controller": with_controller, "together": _spell(together), "alone": alone}


def _trials(gang: Value, started: dict[str, bool]) -> Iterator[tuple[str, list[Value]]]:
    """The whole gang when something of it did not start; then, where it has several roots, each such root by itself."""
    name, objects = gang["name"], gang["objects"]
    groups = read_groups(objects)
    pods = _pods(objects)
    roots = {root_of(link_of(pod), groups): None for pod in pods if link_of(pod)}
    missing = [root for root in roots if not all(_of_root(root, groups, started, pods))]
    if not missing:
        return
    yield name, objects
    for root in missing if len(roots) > 1 else ():
        if not all(_of_root(root, groups, started, pods)):
            others = [value for value in objects if value["kind"] in GROUPS]
            yield f"{name} {root}", [*others, *(pod for pod in pods if root_of(link_of(pod), groups) == root)]


def _of_root(root: str, groups: Any, started: dict[str, bool], pods: list[Value]) -> Iterator[bool]:
    for link in {link_of(pod): None for pod in pods if link_of(pod)}:
        if root_of(link, groups) == root:
            yield started.get(link, False) and started.get(root, False)


def _pods(objects: list[Value]) -> list[Value]:
    return [pod for value in objects for pod in expand(value)]


def _apply(
    plane: Plane, scenario: Value, objects: list[Value], with_controller: bool, refused: dict[str, str]
) -> Outcome:
    """Creates groups and pods, in the order of the scenario, and waits until nothing new can come."""
    start = time.monotonic()
    groups = [value for value in objects if value["kind"] in GROUPS]
    groups.sort(key=lambda value: GROUPS.index(value["kind"]))
    jobs = [value for value in objects if with_controller and value["kind"] == "Job"]
    pods = [pod for value in objects if value not in jobs for pod in expand(value)]
    expected = len(_pods(jobs))
    pods_first = scenario["pods_first"] and plane.release.name != "1.36"  # whose groups need their Workload
    order = [*pods, *jobs, *groups] if pods_first else [*groups, *pods, *jobs]
    refused = refused | create(plane, order)
    settled = wait_quiet(plane, 2, at_least=expected)
    outcome = read_outcome(plane, refused, time.monotonic() - start)
    if expected:
        outcome = _rename(outcome, plane)
    return outcome if settled else outcome._replace(refused={**outcome.refused, "settled": "no"})


def _rename(outcome: Outcome, plane: Plane) -> Outcome:
    """Pods of the Job controller by the names that expand() gives them."""
    numbers: dict[str, int] = {}
    names = {}
    pods = plane.client.get("/api/v1/pods").body["items"]
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"])):
        metadata = pod["metadata"]
        job = metadata.get("labels", {}).get("batch.kubernetes.io/job-name")
        if job and any(owner["kind"] == "Job" for owner in metadata.get("ownerReferences", [])):
            full = f"{metadata['namespace']}/{metadata['name']}"
            names[full] = f"{metadata['namespace']}/{job}-{numbers.get(job, 0)}"
            numbers[job] = numbers.get(job, 0) + 1
    return outcome._replace(
        bound={names.get(pod, pod): node for pod, node in outcome.bound.items()},
        messages={names.get(pod, pod): text for pod, text in outcome.messages.items()},
        waiting=tuple(names.get(pod, pod) for pod in outcome.waiting),
    )


def _spell(outcome: Outcome) -> Value:
    """As JSON, equal messages once."""
    texts: dict[str, list[str]] = {}
    for pod, text in sorted(outcome.messages.items()):
        texts.setdefault(text, []).append(pod)
    return {
        "bound": dict(sorted(outcome.bound.items())),
        "said": [[text, pods] for text, pods in texts.items()],
        "refused": outcome.refused,
        "waiting": list(outcome.waiting),
        "seconds": outcome.seconds,
    }
