"""Brings situations about with the controllers of other projects, writes down what `kubectl get` shows of each, makes
the change that should mend it, and says whether the gang started."""

from __future__ import annotations

import copy
import json
import lzma
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from conformance.kueue.live import spell
from conformance.kueue.record import create, find_path
from conformance.kueue.situations import SPACE, Change
from conformance.operators.rig import Running, run
from conformance.operators.situations import MISSING, STUCK, Stuck
from conformance.scheduler.cluster import list_pods

Value = dict[str, Any]
FOLDER: Final = Path(__file__).resolve().parent
STATES: Final = FOLDER / "states.jsonl.xz"
_LISTED: Final = (
    *(("v1", kind) for kind in ("Node", "Pod", "Event", "ResourceQuota", "Namespace")),
    *(("batch/v1", "Job"), ("apps/v1", "StatefulSet"), ("scheduling.k8s.io/v1beta1", "PodGroup")),
    *(("jobset.x-k8s.io/v1alpha2", "JobSet"), ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")),
    *(("ray.io/v1", "RayJob"), ("ray.io/v1", "RayCluster")),
)
_SPACE: Final = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
_CLUSTERED: Final = ("Node", "Namespace")
_CALM_SECONDS: Final = 1.5
_PATIENCE_SECONDS: Final = 30.0


def prove(situations: Sequence[Stuck] = STUCK) -> Iterator[Value]:
    """Each situation: its name, the `items` of the cluster while it lasts, and what happened after the change."""
    for operator in dict.fromkeys(each.operator for each in situations):
        ours = [each for each in situations if each.operator == operator]
        probe = copy.deepcopy(ours[0].objects[-1])
        probe["metadata"]["namespace"] = "default"
        with run(operator, probe) as running:
            create_all(running, [_SPACE])
            for situation in ours:
                yield _bring_about(running, situation)


def create_all(running: Running, values: Sequence[Value]) -> None:
    for value in values:
        refused = create(running, copy.deepcopy(value))  # type: ignore[arg-type]
        assert not refused, refused


def _bring_about(running: Running, situation: Stuck) -> Value:
    create_all(running, situation.objects)
    settle(running)
    for change in situation.after:
        apply(running, change)
    settle(running)
    row: Value = {
        "state": situation.name,
        "items": list(dump(running)),
        "changes": [list(each) for each in situation.changes],
    }
    last = situation.objects[-1]
    if situation.again:
        _delete(running, last)
        _wait_gone(running)
        create_all(running, [last])
    for change in () if situation.again else situation.changes:
        apply(running, change)
    row["started"] = _wait_started(running, situation.pods)
    _clean(running)
    return row


def settle(running: Running) -> None:
    """Waits until nothing is written any more. Pods with a node become ready on the way, as a kubelet would say."""
    end, seen, since = time.monotonic() + _PATIENCE_SECONDS, "", time.monotonic()
    while time.monotonic() < end and time.monotonic() - since < _CALM_SECONDS:
        for pod in list_pods(running.plane):
            if pod["spec"].get("nodeName") and pod["status"].get("phase") == "Pending":
                apply(running, Change("Pod", pod["metadata"]["name"], {"status": _start(pod)}, status=True))
        now = json.dumps([(each["metadata"]["uid"], each["metadata"]["resourceVersion"]) for each in dump(running)])
        if now != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.2)


def _start(pod: Value) -> Value:
    """The status of a pod that its kubelet started, or whose image it cannot pull."""
    box, missing = pod["spec"]["containers"][0], pod["spec"]["containers"][0]["image"] == MISSING
    told = {"Ready": "False" if missing else "True", "PodScheduled": "True"}
    conditions = [{"type": kind, "status": status} for kind, status in told.items()]
    if not missing:
        return {"phase": "Running", "conditions": conditions}
    waiting = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{MISSING}"'}
    box = {"name": box["name"], "image": MISSING, "imageID": "", "ready": False, "restartCount": 0}
    return {"conditions": conditions, "containerStatuses": [{**box, "state": {"waiting": waiting}}]}


def apply(running: Running, change: Change) -> None:
    """Makes a change; a name that ends with a hyphen is that of the first pod whose name begins so."""
    if not change.name:
        assert change.patch is not None
        create_all(running, [change.patch])
        return
    version = next(version for version, kind in _LISTED if kind == change.kind)
    space = {} if change.kind in _CLUSTERED else {"namespace": SPACE}
    names = (
        [pod["metadata"]["name"] for pod in list_pods(running.plane)] if change.name.endswith("-") else [change.name]
    )
    name = next(each for each in names if each.startswith(change.name))
    path = find_path({"apiVersion": version, "kind": change.kind, "metadata": {"name": name, **space}}, name)
    if change.patch is None:
        running.client.send("DELETE", path, {"propagationPolicy": "Background"})
        return
    path = f"{path}/status" if change.status else path
    answer = running.client.patch(path, change.patch, "application/merge-patch+json")
    assert answer.accepted, answer.body


def dump(running: Running) -> Iterator[Value]:
    """All objects as `kubectl get -o yaml` prints them, without managedFields."""
    for version, kind in _LISTED:
        path = find_path({"apiVersion": version, "kind": kind, "metadata": {"name": ""}})
        answer = running.client.get(path)
        for value in answer.body["items"] if answer.accepted else ():  # kinds of other operators are not there
            value["metadata"].pop("managedFields", None)
            if kind != "Namespace" or value["metadata"]["name"] == SPACE:
                yield {"apiVersion": version, "kind": kind, **value}


def _wait_gone(running: Running) -> None:
    """Until what was made of a deleted object is gone, too. A pod that is over ends as with a kubelet."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while any(each["kind"] in ("Job", "StatefulSet", "Pod") for each in dump(running)) and time.monotonic() < end:
        list_pods(running.plane)
        time.sleep(0.3)


def _wait_started(running: Running, pods: int) -> bool:
    """Whether all pods have a node in time; controllers try again what was refused after a while."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        settle(running)
        if sum(bool(pod["spec"].get("nodeName")) for pod in list_pods(running.plane)) == pods:
            return True
    return False


def _delete(running: Running, value: Value) -> None:
    path = find_path(value, value["metadata"]["name"])
    if value["metadata"].get("finalizers"):
        running.client.patch(path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    running.client.send("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})


def _clean(running: Running) -> None:
    """Removes everything but the namespace."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        left = [value for value in dump(running) if value["kind"] not in ("Namespace", "Event")]
        for value in sorted(left, key=lambda each: bool(each["metadata"].get("ownerReferences"))):
            _delete(running, value)
        if not left:
            break
        time.sleep(0.3)
    running.client.send("DELETE", f"/api/v1/namespaces/{SPACE}/events", {})


def list_lines(rows: Sequence[Value]) -> list[str]:
    """The table of the report."""
    lines = ["| situation | change | the gang |", "|---|---|---|"]
    return lines + [f"| {row['state']} | {_spell_changes(row)} | {spell(row['started'])} |" for row in rows]


def _spell_changes(row: Value) -> str:
    told = []
    for kind, name, patch, _ in row["changes"]:
        if patch is None:
            told.append(f"delete {kind} {name}")
        elif not name:
            told.append(f"create {kind} {patch['metadata']['name']}")
        else:
            spelt = json.dumps(patch, sort_keys=True)
            told.append(f"{kind} {name}: `{spelt}`" if patch else f"{kind} {name} is created again")
    return "; ".join(told)


def write(rows: Sequence[Value]) -> None:
    """One JSON object a line, compressed; rows of other situations stay. The report is written anew."""
    kept = {row["state"]: row for row in (*(read_states() if STATES.exists() else ()), *rows)}
    ordered = [kept[each.name] for each in STUCK if each.name in kept]
    text = "".join(json.dumps(row, sort_keys=True, separators=(",", ":")) + "\n" for row in ordered)
    STATES.write_bytes(lzma.compress(text.encode(), preset=9))
    head = "# Gangs of other projects that do not start\n\nWritten by `python -m conformance.operators`.\n\n"
    (FOLDER / "REPORT.md").write_text(head + "".join(f"{line}\n" for line in list_lines(ordered)))


def read_states() -> list[Value]:
    """The situations that were written down."""
    return [json.loads(line) for line in lzma.decompress(STATES.read_bytes()).splitlines()]
