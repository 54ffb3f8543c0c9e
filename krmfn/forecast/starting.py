"""Why pods that have a node do not run, and why there are fewer pods than wanted: what kubelets say of containers, and
controllers of what they create.

Source: the reasons in k8s.io/kubernetes/pkg/kubelet (images/types.go, kuberuntime, kubelet_pods.go), the events of
pkg/controller, and the status of the kinds of KubeRay, JobSet, Trainer and kubeflow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from krmfn.forecast.voices import Explanation, Told, find_way
from krmfn.krm.item import Item
from krmfn.model.values import Key, Value, as_int, as_list, as_mapping, as_text, dig
from krmfn.model.wording import count
from krmfn.releases import schemastore

_MEMORY: Final = "Raise the memory limit of the container, or let it use less."
#: Conditions with which an object is over, those of a failure and those of success.
_FAILED: Final = ("Failed", "FailureTarget")
_COMPLETE: Final = ("Complete", "Completed", "Succeeded", "Finished")
#: Phases of a RayJob and of a RayCluster after which it does not go on by itself.
_ENDED: Final = ("Failed", "ValidationFailed", "failed")


def is_complete(top: Item) -> bool:
    """Whether an object has done its work: no pods are wanted any more."""
    return any(kind in _COMPLETE for kind, _ in _list_true(top))


def find_failed(top: Item, pods: Collection[Item]) -> Explanation | None:
    """An object that has failed and does not go on, with the container that did."""
    said = next((text for kind, text in _list_true(top) if kind in _FAILED), "")
    phase = dig(top.value, "status", "jobDeploymentStatus") or dig(top.value, "status", "state")
    if not said and (phase in _ENDED or _is_failed(top)):
        said = _join_reason(as_mapping(top.value, "status")) or as_text(phase)
    container = next(_judge_all(pods, _find_ended), None) if said or _is_failed(top) else None
    if not said and not container:
        return None
    text = "; ".join(filter(None, (said, container.text if container else "")))
    text = f"{top.kind} {top.name} has failed: {text}"
    way = container.way_out if container else "Read the logs and events of its pods."
    return Explanation(text, f"{way} Then delete the {top.kind} and create it again.")


def find_unstarted(pods: Sequence[Item], told: Sequence[Told]) -> Explanation | None:
    """Of pods that have a node, what keeps one from running. A container that cannot start comes before the pods that
    wait for it."""
    starting = [pod for pod in pods if _phase(pod) in ("Pending", "Running")]
    return next(
        (
            found
            for find in (
                *(_find_waiting, _find_ended, _find_lost, partial(_find_event, told), _find_initial),
                partial(_find_unready, told),
            )
            for found in _judge_all(starting, find)
        ),
        None,
    )


def find_refused(objects: Iterable[Item], told: Sequence[Told]) -> Explanation | None:
    """Why a controller cannot create pods: its newest event about one of the objects, or a condition of them."""
    said = [each for each in told if each.kind != "Pod" and _is_creation(each.text.partition(":")[0])]
    said[:0] = [
        Told(item.kind, item.name, text)
        for item in objects
        for kind, text in _list_true(item)
        if kind == "ReplicaFailure"
    ]
    for kind, name, text in said[-1:]:
        return Explanation(f"{kind} {name} cannot create its pods: {text}", find_way("creation", text))
    return None


def _is_creation(reason: str) -> bool:
    """Whether the reason of an event is that something could not be created: FailedCreate, FailedToCreateHeadPod,
    JobCreationFailed."""
    return "Fail" in reason and "Creat" in reason


def _list_true(item: Item) -> Iterator[Key]:
    """The conditions of an object that hold: type, and reason with message."""
    for condition in as_list(item.value, "status", "conditions"):
        if dig(condition, "status") == "True":
            yield as_text(condition, "type"), _join_reason(as_mapping(condition))


_Find = Callable[[Item], Explanation | None]


def _judge_all(pods: Collection[Item], find: _Find) -> Iterator[Explanation]:
    return filter(None, map(find, pods))


def _list_containers(pod: Item) -> Iterator[Value]:
    status = as_mapping(pod.value, "status")
    for field in ("initContainerStatuses", "containerStatuses"):
        yield from map(as_mapping, as_list(status.get(field)))


def _find_waiting(pod: Item) -> Explanation | None:
    """A container that waits for what does not come by itself."""
    for container in _list_containers(pod):
        waiting = as_mapping(container, "state", "waiting")
        reason = as_text(waiting, "reason")
        if way := schemastore.load("ways.json")["waiting"].get(reason):
            return Explanation(f"Pod {pod.name}, container {container.get('name')}: {_join_reason(waiting)}", way)
    return None


def _find_ended(pod: Item) -> Explanation | None:
    """A container that ends with a failure, once or again and again."""
    for container in _list_containers(pod):
        again = dig(container, "state", "waiting", "reason") == "CrashLoopBackOff"
        states = ("state", "lastState") if again or not dig(container, "state", "running") else ("state",)
        ended = next((each for key in states if (each := as_mapping(container, key, "terminated"))), {})
        code, reason = as_int(ended, "exitCode"), as_text(ended, "reason")
        if not again and not code:
            continue
        restarts = as_int(container, "restartCount") or 0
        how = f"ends again and again ({count(restarts, 'restart')})" if again else "has ended"
        said = ", ".join([*([reason] if reason else []), *([] if code is None else [f"exit code {code}"])])
        text = f"Pod {pod.name}, container {container.get('name')}: it {how}{f': {said}' if said else ''}"
        previous = " --previous" if restarts else ""
        log = f"kubectl logs {pod.name} -n {pod.space} -c {container.get('name')}{previous}"
        return Explanation(text, _MEMORY if reason == "OOMKilled" else f"Read its log: {log}.")
    return None


def _find_lost(pod: Item) -> Explanation | None:
    """A pod that is deleted and does not go: its node does not answer, or its containers do not end."""
    if not dig(pod.value, "metadata", "deletionTimestamp"):
        return None
    node = as_text(pod.value, "spec", "nodeName")
    text = f"Pod {pod.name} is being deleted and is still there: no other pod takes its place"
    way = f"Check that the node {node} answers; if it is gone, give it the taint node.kubernetes.io/out-of-service."
    return Explanation(text, way)


def _find_event(told: Sequence[Told], pod: Item) -> Explanation | None:
    """What the kubelet says of a pod that it cannot start."""
    if not any(dig(each, "state", "waiting") for each in _list_containers(pod)) and _phase(pod) != "Pending":
        return None
    ways = schemastore.load("ways.json")["events"]
    text = _find_newest(told, pod, tuple(ways))
    return Explanation(f"Pod {pod.name}: {text}", ways[text.partition(":")[0]]) if text else None


def _find_newest(told: Sequence[Told], pod: Item, reasons: tuple[str, ...]) -> str:
    """The newest event of a pod with one of the reasons, or nothing."""
    found = (each.text for each in reversed(told) if (each.kind, each.name) == ("Pod", pod.name))
    return next((text for text in found if text.partition(":")[0] in reasons), "")


def _find_initial(pod: Item) -> Explanation | None:
    """An init container at work: the others wait for it."""
    for container in as_list(pod.value, "status", "initContainerStatuses"):
        if dig(container, "state", "running") and not dig(container, "started"):
            name = as_text(container, "name")
            way = f"Read its log: kubectl logs {pod.name} -n {pod.space} -c {name}."
            return Explanation(f"Pod {pod.name} waits for its init container {name}, which has not ended", way)
    return None


def _find_unready(told: Sequence[Told], pod: Item) -> Explanation | None:
    """A pod that runs, and is not ready."""
    for condition in map(as_mapping, as_list(pod.value, "status", "conditions")):
        if condition.get("type") == "Ready" and condition.get("status") == "False":
            text = _find_newest(told, pod, ("Unhealthy",)) or _join_reason(condition)
            way = "Read its log, and check that its readiness probe can pass."
            return Explanation(f"Pod {pod.name} is not ready{f': {text}' if text else ''}", way)
    return None


def _phase(pod: Item) -> str:
    return as_text(pod.value, "status", "phase")


def _is_failed(item: Item) -> bool:
    """Whether an object is a pod that nobody replaces, and has failed."""
    return item.kind == "Pod" and _phase(item) == "Failed"


def _join_reason(told: Value) -> str:
    """`reason: message` of a status or condition, as far as they are there."""
    return ": ".join(filter(None, (as_text(told.get(key)) for key in ("reason", "message"))))
