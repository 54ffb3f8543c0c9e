"""How many volumes of a CSI driver a node can attach: counted like a resource of the node.

Source: pkg/scheduler/framework/plugins/nodevolumelimits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from krmfn.capacity.pods import PodKind
from krmfn.capacity.volumes import Volumes
from krmfn.model.values import as_int, as_list, as_text, dig
from krmfn.survey.facts import ClusterNode, Facts, Resources

PREFIX: Final = "attachable-volumes-csi-"
_UNLIMITED: Final = 10**18


def read_limits(facts: Facts) -> Mapping[str, Resources]:
    """How many volumes each node can attach, by the resource of the driver; of drivers without a limit nothing."""
    limits: dict[str, dict[str, int]] = {}
    for value in facts.objects("storage.k8s.io", "CSINode"):
        mine = limits.setdefault(as_text(dig(value, "metadata", "name")), {})
        for driver in as_list(dig(value, "spec", "drivers")):
            most = as_int(dig(driver, "allocatable", "count"))
            if most is not None:
                mine[f"{PREFIX}{as_text(dig(driver, 'name'))}"] = most * 10**9
    return limits


def limit_attachments(nodes: Sequence[ClusterNode], limits: Mapping[str, Resources]) -> Sequence[ClusterNode]:
    """The nodes, each with the volumes that it can attach; where its CSINode names no limit, any number."""
    names = {name for mine in limits.values() for name in mine}
    return [
        node._replace(allocatable={**node.allocatable, **dict.fromkeys(names, _UNLIMITED), **limits.get(node.name, {})})
        for node in nodes
    ]


def count_attachments(pod: PodKind, volumes: Volumes, facts: Facts, limited: Collection[str]) -> Resources:
    """The volumes that are made for each pod of a kind, by the resources that are `limited` on some node."""
    found: dict[str, int] = {}
    classes = facts.by_name("storage.k8s.io", "StorageClass") if limited else {}
    for claim in volumes.list_made(pod) if limited else ():
        name = f"{PREFIX}{as_text(dig(classes.get(volumes.find_class(claim)), 'provisioner'))}"
        if name in limited:
            found[name] = found.get(name, 0) + 10**9
    return found
