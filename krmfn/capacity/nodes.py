"""Kinds of nodes: those that no pod of the input can tell apart are counted together.

Five thousand nodes are a few dozen kinds, so every question is asked kinds of nodes × kinds of pods times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from krmfn.capacity.pods import PodKind
from krmfn.model.values import as_list, as_text, dig
from krmfn.survey.facts import HOSTNAME, ClusterNode

#: Stands for every value of a label that nobody asks for by its value.
OTHER: Final = "\0other"
DEFAULT_SLOTS: Final = 110 * 10**9


class NodeKind:
    """Nodes that no filter can tell apart. `labels` are those that pods ask for, and, with the value OTHER, topology
    keys; `name` is set where pods ask for the node by name. A kind is equal to itself alone."""

    __slots__ = ("allocatable", "labels", "name", "ports", "slots", "taints", "unschedulable")

    def __init__(self, node: ClusterNode, name: str, labels: Mapping[str, Any]) -> None:
        self.name, self.labels, self.allocatable = name, labels, node.allocatable
        self.unschedulable, self.ports = node.unschedulable, node.ports
        self.taints = tuple(taint for taint in node.taints if taint.get("effect") in ("NoSchedule", "NoExecute"))
        #: How many pods the kubelet takes.
        self.slots = node.allocatable.get("pods", DEFAULT_SLOTS) // 10**9


class Room:
    """Some of the nodes. `places` counts them by kind and by the values of `keys`, the topology keys that matter.
    `twins`: some nodes have the same host name, as clones of a machine do; nobody knows then what is one host."""

    def __init__(
        self, keys: tuple[str, ...], places: Mapping[tuple[NodeKind, tuple[Any, ...]], int], twins: bool = False
    ) -> None:
        self.keys, self.places, self.twins = keys, places, twins
        #: How many nodes of each kind.
        self.kinds: dict[NodeKind, int] = {}
        for (kind, _), count in places.items():
            self.kinds[kind] = self.kinds.get(kind, 0) + count
        self._domains: dict[str, tuple[Room, ...]] = {}

    @property
    def size(self) -> int:
        """The number of nodes."""
        return sum(self.kinds.values())

    def split(self, key: str) -> tuple[Room, ...]:
        """The domains of a topology key: the nodes that share a value of the label. Of hosts that are alike one is
        enough: what fits on it fits on each. Nodes without the label belong to none."""
        if key not in self._domains:
            self._domains[key] = tuple(self._split(key))
        return self._domains[key]

    def _split(self, key: str) -> Iterator[Room]:
        if key == HOSTNAME:
            named = self.only(lambda kind: key in kind.labels)
            if self.twins:
                yield named
                return
            for kind in named.kinds:
                place = next(place for place in self.places if place[0] is kind)
                yield Room(self.keys, {place: 1})
            return
        index = self.keys.index(key)
        domains: dict[object, dict[tuple[NodeKind, tuple[Any, ...]], int]] = {}
        for place, count in self.places.items():
            value = place[1][index]
            if value is not None:
                domains.setdefault(value, {})[place] = count
        for places in domains.values():
            yield Room(self.keys, places, self.twins)

    def count_domains(self, key: str) -> int:
        """How many domains of a topology key there are."""
        if key == HOSTNAME:
            return sum(count for kind, count in self.kinds.items() if key in kind.labels)
        return len(self.split(key))

    def only(self, accept: Callable[[NodeKind], bool]) -> Room:
        """The nodes of the kinds that are accepted."""
        accepted = {kind for kind in self.kinds if accept(kind)}
        places = {place: count for place, count in self.places.items() if place[0] in accepted}
        return Room(self.keys, places, self.twins)


def sort_nodes(
    nodes: Iterable[ClusterNode], pods: Sequence[PodKind], keys: Iterable[str], terms: Sequence[Any] = ()
) -> Room:
    """All nodes. `keys` are topology keys of groups, `terms` further node selector terms that will be asked for."""
    terms = [*terms, *(term for pod in pods for term in as_list(pod.affinity))]
    asked = _list_values(pods, terms)
    names = {pod.node for pod in pods if pod.node} | _list_names(terms)
    topology = dict.fromkeys(keys)
    for pod in pods:
        topology |= {term.key: None for term in (*pod.apart, *pod.together)}
        topology |= {spread.key: None for spread in pod.spreads}
    topology.pop(HOSTNAME, None)
    nodes = list(nodes)
    hosts = [node.labels.get(HOSTNAME) for node in nodes if node.name and node.number == 1]
    asks_ports = any(pod.ports for pod in pods)
    kinds: dict[object, NodeKind] = {}
    places: dict[tuple[NodeKind, tuple[Any, ...]], int] = {}
    for node in nodes:
        labels = {key: OTHER for key in (*topology, HOSTNAME) if key in node.labels}
        for key, values in asked.items():
            if key in node.labels:
                value = node.labels[key]
                labels[key] = value if values is None or value in values else OTHER
        name = node.name if node.name in names else ""
        ports = node.ports if asks_ports else ()
        alike = (name, repr(labels), repr(node.allocatable), repr(node.taints), node.unschedulable, ports)
        if alike not in kinds:
            kinds[alike] = NodeKind(node, name, labels)
        place = (kinds[alike], tuple(node.labels.get(key) for key in topology))
        places[place] = places.get(place, 0) + node.number
    return Room(tuple(topology), places, len(set(hosts)) < len(hosts))


def _list_values(pods: Sequence[PodKind], terms: Sequence[Any]) -> dict[str, set[Any] | None]:
    """The labels that pods ask for, and which of their values are told apart: None for all of them."""
    asked: dict[str, set[Any] | None] = {}
    found: list[tuple[str, Sequence[Any] | None]] = []
    for pod in pods:
        found += [(key, [value]) for key, value in pod.selector.items()]
    for term in terms:
        for entry in as_list(term, "matchExpressions"):
            whole = dig(entry, "operator") in ("Gt", "Lt")
            found.append((as_text(entry, "key"), None if whole else as_list(entry, "values")))
    for key, values in found:
        known = asked.setdefault(key, set())
        if values is None:
            asked[key] = None
        elif known is not None:
            known.update(value for value in values if isinstance(value, str))
    return asked


def _list_names(terms: Sequence[Any]) -> set[str]:
    """Nodes that terms name."""
    fields = (entry for term in terms for entry in as_list(term, "matchFields"))
    return {str(value) for entry in fields for value in as_list(entry, "values")}
