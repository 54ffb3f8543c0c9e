"""Which groups of a scenario started: their quorums, read from the objects, against the pods that were bound.

A second reader of links, quorums and parents; imports nothing of what it judges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Value = dict[str, Any]


class Group(NamedTuple):
    """A group by namespace/name (1.35: namespace/workload/entry/replica). `quorum` counts pods or child groups; policy
    basic is a quorum of one. `parent` is empty for a root."""

    name: str
    quorum: int
    parent: str
    composite: bool


def read_groups(objects: Iterable[Value]) -> dict[str, Group]:
    """All groups by name. 1.35's are without replica key here."""
    groups = {}
    for value in objects:
        if not value["apiVersion"].startswith("scheduling.k8s.io/"):
            continue
        space, name = value["metadata"].get("namespace", "default"), value["metadata"]["name"]
        spec = value["spec"]
        if value["kind"] == "Workload":
            for entry in spec.get("podGroups", []):
                key = f"{space}/{name}/{entry['name']}"
                groups[key] = Group(key, entry["policy"].get("gang", {}).get("minCount", 1), "", False)
            continue
        if value["kind"] in ("PodGroup", "CompositePodGroup"):
            gang = spec["schedulingPolicy"].get("gang", {})
            parent = spec.get("parentCompositePodGroupName", "")
            composite = value["kind"] == "CompositePodGroup"
            key = f"{space}/{name}"
            quorum = gang.get("minGroupCount" if composite else "minCount", 1)
            groups[_key(key, composite)] = Group(
                _key(key, composite), quorum, f"composite {space}/{parent}" if parent else "", composite
            )
    return groups


def _key(name: str, composite: bool) -> str:
    return f"composite {name}" if composite else name


def link_of(pod: Value) -> str:
    """The group that a pod names, with 1.35's replica key at the end; empty without a link."""
    space, spec = pod["metadata"].get("namespace", "default"), pod["spec"]
    if "schedulingGroup" in spec:
        return f"{space}/{spec['schedulingGroup']['podGroupName']}"
    if "workloadRef" in spec:
        reference = spec["workloadRef"]
        key = f"#{reference['podGroupReplicaKey']}" if reference.get("podGroupReplicaKey") else ""
        return f"{space}/{reference['name']}/{reference['podGroup']}{key}"
    return ""


def root_of(name: str, groups: Mapping[str, Group]) -> str:
    """The topmost group above `name`; a missing parent or a cycle ends the way."""
    seen = {name}
    while True:
        group = groups.get(name.partition("#")[0])
        if group is None or not group.parent or group.parent in seen:
            return name
        seen.add(group.parent)
        name = group.parent


def judge(objects: Iterable[Value], pods: Iterable[Value], bound: Mapping[str, str]) -> dict[str, bool]:
    """For every group that pods link to, and every composite above one: whether its quorum is bound."""
    groups = read_groups(objects)
    counts: dict[str, int] = {}
    for pod in pods:
        link = link_of(pod)
        if link:
            full = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            counts[link] = counts.get(link, 0) + (full in bound)
    started = {}
    for link, count in counts.items():
        group = groups.get(link.partition("#")[0])
        started[link] = count >= (group.quorum if group else 1)
    for _ in range(8):  # from the leaves up: trees are at most this deep
        for group in groups.values():
            children = [name for name, child in groups.items() if child.parent == group.name and name in started]
            if group.composite and children:
                started[group.name] = sum(started[child] for child in children) >= group.quorum
    return started
