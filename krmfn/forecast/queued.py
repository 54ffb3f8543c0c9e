"""Why Kueue does not start a workload, in the words of its own objects: the Workload and its queues, the checks that it
waits for, the workloads before it, and the nodes that it has asked an autoscaler for (ProvisioningRequests).

Source: Kueue v0.19.2 apis/kueue/v1beta2, pkg/controller/core, pkg/controller/admissionchecks, pkg/scheduler; recorded
in conformance/kueue; autoscaler/cluster-autoscaler/apis/provisioningrequest (v1).
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.forecast.voices import Explanation, Explanations, explain, find_way, list_true, load_ways
from krmfn.krm.item import Item, Items
from krmfn.model.values import Value, as_int, as_list, as_text, dig
from krmfn.model.wording import join
from krmfn.survey.control_plane import KUEUE
from krmfn.survey.lookup import find_controller


def is_workload(item: Item) -> bool:
    """Whether it is what Kueue makes of a job."""
    return item.kind == "Workload" and item.group == KUEUE


def list_queues(workload: Item, items: Items) -> list[Item]:
    """Its LocalQueue and its ClusterQueue, those of them that are there."""
    wanted = ("LocalQueue", workload.space, as_text(workload.value, "spec", "queueName"))
    local = [each for each in items if (each.kind, each.space, each.name) == wanted]
    names = [dig(each.value, "spec", "clusterQueue") for each in local]
    return local + [each for each in items if each.kind == "ClusterQueue" and each.name in names]


def explain_workload(workload: Item, items: Items) -> Explanation | None:
    """The first reason that holds; None where it is admitted."""
    conditions = _read(workload)
    ours = [each for each in items if each.group == KUEUE]
    queue = next((each for each in list_queues(workload, ours) if each.kind == "ClusterQueue"), None)
    admitted = _is(conditions, "Admitted", "True")
    return None if admitted else next(_list_reasons(workload, conditions, queue, ours), None)


def _list_reasons(workload: Item, conditions: Value, queue: Item | None, ours: Items) -> Explanations:
    name, called = _name(workload), f"the ClusterQueue {queue.name}" if queue else "its ClusterQueue"
    reason, said = (as_text(conditions, "Evicted", key) for key in ("reason", "message"))
    if dig(workload.value, "spec", "active") is False:
        way = find_way("deactivated", reason).format(name=workload.name)
        yield explain("deactivated", name=name, said=said or "its spec.active is false", way=way)
    inactive = _read(queue).get("Active") if queue else None
    if dig(inactive, "status") == "False":
        way = find_way("inactive", as_text(inactive, "reason")).format(queue=called)
        yield explain("inactive", called=called, said=as_text(inactive, "message"), way=way)
    checks = list(_list_checks(workload))
    if checks and _is(conditions, "QuotaReserved", "True"):  # it has its quota, and somebody else has to agree
        yield explain("unchecked", name=name, checks=join(checks), called=called)
    if _is(conditions, "Evicted", "True") and reason == "PodsReadyTimeout":
        at = as_text(workload.value, "status", "requeueState", "requeueAt")
        yield explain("evicted", name=name, said=said, again=f" Kueue tries again at {at}." if at else "")
    elif _is(conditions, "Evicted", "True") and reason == "Preempted":
        uids = {as_text(each.value, "metadata", "uid"): each for each in ours}
        by = next((_name(each) for uid, each in uids.items() if f"(UID: {uid}," in said), "")
        other, reason = by or "the other workload", f" for {by}" if by else ""
        yield explain("preempted", name=name, reason=reason, said=said, other=other)
    refused = as_text(conditions, "QuotaReserved", "message")
    if refused and _is(conditions, "QuotaReserved", "False"):
        names = list(_list_holders(queue, ours)) if queue else []
        who = f"{join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}" if names else "others"
        way = find_way("refused", refused).format(queue=called, who=who)
        yield explain("refused", name=name, said=refused, way=way)
    first = _find_first(queue, ours) if dig(queue and queue.value, "spec", "queueingStrategy") == "StrictFIFO" else None
    if queue and first and first is not workload:  # nothing was said of it: it waits behind another one
        yield explain("behind", name=name, first=_name(first), called=called)


def explain_unresumed(name: str, workloads: Items, known: bool) -> Explanation | None:
    """Why something is suspended though no Workload keeps it so: its `workloads` are admitted, or none is `known`."""
    if workloads:
        return explain("unresumed", name=name)
    return explain("unmade", name=name) if known else None


def _read(item: Item) -> Value:
    return {as_text(each, "type"): each for each in as_list(item.value, "status", "conditions")}


def _is(conditions: Value, name: str, status: str) -> bool:
    return bool(dig(conditions.get(name), "status") == status)


def _name(workload: Item) -> str:
    """What it was made for."""
    owner = find_controller(workload)
    return f"{owner[1]} {owner[2]}" if owner else f"Workload {workload.name}"


def _list_checks(workload: Item) -> Iterator[str]:
    """The AdmissionChecks that did not say yes."""
    for check in as_list(workload.value, "status", "admissionChecks"):
        name, state, said = (as_text(check, key) for key in ("name", "state", "message"))
        if state != "Ready":
            yield f"the AdmissionCheck {name} is {state}" + (f" ({said})" if said else "")


def _list_holders(queue: Item, ours: Items) -> Iterator[str]:
    """What has quota of the ClusterQueue, or of its cohort."""
    cohort = dig(queue.value, "spec", "cohortName")
    near = {
        each.name for each in ours if each.kind == "ClusterQueue" and dig(each.value, "spec", "cohortName") == cohort
    }
    near = near if cohort else {queue.name}
    for each in filter(is_workload, ours):
        if dig(each.value, "status", "admission", "clusterQueue") in near and not _is(_read(each), "Finished", "True"):
            yield _name(each)


def _find_first(queue: Item | None, ours: Items) -> Item | None:
    """What waits in a queue before all others: by priority, then by age."""
    pairs = ((each, dig(each.value, "spec", "clusterQueue")) for each in ours if each.kind == "LocalQueue")
    doors = {each.key for each, name in pairs if queue and name == queue.name}
    waiting = (
        each
        for each in filter(is_workload, ours)
        if (each.space, dig(each.value, "spec", "queueName")) in doors
        and dig(each.value, "spec", "active") is not False
        and not _is(_read(each), "QuotaReserved", "True")
    )
    return min(waiting, key=_order, default=None)


def _order(workload: Item) -> tuple[int, str]:
    priority = as_int(workload.value, "spec", "priority") or 0
    return -priority, as_text(workload.value, "metadata", "creationTimestamp")


#: In the order in which Kueue asks for them.
_STATES = ("Failed", "CapacityRevoked", "BookingExpired", "Provisioned", "Accepted")


def explain_requests(workload: Item, items: Items) -> Explanations:
    """What the newest request of each AdmissionCheck says against the start; nothing where nodes are provided."""
    owner = (*workload.group_kind, workload.name)
    mine = [each for each in items if each.kind == "ProvisioningRequest" and find_controller(each) == owner]
    parted = [(each.name.rpartition("-"), each) for each in mine if each.space == workload.space]
    # The name ends with the number of the attempt.
    newest = {check: each for (check, _, number), each in sorted(parted, key=lambda row: (len(row[0][2]), row[0][2]))}
    admitted = _is(_read(workload), "Admitted", "True")
    for request in newest.values():
        holds = dict(list_true(request))
        state = next((name for name in _STATES if name in holds), "")
        if state == "Provisioned" or (admitted and state != "CapacityRevoked"):
            continue
        text, way = load_ways("provisioning")[state]
        said = holds.get(state)
        if state == "Accepted":  # what is in its way stands in the condition that does not hold yet
            said = dict(list_true(request, "False")).get("Provisioned", said)
        text = f"{text}: ProvisioningRequest {request.name}{f' is {state}: {said}' if state else ''}"
        yield Explanation(text, way.format(workload=workload.name))
