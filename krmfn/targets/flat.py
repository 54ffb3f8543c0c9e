"""A tree where there are no trees (Kubernetes before 1.37): a list of groups, or one group for all pods.

Knows what gets lost on the way; knows no spelling.
"""

from __future__ import annotations

from typing import NamedTuple

from krmfn.model.findings import Note
from krmfn.model.tree import Composite, DisruptionMode, Gang, Group, Leaf, leaves
from krmfn.releases.release import Release, first_release
from krmfn.targets.layout import PlacedGroup, assign_names, lay_out_flat, prune


class Flat(NamedTuple):
    """The groups with their names, all of them leaves, and what there is to say."""

    nodes: tuple[PlacedGroup, ...]
    notes: tuple[Note, ...]


def flatten(gang: Gang, name: str, release: Release, longest: int) -> Flat:
    """The groups of `gang` side by side, `longest` at most, under names that begin with `name`.

    A gang across resources becomes one group, because groups side by side do not wait for each other. The leader of
    a composite (its first group, where that is a single pod: Ray's head) gets policy basic, as KubeRay's own first
    design had it: on its own it waits for nobody.
    """
    root = prune(gang.root)
    if root is None:
        return Flat((), ())
    if isinstance(root, Leaf):
        return Flat((assign_names(name, PlacedGroup(root, ())),), ())
    if len(gang.owners) > 1:
        merged, notes = _merge(root)
        return Flat((assign_names(name, PlacedGroup(merged, ())),), notes)
    nodes = lay_out_flat(name, _push_down(root))
    if len(nodes) > longest:
        message = f"the gang has {len(nodes)} groups, but a Workload of Kubernetes {release} can have only {longest}"
        later = first_release("composite-groups")
        hint = f"Use granularity Cluster (one group for all pods), or Kubernetes {later}, where groups can be nested."
        return Flat((), (Note("groups-do-not-fit", (), message, len(nodes), longest, hint),))
    if root.min_group_count is None:
        return Flat(nodes, _note_topology(root))  # they need not start together
    notes = (_note_apart(root, release), *_note_topology(root)) if len(nodes) > 1 else ()
    first = nodes[0].group
    if isinstance(first, Leaf) and first.pods == 1 and len(nodes) > 1:
        if first.disruption_mode == "All":
            first = first._replace(disruption_mode="")
        nodes = (nodes[0]._replace(group=first._replace(min_count=None)), *nodes[1:])
    return Flat(nodes, notes)


def _merge(root: Composite) -> tuple[Leaf, tuple[Note, ...]]:
    """All pods of the tree as one group. A topology key survives if it is the root's, or the same for all."""
    every = leaves(root)
    quorums = [leaf.min_count for leaf in every if leaf.min_count is not None]
    keys, modes = ({getattr(leaf, field) for leaf in every} for field in ("topology_key", "disruption_mode"))
    key = root.topology_key or (keys.pop() if len(keys) == 1 else "")
    mode = root.disruption_mode or (modes.pop() if len(modes) == 1 else "")
    lost = sorted(({leaf.topology_key for leaf in every} | _composite_keys(root)) - {key, ""})
    notes: tuple[Note, ...] = ()
    if lost:
        hint = f"Use Kubernetes {first_release('composite-groups')}"
        message = f"one group for all pods cannot keep each part in a domain of {', '.join(lost)}"
        notes = (Note("topology-lost", (), message, lost[0], key or None, f"{hint} with granularity Group."),)
    templates = tuple(template for leaf in every for template in leaf.templates)
    return Leaf(root.name, templates, sum(quorums) if quorums else None, key, mode), notes


def _composite_keys(group: Group) -> set[str]:
    if isinstance(group, Leaf):
        return set()
    return {group.topology_key}.union(*(_composite_keys(child) for child in group.children))


def _push_down(root: Composite) -> Group:
    """Give the topology key and the mode of a composite to the groups below that have none of their own."""

    def give(group: Group, key: str, mode: DisruptionMode) -> Group:
        key, mode = group.topology_key or key, group.disruption_mode or mode
        if isinstance(group, Leaf):
            return group._replace(topology_key=key, disruption_mode=mode)
        return group._replace(children=tuple(give(child, key, mode) for child in group.children))

    return give(root, "", "")


def _note_apart(root: Composite, release: Release) -> Note:
    names = ", ".join(leaf.name for leaf in leaves(root))
    message = (
        f"on Kubernetes {release} the groups {names} are scheduled independently: one may occupy its nodes while "
        "another never fits"
    )
    later = first_release("composite-groups")
    hint = f"Use granularity Cluster, or Kubernetes {later}, where the groups form one tree."
    return Note("groups-apart", (), message, hint=hint)


def _note_topology(root: Composite) -> tuple[Note, ...]:
    keys = sorted(_composite_keys(root) - {""})
    if not keys:
        return ()
    message = f"each group stays in one domain of {', '.join(keys)}, but together they may be spread over several"
    hint = f"Use granularity Cluster, or Kubernetes {first_release('composite-groups')}."
    return (Note("topology-loosened", (), message, hint=hint),)
