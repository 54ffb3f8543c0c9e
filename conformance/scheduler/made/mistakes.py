"""What people get wrong in a gang: counts, links, parents, classes, keys, sizes. Each function breaks one thing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

Value = dict[str, Any]


def spoil(random: Random, objects: list[Value]) -> str:
    """Breaks one thing in place; its name, empty when there was nothing to break that way."""
    mistake = random.choice(MISTAKES)
    done = mistake(random, objects)
    return mistake.__name__.strip("_") if done else ""


def pod_specs(objects: list[Value]) -> Iterator[Value]:
    """Every pod spec in the objects, with its link."""
    for value in objects:
        if value["kind"] == "Pod":
            yield value["spec"]
        else:
            yield from _below(value.get("spec"))


def _below(value: object) -> Iterator[Value]:
    if isinstance(value, dict):
        if isinstance(value.get("containers"), list) and ("schedulingGroup" in value or "workloadRef" in value):
            yield value
            return
        for entry in value.values():
            yield from _below(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _below(entry)


def _groups(objects: list[Value], kind: str = "") -> list[Value]:
    kinds = (kind,) if kind else ("PodGroup", "CompositePodGroup")
    return [value for value in objects if value["kind"] in kinds and "scheduling.k8s.io" in value["apiVersion"]]


def _policies(objects: list[Value], count: str) -> list[Value]:
    """The gang policies that count `minCount` or `minGroupCount`."""
    found = [group["spec"]["schedulingPolicy"].get("gang") for group in _groups(objects)]
    for value in objects:
        if value["kind"] == "Workload":
            found += [entry["policy"].get("gang") for entry in value["spec"].get("podGroups", [])]
    return [policy for policy in found if policy and count in policy]


def _group_missing(random: Random, objects: list[Value]) -> bool:
    groups = _groups(objects) or [value for value in objects if value["kind"] == "Workload"]
    if groups:
        objects.remove(random.choice(groups))
    return bool(groups)


def _parent_missing(random: Random, objects: list[Value]) -> bool:
    children = [group for group in _groups(objects) if "parentCompositePodGroupName" in group["spec"]]
    if children:
        random.choice(children)["spec"]["parentCompositePodGroupName"] = "nobody"
    return bool(children)


def _parent_cycle(random: Random, objects: list[Value]) -> bool:
    composites = _groups(objects, "CompositePodGroup")
    if composites:
        names = [group["metadata"]["name"] for group in composites]
        composites[0]["spec"]["parentCompositePodGroupName"] = random.choice(names)
    return bool(composites)


def _count_above(random: Random, objects: list[Value]) -> bool:
    policies = _policies(objects, "minCount")
    if policies:
        random.choice(policies)["minCount"] += random.choice((1, 1, 2, 10))
    return bool(policies)


def _count_below(random: Random, objects: list[Value]) -> bool:
    policies = _policies(objects, "minCount")
    if policies:
        policy = random.choice(policies)
        policy["minCount"] = max(1, policy["minCount"] - random.choice((1, 1, 2)))
    return bool(policies)


def _groups_above(random: Random, objects: list[Value]) -> bool:
    policies = _policies(objects, "minGroupCount")
    if policies:
        random.choice(policies)["minGroupCount"] += 1
    return bool(policies)


def _basic(random: Random, objects: list[Value]) -> bool:
    groups = [group for group in _groups(objects) if "gang" in group["spec"]["schedulingPolicy"]]
    if groups:
        group = random.choice(groups)
        group["spec"]["schedulingPolicy"] = {"basic": {}}
        group["spec"].pop("disruptionMode", None)
    return bool(groups)


def _class_of_group(random: Random, objects: list[Value]) -> bool:
    groups = _groups(objects)
    if groups:
        group = random.choice(groups)
        group["spec"]["priorityClassName"] = random.choice(("high", "low"))
    return bool(groups)


def _class_of_pods(random: Random, objects: list[Value]) -> bool:
    specs = list(pod_specs(objects))
    if specs:
        random.choice(specs)["priorityClassName"] = random.choice(("high", "low", "patient"))
    return bool(specs)


def _policy_of_pods(random: Random, objects: list[Value]) -> bool:
    specs = list(pod_specs(objects))
    if specs:
        random.choice(specs)["preemptionPolicy"] = random.choice(("Never", "PreemptLowerPriority"))
    return bool(specs)


def _foreign_scheduler(random: Random, objects: list[Value]) -> bool:
    specs = list(pod_specs(objects))
    if specs:
        random.choice(specs)["schedulerName"] = random.choice(("volcano", "other"))
    return bool(specs)


def _gate(random: Random, objects: list[Value]) -> bool:
    specs = list(pod_specs(objects))
    if specs:
        random.choice(specs)["schedulingGates"] = [{"name": "example.com/later"}]
    return bool(specs)


def _node_name(random: Random, objects: list[Value]) -> bool:
    specs = list(pod_specs(objects))
    if specs:
        random.choice(specs)["nodeName"] = "n1"
    return bool(specs)


def _link_renamed(random: Random, objects: list[Value]) -> bool:
    specs = list(pod_specs(objects))
    if specs:
        link = random.choice(specs)
        if "schedulingGroup" in link:
            link["schedulingGroup"] = {"podGroupName": "nobody"}
        else:
            link["workloadRef"] = {**link["workloadRef"], "podGroup": "nobody"}
    return bool(specs)


def _link_lost(random: Random, objects: list[Value]) -> bool:
    specs = list(pod_specs(objects))
    if len(specs) > 1:
        spec = random.choice(specs)
        spec.pop("schedulingGroup", None)
        spec.pop("workloadRef", None)
    return len(specs) > 1


def _group_elsewhere(random: Random, objects: list[Value]) -> bool:
    groups = _groups(objects)
    if groups:
        random.choice(groups)["metadata"]["namespace"] = "data"
    return bool(groups)


def _key_unknown(random: Random, objects: list[Value]) -> bool:
    groups = _groups(objects)
    if groups:
        constraint = {"topology": [{"key": random.choice(("example.com/block", "topology.kubernetes.io/hall"))}]}
        random.choice(groups)["spec"]["schedulingConstraints"] = constraint
    return bool(groups)


def _too_large(random: Random, objects: list[Value]) -> bool:
    specs = list(pod_specs(objects))
    if specs:
        requests = random.choice(specs)["containers"][0]["resources"].setdefault("requests", {})
        requests[random.choice(("cpu", "memory"))] = "400"
        if requests.get("memory") == "400":
            requests["memory"] = "4000Gi"
    return bool(specs)


def _nowhere(random: Random, objects: list[Value]) -> bool:
    specs = list(pod_specs(objects))
    if specs:
        random.choice(specs)["nodeSelector"] = {"pool": "zzz"}
    return bool(specs)


def _apart(_: Random, objects: list[Value]) -> bool:
    """All templates are kept apart from one another on a node."""
    specs = list(pod_specs(objects))
    for spec in specs:
        selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        anti = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec.setdefault("affinity", {})["podAntiAffinity"] = copy.deepcopy(anti)
    return bool(specs)


Mistake = Callable[[Random, list[Value]], bool]
MISTAKES: tuple[Mistake, ...] = (
    *(_group_missing, _parent_missing, _parent_cycle, _count_above, _count_above, _count_below, _groups_above),
    *(_basic, _class_of_group, _class_of_pods, _policy_of_pods, _foreign_scheduler, _gate, _node_name, _link_renamed),
    *(_link_lost, _group_elsewhere, _key_unknown, _too_large, _nowhere, _apart),
)
