"""Devices that are allocated by claims: what pods need of them at least, and how many the cluster has.

Source: pkg/scheduler/framework/plugins/{dynamicresources,noderesources}, pkg/controller/resourceclaim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from krmfn.capacity.pods import PodKind
from krmfn.model.values import as_int, as_list, as_mapping, as_text, dig
from krmfn.survey.facts import ClusterNode, Facts

_GROUP: Final = "resource.k8s.io"
_OF_CLASS: Final = "deviceclass.resource.kubernetes.io/"
#: More than any node has: such a resource is not the node's to give.
_ANY: Final = 10**18
_ONE: Final = 10**9
_COMPARISON: Final = re.compile(
    r"""\s*device\.(?:driver|attributes\["(?P<domain>[^"]+)"\]\.(?P<name>\w+))\s*==\s*"(?P<text>[^"\\]*)"\s*"""
)


class Devices:
    """The claims, their templates, the device classes and the slices of the facts."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._claims = facts.by_place(_GROUP, "ResourceClaim")
        self._templates = facts.by_place(_GROUP, "ResourceClaimTemplate")
        self._classes = facts.by_name(_GROUP, "DeviceClass")
        slices = facts.objects(_GROUP, "ResourceSlice")
        known = facts.lists_all("ResourceSlice") and _count(slices) is not None
        #: Whether the slices are known, and each device can be used on one node only.
        self._local = known and all(dig(value, "spec", "nodeName") for value in slices)
        pools = dict(_list_pools(slices, self._local)) if known else {}
        if self._local and facts.nodes and all(node.number == 1 for node in facts.nodes):
            names = {node.name for node in facts.nodes}
            pools = {node: pool for node, pool in pools.items() if node in names}  # slices outlive their nodes
        self._pools = list(pools.values()) if known else None

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
        return "cannot allocate all claims" if self.count(pod) == 0 else ""

    def count(self, pod: PodKind) -> int | None:
        """At most how many of these pods get their devices; None where nothing limits them."""
        if self._pools is None:
            return None
        templates = (self._templates.get((pod.namespace, name)) for name in pod.device_templates)
        requests = [each for template in templates for each in _list_exclusive(dig(template, "spec", "spec"))]
        if not requests:
            return None
        return sum(self._count_in(pool, requests) for pool in self._pools)

    def _count_in(self, pool: Sequence[tuple[str, Any]], requests: Sequence[Mapping[str, Any]]) -> int:
        """How many times a pool has all that is requested, at most."""
        most = len(pool) // sum(map(_amount, requests))
        for request in requests:
            device_class = self._classes.get(as_text(request.get("deviceClassName")))
            selectors = [*as_list(dig(device_class, "spec", "selectors")), *as_list(request.get("selectors"))]
            wanted = [as_text(dig(selector, "cel", "expression")) for selector in selectors]
            suitable = sum(all(may_match(text, driver, device) for text in wanted) for driver, device in pool)
            most = min(most, suitable // _amount(request))
        return most

    def shares_node(self, pod: PodKind) -> bool:
        """Whether all pods of the kind get the same devices, and these are on one node."""
        claims = (self._claims.get((pod.namespace, name)) for name in pod.devices)
        free = (claim for claim in claims if claim is not None and not dig(claim, "status", "allocation"))
        return self._local and any(list(_list_exclusive(dig(claim, "spec"))) for claim in free)

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


def _list_pools(slices: Sequence[Mapping[str, Any]], local: bool) -> Iterator[tuple[str, Sequence[tuple[str, Any]]]]:
    """The devices that one pod can get together, each with its driver: those of a node, or all there are."""
    pools: dict[str, list[tuple[str, Any]]] = {}
    for value in slices:
        node = as_text(dig(value, "spec", "nodeName")) if local else ""
        driver = as_text(dig(value, "spec", "driver"))
        pools.setdefault(node, []).extend((driver, device) for device in as_list(dig(value, "spec", "devices")))
    yield from pools.items()


def may_match(expression: str, driver: str, device: object) -> bool:
    """Whether a CEL selector may select a device: only comparisons of the driver or of a string attribute with a text,
    all of which have to hold, are looked at."""
    if "||" in expression or "?" in expression or "!" in expression:
        return True
    for term in expression.split("&&"):
        found = _COMPARISON.fullmatch(term)
        if found is None:
            continue
        domain, name, text = found.group("domain", "name", "text")
        if not name and driver != text:
            return False
        attributes = as_mapping(dig(device, "attributes"))
        value = dig(attributes.get(f"{domain}/{name}", attributes.get(name) if domain == driver else None), "string")
        if name and value != text:
            return False
    return True


def _list_exclusive(spec: object) -> Iterator[Mapping[str, Any]]:
    """The requests of a claim for a number of devices that only one claim can have."""
    for request in as_list(dig(spec, "devices", "requests")):
        exactly = as_mapping(dig(request, "exactly"))
        exclusive = exactly.get("allocationMode") in (None, "ExactCount") and exactly.get("adminAccess") is not True
        if exactly and exclusive:
            yield exactly


def _amount(request: Mapping[str, Any]) -> int:
    return as_int(request.get("count")) or 1


def _count(slices: Sequence[Mapping[str, Any]]) -> int | None:
    """How many devices there are; None where some can be shared."""
    devices = [device for value in slices for device in as_list(dig(value, "spec", "devices"))]
    shared = any(dig(device, "allowMultipleAllocations") is True for device in devices)
    return None if shared else len(devices)
