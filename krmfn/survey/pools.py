"""Node pools: nodes that do not exist yet, which an autoscaler adds. NodePools of Karpenter with the instance types of
the facts; groups of the Cluster Autoscaler, and the pools of clouds, as the facts spell them.

Source: Karpenter v1 (pkg/apis/v1/nodepool.go: limits count what the nodes that exist have), Cluster Autoscaler's flag
--nodes=<min>:<max>:<name>.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

from krmfn.model.quantity import add, format_quantity
from krmfn.model.selectors import holds, is_beyond
from krmfn.model.values import Fields, Value, as_int, as_list, as_mapping, as_text, dig, name_of
from krmfn.survey.facts import HOSTNAME, Amounts, ClusterNode, Facts, Resources, read_resources

#: Labels whose value is the name of a node's pool: Karpenter, GKE, EKS, AKS.
KARPENTER = "karpenter.sh/nodepool"
_OF_POOL = (
    *(KARPENTER, "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "kubernetes.azure.com/agentpool"),
)
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
#: More nodes than this no pool adds, and more sorts of nodes are not told apart.
_MOST, _SORTS = 10_000, 24


class NodePool(NamedTuple):
    """A pool: `there` nodes of it exist; `nodes` are the sorts that it can add, each with the `number` that it can add
    of it alone. `limit` says what stops it. `told`: all of that is known."""

    name: str
    nodes: tuple[ClusterNode, ...]
    there: int
    limit: str
    told: bool
    weight: int = 0


def list_pools(facts: Facts) -> list[NodePool]:
    """The pools of the facts, those first that Karpenter tries first."""
    pools = [*(_read_spelled(entry, facts) for entry in facts.node_pools)]
    pools += [_read_karpenter(value, facts) for value in facts.objects("karpenter.sh", "NodePool")]
    return sorted(pools, key=lambda pool: (-pool.weight, pool.name))


def _read_spelled(entry: Value, facts: Facts) -> NodePool:
    """A pool of the facts: its nodes are like its `allocatable`, or like those that it has already."""
    name, labels = as_text(entry, "name"), _read_labels(entry.get("labels"))
    mine = [node for node in facts.nodes or () if _is_of(node, name, labels)]
    there = sum(node.number for node in mine)
    allocatable, taints = entry.get("allocatable"), tuple(as_list(entry, "taints"))
    model = []
    if allocatable is not None:
        model = [ClusterNode(name, {**labels, HOSTNAME: name}, read_resources(allocatable), taints)]
    elif mine:
        model = [mine[0]._replace(labels={**mine[0].labels, **labels}, unschedulable=False)]
    most = as_int(entry, "max")
    limits = {**read_resources(entry.get("limits")), **({} if most is None else {"nodes": most * 10**9})}
    taken = _sum(mine)
    nodes = tuple(_clone(node, name, "", _count(limits, taken, node)) for node in model)
    return NodePool(name, nodes, there, _spell(limits), bool(model), as_int(entry, "weight") or 0)


def _read_karpenter(pool: Value, facts: Facts) -> NodePool:
    name, template = name_of(pool), as_mapping(pool, "spec", "template")
    spec = as_mapping(template, "spec")
    requirements = as_list(spec, "requirements")
    labels = {**_read_labels(dig(template, "metadata", "labels")), KARPENTER: name}
    mine = [node for node in facts.nodes or () if _is_of(node, name, {})]
    limits, taken = read_resources(dig(pool, "spec", "limits")), _sum(mine)
    nodes = []
    told = bool(facts.instance_types)
    for kind in facts.instance_types:
        sorts, whole = _list_sorts(kind, labels, requirements)
        told &= whole
        allocatable = read_resources(kind.get("allocatable"))
        for number, each in enumerate(sorts):
            node = ClusterNode("", each, allocatable, tuple(as_list(spec, "taints")))
            suffix = f"{as_text(kind, 'name')}{f'-{number}' if number else ''}"
            nodes.append(_clone(node, name, suffix, _count(limits, taken, node)))
    if dig(pool, "spec", "replicas") is not None:  # its number does not follow the pods
        nodes = []
    weight = as_int(pool, "spec", "weight") or 0
    return NodePool(name, tuple(nodes), sum(node.number for node in mine), _spell(limits), told, weight)


def _list_sorts(kind: Value, labels: Value, requirements: Sequence[Any]) -> tuple[list[Fields], bool]:
    """The labels of the nodes of an instance type that the requirements allow, and whether that is all of it."""
    offered = {INSTANCE_TYPE: [as_text(kind, "name")]}
    for key, value in (*as_mapping(kind, "labels").items(), *labels.items()):
        offered[key] = list(value) if isinstance(value, list) else [value]
    told = True
    for entry in requirements:
        key, operator, values = as_text(entry, "key"), as_text(entry, "operator"), as_list(entry, "values")
        if key in offered:
            offered[key] = [value for value in offered[key] if _allows(key, value, operator, values)]
        elif operator == "In":
            offered[key] = list(values)
        else:  # a pod may ask for any value that is left
            told &= operator == "DoesNotExist"
    sorts = [dict(zip(offered, values, strict=True)) for values in product(*offered.values())]
    return sorts[:_SORTS], told and len(sorts) <= _SORTS


def _allows(key: str, value: Any, operator: str, values: Sequence[Any]) -> bool:
    if operator in ("Gte", "Lte"):
        return len(values) == 1 and (value == values[0] or is_beyond(value, values[0], operator == "Gte"))
    return holds(key, operator, values, {key: value})


def _read_labels(labels: object) -> dict[str, str]:
    return {key: value for key, value in as_mapping(labels).items() if isinstance(value, str)}


def _is_of(node: ClusterNode, name: str, labels: Value) -> bool:
    of_label = any(node.labels.get(key) == name for key in _OF_POOL)
    return of_label or (bool(labels) and labels.items() <= node.labels.items())


def _sum(nodes: Iterable[ClusterNode]) -> Amounts:
    taken = {"nodes": 0}
    for node in nodes:
        add(taken, {**node.allocatable, "nodes": 10**9}, node.number)
    return taken


def _count(limits: Resources, taken: Resources, node: ClusterNode) -> int:
    """How many nodes like this one the limits leave room for."""
    room = [_MOST]
    for name, limit in limits.items():
        each = 10**9 if name == "nodes" else node.allocatable.get(name, 0)
        if each:
            room.append((limit - taken.get(name, 0)) // each)
    return max(0, min(room))


def _clone(node: ClusterNode, pool: str, suffix: str, number: int) -> ClusterNode:
    name = "-".join(filter(None, ("new", pool, suffix)))
    return node._replace(name=name, labels={**node.labels, HOSTNAME: name}, number=number, used={}, ports=())


def _spell(limits: Resources) -> str:
    return " and ".join(f"{format_quantity(amount)} {name}" for name, amount in limits.items())
