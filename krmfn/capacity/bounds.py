"""Whether a kind of pod fits on a kind of node that is empty, in the scheduler's words where it does not; and at most
how many pods of one kind some nodes take: by room, ports, anti-affinity, affinity and spread.

As the scheduler's filters do, in their order: the first one that refuses a node gives the reasons, one or several.
Every bound holds in the empty cluster whatever the order; the smallest one counts. Source:
pkg/scheduler/framework/plugins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from krmfn.capacity.pods import PodKind, Spread, selects, selects_itself
from krmfn.capacity.volumes import PREFIX, NodeTerms
from krmfn.capacity.world import ClusterModel, NodeKind, Room
from krmfn.model.selectors import match_node, tolerates
from krmfn.model.values import Value
from krmfn.survey.facts import HOSTNAME, NodePort

CORDONED: Final = "node(s) were unschedulable"
TAINTED: Final = "node(s) had untolerated taint(s)"
UNMATCHED: Final = "node(s) didn't match Pod's node affinity/selector"
PORTS: Final = "node(s) didn't have free ports for the requested pod ports"
SPREAD: Final = "node(s) didn't match pod topology spread constraints (missing required label)"
APART: Final = "node(s) didn't match pod affinity rules"
SLOTS: Final = "Too many pods"
FULL: Final = "node(s) exceed max volume count"
SHORT: Final = "Insufficient "

_CORDON: Final[Value] = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def list_reasons(pod: PodKind, node: NodeKind, volumes: tuple[NodeTerms, ...] = ()) -> tuple[str, ...]:
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


def explain(found: Mapping[NodeKind, tuple[tuple[str, ...], int]]) -> tuple[str, dict[str, int]]:
    """The scheduler's message about nodes, given the reasons and the number of each kind, and how many nodes gave each
    reason."""
    counts: dict[str, int] = {}
    for reasons, count in found.values():
        for reason in reasons:
            counts[reason] = counts.get(reason, 0) + count
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


MANY: Final = 10**12


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

    def explain(self, room: Room) -> tuple[str, dict[str, int]]:
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
        bounds = [Bound(_sum(caps), cause, HOSTNAME if self.alone else "", self._term_of_host())]
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

    def _term_of_host(self) -> int:
        return next((term.place for term in self.apart if term.key == HOSTNAME), 0)

    def _inside(self, caps: dict[NodeKind, tuple[int, int]], domain: Room) -> dict[NodeKind, tuple[int, int]]:
        return {node: (caps[node][0], count) for node, count in domain.kinds.items() if node in caps}

    def _spread(self, spread: Spread, caps: dict[NodeKind, tuple[int, int]], room: Room) -> int:
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

    def _domain_caps(
        self, key: str, caps: dict[NodeKind, tuple[int, int]], domains: Room, within: Room | None = None
    ) -> list[tuple[int, int]]:
        """(pods that a domain takes, how many such domains); of a domain only nodes `within` take any."""
        if key == HOSTNAME:
            found = []
            for node, count in domains.kinds.items():
                here = count if within is None else min(count, within.kinds.get(node, 0))
                cap = caps[node][0] if node in caps else 0
                found += [(cap, here), (0, count - here)]
            return [(cap, count) for cap, count in found if count]
        return [(self._cap(domain, caps, within), 1) for domain in domains.split(key)]

    def _cap(self, domain: Room, caps: dict[NodeKind, tuple[int, int]], within: Room | None) -> int:
        places = domain.places.items()
        return sum(caps[p[0]][0] * n for p, n in places if p[0] in caps and (within is None or p in within.places))

    def _is_counted(self, spread: Spread, node: NodeKind) -> bool:
        if spread.honors_affinity:
            if any(node.labels.get(key) != value for key, value in self.pod.selector.items()):
                return False
            if self.pod.affinity is not None and not match_node(self.pod.affinity, node.labels, node.name):
                return False
        return not spread.honors_taints or all(tolerates(self.pod.tolerations, taint) for taint in node.taints)


def _sum(caps: dict[NodeKind, tuple[int, int]]) -> int:
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
