"""The cluster as the facts describe it and as the input will fill it: nodes, volumes, who else is there, and what the
pods of DaemonSets and of the kubelet's own manifests leave of the nodes.

Nodes that no pod of the input can tell apart are counted together. Five thousand nodes are a few dozen kinds, so every
question is asked kinds of nodes × kinds of pods times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from krmfn.capacity.devices import Devices, delegate
from krmfn.capacity.obeyed import Obeyed
from krmfn.capacity.pods import PodKind, Spread, Term, count_requests, list_ports, selects
from krmfn.capacity.volumes import PREFIX, Volumes, limit_attachments, read_limits
from krmfn.model.quantity import add
from krmfn.model.selectors import match_labels
from krmfn.model.values import Names, Value, as_list, as_mapping, as_text, dig, key_of, pick
from krmfn.survey.census import Census
from krmfn.survey.facts import HOSTNAME, Amounts, ClusterNode, Facts, NodePort, is_daemon, read_resources

#: Stands for every value of a label that nobody asks for by its value.
OTHER = "\0other"
DEFAULT_SLOTS = 110 * 10**9


class NodeKind:
    """Nodes that no filter can tell apart. `labels` are those that pods ask for, and, with the value OTHER, topology
    keys; `name` is set where pods ask for the node by name. A kind is equal to itself alone."""

    __slots__ = ("allocatable", "labels", "name", "ports", "slots", "taints", "unschedulable")

    def __init__(self, node: ClusterNode, name: str, labels: Value) -> None:
        self.name, self.labels, self.allocatable = name, labels, node.allocatable
        self.unschedulable, self.ports = node.unschedulable, node.ports
        self.taints = tuple(taint for taint in node.taints if taint.get("effect") in ("NoSchedule", "NoExecute"))
        #: How many pods the kubelet takes.
        self.slots = node.allocatable.get("pods", DEFAULT_SLOTS) // 10**9


#: A kind of nodes, and the values of the topology keys that matter.
_Place = tuple[NodeKind, tuple[Any, ...]]


class Room:
    """Some of the nodes. `places` counts them by kind and by the values of `keys`, the topology keys that matter.
    `twins`: some nodes have the same host name, as clones of a machine do; nobody knows then what is one host."""

    def __init__(self, keys: Names, places: Mapping[_Place, int], twins: bool = False) -> None:
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
        domains: dict[object, dict[_Place, int]] = defaultdict(dict)
        for place, count in self.places.items():
            value = place[1][index]
            if value is not None:
                domains[value][place] = count
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
    nodes: Sequence[ClusterNode], pods: Sequence[PodKind], keys: Iterable[str], terms: Iterable[Any]
) -> Room:
    """All nodes. `keys` are topology keys of groups, `terms` further node selector terms that will be asked for."""
    terms = [*terms, *(term for pod in pods for term in as_list(pod.affinity))]
    asked = _list_values(pods, terms)
    names = {pod.node for pod in pods if pod.node} | _list_names(terms)
    of_terms = (term.key for pod in pods for term in (*pod.apart, *pod.together))
    of_spreads = (spread.key for pod in pods for spread in pod.spreads)
    topology = tuple(sorted({*keys, *of_terms, *of_spreads} - {HOSTNAME}))
    hosts = [node.labels.get(HOSTNAME) for node in nodes if node.name and node.number == 1]
    asks_ports = any(pod.ports for pod in pods)
    kinds = {}
    places: dict[_Place, int] = defaultdict(int)
    for node in nodes:
        labels = {key: OTHER for key in (*topology, HOSTNAME) if key in node.labels}
        for key, values in asked.items():
            if key in node.labels:
                value = node.labels[key]
                labels[key] = value if value in values or None in values else OTHER
        name = node.name if node.name in names else ""
        ports = node.ports if asks_ports else ()
        alike = (name, repr(labels), repr(node.allocatable), repr(node.taints), node.unschedulable, ports)
        if alike not in kinds:
            kinds[alike] = NodeKind(node, name, labels)
        place = (kinds[alike], tuple(node.labels.get(key) for key in topology))
        places[place] += node.number
    return Room(topology, places, len(set(hosts)) < len(hosts))


def _list_values(pods: Sequence[PodKind], terms: Sequence[Any]) -> dict[str, set[str | None]]:
    """The labels that pods ask for, and which of their values are told apart: with None among them all."""
    wanted: list[tuple[str, Sequence[Any]]]
    wanted = [(key, [value]) for pod in pods for key, value in pod.selector.items()]
    for entry in (entry for term in terms for entry in as_list(term, "matchExpressions")):
        compared = dig(entry, "operator") in ("Gt", "Lt")
        wanted.append((as_text(entry, "key"), [None] if compared else as_list(entry, "values")))
    asked: dict[str, set[str | None]] = defaultdict(set)
    for key, values in wanted:
        asked[key].update(value for value in values if value is None or isinstance(value, str))
    return asked


def _list_names(terms: Sequence[Any]) -> set[str]:
    """Nodes that terms name."""
    fields = (entry for term in terms for entry in as_list(term, "matchFields"))
    return {str(value) for entry in fields for value in as_list(entry, "values")}


def take_off(facts: Facts) -> Facts:
    """The facts with nodes that have only what such pods leave; the same facts where there are none."""
    taken: dict[str, Amounts] = defaultdict(dict)
    ports: dict[str, dict[NodePort, None]] = defaultdict(dict)
    known = {}
    for pod in facts.objects("", "Pod"):
        place, spec = as_text(pod, "spec", "nodeName"), as_mapping(pod, "spec")
        if place and is_daemon(pod) and dig(pod, "status", "phase") not in ("Succeeded", "Failed"):
            alike = repr(pick(spec, ("containers", "initContainers", "overhead", "resources")))
            if alike not in known:
                known[alike] = {**count_requests(spec, read_resources(spec.get("overhead"))), "pods": 10**9}
            add(taken[place], known[alike])
            ports[place].update(dict.fromkeys(list_ports(spec)))
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


class ClusterModel:
    """Nodes by kind, and answers about what pods refer to. `kinds` are all kinds of pods of the input."""

    def __init__(self, census: Census, kinds: Sequence[PodKind], keys: Sequence[str], obeyed: Obeyed) -> None:
        facts = census.facts
        nodes: Sequence[ClusterNode] = facts.nodes or ()
        self.facts, self.kinds, self.obeyed = facts, kinds, obeyed
        own = {each.item.key for each in census.templates if each.item.kind == "Pod"}
        #: Those for which no kind stands.
        self.pods = [pod for pod in facts.objects("", "Pod") if key_of(pod) not in own]
        self.volumes = Volumes(facts)
        self.devices = Devices(facts)
        #: What bounds.fit worked out, by the identity of the kind.
        self.fittings: dict[int, Any] = {}
        #: Whether the facts say which nodes there are.
        self.known = facts.nodes is not None
        terms = [term for kind in kinds for demand in self.volumes.list_demands(kind) for term in demand.terms]
        asked = {name for kind in kinds for name in kind.requests}
        if any(name.startswith(PREFIX) for name in asked):
            nodes = limit_attachments(nodes, read_limits(facts))
        self.room: Room = sort_nodes(delegate(nodes, asked, facts), kinds, keys, terms)

    def may_find(self, term: Term, owner: PodKind, own: bool) -> bool:
        """Whether a pod that there is or will be may be what the term looks for, also one of its `own` kind; and when
        the facts do not list all pods."""
        if not self.facts.lists_all("Pod"):
            return True
        others = ((each.namespace, each.labels, each) for each in self.kinds if own or each is not owner)
        there = ((*_place(pod), None) for pod in self.pods)
        every = (selects(term, owner, *each, self.facts) for each in (*others, *there))
        return any(answer is not False for answer in every)

    def counts(self, spread: Spread, owner: PodKind) -> bool:
        """Whether a spread constraint certainly counts pods of this kind."""
        return match_labels(spread.selector, owner.labels, owner.may_get) is True

    def counts_only(self, spread: Spread, owner: PodKind) -> bool:
        """Whether a spread constraint certainly counts pods of this kind and certainly no others."""
        if not self.counts(spread, owner) or not self.facts.lists_all("Pod"):
            return False
        others = (other for other in self.kinds if other is not owner and other.namespace == owner.namespace)
        if any(match_labels(spread.selector, other.labels, other.may_get) is not False for other in others):
            return False
        return not any(
            space == owner.namespace and match_labels(spread.selector, labels, lambda _: False)
            for space, labels in map(_place, self.pods)
        )


def _place(pod: Value) -> tuple[str, Value]:
    """The namespace and the labels of a pod."""
    return as_text(pod, "metadata", "namespace"), as_mapping(pod, "metadata", "labels")
