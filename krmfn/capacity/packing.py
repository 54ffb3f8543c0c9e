"""Whether pods of several kinds fit into nodes at once: an exact search for small questions, sums for large ones.

A yes may be wrong (only resources, slots and what excludes what on a node are looked at), a no is a proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from krmfn.capacity.bounds import count_on
from krmfn.capacity.pods import PodKind
from krmfn.capacity.world import NodeKind, Room
from krmfn.survey.facts import HOSTNAME

#: Beyond so many nodes, pods or steps only sums are compared.
MOST_NODES: Final = 48
MOST_PODS: Final = 96
STEPS: Final = 20_000


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
        need = sum(_least_of(quota, name) for quota in quotas)
        have = sum(node.allocatable.get(name, 0) * count for node, count in room.kinds.items() if node in usable)
        if need > have:
            return name, need, have
    need = sum(quota.least for quota in quotas)
    slots = sum(node.slots * count for node, count in room.kinds.items() if node in usable)
    return ("pods", need * 10**9, slots * 10**9) if need > slots else None


def _least_of(quota: GroupDemand, name: str) -> int:
    left, total = quota.least, 0
    for demand in sorted(quota.demands, key=lambda demand: demand.kind.requests.get(name, 0)):
        taken = min(left, demand.pods)
        total += taken * demand.kind.requests.get(name, 0)
        left -= taken
    return total


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
