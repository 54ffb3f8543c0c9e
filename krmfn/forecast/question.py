"""The question to a simulator: the cluster of the facts, the groups and the pods, and which trials to make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from krmfn.capacity.devices import delegate, fill_in
from krmfn.capacity.nodes import DEFAULT_SLOTS
from krmfn.config import Settings
from krmfn.forecast.granted import grant
from krmfn.forecast.roster import Roster
from krmfn.model.quantity import format_quantity
from krmfn.model.values import as_list, as_mapping
from krmfn.releases.gates import has
from krmfn.survey.census import Census
from krmfn.survey.facts import HOSTNAME, ClusterNode, Facts

#: Answers a question with the trials' results. Raises what the caller's program raises.
Ask = Callable[[Mapping[str, Any]], list[dict[str, Any]]]
_SCHEDULER = "kube-scheduler"
#: Kinds of which the facts hold objects that the scheduler looks at.
_STORED = (
    *(("", "Namespace"), ("", "PersistentVolumeClaim"), ("", "PersistentVolume"), ("", "LimitRange")),
    *(("storage.k8s.io", "StorageClass"), ("node.k8s.io", "RuntimeClass"), ("resource.k8s.io", "ResourceClaim")),
    *(("resource.k8s.io", "DeviceClass"), ("resource.k8s.io", "ResourceSlice")),
)


def ask(census: Census, roster: Roster, settings: Settings, trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The question as JSON."""
    facts = census.facts
    given = {**settings.feature_gates, **facts.gates.get(_SCHEDULER, {})}
    gates: dict[str, bool] = {}
    for gate in settings.release.gates.values():  # each behind those that it needs: without them it cannot be on
        needed = all(gates.get(name, True) for name in gate.needs)
        if _SCHEDULER in gate.components:
            gates[gate.name] = given.get(gate.name, not gate.opt_in) and needed
    asked = {name for pod in roster.waiting for name in _list_limits(pod.value)}
    shared = {id(each): gang.group for gang in census.gangs for each in gang.templates}
    groups = shared if has(settings.release, given, "group-claims") else {}
    pods = grant(roster, facts, groups)
    objects = [*list_stored(facts, asked), *_list_groups(census), *pods]
    return {"gates": gates, "objects": objects, "trials": list(trials)}


def _list_limits(pod: Mapping[str, Any]) -> Iterator[str]:
    """The names of the resources that a pod's containers may use."""
    for field in ("containers", "initContainers"):
        for box in as_list(pod, "spec", field):
            yield from as_mapping(box, "resources", "limits")


def list_stored(facts: Facts, asked: set[str]) -> Iterator[Mapping[str, Any]]:
    """The objects of the facts that decide about pods which ask for these resources."""
    for node in delegate(facts.nodes or (), asked, facts):
        yield from _spell_node(node)
    for name, entry in facts.priority_classes.items():
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": entry.value,
            "globalDefault": entry.default,
            "preemptionPolicy": entry.preemption_policy,
        }
    for group, kind in _STORED:
        for value in facts.objects(group, kind):
            kept = {key: entry for key, entry in value.items() if key in _FIELDS}
            if kind == "ResourceClaim":
                kept["spec"] = fill_in(value.get("spec"))
            if kind == "StorageClass":
                kept.setdefault("volumeBindingMode", "Immediate")
            yield {**kept, "apiVersion": f"{group}/v1".lstrip("/"), "kind": kind}


_FIELDS = (
    *("metadata", "spec", "status", "provisioner", "volumeBindingMode", "parameters", "allowedTopologies"),
    *("handler", "overhead", "scheduling"),
)


def name_nodes(node: ClusterNode) -> Iterator[str]:
    """The name of a node; of nodes that are alike, a name with a number for each."""
    name = node.name or "node"
    yield from (name if node.number == 1 else f"{name}-{number}" for number in range(node.number))


def _spell_node(node: ClusterNode) -> Iterator[Mapping[str, Any]]:
    """A node as an object, without what is taken of it."""
    free = {"pods": DEFAULT_SLOTS, **node.allocatable}
    amounts = {name: format_quantity(max(0, amount - node.used.get(name, 0))) for name, amount in free.items()}
    for name in name_nodes(node):
        spec: dict[str, Any] = {"taints": list(node.taints)}
        if node.unschedulable:
            spec["unschedulable"] = True
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {**node.labels, HOSTNAME: _host(node, name)}},
            "spec": spec,
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }


def _host(node: ClusterNode, name: str) -> str:
    return str(node.labels[HOSTNAME]) if node.number == 1 and node.labels.get(HOSTNAME) else name


def _list_groups(census: Census) -> Iterator[Mapping[str, Any]]:
    for kind in ("Workload", "CompositePodGroup", "PodGroup"):
        for item in census.kind("scheduling.k8s.io", kind):
            yield {
                "apiVersion": item.api_version,
                "kind": item.kind,
                "metadata": {"name": item.name, "namespace": item.space},
                "spec": item.value.get("spec", {}),
            }
