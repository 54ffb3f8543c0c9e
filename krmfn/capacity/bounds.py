"""Whether a kind of pod fits on a kind of node that is empty, in the scheduler's words where it does not; at most how
many pods of one kind some nodes take: by room, ports, anti-affinity, affinity and spread; and whether pods of several
kinds fit into nodes at once: an exact search for small questions, sums for large ones.

As the scheduler's filters do, in their order: the first one that refuses a node gives the reasons, one or several.
Every bound holds in the empty cluster whatever the order; the smallest one counts. A yes may be wrong (only resources,
slots and what excludes what on a node are looked at), a no is a proof. Source: pkg/scheduler/framework/plugins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from krmfn.capacity.pods import PodKind, Spread, add_least, selects, selects_itself
from krmfn.capacity.volumes import PREFIX, NodeTerms
from krmfn.capacity.world import ClusterModel, NodeKind, Room
from krmfn.model.selectors import match_node, tolerates
from krmfn.model.values import Names
from krmfn.survey.facts import HOSTNAME, Amounts, NodePort

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
    if any(node.labels.get(key) != value for key, value in pod.selector.items()):
        return (UNMATCHED,)
    if pod.affinity is not None and not match_node(pod.affinity, node.labels, node.name):
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


def clash(ports: Iterable[NodePort], others: Sequence[NodePort]) -> bool:
    """Whether two pods need a port of a node for themselves."""
    return any(
        mine[1:] == theirs[1:] and (mine[0] == theirs[0] or "0.0.0.0" in (mine[0], theirs[0]))
        for mine in ports
        for theirs in others
    )


def explain(found: Mapping[NodeKind, tuple[Names, int]]) -> tuple[str, Amounts]:
    """The scheduler's message about nodes, given the reasons and the number of each kind, and how many nodes gave each
    reason."""
    counts: Amounts = defaultdict(int)
    for reasons, count in found.values():
        for reason in reasons:
            counts[reason] += count
    total = sum(count for _, count in found.values())
    if not total:
        return "no nodes available to schedule pods", counts
    spelled = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{total} nodes are available: {spelled}", counts


def count_on(pod: PodKind, node: NodeKind, alone: bool) -> int:
    """At most how many of these pods the node takes when it is empty and each pod fits. `alone`: anti-affinity keeps
    them off one another's host."""
    if pod.ports or (alone and HOSTNAME in node.labels):
        return 1
    most = node.slots
    for name, amount in pod.requests.items():
        most = min(most, node.allocatable.get(name, 0) // amount)
    return most


MANY = 10**12
#: How many pods a node takes, and how many such nodes there are.
Caps = dict[NodeKind, tuple[int, int]]


class Bound(NamedTuple):
    """At most `pods` of a kind, and what limits them: "room", "host", "port", "apart", "together", "spread",
    "volume", "device" or "claim". `place` is the number of the term or constraint in the template, `key` its topology
    key."""

    pods: int
    cause: str
    key: str = ""
    place: int = 0


class Fitting:
    """What is asked again and again about one kind of pod: the nodes it fits on, whom its terms select."""

    def __init__(self, pod: PodKind, world: ClusterModel) -> None:
        self.pod, self.world = pod, world
        volumes = world.volumes.list_demands(pod)
        self.reasons = {node: list_reasons(pod, node, volumes) for node in world.room.kinds}
        self.nodes = frozenset(node for node, reasons in self.reasons.items() if not reasons)
        #: Anti-affinity terms that certainly keep two pods of this kind apart.
        self.apart = tuple(term for term in pod.apart if selects_itself(term, pod, world.facts))
        self.alone = any(term.key == HOSTNAME for term in self.apart)

    def explain(self, room: Room) -> tuple[str, Amounts]:
        """The scheduler's message for a pod that fits on none of these nodes, and how many nodes gave each reason."""
        return explain({node: (self.reasons[node], count) for node, count in room.kinds.items()})

    def most(self, room: Room) -> Bound:
        """The smallest bound on pods of this kind in these nodes."""
        caps = {
            node: (count_on(self.pod, node, self.alone), count)
            for node, count in room.kinds.items()
            if node in self.nodes
        }
        cause = "host" if self.alone else "port" if self.pod.ports else "room"
        of_host = next((term.place for term in self.apart if term.key == HOSTNAME), 0)
        bounds = [Bound(_sum(caps), cause, HOSTNAME if self.alone else "", of_host)]
        if self.world.obeyed.remembers and self.world.volumes.is_single(self.pod):
            bounds.append(Bound(1, "volume"))
        devices = self.world.devices.count(self.pod)
        if devices is not None:
            bounds.append(Bound(devices, "device"))
        if self.world.devices.shares_node(self.pod):
            bounds.append(Bound(max((cap for cap, _ in caps.values()), default=0), "claim"))
        for term in self.apart:
            if term.key != HOSTNAME:
                free = {node: cap for node, cap in caps.items() if term.key not in node.labels}
                domains = (_sum(self._inside(caps, domain)) for domain in room.split(term.key))
                bounds.append(Bound(_sum(free) + sum(min(1, cap) for cap in domains), "apart", term.key, term.place))
        for term in self.pod.together:
            if selects_itself(term, self.pod, self.world.facts) and not self.world.others_match(term, self.pod):
                largest = max((_sum(self._inside(caps, domain)) for domain in room.split(term.key)), default=0)
                bounds.append(Bound(largest, "together", term.key, term.place))
        for spread in self.pod.spreads:
            # Among too few domains no domain has more than maxSkew, whatever others there are.
            short = self._count_domains(spread) < spread.least_domains and self.world.counts(spread, self.pod)
            if short or self.world.counts_only(spread, self.pod):
                bounds.append(Bound(self._spread(spread, caps, room), "spread", spread.key, spread.place))
        return min(bounds, key=lambda bound: bound.pods)

    def _inside(self, caps: Caps, domain: Room) -> Caps:
        return {node: (caps[node][0], count) for node, count in domain.kinds.items() if node in caps}

    def _spread(self, spread: Spread, caps: Caps, room: Room) -> int:
        """In the end no domain has more than the emptiest one plus maxSkew."""
        inside = self._domain_caps(spread.key, caps, room)
        least = 0
        if self._count_domains(spread) >= max(1, spread.least_domains):
            everywhere = self._domain_caps(spread.key, caps, self._find_counted(spread), room)
            least = min((cap for cap, _ in everywhere), default=0)
        return sum(min(cap, least + spread.skew) * count for cap, count in inside)

    def _find_counted(self, spread: Spread) -> Room:
        """The nodes whose domains a constraint looks at."""
        keys = {other.key for other in self.pod.spreads}
        return self.world.room.only(lambda node: keys <= set(node.labels) and self._is_counted(spread, node))

    def _count_domains(self, spread: Spread) -> int:
        return self._find_counted(spread).count_domains(spread.key)

    def _domain_caps(self, key: str, caps: Caps, domains: Room, within: Room | None = None) -> list[tuple[int, int]]:
        """(pods that a domain takes, how many such domains); of a domain only nodes `within` take any."""
        within = within or domains
        if key == HOSTNAME:
            found = []
            for node, count in domains.kinds.items():
                here = min(count, within.kinds.get(node, 0))
                cap = caps[node][0] if node in caps else 0
                found += [(cap, here), (0, count - here)]
            return [(cap, count) for cap, count in found if count]
        return [
            (sum(caps[p[0]][0] * n for p, n in domain.places.items() if p[0] in caps and p in within.places), 1)
            for domain in domains.split(key)
        ]

    def _is_counted(self, spread: Spread, node: NodeKind) -> bool:
        if spread.honors_affinity:
            if any(node.labels.get(key) != value for key, value in self.pod.selector.items()):
                return False
            if self.pod.affinity is not None and not match_node(self.pod.affinity, node.labels, node.name):
                return False
        return not spread.honors_taints or all(tolerates(self.pod.tolerations, taint) for taint in node.taints)


def _sum(caps: Caps) -> int:
    return min(MANY, sum(cap * count for cap, count in caps.values()))


def fit(pod: PodKind, world: ClusterModel) -> Fitting:
    """What fits where for this kind of pod; worked out once for a world."""
    found: Fitting | None = world.fittings.get(id(pod))
    if found is None:
        found = world.fittings[id(pod)] = Fitting(pod, world)
    return found


def list_conflicts(fittings: Sequence[Fitting]) -> tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]]]:
    """Pairs of kinds that exclude each other on a host: by anti-affinity, and by ports."""
    apart, clashing = set(), set()
    for first, one in enumerate(fittings):
        for second in range(first + 1, len(fittings)):
            other = fittings[second]
            excluding = (_keeps_apart(one, other), _keeps_apart(other, one))
            if all(excluding) or (any(excluding) and one.world.obeyed.remembers):
                apart.add((first, second))
            if clash(one.pod.ports, other.pod.ports):
                clashing.add((first, second))
    return frozenset(apart), frozenset(clashing)


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


#: Numbers of demands, the smaller one first.
Pairs = frozenset[tuple[int, int]]


class Demand(NamedTuple):
    """`pods` pods of a kind, the nodes they fit on, and whether each needs a node for itself among its kind."""

    kind: PodKind
    pods: int
    nodes: frozenset[NodeKind]
    alone: bool


class GroupDemand(NamedTuple):
    """Demands of one group: at least `least` of their pods together have to be placed."""

    demands: tuple[Demand, ...]
    least: int


def find_short_resource(quotas: Sequence[GroupDemand], room: Room) -> tuple[str, int, int] | None:
    """A resource of which the cheapest pods that satisfy all quotas need more than the nodes have that any of them
    fits on: its name, what is needed, what is there."""
    usable = {node for quota in quotas for demand in quota.demands for node in demand.nodes}
    names = {name for quota in quotas for demand in quota.demands for name in demand.kind.requests}
    for name in sorted(names):
        need = sum(
            add_least(((demand.kind.requests.get(name, 0), demand.pods) for demand in quota.demands), quota.least)
            for quota in quotas
        )
        have = sum(node.allocatable.get(name, 0) * count for node, count in room.kinds.items() if node in usable)
        if need > have:
            return name, need, have
    need = sum(quota.least for quota in quotas)
    slots = sum(node.slots * count for node, count in room.kinds.items() if node in usable)
    return ("pods", need * 10**9, slots * 10**9) if need > slots else None


def can_pack(
    quotas: Sequence[GroupDemand], room: Room, apart: Pairs = frozenset(), clashing: Pairs = frozenset()
) -> bool:
    """False only where the pods cannot be distributed over the nodes.

    Demands are numbered through all quotas; pairs of them exclude each other on a node, by anti-affinity (`apart`, on
    nodes with a host name) or because they take the same port (`clashing`).
    """
    demands = [demand for quota in quotas for demand in quota.demands]
    nodes = [node for node in room.kinds if any(node in demand.nodes for demand in demands)]
    if sum(room.kinds[node] for node in nodes) > MOST_NODES or sum(demand.pods for demand in demands) > MOST_PODS:
        return True
    slack = [sum(demand.pods for demand in quota.demands) - quota.least for quota in quotas]
    spans, start = [], 0
    for quota in quotas:
        spans.append((start, start + len(quota.demands)))
        start += len(quota.demands)
    search = _Search(demands, spans, slack, apart, clashing)
    return search.run([(node, room.kinds[node]) for node in sorted(nodes, key=search.choices)])


class _Search:
    """Node by node, every way to fill it that cannot be added to; states that failed are not tried again."""

    def __init__(
        self,
        demands: Sequence[Demand],
        spans: Sequence[tuple[int, int]],
        slack: Sequence[int],
        apart: Pairs,
        clashing: Pairs,
    ) -> None:
        self.demands, self.spans, self.slack, self.apart, self.clashing = demands, spans, slack, apart, clashing
        self.names = sorted({name for demand in demands for name in demand.kind.requests})
        self.needs = [tuple(demand.kind.requests.get(name, 0) for name in self.names) for demand in demands]
        self.failed: set[tuple[int, tuple[int, ...]]] = set()
        self.steps = 0

    def choices(self, node: NodeKind) -> int:
        """How many kinds of pods fit on the node: where there are few, there is less to try."""
        return sum(node in demand.nodes for demand in self.demands)

    def run(self, nodes: list[tuple[NodeKind, int]]) -> bool:
        single = [node for node, count in nodes for _ in range(count)]
        most = [[0] * len(self.demands) for _ in range(len(single) + 1)]
        for place in range(len(single) - 1, -1, -1):
            for number in range(len(self.demands)):
                most[place][number] = most[place + 1][number] + self._most_on(single[place], number)
        return self._fill(single, 0, tuple(demand.pods for demand in self.demands), most)

    def _most_on(self, node: NodeKind, number: int) -> int:
        demand = self.demands[number]
        return count_on(demand.kind, node, demand.alone) if node in demand.nodes else 0

    def _done(self, left: tuple[int, ...]) -> bool:
        return all(sum(left[a:b]) <= slack for (a, b), slack in zip(self.spans, self.slack, strict=True))

    def _fill(self, nodes: list[NodeKind], place: int, left: tuple[int, ...], most: list[list[int]]) -> bool:
        if self._done(left):
            return True
        self.steps += 1
        if self.steps > STEPS:
            return True  # not proved
        if place == len(nodes) or (place, left) in self.failed:
            return False
        for (a, b), slack in zip(self.spans, self.slack, strict=True):
            if sum(max(0, left[number] - most[place][number]) for number in range(a, b)) > slack:
                return False
        for pattern in self._patterns(nodes[place], left):
            rest = tuple(have - taken for have, taken in zip(left, pattern, strict=True))
            if self._fill(nodes, place + 1, rest, most):
                return True
        self.failed.add((place, left))
        return False

    def _patterns(self, node: NodeKind, left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The ways to fill a node to which no pod can be added."""
        have = [node.allocatable.get(name, 0) for name in self.names]
        limits = [min(self._most_on(node, number), count) for number, count in enumerate(left)]
        yield from self._extend(node, limits, 0, [], have, node.slots)

    def _extend(
        self, node: NodeKind, limits: list[int], number: int, chosen: list[int], have: list[int], slots: int
    ) -> Iterator[tuple[int, ...]]:
        if number == len(limits):
            if self._is_full(node, limits, chosen, have, slots):
                yield tuple(chosen)
            return
        most = min(limits[number], slots)
        for amount, need in zip(have, self.needs[number], strict=True):
            if need:
                most = min(most, amount // need)
        if self._excluded(node, number, chosen):
            most = 0
        for count in range(most, -1, -1):
            rest = [amount - need * count for amount, need in zip(have, self.needs[number], strict=True)]
            yield from self._extend(node, limits, number + 1, [*chosen, count], rest, slots - count)

    def _excluded(self, node: NodeKind, number: int, chosen: Sequence[int]) -> bool:
        for other, count in enumerate(chosen):
            pair = (min(other, number), max(other, number))
            excluded = pair in self.clashing or (pair in self.apart and HOSTNAME in node.labels)
            if count and other != number and excluded:
                return True
        return False

    def _is_full(self, node: NodeKind, limits: list[int], chosen: list[int], have: list[int], slots: int) -> bool:
        return not any(
            chosen[number] < limits[number]
            and slots
            and not self._excluded(node, number, chosen)
            and all(need <= amount for need, amount in zip(self.needs[number], have, strict=True))
            for number in range(len(limits))
        )
