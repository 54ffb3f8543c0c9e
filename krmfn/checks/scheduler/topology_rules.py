"""The rows of the topology rules; their functions are in `topology`."""

from __future__ import annotations

from typing import Final

from krmfn.checks.rule import Check
from krmfn.checks.scheduler.topology import (
    find_anti_affinity,
    find_child_key,
    find_exclusive_topology,
    find_key_unknown,
    find_one_node_ports,
    find_one_pod_per_node,
    find_selectors_apart,
    find_spread_against_domain,
)
from krmfn.model.findings import Rule

_RELEASES: Final = ("1.36", "1.37")
_ONE_DOMAIN = (
    "All pods of a group with a topology key are placed on nodes with one value of that label. The scheduler tries "
    "each value as a whole and finds none when the pods cannot share it."
)

CHECKS: Final = (
    Check(
        Rule(
            "topology-host-ports",
            "scheduler",
            "error",
            "Pods that must share a node use the same port of it.",
            _ONE_DOMAIN,
            "Remove the host port, or use a coarser topology key.",
            _RELEASES,
            ("KEP-5732",),
        ),
        find_one_node_ports,
    ),
    Check(
        Rule(
            "topology-anti-affinity",
            "scheduler",
            "error",
            "Required anti-affinity keeps the pods of a gang out of the one domain they must share.",
            _ONE_DOMAIN,
            "Use preferred anti-affinity, or a key finer than the group's.",
            _RELEASES,
            ("KEP-5732",),
        ),
        find_anti_affinity,
    ),
    Check(
        Rule(
            "one-pod-per-node",
            "scheduler",
            "warning",
            "Pods of a gang exclude each other on a node, so the gang needs as many nodes.",
            "With anti-affinity on kubernetes.io/hostname, or with host ports, every pod needs a node of its own, all "
            "at the same time and, with a topology key, in one domain. An error when the facts say that there are too "
            "few.",
            "Add nodes, or let pods share them.",
            (),
            ("KEP-5732",),
        ),
        find_one_pod_per_node,
    ),
    Check(
        Rule(
            "topology-spread",
            "scheduler",
            "warning",
            "A spread constraint works against the group's topology key.",
            _ONE_DOMAIN,
            "Spread over a finer key, or use whenUnsatisfiable: ScheduleAnyway.",
            _RELEASES,
            ("KEP-5732",),
        ),
        find_spread_against_domain,
    ),
    Check(
        Rule(
            "topology-selectors-apart",
            "scheduler",
            "error",
            "Templates of one gang ask for different domains of the group's topology key.",
            _ONE_DOMAIN,
            "Pin the same value in all templates, or give each its own group.",
            _RELEASES,
            ("KEP-5732",),
        ),
        find_selectors_apart,
    ),
    Check(
        Rule(
            "topology-child-key",
            "scheduler",
            "warning",
            "A child group's topology key is its parent's, or a coarser one.",
            "The parent has chosen one domain of its key already; the same or a coarser key below it says nothing.",
            "Use a finer key in the child: zone above, rack below.",
            ("1.37",),
            ("KEP-5732",),
        ),
        find_child_key,
    ),
    Check(
        Rule(
            "exclusive-topology",
            "scheduler",
            "warning",
            "Exclusive placement of a JobSet or LeaderWorkerSet works against the group's topology key.",
            "The exclusive-topology annotation gives every job a domain of its own; a group over all of them with that "
            "key must be in one domain.",
            "Use one of the two.",
            _RELEASES,
            ("KEP-5732",),
        ),
        find_exclusive_topology,
    ),
    Check(
        Rule(
            "topology-key-unknown",
            "scheduler",
            "error",
            "No node carries the topology key.",
            "A key that no node carries gives no placement (`no feasible placements found`), so the gang waits for "
            "ever. Decided when `cluster.nodes` lists the nodes.",
            "Label the nodes, correct the key, or give the nodes under `cluster.nodes`.",
            _RELEASES,
            ("KEP-5732", "observed on Kubernetes 1.37.0"),
        ),
        find_key_unknown,
    ),
)
