"""Whether a kind of pod fits on a kind of node that is empty, and the scheduler's words where it does not.

As the scheduler's filters do, in their order: the first one that refuses a node gives the reasons, one or several.
Source: pkg/scheduler/framework/plugins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from krmfn.capacity.nodes import NodeKind
from krmfn.capacity.pods import PodKind
from krmfn.capacity.volumes import PREFIX, NodeTerms
from krmfn.model.selectors import match_node, tolerates
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

_CORDON: Final[Mapping[str, Any]] = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


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
