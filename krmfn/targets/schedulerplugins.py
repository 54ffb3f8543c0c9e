"""scheduler-plugins: one PodGroup scheduling.x-k8s.io/v1alpha1 per gang, with one minimum for all of its pods.

Source: scheduler-plugins v0.34.7, `config/crd/bases/scheduling.x-k8s.io_podgroups.yaml` and
`pkg/coscheduling/core/core.go`: a pod waits until minMember pods with the group's label exist, and until the free
resources of the cluster are at least minResources.
"""

from __future__ import annotations

from krmfn.config.settings import Settings
from krmfn.model.names import LABEL_LIMIT
from krmfn.model.rules import tell
from krmfn.model.tree import Composite, Gang, Group, Leaf
from krmfn.targets.emission import Emission
from krmfn.targets.layout import lay_out_flat
from krmfn.targets.podgroups import describe_minimum, emit_pod_group


def emit(gang: Gang, settings: Settings) -> Emission:
    """The PodGroup of `gang`. Priorities are those of the pods; everything in it can be changed."""
    root = gang.root
    if len(gang.name) > LABEL_LIMIT:
        return Emission((), (), (tell("link-too-long", ("metadata", "name"), name=gang.name, limit=LABEL_LIMIT),))
    nodes = lay_out_flat(gang.name, root)
    merged = isinstance(root, Composite) and not _is_whole(root)  # those that start may be of one group alone
    notes = [tell("groups-merged", ())] if merged else []
    lost = (root.topology_key, *(node.group.topology_key for node in nodes))
    return emit_pod_group(gang, settings, describe_minimum(gang, nodes), {}, nodes, notes, lost)


def _is_whole(group: Group) -> bool:
    """Whether the group starts with all of its pods only."""
    if isinstance(group, Leaf):
        return group.min_count == group.pods
    return group.min_group_count == len(group.children) and all(map(_is_whole, group.children))
