"""scheduler-plugins: one PodGroup scheduling.x-k8s.io/v1alpha1 per gang, with one minimum for all of its pods.

Source: scheduler-plugins v0.34.7, `config/crd/bases/scheduling.x-k8s.io_podgroups.yaml` and
`pkg/coscheduling/core/core.go`: a pod waits until minMember pods with the group's label exist, and until the free
resources of the cluster are at least minResources.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.config.settings import Settings
from krmfn.model.findings import Note
from krmfn.model.names import LABEL_LIMIT
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.tree import Composite, Gang, Group, Leaf
from krmfn.model.values import Fields
from krmfn.targets.emission import Emission, agree, check_quorums
from krmfn.targets.layout import lay_out_flat
from krmfn.targets.others import finish, least, sum_least


def emit(gang: Gang, settings: Settings) -> Emission:
    """The PodGroup of `gang`. Priorities are those of the pods; everything in it can be changed."""
    root, row = gang.root, SCHEDULERS[settings.scheduler]
    if len(gang.name) > LABEL_LIMIT:
        return Emission((), (), (_note_length(gang),))
    nodes = lay_out_flat(gang.name, root)
    agreed = agree(gang, settings, row.name)
    spec: Fields = {"minMember": sum(least(node) for node in nodes)}
    if resources := sum_least(gang, nodes):
        spec["minResources"] = resources
    groups = (root, *(node.group for node in nodes))
    notes = (*check_quorums(*nodes), *_note_merged(root), *_note_keys(groups))
    return finish(gang, settings, agreed, spec, nodes, groups, notes)


def _note_length(gang: Gang) -> Note:
    message = f'pods name their group in a label, and "{gang.name}" has more than {LABEL_LIMIT} characters'
    hint = "Give the resource a shorter name, or name the gang with krmfn.dev/gang-group."
    return Note("link-too-long", ("metadata", "name"), message, hint=hint)


def _note_merged(root: Group) -> Iterator[Note]:
    """Where not all pods have to start, those that start may be of one group alone."""
    if isinstance(root, Composite) and not _is_whole(root):
        message = (
            "scheduler-plugins counts all pods of a gang together: its minimum may be met without pods of one group"
        )
        hint = "Use minCount: Replicas, or a scheduler that has groups of groups."
        yield Note("groups-merged", (), message, hint=hint)


def _is_whole(group: Group) -> bool:
    """Whether the group starts with all of its pods only."""
    if isinstance(group, Leaf):
        return group.min_count == group.pods
    return group.min_group_count == len(group.children) and all(map(_is_whole, group.children))


def _note_keys(groups: tuple[Group, ...]) -> Iterator[Note]:
    keys = sorted({group.topology_key for group in groups} - {""})
    if keys:
        message = f"PodGroups of scheduler-plugins have no topology: {', '.join(keys)} is left out"
        hint = "Keep the pods together by pod affinity in their template."
        yield Note("topology-lost", (), message, keys[0], None, hint)
