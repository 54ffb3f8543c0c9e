"""What every node would get: its gangs' pods, those of others, and how much of it is taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from krmfn.capacity.requests import count_requests
from krmfn.forecast.question import name_nodes
from krmfn.forecast.roster import Pod
from krmfn.forecast.standing import Load, Place, Standing
from krmfn.model.quantity import add
from krmfn.model.values import as_text, dig
from krmfn.survey.facts import Facts, Resources, read_resources

_ZONE: Final = "topology.kubernetes.io/zone"


def find_key(facts: Facts, standings: Iterable[Standing]) -> str:
    """The topology key by which the nodes are shown: that of the first gang that has one which nodes carry, else their
    zone; empty where that tells nothing."""
    nodes = facts.nodes or ()
    total = sum(node.number for node in nodes)
    keys = [group.topology_key for standing in standings for group in (standing.root, *standing.groups) if group]
    for key in (*keys, _ZONE):
        values = {node.labels[key] for node in nodes if key in node.labels}
        if values and (key != _ZONE or len(values) > 1) and len(values) < total:
            return key
    return ""


def list_loads(
    facts: Facts, standings: Sequence[Standing], bound: Iterable[Pod], loose: Iterable[Place], key: str
) -> tuple[Load, ...]:
    """Every node with its load, in the order of the facts."""
    gangs: dict[str, dict[str, int]] = {}
    used: dict[str, dict[str, int]] = {}
    others: dict[str, int] = {}
    counted: set[str] = set()
    memory: dict[int, Resources] = {}

    def put(pod: Pod, node: str) -> None:
        counted.add(pod.name)
        amounts = used.setdefault(node, {})
        template = id(pod.template) if pod.template is not None else 0
        requests = memory.get(template) if template else None
        if requests is None:
            overhead = dig(facts.find_runtime(pod.value["spec"]), "overhead", "podFixed")
            requests = count_requests(pod.value["spec"], read_resources(overhead))
            if template:
                memory[template] = requests
        add(amounts, {**requests, "pods": 10**9})

    for standing in standings:
        for place in standing.places:
            if place.node and place.pod.name not in counted:
                put(place.pod, place.node)
                mine = gangs.setdefault(place.node, {})
                mine[standing.name] = mine.get(standing.name, 0) + 1
    strangers = [*((pod, pod.node) for pod in bound), *((place.pod, place.node) for place in loose)]
    for pod, where in strangers:
        if where and pod.name not in counted:
            put(pod, where)
            others[where] = others.get(where, 0) + 1
    return tuple(_list(facts, gangs, used, others, key))


def _list(
    facts: Facts,
    gangs: Mapping[str, Mapping[str, int]],
    used: Mapping[str, Mapping[str, int]],
    others: Mapping[str, int],
    key: str,
) -> Iterator[Load]:
    for node in facts.nodes or ():
        for name in name_nodes(node):
            taken = dict(node.used)
            add(taken, used.get(name, {}))
            domain = as_text(node.labels.get(key))
            yield Load(
                name, domain, node.allocatable, taken, gangs.get(name, {}), others.get(name, 0), node.unschedulable
            )
