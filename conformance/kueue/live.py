"""Brings situations about on a live cluster, writes down what `kubectl get` shows of each, makes the change that should
mend it, and says whether the gang started."""

from __future__ import annotations

import copy
import json
import lzma
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from conformance.kueue.record import create, find_path, wait_calm
from conformance.kueue.rig import KUEUE, Rig, start
from conformance.kueue.situations import SITUATIONS, SPACE, Change, Parts, Situation
from conformance.scheduler.cluster import list_pods, remove

Value = dict[str, Any]

STATES: Final = Path(__file__).resolve().parent / "states.jsonl.xz"
#: What a user lists for `krmfn why`: collection, API version, kind.
_LISTED: Final = (
    *((f"/api/v1/{plural}", "v1", kind) for plural, kind in (("nodes", "Node"), ("pods", "Pod"), ("events", "Event"))),
    ("/api/v1/limitranges", "v1", "LimitRange"),
    ("/api/v1/namespaces", "v1", "Namespace"),
    ("/apis/batch/v1/jobs", "batch/v1", "Job"),
    ("/apis/scheduling.k8s.io/v1beta1/podgroups", "scheduling.k8s.io/v1beta1", "PodGroup"),
    *(
        (f"{KUEUE}/{plural}", "kueue.x-k8s.io/v1beta2", kind)
        for plural, kind in (
            *(("workloads", "Workload"), ("clusterqueues", "ClusterQueue"), ("localqueues", "LocalQueue")),
            *(("resourceflavors", "ResourceFlavor"), ("cohorts", "Cohort"), ("admissionchecks", "AdmissionCheck")),
            *(("topologies", "Topology"), ("workloadpriorityclasses", "WorkloadPriorityClass")),
        )
    ),
)
_SPACE: Final = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE, "labels": {"team": "ml"}}}


def prove(situations: Sequence[Situation] = SITUATIONS) -> Iterator[Value]:
    """Each situation: its name, the `items` of the cluster while it lasts, and what happened after the change."""
    with start(scheduling=True) as rig:
        create(rig, _SPACE)
        for configuration in dict.fromkeys(each.configuration for each in situations):
            with rig.manage(configuration):
                for situation in situations:
                    if situation.configuration == configuration:
                        yield _bring_about(rig, situation)


def _bring_about(rig: Rig, situation: Situation) -> Value:
    parts = Parts()
    situation.make(parts)
    for value in parts.list_objects():
        create(rig, copy.deepcopy(value))
        if value["kind"] in ("ClusterQueue", "Job"):
            wait_calm(rig)
    time.sleep(situation.seconds)
    for change in parts.after:
        apply(rig, change, parts.job)
    wait_calm(rig)
    list_pods(rig.plane)  # those that are being deleted end, as with a kubelet
    wait_calm(rig)
    row: Value = {
        "state": situation.name,
        "items": list(dump(rig)),
        "changes": [list(each) for each in situation.changes],
    }
    if situation.again:
        remove(rig.plane, parts.job)
        wait_calm(rig)
    for change in situation.changes:
        apply(rig, change, parts.job, situation.again)
        wait_calm(rig)
    row["started"] = _wait_started(rig) if situation.changes else None
    _clean(rig)
    return row


def apply(rig: Rig, change: Change, job: Value, again: bool = False) -> None:
    """Makes a change; what is changed of the Job that is to be created again is changed in its manifest."""
    if change.kind == "Job" and again:
        create(rig, _merge(job, change.patch))
        return
    if not change.name:
        assert change.patch is not None
        refused = create(rig, copy.deepcopy(change.patch))
        assert not refused, refused
        return
    version = next(version for _, version, kind in _LISTED if kind == change.kind)
    space = {"namespace": SPACE} if change.kind in ("Job", "Workload", "LocalQueue", "LimitRange") else {}
    name = _find_workload(rig, change.name) if change.kind == "Workload" else change.name
    target = {"apiVersion": version, "kind": change.kind, "metadata": {"name": name, **space}}
    path = find_path(target, name)
    if change.patch is None:
        rig.client.send("DELETE", path, {"propagationPolicy": "Background"})
        return
    answer = rig.client.patch(f"{path}/status" if change.status else path, change.patch, "application/merge-patch+json")
    assert answer.accepted, answer.body


def _merge(value: Any, patch: Any) -> Any:
    """A JSON merge patch."""
    if not isinstance(patch, dict):
        return patch
    merged = {**value} if isinstance(value, dict) else {}
    for key, each in patch.items():
        merged.pop(key, None) if each is None else merged.update({key: _merge(merged.get(key), each)})
    return merged


def _find_workload(rig: Rig, job: str) -> str:
    for value in rig.client.get(f"{KUEUE}/namespaces/{SPACE}/workloads").body["items"]:
        if any(owner["name"] == job for owner in value["metadata"].get("ownerReferences", ())):
            return str(value["metadata"]["name"])
    raise AssertionError(f"Kueue has no Workload of the Job {job}")


def dump(rig: Rig) -> Iterator[Value]:
    """All objects as `kubectl get -o yaml` prints them, without managedFields."""
    for path, version, kind in _LISTED:
        for value in rig.client.get(path).body["items"]:
            value["metadata"].pop("managedFields", None)
            if kind != "Namespace" or value["metadata"]["name"] == SPACE:
                yield {"apiVersion": version, "kind": kind, **value}


def _wait_started(rig: Rig, seconds: float = 30.0) -> bool:
    """Whether all three pods of the Job have a node in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pods = rig.client.get(f"/api/v1/namespaces/{SPACE}/pods").body["items"]
        mine = [pod for pod in pods if pod["metadata"]["name"].startswith("train-")]
        if len([pod for pod in mine if pod["spec"].get("nodeName")]) == 3:
            return True
        time.sleep(0.2)
    return False


def _clean(rig: Rig) -> None:
    """Removes everything but the namespace."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        left = [value for value in dump(rig) if value["kind"] not in ("Namespace", "Event")]
        for value in left:
            path = find_path(value, value["metadata"]["name"])
            if value["kind"] == "Pod" and value["metadata"].get("finalizers"):
                rig.client.patch(path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
            rig.client.send("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        if not left:
            break
        time.sleep(0.3)
    rig.client.send("DELETE", f"/api/v1/namespaces/{SPACE}/events", {})


def list_lines(rows: Sequence[Value]) -> list[str]:
    """The section of the report."""
    lines = ["| situation | change | the gang |", "|---|---|---|"]
    for row in rows:
        changes = "; ".join(_spell_change(*change) for change in row["changes"])
        lines.append(f"| {row['state']} | {changes or 'none'} | {spell(row['started'])} |")
    return lines


def _spell_change(kind: str, name: str, patch: Value | None, status: bool) -> str:
    if patch is None:
        return f"delete {kind} {name}"
    if not name:
        return f"create {kind} {patch['metadata']['name']}"
    return f"{kind} {name}: `{json.dumps(patch.get('spec', patch))}`" + (" (status)" if status else "")


def spell(started: bool | None) -> str:
    """What became of the gang after the change."""
    return {True: "starts", False: "does NOT start", None: "not tried"}[started]


def write(rows: Sequence[Value]) -> None:
    """One JSON object a line, compressed; rows of other situations stay."""
    kept = {row["state"]: row for row in (*(read_states() if STATES.exists() else ()), *rows)}
    ordered = [kept[each.name] for each in SITUATIONS if each.name in kept]
    text = "".join(json.dumps(row, sort_keys=True, separators=(",", ":")) + "\n" for row in ordered)
    STATES.write_bytes(lzma.compress(text.encode(), preset=9))


def read_states() -> list[Value]:
    """The situations that were written down."""
    return [json.loads(line) for line in lzma.decompress(STATES.read_bytes()).splitlines()]
