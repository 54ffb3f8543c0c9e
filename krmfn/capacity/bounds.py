"""Whether a kind of pod fits on a kind of node that is empty, in the scheduler's words where it does not; at most how
many pods of one kind some nodes take: by room, ports, anti-affinity, affinity and spread; and whether pods of several
kinds fit into nodes at once: an exact search for small questions, sums for large ones.

As the scheduler's filters do, in their order: the first one that refuses a node gives the reasons, one or several.
Every bound holds in the empty cluster whatever the order; the smallest one counts. A yes may be wrong (only resources,
slots and what excludes what on a node are looked at), a no is a proof. Source: pkg/scheduler/framework/plugins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import permutations
from operator import sub
from typing import NamedTuple

from krmfn.capacity.admission import Refusal, find_refusal
from krmfn.capacity.pods import PodKind, Spread, selects, selects_itself, sum_least
from krmfn.capacity.quotas import list_usage
from krmfn.capacity.volumes import PREFIX, NodeTerms
from krmfn.capacity.world import ClusterModel, NodeKind, Room
from krmfn.model.quantity import add
from krmfn.model.selectors import match_node, tolerates
from krmfn.model.values import Names
from krmfn.survey.facts import HOSTNAME, Amounts, NodePort, Resources

CORDONED = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
UNMATCHED = "node(s) didn't match Pod's node affinity/selector"
PORTS = "node(s) didn't have free ports for the requested pod ports"
SPREAD = "node(s) didn't match pod topology spread constraints (missing required label)"
APART = "node(s) didn't match pod affinity rules"
SLOTS = "Too many pods"
FULL = "node(s) exceed max volume count"
SHORT = "Insufficient "

_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def list_reasons(pod: PodKind, node: NodeKind, volumes: tuple[NodeTerms, ...] = ()) -> Names:
    """Why a pod does not fit on the node when that is empty; nothing when it does. `volumes` is what its claims
    demand."""
    if node.unschedulable and not tolerates(pod.tolerations, _CORDON):
        return (CORDONED,)
    if any(not tolerates(pod.tolerations, taint) for taint in node.taints):
        return (TAINTED,)
    if not _is_selected(pod, node):
        return (UNMATCHED,)
    if clash(pod.ports, node.ports):
        return (PORTS,)
    missing = [name for name, amount in pod.requests.items() if amount > node.allocatable.get(name, 0)]
    short = [f"{SHORT}{name}" for name in missing if not name.startswith(PREFIX)]
    if node.slots < 1:
        short.append(SLOTS)
    if short:
        return tuple(short)
    if missing:
        return (FULL,)
    for demand in volumes:
        if not match_node(demand.terms, node.labels, ""):  # by labels alone
            return (demand.reason,)
    if any(spread.key not in node.labels for spread in pod.spreads):
        return (SPREAD,)
    if any(term.key not in node.labels for term in pod.together):
        return (APART,)
    return ()


def _is_selected(pod: PodKind, node: NodeKind) -> bool:
    """Whether the pod's node selector and its node affinity select the node."""
    if any(node.labels.get(key) != value for key, value in pod.selector.items()):
        return False
    return pod.affinity is None or match_node(pod.affinity, node.labels, node.name)


def clash(ports: Iterable[NodePort], others: Sequence[NodePort]) -> bool:
    """Whether two pods need a port of a node for themselves."""
    return any(
        mine[1:] == theirs[1:] and (mine[0] == theirs[0] or "0.0.0.0" in (mine[0], theirs[0]))
        for mine in ports
        for theirs in others
    )


#: How many pods a node takes, of the nodes that take any.
Caps = Mapping[NodeKind, int]


class Bound(NamedTuple):
    """At most `pods` of a kind, and what limits them: "room", "host", "port", "apart", "together", "spread", "volume",
    "device" or "claim". `place` is the number of the term or constraint in the template, `key` its topology key."""

    pods: int
    cause: str
    key: str = ""
    place: int = 0


class Fitting:
    """What is asked again and again about one kind of pod: the nodes it fits on, whom its terms select, and what keeps
    it off every node."""

    def __init__(self, pod: PodKind, world: ClusterModel) -> None:
        self.pod, self.world = pod, world
        volumes = world.volumes.list_demands(pod)
        self._reasons = {node: list_reasons(pod, node, volumes) for node in world.room.kinds}
        self.nodes = frozenset(node for node, reasons in self._reasons.items() if not reasons)
        #: Anti-affinity terms that certainly keep two pods of this kind apart, and the one of a host.
        self._apart = [term for term in pod.apart if selects_itself(term, pod, world.facts)]
        self._alone = next((term for term in self._apart if term.key == HOSTNAME), None)

    @cached_property
    def refusal(self) -> Refusal | None:
        """Why the API server never creates pods of this kind, as far as is known."""
        return find_refusal(self.pod, self.world.facts)

    @cached_property
    def usage(self) -> Resources:
        """What one pod takes from quotas."""
        return list_usage(self.pod, self.world.facts)

    @cached_property
    def missing_claim(self) -> str:
        """The scheduler's words for a claim that does not exist, or that no volume can be found for; empty when there
        is none that the facts know to be so."""
        return self.world.devices.find_missing(self.pod) or self.world.volumes.find_missing(self.pod)

    def explain(self, room: Room) -> tuple[str, Amounts]:
        """The scheduler's message for a pod that fits on none of these nodes, and how many nodes gave each reason."""
        counts: Amounts = {}
        for node, count in room.kinds.items():
            add(counts, dict.fromkeys(self._reasons[node], count))
        if not room.size:
            return "no nodes available to schedule pods", counts
        spelled = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
        return f"0/{room.size} nodes are available: {spelled}", counts

    def count_on(self, node: NodeKind) -> int:
        """At most how many of these pods a node takes that is empty; none where they do not fit."""
        if node not in self.nodes:
            return 0
        if self.pod.ports or (self._alone and HOSTNAME in node.labels):
            return 1
        shares = (node.allocatable.get(name, 0) // amount for name, amount in self.pod.requests.items())
        return min((node.slots, *shares))

    def most(self, room: Room) -> Bound:
        """The smallest bound on pods of this kind in these nodes."""
        caps = {node: self.count_on(node) for node in room.kinds}
        cause = "host" if self._alone else "port" if self.pod.ports else "room"
        bounds = [Bound(_sum(caps, room), cause, *((HOSTNAME, self._alone.place) if self._alone else ()))]
        if self.world.obeyed.remembers and self.world.volumes.is_single(self.pod):
            bounds.append(Bound(1, "volume"))
        devices = self.world.devices.count(self.pod)
        if devices is not None:
            bounds.append(Bound(devices, "device"))
        if self.world.devices.shares_node(self.pod):
            bounds.append(Bound(max(caps.values(), default=0), "claim"))
        for term in self._apart:
            if term.key != HOSTNAME:
                free = {node: cap for node, cap in caps.items() if term.key not in node.labels}
                inside = sum(min(1, _sum(caps, domain)) for domain in room.split(term.key))
                bounds.append(Bound(_sum(free, room) + inside, "apart", term.key, term.place))
        for term in self.pod.together:
            if selects_itself(term, self.pod, self.world.facts) and not self.world.may_find(term, self.pod, own=False):
                largest = max((_sum(caps, domain) for domain in room.split(term.key)), default=0)
                bounds.append(Bound(largest, "together", term.key, term.place))
        for spread in self.pod.spreads:
            counted = self._find_counted(spread)
            # Among too few domains no domain has more than maxSkew, whatever others there are.
            short = counted.count_domains(spread.key) < spread.least_domains and self.world.counts(spread, self.pod)
            if short or self.world.counts_only(spread, self.pod):
                bounds.append(Bound(_spread(spread, caps, room, counted), "spread", spread.key, spread.place))
        return min(bounds, key=lambda bound: bound.pods)

    def _find_counted(self, spread: Spread) -> Room:
        """The nodes whose domains a constraint looks at."""
        keys = {other.key for other in self.pod.spreads}
        return self.world.room.only(lambda node: keys <= set(node.labels) and self._is_counted(spread, node))

    def _is_counted(self, spread: Spread, node: NodeKind) -> bool:
        if spread.honors_affinity and not _is_selected(self.pod, node):
            return False
        return not spread.honors_taints or all(tolerates(self.pod.tolerations, taint) for taint in node.taints)


def _sum(caps: Caps, room: Room) -> int:
    return sum(caps.get(node, 0) * count for node, count in room.kinds.items())


def _spread(spread: Spread, caps: Caps, room: Room, counted: Room) -> int:
    """In the end no domain has more than the emptiest one that is `counted` plus maxSkew."""
    least = 0
    if counted.count_domains(spread.key) >= max(1, spread.least_domains):
        least = min((cap for cap, _ in _cap_domains(spread.key, caps, counted, room)), default=0)
    return sum(min(cap, least + spread.skew) * count for cap, count in _cap_domains(spread.key, caps, room, room))


def _cap_domains(key: str, caps: Caps, domains: Room, within: Room) -> list[tuple[int, int]]:
    """(pods that a domain takes, how many such domains); of a domain only nodes `within` take any."""
    if key == HOSTNAME:
        found = []
        for node, count in domains.kinds.items():
            here = min(count, within.kinds.get(node, 0))
            found += [(caps.get(node, 0), here), (0, count - here)]
        return [(cap, count) for cap, count in found if count]
    return [
        (sum(caps.get(place[0], 0) * count for place, count in domain.places.items() if place in within.places), 1)
        for domain in domains.split(key)
    ]


def fit(pod: PodKind, world: ClusterModel) -> Fitting:
    """What fits where for this kind of pod; worked out once for a world."""
    found: Fitting | None = world.fittings.get(id(pod))
    if found is None:
        found = world.fittings[id(pod)] = Fitting(pod, world)
    return found


def _exclude(one: Fitting, other: Fitting) -> bool:
    """Whether anti-affinity keeps pods of two kinds off each other's host."""
    answers = (_keeps_apart(one, other), _keeps_apart(other, one))
    return all(answers) or (any(answers) and one.world.obeyed.remembers)


def _keeps_apart(one: Fitting, other: Fitting) -> bool:
    return any(
        term.key == HOSTNAME
        and selects(term, one.pod, other.pod.namespace, other.pod.labels, other.pod, one.world.facts) is True
        for term in one.pod.apart
    )


#: Beyond so many nodes, pods or steps only sums are compared.
MOST_NODES = 48
MOST_PODS = 96
STEPS = 20_000


#: How many pods of each demand, or how much of each resource.
_Pods = tuple[int, ...]


class Demand(NamedTuple):
    """`pods` pods of a kind, and the nodes they fit on."""

    fitting: Fitting
    pods: int
    nodes: frozenset[NodeKind]


class GroupDemand(NamedTuple):
    """Demands of one group: at least `least` of their pods together have to be placed."""

    demands: tuple[Demand, ...]
    least: int


def find_short_resource(quotas: Sequence[GroupDemand], room: Room) -> tuple[str, int, int] | None:
    """A resource of which the cheapest pods that satisfy all quotas need more than the nodes have that any of them
    fits on: its name, what is needed, what is there."""
    usable = {node for quota in quotas for demand in quota.demands for node in demand.nodes}
    needs: Amounts = {}
    for quota in quotas:
        add(needs, sum_least(((demand.pods, demand.fitting.pod.requests) for demand in quota.demands), quota.least))
    for name, need in sorted(needs.items()):
        have = sum(node.allocatable.get(name, 0) * count for node, count in room.kinds.items() if node in usable)
        if need > have:
            return name, need, have
    need = sum(quota.least for quota in quotas)
    slots = sum(node.slots * count for node, count in room.kinds.items() if node in usable)
    return ("pods", need * 10**9, slots * 10**9) if need > slots else None


def can_pack(quotas: Sequence[GroupDemand], room: Room) -> bool:
    """False only where the pods cannot be distributed over the nodes."""
    demands = [demand for quota in quotas for demand in quota.demands]
    choices = {node: sum(node in demand.nodes for demand in demands) for node in room.kinds}
    # Where few kinds of pods fit, there is less to try.
    nodes = [node for node in sorted(choices, key=choices.__getitem__) if choices[node]]
    single = [node for node in nodes for _ in range(room.kinds[node])]
    if len(single) > MOST_NODES or sum(demand.pods for demand in demands) > MOST_PODS:
        return True
    return _Search(quotas, demands, single).fill(0, tuple(demand.pods for demand in demands))


class _Search:
    """Node by node, every way to fill it that cannot be added to; states that failed are not tried again. Demands are
    numbered through all quotas; a tuple has the number of pods of each."""

    def __init__(self, quotas: Sequence[GroupDemand], demands: Sequence[Demand], nodes: Sequence[NodeKind]) -> None:
        self._nodes = nodes
        pods = [demand.fitting.pod for demand in demands]
        names = {name for pod in pods for name in pod.requests}
        #: What each pod takes of a node, and what each node has: of every resource, and of its slots.
        self._needs = [(*(pod.requests.get(name, 0) for name in names), 1) for pod in pods]
        self._have = {node: (*(node.allocatable.get(name, 0) for name in names), node.slots) for node in nodes}
        self._caps = {node: [demand.fitting.count_on(node) for demand in demands] for node in self._have}
        most = [[0] * len(demands)]
        for node in reversed(nodes):
            most.append([cap + beyond for cap, beyond in zip(self._caps[node], most[-1], strict=True)])
        #: How many pods the nodes from each place on take, at most.
        self._most = most[::-1]
        #: The quota of each demand, and how many of its pods a quota can do without.
        self._owners = [number for number, quota in enumerate(quotas) for _ in quota.demands]
        self._spare = [sum(demand.pods for demand in quota.demands) - quota.least for quota in quotas]
        #: Demands that exclude each other on a node: on each, because they take the same port, and on hosts.
        pairs = list(permutations(range(len(demands)), 2))
        self._clashing = {(one, other) for one, other in pairs if clash(pods[one].ports, pods[other].ports)}
        self._apart = {(one, other) for one, other in pairs if _exclude(demands[one].fitting, demands[other].fitting)}
        self._failed: set[tuple[int, _Pods]] = set()
        self._steps = 0

    def fill(self, place: int, left: _Pods) -> bool:
        """Whether the nodes from a place on take as many as are needed of the pods that are left."""
        if not self._lacks(left, self._most[-1]):
            return True
        self._steps += 1
        if self._steps > STEPS:
            return True  # not proved
        if (place, left) in self._failed or self._lacks(left, self._most[place]):
            return False
        node = self._nodes[place]
        for chosen in self._fill_node(node, left, (0,) * len(left), self._have[node], 0):
            if self.fill(place + 1, tuple(map(sub, left, chosen))):
                return True
        self._failed.add((place, left))
        return False

    def _lacks(self, left: _Pods, most: Sequence[int]) -> bool:
        """Whether a quota cannot be reached where so many more pods can be placed at most."""
        spare = [*self._spare]
        for owner, pods, placed in zip(self._owners, left, most, strict=True):
            spare[owner] -= max(0, pods - placed)
        return any(number < 0 for number in spare)

    def _fill_node(self, node: NodeKind, left: _Pods, chosen: _Pods, have: _Pods, number: int) -> Iterator[_Pods]:
        """The ways to fill a node to which no pod can be added: those that begin with the pods that are `chosen` of the
        demands before `number`, and leave what it still has."""
        if number == len(left):
            if not any(self._count_more(node, left, chosen, have, each) for each in range(number)):
                yield chosen
            return
        need = self._needs[number]
        for count in range(self._count_more(node, left, chosen, have, number), -1, -1):
            rest = tuple(amount - each * count for amount, each in zip(have, need, strict=True))
            more = (*chosen[:number], count, *chosen[number + 1 :])
            yield from self._fill_node(node, left, more, rest, number + 1)

    def _count_more(self, node: NodeKind, left: _Pods, chosen: _Pods, have: _Pods, number: int) -> int:
        """How many pods of a demand can be added to those that are chosen for a node."""
        for other, count in enumerate(chosen):
            pair = (other, number)
            if count and (pair in self._clashing or (pair in self._apart and HOSTNAME in node.labels)):
                return 0
        room = (amount // need for amount, need in zip(have, self._needs[number], strict=True) if need)
        return min(min(self._caps[node][number], left[number]) - chosen[number], *room)
