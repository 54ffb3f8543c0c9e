"""What a cluster says itself of the objects of a gang: their conditions, and the events about them; and what of it
explains why pods that have a node do not run, and why there are fewer pods than wanted.

Source: the reasons in k8s.io/kubernetes/pkg/kubelet (images/types.go, kuberuntime, kubelet_pods.go), the events of
pkg/controller, and the status of the kinds of KubeRay, JobSet, Trainer and kubeflow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from krmfn.krm.item import Item, Items
from krmfn.model.values import Key, Value, as_int, as_list, as_mapping, as_text, dig
from krmfn.model.wording import count, list_first
from krmfn.releases import schemastore
from krmfn.releases.release import GROUP
from krmfn.releases.spelling import NAMED


class Explanation(NamedTuple):
    """A cause, what to change, and the rule that found it."""

    text: str
    way_out: str = ""
    rule: str = ""


Explanations = Iterator[Explanation]


class Told(NamedTuple):
    """What the cluster says of an object: its kind and name, and the words."""

    kind: str
    name: str
    text: str


#: Of a cluster, the newest last.
Sayings = Sequence[Told]


def load_ways(table: str) -> Mapping[str, Any]:
    """A table of schemas/ways.json."""
    return as_mapping(schemastore.load("ways.json"), table)


def explain(cause: str, /, **about: Any) -> Explanation:
    """A cause, in the words that its row in schemas/ways.json has for what it is `about`."""
    text, way = load_ways("causes")[cause]
    return Explanation(text.format(**about), way.format(**about))


def find_way(table: str, said: str) -> str:
    """What helps against something that was said; empty where nobody knows."""
    return next((way for words, way in load_ways(table).items() if words in said), "")


def group_said(said: Sayings) -> Iterator[str]:
    """What was said of objects of a kind in the same words, once, with the names of the first three."""
    found: dict[Key, dict[str, None]] = defaultdict(dict)
    told = set()
    for kind, name, text in said:
        words = (kind, name, text.partition(": ")[2])  # a condition and an event have each their own reason
        if words not in told:
            told.add(words)
            found[kind, text][name] = None
    for (kind, text), names in found.items():
        yield f"{kind}{'s' if len(names) > 1 else ''} {list_first(names, 3)}: {text}"


def listen(about: Items, items: Items) -> Iterator[Told]:
    """What conditions of objects, and events about them, say; the newest event last."""
    about = list(about)
    for item in about:
        for text in read_conditions(item):
            yield Told(item.kind, item.name, text)
    names = {(item.kind, *item.key) for item in about}
    for event in sorted((item.value for item in items if item.kind == "Event"), key=_find_time):
        target: Any = dig(event, "involvedObject") or dig(event, "regarding")
        kind, space, name = (as_text(target, key) for key in ("kind", "namespace", "name"))
        reason = as_text(event, "reason")
        known = (kind, space or as_text(event, "metadata", "namespace"), name) in names
        if known and (dig(event, "type") != "Normal" or reason in UNGROWN):
            text = as_text(dig(event, "message") or dig(event, "note"))
            yield Told(kind, name, f"{reason}: {text.removeprefix('(combined from similar events): ')}")


def _find_time(event: Value) -> str:
    """When an event happened last."""
    keys = (("series", "lastObservedTime"), ("lastTimestamp",), ("eventTime",), ("metadata", "creationTimestamp"))
    return next((text for key in keys if (text := as_text(event, *key))), "")


def read_conditions(item: Item) -> Iterator[str]:
    """Conditions of pods and groups that say no; of groups also all that other releases may have."""
    status = dig(item.value, "status")
    for condition in (*as_list(status, "conditions"), *as_list(status, "schedulingConditions")):
        kind, status, reason, text = (as_text(condition, key) for key in ("type", "status", "reason", "message"))
        known = NAMED.get(kind, kind) in _CONDITIONS
        if not text:
            continue
        if item.group in FOREIGN:
            if (kind, status) in _STUCK:
                yield f"{reason or kind}: {text}"
        elif known and status == "False":
            yield f"{reason}: {text}"
        elif kind and not known and item.group == GROUP:
            yield f"{kind} is {status} ({reason}): {text}"


def read_refusals(item: Item) -> Explanations:
    """Of conditions whose reason says that waiting does not help."""
    ways = load_ways("groups")
    for condition in as_list(item.value, "status", "conditions"):
        kind, reason = (NAMED.get(word, word) for word in (as_text(condition, key) for key in ("type", "reason")))
        text = as_text(condition, "message")
        way = ways["PodGroupError"] if "should have the same" in text else ways.get(reason)  # how 1.37 says it
        if way and kind in _CONDITIONS and dig(condition, "status") == "False":
            yield explain("groups", item=item, said=text or "it gives no reason", way=way)


def list_true(item: Item, status: str = "True") -> Iterator[Key]:
    """The conditions of an object that hold, or have another status: type, and reason with message."""
    for condition in map(as_mapping, as_list(item.value, "status", "conditions")):
        if condition.get("status") == status:
            yield as_text(condition.get("type")), join_reason(condition)


def join_reason(told: Value) -> str:
    """`reason: message` of a status or condition, as far as they are there."""
    return ": ".join(filter(None, (as_text(told.get(key)) for key in ("reason", "message"))))


#: What autoscalers say of a pod: events that are no warnings.
UNGROWN = ("NotTriggerScaleUp", "Nominated")
_CONDITIONS = (
    *("PodScheduled", "PodGroupScheduled", "PodGroupInitiallyScheduled", "CompositePodGroupScheduled"),
    "CompositePodGroupInitiallyScheduled",
)
#: Groups of the objects that other schedulers make or read for a gang, and their names.
FOREIGN = {"kueue.x-k8s.io": "Kueue", "scheduling.volcano.sh": "Volcano", "scheduling.run.ai": "KAI"}
#: Conditions of these objects that say no (Kueue v0.19.2, Volcano v1.15.1, KAI-Scheduler v0.17.0).
_STUCK = frozenset(
    (
        *(("QuotaReserved", "False"), ("Evicted", "True"), ("DeactivationTarget", "True"), ("Active", "False")),
        *(("Unschedulable", "True"), ("UnschedulableOnNodePool", "True")),
    )
)

_READ = "Read the logs and events of its pods."
#: Conditions with which an object is over, those of a failure and those of success.
_FAILED = ("Failed", "FailureTarget")
_COMPLETE = ("Complete", "Completed", "Succeeded", "Finished")
#: Phases of a RayJob and of a RayCluster after which it does not go on by itself.
_ENDED = ("Failed", "ValidationFailed", "failed")


def is_complete(top: Item) -> bool:
    """Whether an object has done its work: no pods are wanted any more."""
    return any(kind in _COMPLETE for kind, _ in list_true(top))


def find_failed(top: Item, pods: Collection[Item]) -> Explanation | None:
    """An object that has failed and does not go on, with the container that did."""
    said = next((text for kind, text in list_true(top) if kind in _FAILED), "")
    phase = dig(top.value, "status", "jobDeploymentStatus") or dig(top.value, "status", "state")
    alone = top.kind == "Pod" and _phase(top) == "Failed"  # nobody replaces it
    if not said and (phase in _ENDED or alone):
        said = join_reason(as_mapping(top.value, "status")) or as_text(phase)
    ended = (found for pod in pods for found in _find_ended(pod, ()))
    container = next(ended, None) if said or alone else None
    if not said and not container:
        return None
    said = "; ".join(filter(None, (said, container.text if container else "")))
    return explain("failed", top=top, said=said, way=container.way_out if container else _READ)


def find_unstarted(pods: Items, told: Sayings) -> Explanation | None:
    """What keeps a pod that has a node from running: a container that cannot start before the pods that wait for it."""
    starting = [pod for pod in pods if _phase(pod) in ("Pending", "Running")]
    finders = (_find_waiting, _find_ended, _find_lost, _find_event, _find_initial, _find_unready)
    return next((found for find in finders for pod in starting for found in find(pod, told)), None)


def find_refused(objects: Items, told: Sayings) -> Explanation | None:
    """Why a controller cannot create pods: its newest event about one of the objects (FailedCreate,
    FailedToCreateHeadPod, JobCreationFailed), or a condition of them."""
    reasons = ((each, each.text.partition(":")[0]) for each in told if each.kind != "Pod")
    events = [each for each, reason in reasons if "Fail" in reason and "Creat" in reason]
    said = [(item, text) for item in objects for kind, text in list_true(item) if kind == "ReplicaFailure"]
    for kind, name, text in [*(Told(item.kind, item.name, text) for item, text in said), *events][-1:]:
        return explain("creation", kind=kind, name=name, said=text, way=find_way("creation", text))
    return None


def _list_containers(pod: Item) -> Iterator[Value]:
    status = as_mapping(pod.value, "status")
    for field in ("initContainerStatuses", "containerStatuses"):
        yield from map(as_mapping, as_list(status.get(field)))


def _find_waiting(pod: Item, _told: Sayings) -> Explanations:
    """A container that waits for what does not come by itself."""
    for container in _list_containers(pod):
        waiting = as_mapping(container, "state", "waiting")
        if way := load_ways("waiting").get(as_text(waiting, "reason")):
            yield explain("waiting", pod=pod, name=container.get("name"), said=join_reason(waiting), way=way)


def _find_ended(pod: Item, _told: Sayings) -> Explanations:
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
        said = ", ".join(filter(None, (reason, "" if code is None else f"exit code {code}")))
        about = {"said": f"it {how}{f': {said}' if said else ''}", "previous": " --previous" if restarts else ""}
        case = "memory" if reason == "OOMKilled" else "ended"
        yield explain(case, pod=pod, name=container.get("name"), **about)


def _find_lost(pod: Item, _told: Sayings) -> Explanations:
    """A pod that is deleted and does not go: its node does not answer, or its containers do not end."""
    if dig(pod.value, "metadata", "deletionTimestamp"):
        yield explain("lost", pod=pod, node=as_text(pod.value, "spec", "nodeName"))


def _find_event(pod: Item, told: Sayings) -> Explanations:
    """What the kubelet says of a pod that it cannot start."""
    ways = load_ways("events")
    waits = any(dig(each, "state", "waiting") for each in _list_containers(pod)) or _phase(pod) == "Pending"
    for text in _list_events(told, pod, tuple(ways)) if waits else ():
        yield explain("said", pod=pod, said=text, way=ways[text.partition(":")[0]])


def _list_events(told: Sayings, pod: Item, reasons: Collection[str]) -> Iterator[str]:
    """The events of a pod with one of the reasons, the newest first."""
    found = (each.text for each in reversed(told) if (each.kind, each.name) == ("Pod", pod.name))
    return (text for text in found if text.partition(":")[0] in reasons)


def _find_initial(pod: Item, _told: Sayings) -> Explanations:
    """An init container at work: the others wait for it."""
    for container in as_list(pod.value, "status", "initContainerStatuses"):
        if dig(container, "state", "running") and not dig(container, "started"):
            yield explain("initial", pod=pod, name=as_text(container, "name"))


def _find_unready(pod: Item, told: Sayings) -> Explanations:
    """A pod that runs, and is not ready."""
    for condition in map(as_mapping, as_list(pod.value, "status", "conditions")):
        if condition.get("type") == "Ready" and condition.get("status") == "False":
            text = next(_list_events(told, pod, ("Unhealthy",)), "") or join_reason(condition)
            yield explain("unready", pod=pod, said=f": {text}" if text else "")


def _phase(pod: Item) -> str:
    return as_text(pod.value, "status", "phase")


def list_claims(told: Sayings, items: Items) -> list[Item]:
    """The NodeClaims of Karpenter that are to become nodes for pods."""
    named = {text.rpartition("nodeclaim/")[2] for _, _, text in told if text.startswith("Nominated: ")}
    return [each for each in items if each.kind == "NodeClaim" and each.name in named]


def find_growth(pod: Item, told: Sayings, claims: Items) -> Explanation | None:
    """What an autoscaler says of a pod without a node, at last."""
    mine = [text for kind, name, text in told if (kind, name) == ("Pod", pod.name) and text.startswith(_GROWING)]
    text = mine[-1] if mine else ""
    for claim in (claim for claim in claims if text.endswith(f"nodeclaim/{claim.name}")):
        stuck = (said for status in ("False", "Unknown") for _, said in list_true(claim, status) if ": " in said)
        text = next((f"NodeClaim {claim.name}: {said}" for said in stuck), text)
    return Explanation(text, find_way("autoscaler", text)) if text else None


#: How events of the Cluster Autoscaler and of Karpenter begin.
_GROWING = (*UNGROWN, "FailedScheduling: Failed to schedule pod, ")
