"""KAI: one PodGroup scheduling.run.ai/v2alpha2 per gang, with a sub-group for each group of a tree, at any depth.

Source: KAI-Scheduler v0.17.0, `deployments/kai-scheduler/crds/scheduling.run.ai_podgroups.yaml`, its validating webhook
(`pkg/apis/scheduling/v2alpha2/podgroup_webhook.go`) and the annotations that its own grouper reads from owners. With
`kai.scheduler/skip-podgrouper` on the pods that grouper leaves them alone. Before 0.15 (v0.14.7,
`pkg/scheduler/api/podgroup_info`) a gang waits for all of its sub-groups, and none has a minimum of sub-groups.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.config.settings import Settings
from krmfn.model.findings import Notes
from krmfn.model.rules import tell
from krmfn.model.schedulers import NODE_POOL, counts_sub_groups
from krmfn.model.tree import Composite, Gang
from krmfn.model.values import Fields
from krmfn.targets.emission import Emission
from krmfn.targets.layout import PlacedGroup, lay_out_whole, walk
from krmfn.targets.podgroups import emit_pod_group, find_first, find_min_member

#: The queue in which KAI's grouper puts what names none.
_DEFAULT_QUEUE = "default-queue"
_TOPOLOGY = "kai.scheduler/topology"


def emit(gang: Gang, settings: Settings) -> Emission:
    """The PodGroup of `gang`. Its minima can be changed at any time; without a queue its pods are never scheduled."""
    root = lay_out_whole(gang.name, gang.root)
    topology = find_first(gang, "annotations", _TOPOLOGY)
    counts = counts_sub_groups(settings.operators)
    spec: Fields = {**_describe_minimum(root, counts), "queue": _DEFAULT_QUEUE}
    more = _describe_topology(root, topology)
    if root.children:
        more["subGroups"] = list(_describe_sub_groups(root, topology, counts))
    notes = () if counts else _note_uncounted(root)
    lost = () if topology else (node.group.topology_key for node in walk(root))
    pool = find_first(gang, "labels", NODE_POOL)
    labels = {NODE_POOL: pool} if pool else {}
    beside = ["*" if root.children else "", "true"]
    return emit_pod_group(gang, settings, spec, more, (root,), notes, lost, beside, labels)


def _describe_minimum(node: PlacedGroup, counts: bool) -> dict[str, int]:
    """The minimum of sub-groups where there are some and KAI `counts` them, else that of pods."""
    if isinstance(node.group, Composite):
        return {"minSubGroup": node.group.min_group_count or 1} if counts else {}
    return {"minMember": find_min_member(node)}


def _describe_sub_groups(parent: PlacedGroup, topology: str, counts: bool, below: str = "") -> Iterator[Fields]:
    """The groups under `parent`, each before those under it. Those on top of the tree name no parent."""
    for node in parent.children:
        entry: Fields = {"name": node.template, **({"parent": below} if below else {})}
        yield entry | _describe_minimum(node, counts) | _describe_topology(node, topology)
        yield from _describe_sub_groups(node, topology, counts, node.template)


def _describe_topology(node: PlacedGroup, topology: str) -> Fields:
    """A level of a Topology is a label of nodes; which Topology it is of, the owner's annotation says."""
    if not node.group.topology_key or not topology:
        return {}
    return {"topologyConstraint": {"topology": topology, "requiredTopologyLevel": node.group.topology_key}}


def _note_uncounted(root: PlacedGroup) -> Notes:
    for node in walk(root):
        least, number = getattr(node.group, "min_group_count", None) or 1, len(node.children)
        if least < number:
            yield tell("kai-waits-for-all", (), least=least, number=number, name=node.group.name)
