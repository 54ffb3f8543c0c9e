"""Volcano: one PodGroup scheduling.volcano.sh/v1beta1 per gang, with a sub-group for each group of a tree.

Source: volcano v1.15.1, `config/crd/volcano/bases/scheduling.volcano.sh_podgroups.yaml` (sub-groups since 1.14), and
the labels that KubeRay's own integration reads from the resource.
"""

from __future__ import annotations

from krmfn.config.settings import Settings
from krmfn.model.gotext import parse_int
from krmfn.model.marks import POD_GROUP_LABEL
from krmfn.model.tree import Composite, Gang
from krmfn.model.values import Fields
from krmfn.targets.emission import Emission
from krmfn.targets.layout import PlacedGroup, lay_out_flat
from krmfn.targets.podgroups import describe_minimum, emit_pod_group, find_first, find_min_member

_MODE = "volcano.sh/network-topology-mode"
_TIER = "volcano.sh/network-topology-highest-tier-allowed"


def emit(gang: Gang, settings: Settings) -> Emission:
    """The PodGroup of `gang`. It has no feature gates, and its minimum can be changed at any time."""
    root, nodes = gang.root, lay_out_flat(gang.name, gang.root)
    more = _describe_topology(root.topology_key) or _topology_of_labels(gang)
    several = isinstance(root, Composite)
    if several:
        more["subGroupPolicy"] = [_describe_sub_group(node) for node in nodes]
    lost = (key for key in (root.topology_key, *(node.group.topology_key for node in nodes)) if "/" in key)
    minimum, beside = describe_minimum(gang, nodes), ["*"] if several else []
    return emit_pod_group(gang, settings, minimum, more, nodes, (), lost, beside)


def _describe_sub_group(node: PlacedGroup) -> Fields:
    """The pods of one group, known by a label that the link puts on them; they come at once, as one sub-group. Without
    a key of which pods of a sub-group have the same value, Volcano puts no pod into it."""
    sub_group: Fields = {"name": node.template}
    sub_group["labelSelector"] = {"matchLabels": {POD_GROUP_LABEL: node.template}}
    sub_group |= {"matchLabelKeys": [POD_GROUP_LABEL], "subGroupSize": find_min_member(node), "minSubGroups": 1}
    return sub_group | _describe_topology(node.group.topology_key)


def _describe_topology(key: str) -> Fields:
    """Volcano's domains are HyperNodes, in tiers: a number is a tier, a name without a domain is the name of one."""
    if not key or "/" in key:
        return {}
    number = parse_int(key)
    tier = {"highestTierName": key} if number is None else {"highestTierAllowed": number}
    return {"networkTopology": {"mode": "hard", **tier}}


def _topology_of_labels(gang: Gang) -> Fields:
    """What KubeRay's users write on the resource for Volcano."""
    mode, tier = (find_first(gang, "labels", key) for key in (_MODE, _TIER))
    if not mode:
        return {}
    number = parse_int(tier)
    return {"networkTopology": {"mode": mode, **({} if number is None else {"highestTierAllowed": number})}}
