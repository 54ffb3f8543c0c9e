"""Why Kueue waits for nodes that it has asked an autoscaler for: the ProvisioningRequests of a Workload.

Source: autoscaler/cluster-autoscaler/apis/provisioningrequest (v1), Kueue v0.19.2 pkg/controller/admissionchecks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from krmfn.forecast.voices import Explanation
from krmfn.krm.item import Item
from krmfn.model.values import as_list, as_text, dig
from krmfn.releases import schemastore
from krmfn.survey.owners import find_controller

_REVOKED, _BOOKED = "CapacityRevoked", "BookingExpired"


def explain_requests(workload: Item, items: Iterable[Item]) -> Iterator[Explanation]:
    """What the newest request of each AdmissionCheck says against the start; nothing where nodes are provided."""
    newest: dict[str, tuple[int, Item]] = {}
    for each in items:
        if each.kind == "ProvisioningRequest" and find_controller(each) == (*_WORKLOAD, workload.name):
            check, _, attempt = each.name.rpartition("-")
            number = int(attempt) if attempt.isdecimal() else 0
            if each.space == workload.space and number >= newest.get(check, (0, each))[0]:
                newest[check] = number, each
    admitted = _list_true(workload).get("Admitted")
    for _, request in newest.values():
        holds = _list_true(request)
        state = next((name for name in _STATES if name in holds), "")
        if state == "Provisioned" or (admitted and state != _REVOKED):
            continue
        text, way = schemastore.load("kueue/ways.json")["provisioning"][state]
        said = holds.get(state, "")
        if state == "Accepted":  # what is in the way stands in the condition that does not hold yet
            said = _spell(request, "Provisioned") or said
        text = f"{text}: ProvisioningRequest {request.name}{f' is {state}: {said}' if state else ''}"
        yield Explanation(text, way.format(workload=workload.name))


_WORKLOAD = ("kueue.x-k8s.io", "Workload")
#: In the order in which Kueue asks for them.
_STATES = ("Failed", _REVOKED, _BOOKED, "Provisioned", "Accepted")


def _list_true(item: Item) -> dict[str, str]:
    """The conditions that hold, with their words."""
    conditions = as_list(dig(item.value, "status", "conditions"))
    names = [as_text(dig(each, "type")) for each in conditions if dig(each, "status") == "True"]
    return {name: _spell(item, name) for name in names}


def _spell(item: Item, name: str) -> str:
    """`reason: message` of a condition, as far as they are there."""
    for each in as_list(dig(item.value, "status", "conditions")):
        if dig(each, "type") == name:
            return ": ".join(text for key in ("reason", "message") if (text := as_text(dig(each, key))))
    return ""
