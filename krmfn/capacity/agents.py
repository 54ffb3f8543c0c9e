"""What the pods of DaemonSets, and those of the kubelet's own manifests, leave of the nodes: room and ports."""

from __future__ import annotations

from collections.abc import Mapping

from krmfn.capacity.pods import list_ports
from krmfn.capacity.requests import count_requests
from krmfn.model.quantity import add
from krmfn.model.values import as_mapping, as_text, dig
from krmfn.survey.facts import Facts, NodePort, is_daemon, read_resources


def take_off(facts: Facts) -> Facts:
    """The facts with nodes that have only what such pods leave; the same facts where there are none."""
    taken: dict[str, dict[str, int]] = {}
    ports: dict[str, dict[NodePort, None]] = {}
    known: dict[str, Mapping[str, int]] = {}
    for pod in facts.objects("", "Pod"):
        place, spec = as_text(pod, "spec", "nodeName"), as_mapping(pod, "spec")
        if place and is_daemon(pod) and dig(pod, "status", "phase") not in ("Succeeded", "Failed"):
            alike = repr([spec.get(field) for field in ("containers", "initContainers", "overhead", "resources")])
            if alike not in known:
                known[alike] = {**count_requests(spec, read_resources(spec.get("overhead"))), "pods": 10**9}
            add(taken.setdefault(place, {}), known[alike])
            ports.setdefault(place, {}).update(dict.fromkeys(list_ports(spec)))
    nodes = facts.nodes or ()
    if not taken and not any(node.used or node.ports for node in nodes):
        return facts
    left = []
    for node in nodes:
        used = {**node.used}
        add(used, taken.get(node.name, {}))
        rest = {name: max(0, amount - used.get(name, 0)) for name, amount in node.allocatable.items()}
        occupied = (*node.ports, *ports.get(node.name, ()))
        left.append(node._replace(allocatable=rest, used={}, ports=occupied))
    return facts._replace(nodes=tuple(left))
