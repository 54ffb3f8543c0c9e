"""Kubernetes 1.35: Workload v1alpha1 alone. Pods name the Workload and one of its groups; a group has a policy and
nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from krmfn.model.findings import Note
from krmfn.model.tree import Gang, Leaf
from krmfn.releases.gates import list_needed
from krmfn.releases.release import first_release
from krmfn.targets.agreement import agree
from krmfn.targets.describing import Kind, describe
from krmfn.targets.emission import Emission, Link, Target
from krmfn.targets.flat import flatten
from krmfn.targets.gates import check_gates
from krmfn.targets.layout import Node
from krmfn.targets.remarks import blame, check_quorums, note_layout
from krmfn.targets.workload import link_pods, refer_to_owner

if TYPE_CHECKING:
    from krmfn.config.settings import Settings


_WORKLOAD: Final = Kind("scheduling.k8s.io/v1alpha1", "Workload")


def emit(gang: Gang, settings: Settings) -> Emission:
    """The Workload of `gang` and the links to its groups. Priority classes are not compared in this release."""
    nodes, notes = flatten(gang, settings.release)
    if not nodes:
        return Emission((), (), notes)
    groups: list[dict[str, Any]] = []
    links: list[Link] = []
    for node in nodes:
        if isinstance(node.group, Leaf):
            quorum = node.group.min_count
            groups.append(
                {"name": node.template, "policy": {"basic": {}} if quorum is None else {"gang": {"minCount": quorum}}}
            )
            links += link_pods(node.group, ("workloadRef", "name"), gang.name)
            links += link_pods(node.group, ("workloadRef", "podGroup"), node.template)
    links.sort(key=lambda link: (link.owner, str(link.path)))
    objects = (describe(_WORKLOAD, gang.name, gang, {**refer_to_owner(gang), "podGroups": groups}),)
    checks = check_gates(list_needed(settings.release, objects), settings.feature_gates)
    agreed = (note for note in agree(gang).notes if note.rule == "scheduler-not-shared")
    kept = (note for note in notes if note.rule != "topology-loosened")
    return blame(
        Emission(
            objects,
            tuple(links),
            (*kept, *agreed, *_note_lost(nodes), *check_quorums(gang, *nodes), *checks, *note_layout(*nodes)),
        )
    )


def _note_lost(nodes: tuple[Node, ...]) -> Iterator[Note]:
    """What the groups ask for and this release has no field for."""
    keys = sorted({node.group.topology_key for node in nodes} - {""})
    if keys:
        message = (
            f"a Workload of Kubernetes 1.35 has no field for the topology key {', '.join(keys)}: "
            "pods may be spread over all domains"
        )
        hint = f"Ask for no topology key, or use Kubernetes {first_release('topology-keys')}."
        yield Note("topology-lost", (), message, keys[0], None, hint)
    if any(node.group.disruption_mode for node in nodes):
        message = "a Workload of Kubernetes 1.35 has no field for a disruption mode: pods are preempted one by one"
        hint = f"Ask for no disruption mode, or use Kubernetes {first_release('disruption-modes')}."
        yield Note("disruption-mode-lost", (), message, hint=hint)


TARGET: Final = Target("Kubernetes", emit)
