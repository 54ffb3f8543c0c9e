"""How many volumes of a CSI driver a node can attach: counted like a resource of the node.

Source: pkg/scheduler/framework/plugins/nodevolumelimits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from krmfn.capacity.pods import PodKind
from krmfn.capacity.volumes import Volumes
from krmfn.model.values import as_int, as_list, as_text, dig
from krmfn.survey.facts import ClusterNode, Facts, Resources

PREFIX: Final = "attachable-volumes-csi-"
_UNLIMITED: Final = 10**18


def limit_attachments(nodes: Sequence[ClusterNode], facts: Facts) -> Sequence[ClusterNode]:
    """The nodes, each with the volumes that it can attach; where its CSINode names no limit, any number."""
    limits: dict[str, dict[str, int]] = {}
    for value in facts.objects("storage.k8s.io", "CSINode"):
        mine = limits.setdefault(as_text(dig(value, "metadata", "name")), {})
        for driver in as_list(dig(value, "spec", "drivers")):
            most = as_int(dig(driver, "allocatable", "count"))
            if most is not None:
                mine[f"{PREFIX}{as_text(dig(driver, 'name'))}"] = most * 10**9
    names = {name for mine in limits.values() for name in mine}
    return [
        node._replace(allocatable={**node.allocatable, **dict.fromkeys(names, _UNLIMITED), **limits.get(node.name, {})})
        for node in nodes
    ]


def count_attachments(pod: PodKind, volumes: Volumes, facts: Facts) -> Resources:
    """The volumes that are made for each pod of a kind, by driver; of drivers without limits none."""
    found: dict[str, int] = {}
    if not facts.objects("storage.k8s.io", "CSINode"):
        return found
    classes = facts.by_name("storage.k8s.io", "StorageClass")
    limited = {
        as_text(dig(driver, "name"))
        for value in facts.objects("storage.k8s.io", "CSINode")
        for driver in as_list(dig(value, "spec", "drivers"))
        if dig(driver, "allocatable", "count") is not None
    }
    for claim in volumes.list_made(pod):
        driver = as_text(dig(classes.get(volumes.find_class(claim)), "provisioner"))
        if driver in limited:
            found[f"{PREFIX}{driver}"] = found.get(f"{PREFIX}{driver}", 0) + 10**9
    return found
