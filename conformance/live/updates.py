"""What `krmfn diff` says of a change, and what the server does with it: one change of one field, applied as
`kubectl apply --server-side --force-conflicts` sends it."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from conformance.live.claims import Claim, Value, ask_json, generate, spell_cluster, write_manifests
from conformance.live.gangs import EXAMPLES, place
from conformance.scheduler.cluster import address, clean, create, remove
from conformance.scheduler.plane import Plane

UPDATED = "updates"
_GONE: Final = object()
Change = tuple[str, str, tuple[str | int, ...], Any]

_GANG, _BOX = ("spec", "schedulingPolicy", "gang"), ("spec", "template", "spec", "containers", 0)
#: Example, kind, field, new value. A change of a field that the release's objects do not have is left out.
CHANGES: tuple[Change, ...] = (
    ("job", "PodGroup", (*_GANG, "minCount"), 3),
    ("job", "PodGroup", (*_GANG, "minCount"), 0),
    ("job", "PodGroup", ("spec", "schedulingPolicy"), {"basic": {}}),
    ("job", "PodGroup", ("spec", "schedulingPolicy"), {}),
    ("job", "PodGroup", ("spec", "disruptionMode"), {"single": {}}),
    ("job", "PodGroup", ("spec", "disruptionMode"), _GONE),
    ("job", "PodGroup", ("spec", "schedulingConstraints"), {"topology": [{"key": "rack"}]}),
    ("job", "PodGroup", ("spec", "priorityClassName"), "system-node-critical"),
    ("job", "PodGroup", ("metadata", "labels"), {"team": "ml"}),
    ("job", "PodGroup", ("metadata", "labels"), {"team": "no label!"}),
    ("raycluster", "PodGroup", (*_GANG, "minCount"), 1),
    ("raycluster", "PodGroup", ("spec", "parentCompositePodGroupName"), "other"),
    ("raycluster", "PodGroup", ("spec", "workloadRef", "workloadName"), "other"),
    ("raycluster", "CompositePodGroup", ("spec", "schedulingPolicy", "gang", "minGroupCount"), 1),
    ("raycluster", "CompositePodGroup", ("spec", "schedulingPolicy", "gang", "minGroupCount"), -1),
    ("raycluster", "CompositePodGroup", ("spec", "schedulingPolicy"), {"basic": {}}),
    ("raycluster", "CompositePodGroup", ("spec", "schedulingConstraints"), {"topology": [{"key": "rack"}]}),
    ("raycluster", "CompositePodGroup", ("spec", "disruptionMode"), {"single": {}}),
    ("raycluster", "CompositePodGroup", ("metadata", "annotations"), {"team": "ml"}),
    ("job", "Workload", ("spec", "podGroupTemplates", 0, "name"), "other"),
    ("job", "Workload", ("spec", "podGroupTemplates", 0, "schedulingPolicy", "gang", "minCount"), 2),
    ("job", "Workload", ("spec", "podGroups", 0, "name"), "other"),
    ("job", "Workload", ("spec", "podGroups", 0, "policy", "gang", "minCount"), 2),
    ("job", "Workload", ("metadata", "labels"), {"team": "ml"}),
    ("job", "Job", ("spec", "parallelism"), 4),
    ("job", "Job", ("spec", "completions"), 4),
    ("job", "Job", ("spec", "parallelism"), -4),
    ("job", "Job", ("spec", "suspend"), True),
    ("job", "Job", ("spec", "backoffLimit"), 9),
    ("job", "Job", ("spec", "completionMode"), "NonIndexed"),
    ("job", "Job", (*_BOX, "image"), "registry.example.com/train:2"),
    ("job", "Job", ("spec", "template", "spec", "schedulingGroup", "podGroupName"), "other"),
    ("job", "Job", ("spec", "template", "spec", "workloadRef", "name"), "other"),
    ("deployment", "Deployment", ("spec", "replicas"), 5),
    ("deployment", "Deployment", (*_BOX, "image"), "registry.example.com/train:2"),
    ("deployment", "Deployment", ("spec", "selector", "matchLabels"), {"app": "other"}),
    ("deployment", "Deployment", ("spec", "template", "spec", "restartPolicy"), "Never"),
    ("statefulset", "StatefulSet", ("spec", "replicas"), 5),
    ("statefulset", "StatefulSet", ("spec", "serviceName"), "other"),
    ("statefulset", "StatefulSet", ("spec", "podManagementPolicy"), "OrderedReady"),
    ("statefulset", "StatefulSet", (*_BOX, "image"), "registry.example.com/train:2"),
)
#: What the server did with a change, and the actions of `krmfn diff` that say so.
_MEANS = {"taken": ("update", "unchanged"), "taken as a new object": ("replace",), "refused": ("refuse",)}


def prove_updates(plane: Plane) -> Iterator[Claim]:
    """Every change by itself, on an object that lives; one that is refused is tried as a new object, too."""
    made = {name: _generate(name, plane.release.name) for name in dict.fromkeys(change[0] for change in CHANGES)}
    clean(plane, plane.applied)
    plane.applied = []
    create(plane, [each for values in made.values() for each in values if each["kind"] == "Workload"])  # groups name it
    for number, (name, kind, path, value) in enumerate(CHANGES):
        old = next((each for each in made[name] if each["kind"] == kind and _has(each, path)), None)
        if old is None:
            continue
        old = copy.deepcopy(old)
        old["metadata"]["name"] = f"{old['metadata']['name']}-{number}"
        new = copy.deepcopy(old)
        _put(new, path, value)
        with TemporaryDirectory() as folder:
            states = [write_manifests(Path(folder, f"{n}.yaml"), [each]) for n, each in enumerate((old, new))]
            answer = ask_json("diff", *states, *spell_cluster(plane.release.name, plane.gates))
        (action,) = [entry["action"] for entry in answer["entries"]]
        seen, words = _try(plane, old, new)
        spelled = "" if value is _GONE else f" to `{value}`"
        subject = f"{kind} `{'.'.join(map(str, path))}`{spelled}{' taken away' if value is _GONE else ''}"
        yield Claim(UPDATED, subject, action, f"{seen}{f': {words}' if words else ''}", action in _MEANS[seen])


def _generate(name: str, release: str) -> list[Value]:
    granularity = "Group" if name == "raycluster" else "Cluster"
    return generate(place((EXAMPLES / f"{name}.yaml").read_text(), "ml", granularity), release)


def _has(value: Any, path: tuple[str | int, ...]) -> bool:
    """Whether an object has what the path leads to, or at least what it is a part of."""
    for step in path[:-1]:
        if not (isinstance(step, int) or step in value):
            return False
        value = value[step]
    return True


def _put(value: Any, path: tuple[str | int, ...], new: Any) -> None:
    for step in path[:-1]:
        value = value[step] if isinstance(step, int) else value.setdefault(step, {})
    if new is _GONE:
        value.pop(path[-1], None)
    else:
        value[path[-1]] = new


def _try(plane: Plane, old: Value, new: Value) -> tuple[str, str]:
    """What became of the change, and the server's words."""
    first = _apply(plane, old)
    if first:
        raise RuntimeError(f"{old['kind']} {old['metadata']['name']}: {first}")
    words = _apply(plane, new)
    outcome = "taken"
    if words:
        _replace(plane, old)
        again = _apply(plane, new)
        outcome, words = ("refused", again) if again else ("taken as a new object", words)
    _replace(plane, old)
    # Every run has other UIDs: the page would differ from the last for nothing.
    return outcome, re.sub(r'-uid":"[0-9a-f-]+', '-uid":"', words)[:160]


def _replace(plane: Plane, value: Value) -> None:
    """Deletes an object, and waits until its name is free: a controller may hold it for a moment."""
    end = time.monotonic() + 10
    while plane.client.get(address(value, value["metadata"]["name"])).accepted:
        remove(plane, value)
        if time.monotonic() > end:
            raise RuntimeError(f"{value['kind']} {value['metadata']['name']} stays")


def _apply(plane: Plane, value: Value) -> str:
    """Server-side apply; the words of a refusal."""
    query = {"fieldManager": "kubectl", "force": "true", "fieldValidation": "Strict"}
    path = address(value, value["metadata"]["name"])
    answer = plane.client.patch(path, value, "application/apply-patch+yaml", **query)
    return "" if answer.accepted else str(answer.body.get("message", answer.body))
