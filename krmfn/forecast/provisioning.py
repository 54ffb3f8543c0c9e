"""Why Kueue waits for nodes that it has asked an autoscaler for: the ProvisioningRequests of a Workload.

Source: autoscaler/cluster-autoscaler/apis/provisioningrequest (v1), Kueue v0.19.2 pkg/controller/admissionchecks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from krmfn.forecast.voices import UNGROWN, Explanation, Told, find_way
from krmfn.krm.item import Item
from krmfn.model.values import as_list, as_text, dig
from krmfn.releases import schemastore
from krmfn.survey.owners import find_controller

#: In the order in which Kueue asks for them.
_STATES = ("Failed", "CapacityRevoked", "BookingExpired", "Provisioned", "Accepted")


def explain_requests(workload: Item, items: Iterable[Item]) -> Iterator[Explanation]:
    """What the newest request of each AdmissionCheck says against the start; nothing where nodes are provided."""
    owner = (workload.ref.group, workload.kind, workload.name)
    mine = [each for each in items if each.kind == "ProvisioningRequest" and find_controller(each) == owner]
    parted = [(each.name.rpartition("-"), each) for each in mine if each.space == workload.space]
    # The name ends with the number of the attempt.
    newest = {check: each for (check, _, number), each in sorted(parted, key=lambda row: (len(row[0][2]), row[0][2]))}
    admitted = "Admitted" in _read(workload, "True")
    for request in newest.values():
        holds = _read(request, "True")
        state = next((name for name in _STATES if name in holds), "")
        if state == "Provisioned" or (admitted and state != "CapacityRevoked"):
            continue
        text, way = schemastore.load("ways.json")["provisioning"][state]
        # What is in the way of one that is accepted stands in the condition that does not hold yet.
        said = _read(request, "False").get("Provisioned", holds[state]) if state == "Accepted" else holds.get(state)
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
        stuck = [said for status in ("False", "Unknown") for said in _read(claim, status).values() if ": " in said]
        if stuck and text.endswith(f"nodeclaim/{claim.name}"):
            text = f"NodeClaim {claim.name}: {stuck[0]}"
    return Explanation(text, find_way("autoscaler", text))


#: How events of the Cluster Autoscaler and of Karpenter begin.
_GROWING: Final = (*UNGROWN, "FailedScheduling: Failed to schedule pod, ")


def _read(item: Item, status: str) -> dict[str, str]:
    """Reason and message of the conditions that have a status."""
    return {
        as_text(each, "type"): ": ".join(text for key in ("reason", "message") if (text := as_text(each, key)))
        for each in as_list(item.value, "status", "conditions")
        if dig(each, "status") == status
    }
