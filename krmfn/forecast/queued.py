"""Why Kueue does not start a workload, in the words of its own objects: the Workload and its queues, the checks that it
waits for, the workloads before it, and the nodes that it has asked an autoscaler for (ProvisioningRequests).

Source: Kueue v0.19.2 apis/kueue/v1beta2, pkg/controller/core, pkg/controller/admissionchecks, pkg/scheduler; recorded
in conformance/kueue; autoscaler/cluster-autoscaler/apis/provisioningrequest (v1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from krmfn.forecast.voices import UNGROWN, Explanation, Told, find_way
from krmfn.krm.item import Item
from krmfn.model.values import Value, as_int, as_list, as_text, dig
from krmfn.model.wording import join
from krmfn.releases import schemastore
from krmfn.survey.kueue import KUEUE
from krmfn.survey.lookup import find_controller


def is_workload(item: Item) -> bool:
    """Whether it is what Kueue makes of a job."""
    return item.kind == "Workload" and item.ref.group == KUEUE


def list_queues(workload: Item, items: Iterable[Item]) -> list[Item]:
    """Its LocalQueue and its ClusterQueue, those of them that are there."""
    ours = [each for each in items if each.ref.group == KUEUE]
    name = as_text(workload.value, "spec", "queueName")
    local = [each for each in ours if (each.kind, each.space, each.name) == ("LocalQueue", workload.space, name)]
    names = [dig(each.value, "spec", "clusterQueue") for each in local]
    return local + [each for each in ours if each.kind == "ClusterQueue" and each.name in names]


def explain_workload(workload: Item, items: Sequence[Item]) -> Explanation | None:
    """The first reason that holds; None where it is admitted."""
    conditions = _read(workload)
    if _is(conditions, "Admitted", "True"):
        return None
    ours = [each for each in items if each.ref.group == KUEUE]
    queue = next((each for each in list_queues(workload, ours) if each.kind == "ClusterQueue"), None)
    return (
        _find_deactivated(workload, conditions)
        or _find_inactive(queue)
        or _find_checks(workload, conditions, queue)
        or _find_evicted(workload, conditions, ours)
        or _find_refused(workload, conditions, queue, ours)
        or _find_ahead(workload, queue, ours)
    )


def explain_unresumed(name: str, workloads: Sequence[Item], known: bool) -> Explanation | None:
    """Why something is suspended that no Workload keeps so: all of its `workloads` are admitted, or there is none among
    those that are `known`."""
    way = "Read the log of Kueue's manager: "
    if workloads:
        return Explanation(f"Kueue has admitted {name}, and does not resume it", f"{way}it may lack permissions.")
    if not known:
        return None
    way += (
        "it may be down, or not manage this kind or namespace (integrations.frameworks, managedJobsNamespaceSelector)."
    )
    return Explanation(f"Kueue has made no Workload of {name}", way)


def _read(item: Item) -> Value:
    return {as_text(each, "type"): each for each in as_list(item.value, "status", "conditions")}


def _is(conditions: Value, name: str, status: str) -> bool:
    return bool(dig(conditions.get(name), "status") == status)


def _name(workload: Item) -> str:
    """What it was made for."""
    owner = find_controller(workload)
    return f"{owner[1]} {owner[2]}" if owner else f"Workload {workload.name}"


def _find_deactivated(workload: Item, conditions: Value) -> Explanation | None:
    if dig(workload.value, "spec", "active") is not False:
        return None
    reason, said = (as_text(conditions, "Evicted", key) for key in ("reason", "message"))
    way = find_way("deactivated", reason).format(name=workload.name)
    return Explanation(f"{_name(workload)} is not active in Kueue: {said or 'its spec.active is false'}", way)


def _find_inactive(queue: Item | None) -> Explanation | None:
    condition = _read(queue).get("Active") if queue else None
    if dig(condition, "status") != "False":
        return None
    reason, said = (as_text(condition, key) for key in ("reason", "message"))
    return Explanation(f"{_call(queue)} is not active: {said}", find_way("inactive", reason).format(queue=_call(queue)))


def _list_checks(workload: Item) -> Iterator[str]:
    """The AdmissionChecks that did not say yes."""
    for check in as_list(workload.value, "status", "admissionChecks"):
        name, state, said = (as_text(check, key) for key in ("name", "state", "message"))
        if state != "Ready":
            yield f"the AdmissionCheck {name} is {state}" + (f" ({said})" if said else "")


def _find_checks(workload: Item, conditions: Value, queue: Item | None) -> Explanation | None:
    """It has its quota, and somebody else has to agree."""
    checks = list(_list_checks(workload))
    if not checks or not _is(conditions, "QuotaReserved", "True"):
        return None
    way = "Check the controller that the AdmissionCheck names (spec.controllerName): its log and its objects;"
    way += f" or remove the check from {_call(queue)}."
    return Explanation(f"Kueue has reserved quota for {_name(workload)}, but {join(checks)}", way)


def _call(queue: Item | None) -> str:
    return f"the ClusterQueue {queue.name}" if queue else "its ClusterQueue"


def _find_evicted(workload: Item, conditions: Value, ours: Iterable[Item]) -> Explanation | None:
    """It ran, and had to stop."""
    if not _is(conditions, "Evicted", "True"):
        return None
    reason, said = (as_text(conditions["Evicted"], key) for key in ("reason", "message"))
    if reason == "PodsReadyTimeout":
        at = as_text(workload.value, "status", "requeueState", "requeueAt")
        way = "Find out why its pods did not become ready: images, probes and volumes, or nodes without room."
        way += f" Kueue tries again at {at}." if at else ""
        return Explanation(f"Kueue has evicted {_name(workload)}: {said}", way)
    if reason != "Preempted":
        return None
    uids = {as_text(each.value, "metadata", "uid"): each for each in ours}
    by = next((_name(each) for uid, each in uids.items() if f"(UID: {uid}," in said), "")
    way = f"Wait for {by or 'the other workload'} to finish, or raise its priority, or the quota of the queue."
    return Explanation(f"Kueue has preempted {_name(workload)}{f' for {by}' if by else ''}: {said}", way)


def _find_refused(workload: Item, conditions: Value, queue: Item | None, ours: Iterable[Item]) -> Explanation | None:
    """Why it has no quota; who has it."""
    said = as_text(conditions, "QuotaReserved", "message")
    if not said or not _is(conditions, "QuotaReserved", "False"):
        return None
    names = list(_list_holders(queue, ours)) if queue else []
    who = f"{join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}" if names else "others"
    way = find_way("refused", said).format(queue=_call(queue), who=who)
    return Explanation(f"Kueue does not start {_name(workload)}: {said}", way)


def _list_holders(queue: Item, ours: Iterable[Item]) -> Iterator[str]:
    """What has quota of the ClusterQueue, or of its cohort."""
    cohort = dig(queue.value, "spec", "cohortName")
    near = {
        each.name for each in ours if each.kind == "ClusterQueue" and dig(each.value, "spec", "cohortName") == cohort
    }
    near = near if cohort else {queue.name}
    for each in filter(is_workload, ours):
        if dig(each.value, "status", "admission", "clusterQueue") in near and not _is(_read(each), "Finished", "True"):
            yield _name(each)


def _find_ahead(workload: Item, queue: Item | None, ours: Iterable[Item]) -> Explanation | None:
    """Nothing was said of it: it waits behind another one, where the first has to start first."""
    if queue is None or dig(queue.value, "spec", "queueingStrategy") != "StrictFIFO":
        return None
    doors = {
        (each.space, each.name)
        for each in ours
        if each.kind == "LocalQueue" and dig(each.value, "spec", "clusterQueue") == queue.name
    }
    waiting = (
        each
        for each in filter(is_workload, ours)
        if (each.space, dig(each.value, "spec", "queueName")) in doors
        and dig(each.value, "spec", "active") is not False
        and not _is(_read(each), "QuotaReserved", "True")
    )
    first = min(waiting, key=_order, default=workload)
    if first is workload:
        return None
    text = f"{_name(workload)} waits behind {_name(first)} in {_call(queue)}, whose queueingStrategy is StrictFIFO"
    way = f"Find out why {_name(first)} does not start, move it to another queue, or set queueingStrategy: "
    return Explanation(text, f"{way}BestEffortFIFO in {_call(queue)}.")


def _order(workload: Item) -> tuple[int, str]:
    created = as_text(workload.value, "metadata", "creationTimestamp")
    return -(as_int(workload.value, "spec", "priority") or 0), created


#: In the order in which Kueue asks for them.
_STATES = ("Failed", "CapacityRevoked", "BookingExpired", "Provisioned", "Accepted")


def explain_requests(workload: Item, items: Iterable[Item]) -> Iterator[Explanation]:
    """What the newest request of each AdmissionCheck says against the start; nothing where nodes are provided."""
    owner = (workload.ref.group, workload.kind, workload.name)
    mine = [each for each in items if each.kind == "ProvisioningRequest" and find_controller(each) == owner]
    parted = [(each.name.rpartition("-"), each) for each in mine if each.space == workload.space]
    # The name ends with the number of the attempt.
    newest = {check: each for (check, _, number), each in sorted(parted, key=lambda row: (len(row[0][2]), row[0][2]))}
    admitted = "Admitted" in _read_state(workload, "True")
    for request in newest.values():
        holds = _read_state(request, "True")
        state = next((name for name in _STATES if name in holds), "")
        if state == "Provisioned" or (admitted and state != "CapacityRevoked"):
            continue
        text, way = schemastore.load("ways.json")["provisioning"][state]
        # What is in the way of one that is accepted stands in the condition that does not hold yet.
        said = (
            _read_state(request, "False").get("Provisioned", holds[state]) if state == "Accepted" else holds.get(state)
        )
        text = f"{text}: ProvisioningRequest {request.name}{f' is {state}: {said}' if state else ''}"
        yield Explanation(text, way.format(workload=workload.name))


def list_claims(told: Iterable[Told], items: Iterable[Item]) -> list[Item]:
    """The NodeClaims of Karpenter that are to become nodes for pods."""
    named = {text.rpartition("nodeclaim/")[2] for _, _, text in told if text.startswith("Nominated: ")}
    return [each for each in items if each.kind == "NodeClaim" and each.name in named]


def find_growth(pod: Item, told: Sequence[Told], claims: Iterable[Item]) -> Explanation | None:
    """What an autoscaler says of a pod without a node, at last."""
    mine = [text for kind, name, text in told if (kind, name) == ("Pod", pod.name) and text.startswith(_GROWING)]
    if not mine:
        return None
    text = mine[-1]
    for claim in claims:
        stuck = [
            said for status in ("False", "Unknown") for said in _read_state(claim, status).values() if ": " in said
        ]
        if stuck and text.endswith(f"nodeclaim/{claim.name}"):
            text = f"NodeClaim {claim.name}: {stuck[0]}"
    return Explanation(text, find_way("autoscaler", text))


#: How events of the Cluster Autoscaler and of Karpenter begin.
_GROWING: Final = (*UNGROWN, "FailedScheduling: Failed to schedule pod, ")


def _read_state(item: Item, status: str) -> dict[str, str]:
    """Reason and message of the conditions that have a status."""
    return {
        as_text(each, "type"): ": ".join(text for key in ("reason", "message") if (text := as_text(each, key)))
        for each in as_list(item.value, "status", "conditions")
        if dig(each, "status") == status
    }
