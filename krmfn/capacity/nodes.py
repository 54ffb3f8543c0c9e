"""Kinds of nodes: those that no pod of the input can tell apart are counted together.

Five thousand nodes are a few dozen kinds, so every question is asked kinds of nodes × kinds of pods times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from krmfn.capacity.pods import HOSTNAME
from krmfn.survey.values import as_list, as_text, dig

if TYPE_CHECKING:
    from krmfn.capacity.pods import PodKind
    from krmfn.survey.facts import Node

#: Stands for every value of a label that nobody asks for by its value.
OTHER: Final = "\0other"
DEFAULT_SLOTS: Final = 110 * 10**9


class NodeKind:
    """Nodes that are alike. `name` is set where pods ask for the node by name. A kind is equal to itself alone."""

    __slots__ = ("allocatable", "labels", "name", "slots", "taints", "unschedulable")

    def __init__(self, node: Node, name: str, labels: Mapping[str, Any]) -> None:
        self.name, self.labels, self.allocatable, self.unschedulable = (
            name,
            labels,
            node.allocatable,
            node.unschedulable,
        )
        self.taints = tuple(taint for taint in node.taints if taint.get("effect") in ("NoSchedule", "NoExecute"))
        #: How many pods the kubelet takes.
        self.slots = node.allocatable.get("pods", DEFAULT_SLOTS) // 10**9


#: Some of the nodes: how many of each kind.
Room = Mapping[NodeKind, int]


def sort_nodes(nodes: Iterable[Node], pods: Sequence[PodKind], keys: Iterable[str], terms: Sequence[Any] = ()) -> Room:
    """The kinds of nodes and how many there are of each. `keys` are topology keys of groups, `terms` further node
    selector terms that will be asked for."""
    terms = [*terms, *(term for pod in pods for term in as_list(pod.affinity))]
    wanted = _list_values(pods, keys, terms)
    names = {pod.node for pod in pods if pod.node} | _list_names(terms)
    found: dict[object, NodeKind] = {}
    room: dict[NodeKind, int] = {}
    for node in nodes:
        labels = {}
        for key, values in wanted.items():
            if key in node.labels:
                value = node.labels[key]
                labels[key] = value if values is None or value in values else OTHER
        name = node.name if node.name in names else ""
        alike = (name, repr(labels), repr(node.allocatable), repr(node.taints), node.unschedulable)
        if alike not in found:
            found[alike] = NodeKind(node, name, labels)
        room[found[alike]] = room.get(found[alike], 0) + node.number
    return room


def split(room: Room, key: str) -> tuple[Room, ...]:
    """The domains of a topology key: the nodes that share a value of the label. Of domains that are alike one is
    enough: what fits into it fits into each. Nodes without the label belong to none."""
    if key == HOSTNAME:
        return tuple({kind: 1} for kind in room if key in kind.labels)
    domains: dict[object, dict[NodeKind, int]] = {}
    for kind, count in room.items():
        if key in kind.labels:
            domains.setdefault(kind.labels[key], {})[kind] = count
    return tuple(domains.values())


def count_domains(room: Room, key: str) -> int:
    """How many domains of a topology key there are."""
    if key == HOSTNAME:
        return sum(count for kind, count in room.items() if key in kind.labels)
    return len(split(room, key))


def _list_values(pods: Sequence[PodKind], keys: Iterable[str], terms: Sequence[Any]) -> dict[str, set[Any] | None]:
    """The labels that matter, and which of their values are told apart: None for all of them."""
    wanted: dict[str, set[Any] | None] = {key: None for key in keys if key != HOSTNAME}
    found: list[tuple[str, Sequence[Any] | None]] = []
    for pod in pods:
        found += [(term.key, None) for term in (*pod.apart, *pod.together)]
        found += [(spread.key, None) for spread in pod.spreads]
        found += [(key, [value]) for key, value in pod.selector.items()]
    for term in terms:
        for entry in as_list(dig(term, "matchExpressions")):
            whole = dig(entry, "operator") in ("Gt", "Lt")
            found.append((as_text(dig(entry, "key")), None if whole else as_list(dig(entry, "values"))))
    for key, values in found:
        if key == HOSTNAME and values is None:
            wanted.setdefault(key, set())
            continue
        known = wanted.setdefault(key, set())
        if values is None:
            wanted[key] = None
        elif known is not None:
            known.update(value for value in values if isinstance(value, str))
    wanted.setdefault(HOSTNAME, set())
    return wanted


def _list_names(terms: Sequence[Any]) -> set[str]:
    """Nodes that terms name."""
    fields = (entry for term in terms for entry in as_list(dig(term, "matchFields")))
    return {str(value) for entry in fields for value in as_list(dig(entry, "values"))}
