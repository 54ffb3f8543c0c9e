"""What is proved about the nodes of today, beside what node pools can add to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krmfn.capacity import Obeyed
from krmfn.capacity.growth import OF_NODES, Growth, find_growth, key_of_root
from krmfn.capacity.proof import Obstacle
from krmfn.model.findings import Finding
from krmfn.model.quantity import format_quantity
from krmfn.model.wording import count, join
from krmfn.survey.census import Census
from krmfn.survey.facts import ClusterNode
from krmfn.survey.pools import INSTANCE_TYPE, NodePool, list_pools


def weigh(told: Sequence[tuple[Obstacle, Finding]], census: Census, obeyed: Obeyed) -> Iterator[Finding]:
    """The findings about obstacles: an info where pools can add the nodes that are missing, a warning where nobody
    knows what they can add."""
    growths, untold = find_growth(census, obeyed, [obstacle for obstacle, _ in told])
    for obstacle, finding in told:
        growth = growths.get(key_of_root(obstacle, census, obeyed))
        if obstacle.cause not in OF_NODES:
            yield finding
        elif growth is not None and growth.within:
            group = obstacle.group
            message = f"{_spell_today(obstacle)}; {_spell_growth(growth)}"
            yield Finding(group.item, group.quorum_path, message, group.quorum, rule="node-pool-grows")
        elif untold:
            pools = f"the node pool{'s' if len(untold) > 1 else ''} {join(untold)}"
            message = f"{finding.message}, unless {pools} can add nodes: of which kind is not known"
            hint = f"{finding.hint} Tell what {pools} can add: instanceTypes or allocatable in the data of the cluster."
            yield finding._replace(message=message, hint=hint, severity="warning")
        elif growth is not None and growth.added:
            pool, node, number = growth.added[0]
            message = f"{_spell_today(obstacle)}; {_spell_limit(growth)}: the gang is never scheduled"
            more = count(number - node.number, "node")
            hint = f"Raise the limit of the node pool {pool.name} by {more}, or make the gang smaller."
            yield finding._replace(message=message, hint=hint)
        else:
            names = [pool.name for pool in list_pools(census.facts)]
            pools = f"the node pool{'s' if len(names) > 1 else ''} {join(names)}"
            yield finding._replace(message=f"{finding.message}; no node that {pools} can add changes that")


def _spell_today(obstacle: Obstacle) -> str:
    need, nodes = obstacle.need, count(obstacle.nodes, "node")
    match obstacle.cause:
        case "bound" if obstacle.bound is not None:
            return f"{obstacle.bound.pods} of {need} pods fit now"
        case "resource":
            asked, given = format_quantity(need), format_quantity(obstacle.have)
            return f"the gang needs {asked} {obstacle.resource}, the nodes have {given} now"
        case "packing":
            return f"its {need} pods do not fit together on the nodes of today"
        case "key":
            return f"no node has the label {obstacle.key} now"
    return f"0 of {need} pods fit on the {nodes} of today"


def _spell_growth(growth: Growth) -> str:
    if len(growth.added) == 1:
        pool, node, number = growth.added[0]
        most = f"by {node.number}" if pool.limit else "without a limit"
        return (
            f"the node pool {pool.name} can grow {most}{_spell_sort(pool, node)}: the gang can start if it grows by "
            f"{number}"
        )
    parts = [f"{pool.name} by {number}{_spell_sort(pool, node)}" for pool, node, number in growth.added]
    return f"the gang can start if node pools grow: {join(parts)}"


def _spell_limit(growth: Growth) -> str:
    """Why what the first pool that would help can add is not enough."""
    pool, node, number = growth.added[0]
    kind = _spell_sort(pool, node)
    return f"the gang needs {number} more nodes of the node pool {pool.name}{kind}, whose limit is {pool.limit}"


def _spell_sort(pool: NodePool, node: ClusterNode) -> str:
    kind = node.labels.get(INSTANCE_TYPE, "")
    return f" (instance type {kind})" if len(pool.nodes) > 1 and kind else ""
