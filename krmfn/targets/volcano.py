"""Volcano: one PodGroup scheduling.volcano.sh/v1beta1 per gang, with a sub-group for each group of a tree.

Source: volcano v1.15.1, `config/crd/volcano/bases/scheduling.volcano.sh_podgroups.yaml` (sub-groups since 1.14), and
the labels that KubeRay's own integration reads from the resource.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from krmfn.model.findings import Note
from krmfn.model.gotext import parse_int
from krmfn.model.marks import POD_GROUP_LABEL
from krmfn.model.tree import Composite, Gang, Leaf
from krmfn.targets.agreement import agree
from krmfn.targets.describing import Kind, describe
from krmfn.targets.emission import Emission, Link
from krmfn.targets.layout import Node, lay_out_flat, prune
from krmfn.targets.remarks import blame, check_quorums
from krmfn.targets.requests import sum_requests

if TYPE_CHECKING:
    from krmfn.config.settings import Settings

_POD_GROUP: Final = Kind("scheduling.volcano.sh/v1beta1", "PodGroup")
_NAME: Final = "volcano"
_GROUP_NAME: Final = "scheduling.k8s.io/group-name"
_QUEUE: Final = "volcano.sh/queue-name"
_MODE: Final = "volcano.sh/network-topology-mode"
_TIER: Final = "volcano.sh/network-topology-highest-tier-allowed"


def emit(gang: Gang, settings: Settings) -> Emission:
    """The PodGroup of `gang`. It has no feature gates, and its minimum can be changed at any time."""
    root = prune(gang.root)
    if root is None:
        return Emission((), (), ())
    nodes = lay_out_flat(gang.name, root)
    agreed = agree(gang, _NAME)
    queue, queue_notes = _find_queue(gang)
    spec: dict[str, Any] = {"minMember": sum(_least(node) for node in nodes)}
    resources = sum_requests(gang, [(node.group, _least(node)) for node in nodes if isinstance(node.group, Leaf)])
    if resources:
        spec["minResources"] = resources
    if queue:
        spec["queue"] = queue
    if agreed.priority_class:
        spec["priorityClassName"] = agreed.priority_class
    spec |= _describe_topology(root.topology_key) or _topology_of_labels(gang)
    if isinstance(root, Composite):
        spec["subGroupPolicy"] = [_describe_sub_group(node) for node in nodes]
    links = tuple(link for node in nodes for link in _link(gang, node, isinstance(root, Composite)))
    notes = (
        *agreed.notes,
        *_note_scheduler(agreed.scheduler),
        *queue_notes,
        *check_quorums(gang, *nodes),
        *_note_lost(root, nodes),
    )
    return blame(Emission((describe(_POD_GROUP, gang.name, gang, spec),), links, notes))


def _least(node: Node) -> int:
    """How many pods of the group have to start together; one of a group without quorum."""
    return (node.group.min_count or 1) if isinstance(node.group, Leaf) else 0


def _describe_sub_group(node: Node) -> dict[str, Any]:
    """The pods of one group, known by a label that the link puts on them; they come at once, as one sub-group."""
    selector = {"matchLabels": {POD_GROUP_LABEL: node.template}}
    sub_group = {"name": node.template, "labelSelector": selector, "subGroupSize": _least(node), "minSubGroups": 1}
    return sub_group | _describe_topology(node.group.topology_key)


def _describe_topology(key: str) -> dict[str, Any]:
    """Volcano's domains are HyperNodes, in tiers: a number is a tier, a name without a domain is the name of one."""
    if not key or "/" in key:
        return {}
    number = parse_int(key)
    tier = {"highestTierName": key} if number is None else {"highestTierAllowed": number}
    return {"networkTopology": {"mode": "hard", **tier}}


def _topology_of_labels(gang: Gang) -> dict[str, Any]:
    """What KubeRay's users write on the resource for Volcano."""
    mode, tier = (_first_label(gang, key) for key in (_MODE, _TIER))
    if not mode:
        return {}
    number = parse_int(tier)
    return {"networkTopology": {"mode": mode, **({} if number is None else {"highestTierAllowed": number})}}


def _labels(value: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = value.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    return labels if isinstance(labels, Mapping) else {}


def _first_label(gang: Gang, key: str) -> str:
    return next((str(found) for value in gang.values if (found := _labels(value).get(key))), "")


def _find_queue(gang: Gang) -> tuple[str, tuple[Note, ...]]:
    """The queue that the owners' labels name. Owners without one follow the others."""
    queues = {str(queue): index for index, value in enumerate(gang.values) if (queue := _labels(value).get(_QUEUE))}
    if len(queues) < 2:
        return next(iter(queues), ""), ()
    (first, one), (second, other), *_ = queues.items()
    message = (
        f"{gang.owners[one]} is in queue {first} and {gang.owners[other]} in queue {second}: a gang is in one queue"
    )
    return "", (Note("queue-not-shared", (), message, first, second, f"Write the same {_QUEUE} label on both."),)


def _link(gang: Gang, node: Node, is_part: bool) -> Iterator[Link]:
    for template in node.group.templates if isinstance(node.group, Leaf) else ():
        metadata = (*template.path, "metadata")
        yield Link(template.owner, (*metadata, "annotations", _GROUP_NAME), gang.name)
        if is_part:
            yield Link(template.owner, (*metadata, "labels", POD_GROUP_LABEL), node.template)
        yield Link(template.owner, (*template.path, "spec", "schedulerName"), _NAME)


def _note_scheduler(scheduler: str) -> Iterator[Note]:
    if scheduler not in ("", _NAME):
        message = f'the pods have schedulerName "{scheduler}", but the configuration sets scheduler: Volcano'
        yield Note(
            "scheduler-not-volcano", (), message, scheduler, _NAME, "Remove schedulerName from the pod templates."
        )


def _note_lost(root: Leaf | Composite, nodes: tuple[Node, ...]) -> Iterator[Note]:
    groups = (root, *(node.group for node in nodes))
    keys = sorted({group.topology_key for group in groups if "/" in group.topology_key})
    if keys:
        message = f"Volcano supports tiers of HyperNodes, not node labels: {', '.join(keys)} is left out"
        yield Note("topology-lost", (), message, keys[0], None, "Use the number or the name of a tier as topology key.")
    if any(group.disruption_mode for group in groups):
        yield Note(
            "disruption-mode-lost",
            (),
            ("PodGroups of Volcano do not support disruption modes: pods are preempted one by one"),
        )
