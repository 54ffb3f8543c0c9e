"""What node pools have to add before nothing excludes a gang any more: the fewest nodes of one pool, or else of all."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from krmfn.capacity.obeyed import Obeyed
from krmfn.capacity.proof import Obstacle, prove_all
from krmfn.model.values import dig
from krmfn.survey.census import Census
from krmfn.survey.facts import HOSTNAME, ClusterNode
from krmfn.survey.groups import Group, GroupKey
from krmfn.survey.pools import NodePool, list_pools

#: Causes of obstacles that more nodes may take away.
OF_NODES = ("pod", "bound", "resource", "packing", "key")
#: How many sorts of nodes are tried.
_SORTS = 40
_Sort = tuple[NodePool, ClusterNode]
_Added = tuple[NodePool, ClusterNode, int]
#: Nodes that are alike, with their number.
_Nodes = tuple[ClusterNode, int]


class Growth(NamedTuple):
    """Nodes of pools that have to be added, each sort with its number. `within`: the pools can add so many; otherwise
    that is what one pool would have to add, or nothing where no number helps."""

    added: tuple[_Added, ...]
    within: bool


def find_key(group: Group, census: Census, obeyed: Obeyed) -> GroupKey:
    """What tells the tree of a group apart."""
    return (census.root(group) if obeyed.trees else group).key


def find_growth(
    census: Census, obeyed: Obeyed, obstacles: Sequence[Obstacle]
) -> tuple[Mapping[GroupKey, Growth], list[str]]:
    """By the tree of each obstacle that nodes may take away; and the pools of which not all is known."""
    wanted = {find_key(each.group, census, obeyed): each for each in obstacles if each.cause in OF_NODES}
    pools = list_pools(census.facts) if wanted else []
    search = _GrowthSearch(census, obeyed, wanted)
    sorts = list(search.tell_apart((pool, node) for pool in pools for node in pool.nodes))
    # What devices new nodes have, no fact says.
    open_ends = len(sorts) > _SORTS or any("resourceClaims" in each.spec for each in search.templates)
    untold = [pool.name for pool in pools if open_ends or not pool.told]
    return search.run(sorts[:_SORTS]) if pools else {}, untold


class _GrowthSearch:
    def __init__(self, census: Census, obeyed: Obeyed, wanted: Mapping[GroupKey, Obstacle]) -> None:
        self._obeyed, self._wanted = obeyed, wanted
        gangs = (gang for gang in census.gangs if find_key(gang.group, census, obeyed) in wanted)
        self._census = census._replace(gangs=tuple(gangs))
        self.templates = [each for gang in self._census.gangs for each in gang.templates]
        self._known: dict[tuple[tuple[str, int], ...], Collection[GroupKey]] = {}

    def tell_apart(self, sorts: Iterable[_Sort]) -> Iterator[_Sort]:
        """The first of the sorts that differ in nothing that the gangs ask for."""
        facts = self._census.facts
        flavors = facts.objects("kueue.x-k8s.io", "ResourceFlavor")
        classes = facts.objects("storage.k8s.io", "StorageClass")
        volumes = [dig(value, "spec", "nodeAffinity") for value in facts.objects("", "PersistentVolume")]
        specs = [gang.group.spec for gang in self._census.gangs], [each.spec for each in self.templates]
        text = repr((specs, flavors, classes, volumes))
        seen = set()
        for pool, node in sorts:
            labels = sorted((key, str(value)) for key, value in node.labels.items() if key != HOSTNAME and key in text)
            alike = repr((pool.name, labels, sorted(node.allocatable.items()), node.taints, node.number))
            if alike not in seen:
                seen.add(alike)
                yield pool, node

    def run(self, sorts: Sequence[_Sort]) -> dict[GroupKey, Growth]:
        found = {}
        every = [(pool, node, node.number) for pool, node in sorts if node.number]
        for key in self._wanted:
            if not every or key in self._fail([(node, most) for _, node, most in every]):
                found[key] = self._beyond(sorts, key)
                continue
            alone = ((pool, node, self._least(node, node.number, key)) for pool, node in sorts)
            one = next((added for added in alone if added[2]), None)
            found[key] = Growth((one,) if one else tuple(self._shrink(every, key)), True)
        return found

    def _beyond(self, sorts: Sequence[_Sort], key: GroupKey) -> Growth:
        """What the first pool that helps would have to add if nothing limited it."""
        mine = (gang for gang in self._census.gangs if find_key(gang.group, self._census, self._obeyed) == key)
        most = max(1, sum(gang.pods or 0 for gang in mine))
        for pool, node in sorts:
            if number := self._least(node, min(most, 10_000), key):
                return Growth(((pool, node, number),), False)
        return Growth((), False)

    def _shrink(self, every: Sequence[_Added], key: GroupKey) -> Iterator[_Added]:
        """As few of each sort as the later ones allow."""
        left = [(node, most) for _, node, most in every]
        for place, (pool, node, most) in enumerate(every):
            number = self._least(node, most, key, left[:place], left[place + 1 :])
            left[place] = (node, number)
            if number:
                yield pool, node, number

    def _least(
        self, node: ClusterNode, most: int, key: GroupKey, before: Sequence[_Nodes] = (), after: Sequence[_Nodes] = ()
    ) -> int:
        """The fewest nodes of a sort, between others, with which nothing excludes a tree; 0 where not even the most
        do."""

        def passes(count: int) -> bool:
            return key not in self._fail([*before, (node, count), *after])

        return bisect_left(range(most), True, key=passes) if most and passes(most) else 0

    def _fail(self, added: Sequence[_Nodes]) -> Collection[GroupKey]:
        """The trees that are excluded with these nodes beside those of today."""
        name = tuple((node.name, count) for node, count in added)
        if name not in self._known:
            facts = self._census.facts
            more = (node._replace(number=count) for node, count in added if count)
            grown = self._census._replace(facts=facts._replace(nodes=(*(facts.nodes or ()), *more)))
            self._known[name] = {find_key(each.group, grown, self._obeyed) for each in prove_all(grown, self._obeyed)}
        return self._known[name]
