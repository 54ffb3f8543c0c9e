"""Devices that are allocated by claims: what pods need of them at least, and how many the cluster has.

Source: pkg/scheduler/framework/plugins/{dynamicresources,noderesources}, pkg/controller/resourceclaim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from krmfn.survey.values import as_int, as_list, as_mapping, as_text, dig

if TYPE_CHECKING:
    from krmfn.capacity.pods import PodKind
    from krmfn.survey.facts import ClusterNode, Facts

_GROUP: Final = "resource.k8s.io"
_OF_CLASS: Final = "deviceclass.resource.kubernetes.io/"
#: More than any node has: such a resource is not the node's to give.
_ANY: Final = 10**18
_ONE: Final = 10**9


class Devices:
    """The claims, their templates, the device classes and the slices of the facts."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._claims = facts.by_place(_GROUP, "ResourceClaim")
        self._templates = facts.by_place(_GROUP, "ResourceClaimTemplate")
        self._classes = facts.by_name(_GROUP, "DeviceClass")
        self._total = _count(facts.objects(_GROUP, "ResourceSlice"))

    def find_missing(self, pod: PodKind) -> str:
        """What a pod refers to and the facts know not to exist, in the words of the scheduler or of the controller
        that makes claims; empty where there is nothing."""
        for name in pod.devices:
            if (pod.namespace, name) not in self._claims and self._facts.lists_all("ResourceClaim"):
                return f'resourceclaim.resource.k8s.io "{name}" not found'
        for name in pod.device_templates:
            if (pod.namespace, name) not in self._templates and self._facts.lists_all("ResourceClaimTemplate"):
                return f'resourceclaimtemplate.resource.k8s.io "{name}" not found'
        for spec in self._list_specs(pod):
            for request in as_list(dig(spec, "devices", "requests")):
                name = as_text(dig(request, "exactly", "deviceClassName"))
                if name and name not in self._classes and self._facts.lists_all("DeviceClass"):
                    return f"request {as_text(dig(request, 'name'))}: device class {name} does not exist"
        return ""

    def count(self, pod: PodKind) -> int | None:
        """At most how many of these pods get their devices; None where nothing limits them."""
        if self._total is None or not self._facts.lists_all("ResourceSlice"):
            return None
        templates = (self._templates.get((pod.namespace, name)) for name in pod.device_templates)
        need = sum(_least(dig(template, "spec", "spec")) for template in templates)
        return self._total // need if need else None

    def _list_specs(self, pod: PodKind) -> Sequence[Any]:
        claims = (self._claims.get((pod.namespace, name)) for name in pod.devices)
        made = (self._templates.get((pod.namespace, name)) for name in pod.device_templates)
        # What was allocated stays so.
        free = [dig(claim, "spec") for claim in claims if not dig(claim, "status", "allocation")]
        return [*free, *(dig(template, "spec", "spec") for template in made)]


def delegate(nodes: Sequence[ClusterNode], asked: Iterable[str], facts: Facts) -> Sequence[ClusterNode]:
    """The nodes, each with its devices as those of the resources `asked` for that it does not have itself and that
    stand for a device class: the scheduler takes these from slices. Any amount, where it is not known."""
    named = {as_text(dig(value, "spec", "extendedResourceName")) for value in facts.objects(_GROUP, "DeviceClass")}
    given = {name for name in asked if name in named or name.startswith(_OF_CLASS)}
    if not given:
        return nodes
    slices = facts.objects(_GROUP, "ResourceSlice")
    local = all(dig(value, "spec", "nodeName") for value in slices) and _count(slices) is not None
    there: dict[str, int] = {}
    for value in slices:
        node = as_text(dig(value, "spec", "nodeName"))
        there[node] = there.get(node, 0) + len(as_list(dig(value, "spec", "devices"))) * _ONE
    known = local and facts.lists_all("ResourceSlice")
    found = []
    for each in nodes:
        most = there.get(each.name, 0) if known and each.number == 1 and each.name else _ANY
        more = {name: most for name in given if most and not each.allocatable.get(name)}
        found.append(each._replace(allocatable={**each.allocatable, **more}))
    return found


def fill_in(spec: object) -> Mapping[str, Any]:
    """The spec of a claim with the server's defaults."""
    devices = as_mapping(dig(spec, "devices"))
    requests = []
    for request in map(as_mapping, as_list(devices.get("requests"))):
        exactly = as_mapping(request.get("exactly"))
        if exactly:
            mode = as_text(exactly.get("allocationMode")) or "ExactCount"
            count = {"count": as_int(exactly.get("count")) or 1} if mode == "ExactCount" else {}
            exactly = {**exactly, "allocationMode": mode, **count}
        requests.append({**request, "exactly": exactly} if exactly else request)
    return {**as_mapping(spec), "devices": {**devices, "requests": requests}}


def _least(spec: object) -> int:
    """How many devices a claim takes at least, of those that only one claim can have."""
    requests = [as_mapping(dig(request, "exactly")) for request in as_list(dig(spec, "devices", "requests"))]
    exclusive = (
        request
        for request in requests
        if request and request.get("allocationMode") in (None, "ExactCount") and request.get("adminAccess") is not True
    )
    return sum(as_int(request.get("count")) or 1 for request in exclusive)


def _count(slices: Sequence[Mapping[str, Any]]) -> int | None:
    """How many devices there are; None where some can be shared."""
    devices = [device for value in slices for device in as_list(dig(value, "spec", "devices"))]
    shared = any(dig(device, "allowMultipleAllocations") is True for device in devices)
    return None if shared else len(devices)
