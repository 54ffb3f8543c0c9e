"""What is applied to a control plane, taken away again, and read back: bindings, the scheduler's queues.

Knows kinds by their addresses only; must not know why something is applied.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from conformance.scheduler.plane import Plane

Value = dict[str, Any]

#: Namespaces that scenarios use, with labels that namespaceSelectors look for.
NAMESPACES: Mapping[str, Mapping[str, str]] = {"ml": {"team": "ml"}, "data": {"team": "data"}}
_CLUSTER = (
    *("Node", "Namespace", "PriorityClass", "PersistentVolume", "StorageClass", "RuntimeClass", "DeviceClass"),
    "ResourceSlice",
)
_PLURALS = {"PriorityClass": "priorityclasses", "StorageClass": "storageclasses", "RuntimeClass": "runtimeclasses"}
_PLURALS["DeviceClass"] = "deviceclasses"

#: So many seconds after the last object is gone a scheduler on a busy machine has noticed it.
PATIENCE = 15


class LeftOver(RuntimeError):
    """Something of the scenario before could not be removed: it would spoil the next decision."""


class Outcome(NamedTuple):
    """What the scheduler did. `bound` maps namespace/pod to a node, `messages` a waiting pod to what its condition
    says, `refused` an object that the API server did not take to its answer."""

    bound: dict[str, str]
    messages: dict[str, str]
    refused: dict[str, str]
    waiting: tuple[str, ...]
    seconds: float


def address(value: Value, name: str = "") -> str:
    """The path of a collection, or of the object in it."""
    version, kind = value["apiVersion"], value["kind"]
    root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    space = "" if kind in _CLUSTER else f"/namespaces/{value['metadata'].get('namespace', 'default')}"
    return f"{root}{space}/{_PLURALS.get(kind, kind.lower() + 's')}" + (f"/{name}" if name else "")


def create(plane: Plane, values: Sequence[Value], **query: str) -> dict[str, str]:
    """Creates objects one after the other; what was refused, by kind namespace/name."""
    refused = {}
    for value in values:
        answer = plane.client.post(address(value), value, **query)
        if not answer.accepted:
            text = answer.body.get("message", "") if isinstance(answer.body, dict) else str(answer.body)
            refused[name_of(value)] = f"{answer.status}: {text}"
    reset_quotas(plane, values)
    return refused


def reset_quotas(plane: Plane, values: Iterable[Value]) -> None:
    """What quotas say about an empty namespace: the controller that fills in their status does not run."""
    for value in values:
        if value["kind"] == "ResourceQuota":
            hard = value["spec"]["hard"]
            status = {"hard": hard, "used": dict.fromkeys(hard, "0")}
            path = address(value, value["metadata"]["name"]) + "/status"
            plane.client.patch(path, {"status": status}, "application/merge-patch+json")
            time.sleep(0.1)


def name_of(value: Value) -> str:
    """Kind namespace/name, or Kind name."""
    space = value["metadata"].get("namespace")
    return (
        f"{value['kind']} {space}/{value['metadata']['name']}"
        if space
        else f"{value['kind']} {value['metadata']['name']}"
    )


def prepare(plane: Plane) -> None:
    """The namespaces, once for a control plane."""
    for name, labels in NAMESPACES.items():
        labelled = {**labels, "kubernetes.io/metadata.name": name}
        create(plane, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labelled}}])


def list_pods(plane: Plane) -> list[Value]:
    """All pods; those that are being deleted are removed on the way, as a kubelet would."""
    pods = []
    for pod in plane.client.get("/api/v1/pods").body["items"]:
        if pod["metadata"].get("deletionTimestamp"):
            remove(plane, {"apiVersion": "v1", "kind": "Pod", **pod})
        else:
            pods.append(pod)
    return pods


def remove(plane: Plane, value: Value) -> None:
    """Deletes an object at once, whatever would hold it."""
    path = address(value, value["metadata"]["name"])
    if value["metadata"].get("finalizers"):
        plane.client.patch(path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    plane.client.send("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})


def clean(plane: Plane, values: Sequence[Value], nodes: bool = True) -> None:
    """Removes `values`, every pod, group and (where asked) node. Raises LeftOver when the scheduler still has one."""
    end = time.monotonic() + PATIENCE
    for value in values:
        if value["kind"] not in ("Pod", "Node"):
            remove(plane, value)
    hard_end = end + 30
    groups = [
        {"apiVersion": f"scheduling.k8s.io/{versions[0]}", "kind": kind, "metadata": {"namespace": space}}
        for kind, versions in plane.release.served.items()
        for space in NAMESPACES
    ]
    left, pods, remaining, sizes = True, list[Value](), list[Value](), read_queues(plane)
    while left and time.monotonic() < min(end, hard_end):
        for space in NAMESPACES:
            plane.client.send("DELETE", f"/api/v1/namespaces/{space}/pods", {"gracePeriodSeconds": 0})
        pods = list_pods(plane)
        for pod in pods:
            remove(plane, {"apiVersion": "v1", "kind": "Pod", **pod})
        remaining.clear()
        for group in groups:
            answer = plane.client.send("DELETE", address(group), {"gracePeriodSeconds": 0})
            for item in plane.client.get(address(group)).body.get("items", []) if answer.accepted else []:
                remove(plane, {**group, **item})
                remaining.append(item)
        if nodes:
            plane.client.send("DELETE", "/api/v1/nodes", {"gracePeriodSeconds": 0})
        sizes = read_queues(plane)
        left = bool(pods or remaining or sizes.cached or sizes.pending or (nodes and sizes.nodes))
        if pods or remaining:
            end = max(end, time.monotonic() + PATIENCE)
        if left:
            time.sleep(0.02)
    if left:
        names = [value["metadata"]["name"] for value in (*pods, *remaining)]
        raise LeftOver(f"left in the cluster: objects {names[:5]}, in the scheduler {sizes}")


class Queues(NamedTuple):
    """The scheduler's own numbers. `cached` are pods that it takes for placed, `assumed` those of them that are not
    bound yet, `pending` those in a queue, `attempts` all tries since it started."""

    nodes: int
    cached: int
    assumed: int
    active: int
    backoff: int
    pending: int
    attempts: int


_METRIC = re.compile(
    r"^scheduler_(cache_size|pending_pods|schedule_attempts_total|podgroup_schedule_attempts_total)\{([^}]*)\} (\S+)",
    re.M,
)


def read_queues(plane: Plane) -> Queues:
    """What the scheduler says about itself."""
    numbers: dict[str, int] = {}
    for metric, labels, value in _METRIC.findall(str(plane.scheduler.get("/metrics").body)):
        which = re.search(r'(?:type|queue)="([^"]*)"', labels)
        key = "attempts" if metric.endswith("attempts_total") else which[1] if which else ""
        key = f"queue {key}" if metric == "pending_pods" else key
        numbers[key] = numbers.get(key, 0) + int(float(value))
    pending = sum(number for key, number in numbers.items() if key.startswith("queue "))
    return Queues(
        numbers.get("nodes", 0),
        numbers.get("pods", 0),
        numbers.get("assumed_pods", 0),
        numbers.get("queue active", 0),
        numbers.get("queue backoff", 0),
        pending,
        numbers.get("attempts", 0),
    )


def wait_quiet(plane: Plane, rounds: int, limit: float = 25.0, at_least: int = 0) -> bool:
    """Waits until nothing new can come: every pod is placed or lies in a queue, and since the last placement each of
    those that wait for another try had `rounds` of them. Whether that was reached within `limit` seconds.

    Of the pods that controllers create there are `at_least` so many first, or a second goes by without them.
    """
    start = time.monotonic()
    end = start + limit
    expected = -1
    state: tuple[int, int] | None = None
    base = since = 0.0
    while time.monotonic() < end:
        queues = read_queues(plane)
        if expected < 0 or queues.cached + queues.pending != expected:
            pods = list_pods(plane)
            foreign = [pod for pod in pods if _is_foreign(pod)]
            expected = len(pods) - len(foreign)
            if sum("ownerReferences" in pod["metadata"] for pod in pods) < at_least and time.monotonic() < start + 1.5:
                expected = -1
        now = (queues.cached, expected)
        if now != state:
            state, base, since = now, queues.attempts, time.monotonic()
        calm = queues.active == 0 and queues.cached + queues.pending == expected
        tried = queues.attempts - base >= rounds * max(1, queues.backoff)
        unchanged = time.monotonic() - since
        # 1.35 sometimes miscounts what it gates: after three seconds without any change nothing new comes.
        if (calm and ((tried and queues.backoff) or (not queues.backoff and unchanged > 0.25))) or (
            unchanged > 3 and queues.active == 0 and queues.backoff == 0
        ):
            list_pods(plane)
            return True
        time.sleep(0.03)
    return False


def _is_foreign(pod: Value) -> bool:
    """Of no interest to the scheduler: waiting for another one, or over."""
    over = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    foreign = pod["spec"].get("schedulerName", "default-scheduler") != "default-scheduler"
    return over or (foreign and not pod["spec"].get("nodeName"))


def read_outcome(plane: Plane, refused: dict[str, str], seconds: float) -> Outcome:
    """What is bound where, and what the scheduler said of the others."""
    bound, messages, waiting = {}, {}, []
    for pod in list_pods(plane):
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        if pod["spec"].get("nodeName"):
            bound[name] = pod["spec"]["nodeName"]
            continue
        waiting.append(name)
        for condition in pod.get("status", {}).get("conditions", []):
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                messages[name] = f"{condition.get('reason')}: {condition.get('message', '')}"
    return Outcome(bound, messages, refused, tuple(waiting), round(seconds, 2))
