"""How a gang stands: whether it would run, on which nodes, and what keeps it from running; and what every node would
get: its gangs' pods, those of others, and how much of it is taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from krmfn.capacity.pods import count_requests
from krmfn.forecast.admitting import Admission
from krmfn.forecast.question import name_nodes
from krmfn.forecast.roster import Pod
from krmfn.model.quantity import add
from krmfn.model.values import Names, as_text, dig
from krmfn.survey.facts import Amounts, Facts, Resources, read_resources
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
    gangs: Resources
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
    preempted: Names = ()
    queued: bool = False


_ZONE = "topology.kubernetes.io/zone"


def find_key(facts: Facts, standings: Iterable[Standing]) -> str:
    """The topology key by which the nodes are shown: that of the first gang that has one which nodes carry, else their
    zone; empty where that tells nothing."""
    nodes = facts.nodes or ()
    total = sum(node.number for node in nodes)
    keys = [group.topology_key for standing in standings for group in (standing.root, *standing.groups) if group]
    for key in (*keys, _ZONE):
        values = {node.labels[key] for node in nodes if key in node.labels}
        if values and (key != _ZONE or len(values) > 1) and len(values) < total:
            return key
    return ""


def list_loads(
    facts: Facts, standings: Sequence[Standing], bound: Iterable[Pod], loose: Iterable[Place], key: str
) -> tuple[Load, ...]:
    """Every node with its load, in the order of the facts."""
    pods = [(place.pod, place.node, standing.name) for standing in standings for place in standing.places]
    pods += [*((pod, pod.node, "") for pod in bound), *((place.pod, place.node, "") for place in loose)]
    taken: dict[str, Amounts] = defaultdict(dict)
    gangs: dict[str, Amounts] = defaultdict(dict)  # "": pods of others
    known: dict[int, Resources] = {}  # by template, or by pod
    counted = set()
    for pod, where, gang in pods:
        if not where or pod.name in counted:
            continue
        counted.add(pod.name)
        alike = id(pod.template or pod)
        if alike not in known:
            spec = pod.value["spec"]
            overhead = dig(facts.find_runtime(spec), "overhead", "podFixed")
            known[alike] = {**count_requests(spec, read_resources(overhead)), "pods": 10**9}
        add(taken[where], known[alike])
        add(gangs[where], {gang: 1})
    loads = []
    for node in facts.nodes or ():
        domain, cordoned = as_text(node.labels.get(key)), node.unschedulable
        for name in name_nodes(node):
            used = dict(node.used)
            add(used, taken[name])
            mine = {gang: number for gang, number in gangs[name].items() if gang}
            loads.append(Load(name, domain, node.allocatable, used, mine, gangs[name].get("", 0), cordoned))
    return tuple(loads)
