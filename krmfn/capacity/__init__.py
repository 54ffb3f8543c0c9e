"""What fits where, and why not: necessary conditions of a gang's start, as proofs about the cluster when it is empty.

`prove` is the one place that says "never". It counts as the scheduler counts (requests, selectors, spreads) and bounds
from above what the nodes can take, so what it calls impossible is; what it lets pass may still fail in the scheduler's
order, which only the scheduler itself can tell. Knows no rule, no release's number and no file.
"""

from __future__ import annotations

from krmfn.capacity.proof import Obstacle, prove
from krmfn.capacity.world import Obeyed

__all__ = ["Obeyed", "Obstacle", "prove"]
