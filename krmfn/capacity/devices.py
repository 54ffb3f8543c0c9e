"""Devices that are allocated by claims: what pods need of them at least, and how many the cluster has.

Source: pkg/scheduler/framework/plugins/{dynamicresources,noderesources}, pkg/controller/resourceclaim.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from krmfn.capacity.pods import PodKind
from krmfn.model.quantity import parse_quantity
from krmfn.model.selectors import tolerates
from krmfn.model.values import Key, Names, Value, as_int, as_list, as_mapping, as_text, dig, name_of
from krmfn.survey.facts import ClusterNode, Facts

_GROUP = "resource.k8s.io"
_OF_CLASS = "deviceclass.resource.kubernetes.io/"
#: More than any node has: such a resource is not the node's to give.
_ANY = 10**18
_ONE = 10**9
_COMPARISON = re.compile(
    r"""\s*device\.(?:driver|attributes\["(?P<domain>[^"]+)"\]\.(?P<name>\w+))\s*==\s*"(?P<text>[^"\\]*)"\s*"""
)
_SIZE = re.compile(
    r"""\s*device\.capacity\["(?P<domain>[^"]+)"\]\.(?P<name>\w+)\.(?:compareTo\(quantity\("(?P<least>[^"\\]+)"\)\)\s*>=\s*0)\s*"""
)
#: A device with its driver.
_Device = tuple[str, Value]


class _DeviceRequest(NamedTuple):
    """A request for at least `amount` devices that only one claim can have, each of which suits an alternative."""

    name: str
    amount: int
    alternatives: Sequence[Value]


class _DeviceClaim(NamedTuple):
    """The requests of a claim; with an attribute in `alike`, all devices have the same value of it."""

    requests: Sequence[_DeviceRequest]
    alike: str


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
        gates = facts.gates.get("kube-scheduler", {})
        rules = facts.objects(_GROUP, "DeviceTaintRule") if gates.get("DRADeviceTaintRules") is not False else ()
        #: The taints of rules that the scheduler takes into account: v1 has them by default.
        self._rules = [value for value in rules if as_text(value, "apiVersion") == f"{_GROUP}/v1"]
        self._obeys_taints = gates.get("DRADeviceTaints") is not False
        pools = dict(self._list_pools(slices)) if known else {}
        if self._local and facts.nodes and all(node.number == 1 for node in facts.nodes):
            names = {node.name for node in facts.nodes}
            pools = {node: pool for node, pool in pools.items() if node in names}  # slices outlive their nodes
        self._pools = list(pools.values()) if known else None
        self._counts: dict[str, int | None] = {}  # by what is asked for: many pods ask for the same

    def find_missing(self, pod: PodKind) -> str:
        """What a pod refers to and the facts know not to exist, in the words of the scheduler or of the controller
        that makes claims; empty where there is nothing."""
        for kind, named, known in (
            ("ResourceClaim", pod.devices, self._claims),
            ("ResourceClaimTemplate", (*pod.device_templates, *pod.group_templates), self._templates),
        ):
            for name in named:
                if (pod.namespace, name) not in known and self._facts.lists_all(kind):
                    return f'{kind.lower()}.{_GROUP} "{name}" not found'
        for spec in (*self._list_shared(pod), *self._list_made(pod, pod.device_templates)):
            for request in as_list(spec, "devices", "requests"):
                name = as_text(request, "exactly", "deviceClassName")
                if name and name not in self._classes and self._facts.lists_all("DeviceClass"):
                    return f"request {as_text(request, 'name')}: device class {name} does not exist"
        return "cannot allocate all claims" if self.count(pod) == 0 else ""

    def count(self, pod: PodKind) -> int | None:
        """At most how many of these pods get their devices; None where nothing limits them."""
        if self._pools is None:
            return None
        shared = _read_claims(self._list_shared(pod))
        own = _read_claims(self._list_made(pod, pod.device_templates))
        asked = repr((shared, own))
        if asked not in self._counts:
            given = all(any(self._count_in(pool, [claim]) for pool in self._pools) for claim in shared)
            most = sum(self._count_in(pool, own) for pool in self._pools) if own else None
            self._counts[asked] = most if given else 0
        return self._counts[asked]

    def _count_in(self, pool: Sequence[_Device], claims: Sequence[_DeviceClaim]) -> int:
        """How many times a pool has all that is requested, at most."""
        most = len(pool) // sum(request.amount for claim in claims for request in claim.requests)
        for claim in claims:
            parts = [pool]
            if claim.alike:
                alike = defaultdict(list)
                for driver, device in pool:
                    value = _find_entry("attributes", claim.alike, driver, device)
                    if value is not None:
                        alike[repr(value)].append((driver, device))
                parts = list(alike.values())
            most = min(most, sum(min(self._count_for(part, each) for each in claim.requests) for part in parts))
        return most

    def _count_for(self, pool: Sequence[_Device], request: _DeviceRequest) -> int:
        """How many times a pool has what one request asks for, at most."""
        return sum(any(self._suits(one, *each) for one in request.alternatives) for each in pool) // request.amount

    def _suits(self, wanted: Value, driver: str, device: Value) -> bool:
        device_class = self._classes.get(as_text(wanted, "deviceClassName"))
        selectors = [*as_list(device_class, "spec", "selectors"), *as_list(wanted, "selectors")]
        taints = map(as_mapping, as_list(device, "taints") if self._obeys_taints else ())
        tolerations = as_list(wanted, "tolerations")
        return all(
            tolerates(tolerations, taint) for taint in taints if taint.get("effect") in ("NoSchedule", "NoExecute")
        ) and all(may_match(as_text(selector, "cel", "expression"), driver, device) for selector in selectors)

    def _list_pools(self, slices: Sequence[Value]) -> Iterator[tuple[str, Sequence[_Device]]]:
        """The devices that one pod can get together: those of a node, or all there are. Of a driver's pool only the
        newest generation counts; taints of rules are added to the devices."""
        newest: dict[Key, int] = {}
        for value in slices:
            key = as_text(value, "spec", "driver"), as_text(value, "spec", "pool", "name")
            newest[key] = max(newest.get(key, 0), as_int(value, "spec", "pool", "generation") or 0)
        pools: dict[str, list[_Device]] = defaultdict(list)
        for value in slices:
            driver, name = as_text(value, "spec", "driver"), as_text(value, "spec", "pool", "name")
            found = pools[as_text(value, "spec", "nodeName") if self._local else ""]
            if (as_int(value, "spec", "pool", "generation") or 0) == newest[driver, name]:
                for device in map(as_mapping, as_list(value, "spec", "devices")):
                    place = {"driver": driver, "pool": name, "device": device.get("name")}
                    added = [
                        dig(rule, "spec", "taint")
                        for rule in self._rules
                        if as_mapping(rule, "spec", "deviceSelector").items() <= place.items()
                    ]
                    found.append((driver, {**device, "taints": [*as_list(device, "taints"), *added]}))
        yield from pools.items()

    def shares_node(self, pod: PodKind) -> bool:
        """Whether all pods of the kind get the same devices, and these are on one node."""
        return self._local and bool(_read_claims(self._list_shared(pod)))

    def _list_shared(self, pod: PodKind) -> Iterator[Any]:
        """What the claims ask for that pods of the kind share: those that they name, and those of their group."""
        for name in pod.devices:
            claim = self._claims.get((pod.namespace, name))
            if claim is not None and not dig(claim, "status", "allocation"):  # what was allocated stays so
                yield dig(claim, "spec")
        yield from self._list_made(pod, pod.group_templates)

    def _list_made(self, pod: PodKind, templates: Names) -> Iterator[Any]:
        """What the claims ask for that are made from templates."""
        return (dig(self._templates.get((pod.namespace, name)), "spec", "spec") for name in templates)


def delegate(nodes: Sequence[ClusterNode], asked: Iterable[str], facts: Facts) -> Sequence[ClusterNode]:
    """The nodes, each with its devices as those of the resources `asked` for that it does not have itself and that
    stand for a device class: the scheduler takes these from slices. Any amount, where it is not known."""
    classes = {f"{_OF_CLASS}{name_of(value)}": value for value in facts.objects(_GROUP, "DeviceClass")}
    classes |= {as_text(value, "spec", "extendedResourceName"): value for value in classes.values()}
    given = {name for name in asked if name and (name in classes or name.startswith(_OF_CLASS))}
    if not given:
        return nodes
    slices = facts.objects(_GROUP, "ResourceSlice")
    local = all(dig(value, "spec", "nodeName") for value in slices) and _count(slices) is not None
    there: dict[Key, int] = defaultdict(int)
    for value in slices:
        node, driver = as_text(value, "spec", "nodeName"), as_text(value, "spec", "driver")
        for name in given:
            wanted = [as_text(each, "cel", "expression") for each in as_list(classes.get(name), "spec", "selectors")]
            devices = map(as_mapping, as_list(value, "spec", "devices"))
            found = sum(all(may_match(text, driver, device) for text in wanted) for device in devices)
            there[node, name] += found * _ONE
    known = local and facts.lists_all("ResourceSlice")
    filled = []
    for each in nodes:
        certain = known and each.number == 1 and bool(each.name)
        most = {name: there.get((each.name, name), 0) if certain else _ANY for name in given}
        more = {name: amount for name, amount in most.items() if amount and not each.allocatable.get(name)}
        filled.append(each._replace(allocatable={**each.allocatable, **more}))
    return filled


def fill_in(spec: object) -> Value:
    """The spec of a claim with the server's defaults."""
    devices = as_mapping(spec, "devices")
    requests = []
    for request in map(as_mapping, as_list(devices, "requests")):
        exactly = as_mapping(request, "exactly")
        if exactly:
            mode = as_text(exactly, "allocationMode") or "ExactCount"
            count = {"count": as_int(exactly, "count") or 1} if mode == "ExactCount" else {}
            exactly = {**exactly, "allocationMode": mode, **count}
        requests.append({**request, "exactly": exactly} if exactly else request)
    return {**as_mapping(spec), "devices": {**devices, "requests": requests}}


def may_match(expression: str, driver: str, device: Value) -> bool:
    """Whether a CEL selector may select a device: only comparisons of the driver or of a string attribute with a text,
    all of which have to hold, are looked at."""
    if "||" in expression or "?" in expression or "!" in expression:
        return True
    for term in expression.split("&&"):
        size = _SIZE.fullmatch(term)
        if size:
            domain, name, text = size.group("domain", "name", "least")
            have = parse_quantity(dig(_find_entry("capacity", f"{domain}/{name}", driver, device), "value"))
            least = parse_quantity(text)
            if least is not None and (have is None or have < least):
                return False
        found = _COMPARISON.fullmatch(term)
        if found:
            domain, name, text = found.group("domain", "name", "text")
            attribute = _find_entry("attributes", f"{domain}/{name}", driver, device)
            if text != (dig(attribute, "string") if name else driver):
                return False
    return True


def _find_entry(field: str, name: str, driver: str, device: object) -> Any:
    """An attribute or a capacity of a device by its full name; the domain of its driver may be left out there."""
    entries = as_mapping(device, field)
    domain, _, short = name.rpartition("/")
    return entries.get(name, entries.get(short) if domain == driver else None)


def _read_claims(specs: Iterable[Any]) -> list[_DeviceClaim]:
    """Those of some claims that ask for a number of devices."""
    return [claim for claim in map(_read_claim, specs) if claim.requests]


def _read_claim(spec: object) -> _DeviceClaim:
    """What a claim asks for in numbers: requests for all devices, and those of administrators, are left out."""
    asked = as_list(spec, "devices", "requests")
    requests = []
    for request in map(as_mapping, asked):
        alternatives = [*as_list(request, "firstAvailable")] or [dig(request, "exactly")]
        counted = all(
            as_mapping(one).get("allocationMode") in (None, "ExactCount") and dig(one, "adminAccess") is not True
            for one in alternatives
        )
        if counted and as_mapping(alternatives[0]):
            amount = min(as_int(one, "count") or 1 for one in alternatives)
            requests.append(_DeviceRequest(as_text(request, "name"), amount, list(map(as_mapping, alternatives))))
    alike = ""
    for constraint in as_list(spec, "devices", "constraints"):
        about = as_list(constraint, "requests")
        if len(requests) == len(asked) and (not about or {each.name for each in requests} <= set(about)):
            alike = alike or as_text(constraint, "matchAttribute")
    return _DeviceClaim(requests, alike)


def _count(slices: Sequence[Value]) -> int | None:
    """How many devices there are; None where some can be shared."""
    devices = [device for value in slices for device in as_list(value, "spec", "devices")]
    shared = any(dig(device, "allowMultipleAllocations") is True for device in devices)
    return None if shared else len(devices)
