"""How a gang stands: whether it would run, on which nodes, and what keeps it from running. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from krmfn.forecast.admitting import Admission
from krmfn.forecast.roster import Pod
from krmfn.survey.facts import Resources
from krmfn.survey.groups import Group

#: "runs": whatever the order; "never": not even in the empty cluster; "waits": for capacity that others use; "grows":
#: for nodes that a node pool can add; "depends": on the order in which gangs, pods or child groups come; "open": no
#: rule excludes it, and no scheduler was run.
Verdict = Literal["runs", "never", "waits", "grows", "depends", "open"]

#: The rule of gangs whose pods are in another cluster: no proof about this one says anything of them.
ELSEWHERE = "gang-elsewhere"
#: The rule of gangs that wait for nodes which do not exist yet.
GROWS = "node-pool-grows"
#: Said of a pod that has a node and loses it.
PREEMPTED = "preempted"


class Place(NamedTuple):
    """A pod and the node it would get, or why it gets none: the scheduler's words."""

    pod: Pod
    node: str
    message: str = ""


class Standing(NamedTuple):
    """A root group (`name` is namespace/name) with the groups that pods link to below it, its verdict, and its pods.
    `why` says what keeps it from running, `rule` which rule found it, `way_out` what to change. `root` is None where
    pods link to a group that does not exist. `admissions` are what Kueue says of its jobs, where it was asked."""

    name: str
    root: Group | None
    groups: tuple[Group, ...]
    verdict: Verdict
    places: tuple[Place, ...]
    why: str = ""
    way_out: str = ""
    rule: str = ""
    admissions: tuple[Admission, ...] = ()

    @property
    def placed(self) -> int:
        """How many pods have a node."""
        return sum(bool(place.node) for place in self.places)


class Load(NamedTuple):
    """A node: the domain that it is in, what it can give and what is taken of it (in billionths), how many pods of each
    gang (by the standing's name) it would have, and how many of others."""

    name: str
    domain: str
    allocatable: Resources
    used: Resources
    gangs: Mapping[str, int]
    others: int
    unschedulable: bool


class Outlook(NamedTuple):
    """What would become of all gangs, in the order in which the scheduler takes them. `loads` are the nodes (None when
    nobody described them), `key` the topology key of their domains; `loose` is what became of waiting pods in no group.
    `simulator` is the release that was asked, empty without; `preempted` are the pods that had to make room then.
    `queued` is whether jobs wait in queues of Kueue."""

    standings: tuple[Standing, ...]
    loads: tuple[Load, ...] | None
    key: str
    loose: tuple[Place, ...]
    simulator: str = ""
    preempted: tuple[str, ...] = ()
    queued: bool = False

    @property
    def is_hopeless(self) -> bool:
        """Whether a gang never starts."""
        return any(standing.verdict == "never" for standing in self.standings)
