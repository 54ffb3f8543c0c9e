"""Whether the gang fits: quotas, nodes, volumes that only one pod can use, and what facts are missing for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from krmfn.checks.rule import rule
from krmfn.model.findings import Finding
from krmfn.model.quantity import format_quantity
from krmfn.survey.facts import read_resources
from krmfn.survey.values import as_list, as_mapping, as_text, dig

if TYPE_CHECKING:
    from krmfn.config import Settings
    from krmfn.survey.census import Census, Gang
    from krmfn.survey.facts import Node, Resources

_ONE = 10**9


@rule("quota-too-small", "warning", "A ResourceQuota allows fewer resources or pods than the gang needs at once.")
def find_quota_too_small(census: Census, _: Settings) -> Iterator[Finding]:
    """The gang needs more than a ResourceQuota of its namespace allows."""
    for gang in census.gangs:
        need = _need(gang)
        for quota in census.facts.quotas:
            if not need or (quota.namespace or gang.group.namespace) != gang.group.namespace:
                continue
            for name, limit in quota.hard.items():
                wanted = need.get(name.removeprefix("requests."), 0)
                if wanted > limit:
                    what = name.removeprefix("requests.")
                    message = (
                        f"the gang needs {format_quantity(wanted)} {what}, the ResourceQuota {quota.name} allows "
                        f"{format_quantity(limit)}: some of its pods are never created, the others wait for them"
                    )
                    hint = f"Raise {name} of the quota to at least {format_quantity(wanted)}, or make the gang smaller."
                    yield Finding(gang.group.item, gang.group.quorum_path, message, gang.group.quorum, hint=hint)


@rule("nodes-too-small", "error", "The nodes that the facts list have too little room for the gang.")
def find_nodes_too_small(census: Census, _: Settings) -> Iterator[Finding]:
    """No domain (or not the whole cluster) has the room that the gang needs at once."""
    nodes = census.facts.nodes
    if nodes is None:
        return
    rooms: dict[tuple[str, str], int] = {}
    for gang in census.gangs:
        need = _need(gang)
        key = gang.group.topology_key
        for name in sorted(need):
            if (key, name) not in rooms:
                rooms[key, name] = max(_room(nodes, key, name).values(), default=0)
            room = rooms[key, name]
            if need[name] > room:
                where = f"the largest domain of {key} has" if key else "all nodes together have"
                message = (
                    f"the gang needs {format_quantity(need[name])} {name} at once, {where} {format_quantity(room)}: it "
                    "is never placed"
                )
                hint = (
                    "Add nodes, make the gang smaller, or use a coarser topology key."
                    if key
                    else "Add nodes, or make the gang smaller."
                )
                yield Finding(gang.group.item, gang.group.quorum_path, message, gang.group.quorum, hint=hint)
                break


@rule("pod-too-large", "error", "No node that the facts list has room for one pod of the gang.")
def find_pod_too_large(census: Census, _: Settings) -> Iterator[Finding]:
    """One pod of the gang is larger than every node."""
    nodes = census.facts.nodes
    if nodes is None:
        return
    fitting: dict[frozenset[tuple[str, int]], bool] = {}
    for gang in census.gangs:
        for template in gang.templates:
            requests = _requests(template.spec)
            shape = frozenset(requests.items())
            if shape not in fitting:
                fitting[shape] = any(_fits(node, requests) for node in nodes)
            if template.pods and not fitting[shape]:
                spelled = ", ".join(f"{format_quantity(amount)} {name}" for name, amount in sorted(requests.items()))
                message = (
                    f"no node has room for one of these pods ({spelled}), so the gang {gang.group.name} is never "
                    "complete"
                )
                hint = "Lower the requests, or add a larger node."
                path = (*template.spec_path, "containers")
                yield Finding(template.item, path, message, hint=hint)


@rule("volume-shared", "warning", "Pods of a gang share a volume claim that cannot serve all of them.")
def find_volume_shared(census: Census, _: Settings) -> Iterator[Finding]:
    """Pods of a gang share a claim that only one pod, or one node, can use."""
    claims = {(item.space, item.name): item for item in census.kind("", "PersistentVolumeClaim")}
    for gang in census.gangs:
        used: dict[str, int] = {}
        for template in gang.templates:
            for index, volume in enumerate(as_list(template.spec.get("volumes"))):
                name = as_text(dig(volume, "persistentVolumeClaim", "claimName"))
                claim = claims.get((template.item.space, name)) if name else None
                if claim is None or template.pods is None:
                    continue
                used[name] = used.get(name, 0) + template.pods
                modes = as_list(dig(claim.value, "spec", "accessModes"))
                single = modes == ["ReadWriteOncePod"]
                if used[name] < 2 or not (single or modes == ["ReadWriteOnce"]):
                    continue
                limit = "one pod" if single else "the pods of one node"
                message = (
                    f"{used[name]} pods of the gang {gang.group.name} use the claim {name}, which serves {limit} "
                    f"({modes[0]})"
                )
                hint = "Use ReadWriteMany, or a claim for each pod."
                path = (*template.spec_path, "volumes", index)
                yield Finding(template.item, path, message, modes[0], hint=hint, severity="error" if single else None)


def _fits(node: Node, requests: Resources) -> bool:
    return all(node.allocatable.get(name, 0) >= amount for name, amount in requests.items())


def _requests(spec: Mapping[str, Any]) -> Resources:
    """What one pod asks for: its containers summed, at least as much as each init container; limits stand in."""
    total: dict[str, int] = {}
    for container in as_list(spec.get("containers")):
        for name, amount in _container(container).items():
            total[name] = total.get(name, 0) + amount
    for container in as_list(spec.get("initContainers")):
        for name, amount in _container(container).items():
            extra = amount if dig(container, "restartPolicy") == "Always" else 0
            total[name] = total.get(name, 0) + extra if extra else max(total.get(name, 0), amount)
    return total


def _container(container: object) -> Resources:
    resources = as_mapping(dig(container, "resources"))
    return {**read_resources(resources.get("limits")), **read_resources(resources.get("requests"))}


def _need(gang: Gang) -> Resources:
    """What minCount pods need at once, the smallest ones first; empty when the number of pods is unknown."""
    if gang.pods is None or gang.group.quorum is None or gang.group.quorum > gang.pods:
        return {}
    shapes = [(template.pods or 0, _requests(template.spec)) for template in gang.templates]
    need: dict[str, int] = {"pods": gang.group.quorum * _ONE}
    for name in {name for _, requests in shapes for name in requests}:
        left, total = gang.group.quorum, 0
        for pods, requests in sorted(shapes, key=lambda shape: shape[1].get(name, 0)):
            taken = min(left, pods)
            total += taken * requests.get(name, 0)
            left -= taken
        if total:
            need[name] = total
    return need


def _room(nodes: tuple[Node, ...], key: str, name: str) -> dict[object, int]:
    rooms: dict[object, int] = {}
    for node in nodes:
        domain = node.labels.get(key) if key else ""
        if domain is not None:
            amount = node.allocatable.get(name, 110 * _ONE if name == "pods" else 0)
            rooms[domain] = rooms.get(domain, 0) + amount
    return rooms
