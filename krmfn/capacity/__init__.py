"""What fits where, and why not: necessary conditions of a gang's start, as proofs about the cluster when it is empty.

`prove` is the one place that says "never". It counts as the scheduler counts (requests, selectors, spreads) and bounds
from above what the nodes can take, so what it calls impossible is; what it lets pass may still fail in the scheduler's
order, which only the scheduler itself can tell. Knows no rule, no release's number and no file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from krmfn.capacity.obeyed import Obeyed
from krmfn.survey.census import Census
from krmfn.survey.facts import Facts

if TYPE_CHECKING:
    from krmfn.capacity.proof import Obstacle

__all__ = ["Obeyed", "Obstacle", "may_refuse", "prove"]


def prove(census: Census, obeyed: Obeyed) -> Iterable[Obstacle]:
    """The obstacles of all gangs, at most one for a root and, where the root can start, one for each group below.

    Without facts about nodes only what the API server refuses is proved.
    """
    if not census.gangs or (census.facts.nodes is None and not may_refuse(census.facts)):
        return ()
    from krmfn.capacity.proof import prove_all

    return prove_all(census, obeyed)


def may_refuse(facts: Facts) -> bool:
    """Whether the input or the facts hold anything by which pods can be refused."""
    listed = any(map(facts.lists_all, ("RuntimeClass", "ServiceAccount", "PriorityClass", "Namespace")))
    return bool(listed or facts.quotas or facts.objects("", "LimitRange") or facts.objects("", "Namespace"))
