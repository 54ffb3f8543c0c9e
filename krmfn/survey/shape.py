"""From the tree of a resource to the tree of its gang: how fine it is, its quorums, topology keys and disruption modes;
and several such trees as one. Knows the options and the tree, no manifest and no release.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from krmfn.config import GangOptions
from krmfn.krm.results import ResourceRef
from krmfn.model.findings import Note, Notes, NoteTuple
from krmfn.model.podnumber import divide
from krmfn.model.rules import tell
from krmfn.model.tree import Composite, DisruptionMode, Group, Leaf, PodTemplate, leaves
from krmfn.model.values import group_by
from krmfn.model.wording import find_nearest
from krmfn.model.wording import join as join_words
from krmfn.sources.slices import list_sliced

_GANG_GROUP = ("metadata", "annotations", "krmfn.dev/gang-group")


class Shaped(NamedTuple):
    """The tree of a gang and what there is to say. The paths of notes are in the resource's manifest."""

    group: Group
    notes: NoteTuple = ()


class SharingResource(NamedTuple):
    """A resource that shares a gang: its shaped tree and its options."""

    ref: ResourceRef
    group: Group
    options: GangOptions


class Joined(NamedTuple):
    """The tree over several resources. Every note stands with the index of the resource that it is about."""

    group: Group
    naming: str
    notes: tuple[tuple[int, Note], ...] = ()


def shape(group: Group, options: GangOptions) -> Shaped:
    """Apply `options` to the tree of one resource.

    Granularity Cluster makes one leaf of all, named like the root. With Group the leaves stay, and the root waits for
    all of them. Replicas of all roles are never one gang. A root that waits for none (policy basic) stays so: its
    groups cannot start together. A quorum that is more than the pods is left to the target, which refuses it.
    """
    every = leaves(group)
    found = (*_check_number(every, options), *_note_keys(every, options, [leaf.name for leaf in every]))
    if isinstance(group, Composite) and group.whole:
        return Shaped(_gather(group, options), (*found, *_note_minima(every, options)))
    if options.nested and any(leaf.number if options.slices else leaf.by for leaf in every):
        return Shaped(_nest(group, options), (*found, *_note_minima(every, options)))
    if options.granularity == "Replica" and any(leaf.by for leaf in every):
        return Shaped(_split(group, options), found)
    group = _forget_replicas(group)
    apart = isinstance(group, Composite) and group.min_group_count is None
    alone = every[0].name if len(every) == 1 else ""  # a tree of one group is no tree
    merged = _merge(group) if (options.granularity == "Cluster" or alone) and not apart else group
    if isinstance(merged, Leaf):
        if isinstance(options.min_count, int):
            merged = merged._replace(min_count=options.min_count)
        key = options.group_topology_keys.get(alone, options.topology_key)
        notes = (*_note_keys(every, options, (alone,)), *_note_minima(every, options, merged=True))
        return Shaped(merged._replace(topology_key=key, disruption_mode=options.disruption_mode), notes)
    optional = [leaf for leaf in leaves(merged) if leaf.min_count == 0]
    left_out = (tell("group-not-guaranteed", leaf.templates[0].count_path, name=leaf.name) for leaf in optional)
    found = (*found, *left_out, *_note_minima(every, options))
    refined = _refine(merged, options)
    if options.min_groups is not None and isinstance(refined, Composite) and not apart:
        refined = refined._replace(min_group_count=options.min_groups)
    return Shaped(refined._replace(topology_key=options.topology_key), found)


def join(name: str, members: Sequence[SharingResource]) -> Joined:
    """One gang called `name` over the trees of `members`, in their order; pod templates get the index as owner.

    When no member wants granularity Group, all pods are one leaf. Otherwise the trees become the children of one root
    that waits for all of them, called after their resources.
    """
    notes = [
        (index, tell("ordered-start-deadlock", _GANG_GROUP, "shared", kind=member.ref.kind))
        for index, member in enumerate(members)
        if isinstance(member.group, Composite) and member.group.min_group_count is None
    ]
    naming = "Revisioned" if any(member.options.naming == "Revisioned" for member in members) else "Stable"
    groups = [_own(member.group, index) for index, member in enumerate(members)]
    apart = any(member.options.granularity == "Group" or member.options.nested for member in members)
    keys = [group.topology_key for group in groups]
    modes = [group.disruption_mode for group in groups]
    if apart:
        children = tuple(
            group._replace(name=f"{member.ref.kind.lower()}-{member.ref.name}")
            for group, member in zip(groups, members, strict=True)
        )
        return Joined(_lift(Composite(name, children, len(children)), keys, modes), naming, tuple(notes))
    key = _agree(keys, "topology-key", notes)
    mode: Any = _agree(modes, "disruption-mode", notes)
    leaf = _merge(Composite(name, tuple(groups), None))
    return Joined(leaf._replace(topology_key=key, disruption_mode=mode), naming, tuple(notes))


def _merge(group: Group) -> Leaf:
    """All pods of the tree as one leaf that keeps the root's name and counts what the leaves count together."""
    if isinstance(group, Leaf):
        return group
    every = leaves(group)
    quorums = [leaf.min_count for leaf in every if leaf.min_count is not None]
    templates = tuple(template for leaf in every for template in leaf.templates)
    return Leaf(group.name, templates, max(sum(quorums), 1) if quorums else None)


def _split(group: Group, options: GangOptions) -> Group:
    """Groups side by side, none of which waits for another: for each leaf one, or one per replica of it."""
    every = _join_units(group)
    made = []
    for leaf in every:
        key = options.group_topology_keys.get(leaf.name, options.topology_key)
        part = leaf._replace(topology_key=key, disruption_mode=options.disruption_mode)
        if leaf.by:
            part = part._replace(min_count=leaf.size, templates=_bridge(leaf))
        if isinstance(options.min_count, int) and len(every) == 1:
            part = part._replace(min_count=options.min_count)
        made.append(part)
    return made[0] if isinstance(group, Leaf) else Composite(group.name, tuple(made), None)


def _bridge(leaf: Leaf) -> tuple[PodTemplate, ...]:
    """The templates, whose pods are linked when they are created."""
    return tuple(template._replace(bridged=True) for template in leaf.templates)


def _nest(group: Group, options: GangOptions) -> Group:
    """Slices, or replicas that wait for each other: below each role its pods in groups that a label tells apart. A
    single role is the root itself."""
    every = [leaf for leaf in leaves(group) if leaf.min_count != 0] if options.slices else _join_units(group)
    sliced = list_sliced(group, options.levels[0][1]) if options.slices else [leaf for leaf in every if leaf.by]
    alone = len(every) == 1
    children = tuple(_cut(leaf, options, alone) if leaf in sliced else _keep(leaf, options) for leaf in every)
    if alone:
        root = children[0]
    else:
        apart = isinstance(group, Composite) and group.min_group_count is None
        quorum = options.min_groups or (None if apart else len(children))
        root = Composite(group.name, children, quorum, disruption_mode=options.disruption_mode)
    return root._replace(name=group.name, topology_key=options.topology_key or root.topology_key)


def _join_units(group: Group) -> list[Leaf]:
    """The leaves with quorums; those that are parts of the same replicas are one, named like their unit."""
    units = group_by(_name_unit, (leaf for leaf in leaves(group) if leaf.min_count != 0))
    return [_join_unit(unit, parts) if len(parts) > 1 else parts[0] for unit, parts in units.items()]


def _name_unit(leaf: Leaf) -> str:
    return leaf.unit or leaf.name


def _join_unit(name: str, parts: list[Leaf]) -> Leaf:
    least = sum(part.min_count or 0 for part in parts)
    templates = tuple(template for part in parts for template in part.templates)
    return parts[0]._replace(name=name, templates=templates, min_count=least, number="")


def _gather(group: Composite, options: GangOptions) -> Composite:
    """A gang for each replica of all roles. In it the replicas of a unit are groups of their parts, of which so many
    are waited for as come first."""
    units = group_by(_name_unit, (_take_part(leaf, group.replicas, options) for leaf in leaves(group)))
    children = tuple(_stack(unit, parts, group.replicas, options) for unit, parts in units.items())
    quorum = options.min_groups or len(children)
    return Composite(group.name, children, quorum, options.topology_key, options.disruption_mode, group.replicas)


def _take_part(leaf: Leaf, wholes: int, options: GangOptions) -> Leaf:
    """The leaf with the quorum of one of its sets."""
    first = wholes * leaf.first if leaf.unit else leaf.replicas
    least = options.group_min_counts.get(leaf.name, (leaf.min_count or 0) // first)
    key, mode = options.group_topology_keys.get(leaf.name, ""), options.disruption_mode
    return leaf._replace(templates=_bridge(leaf), min_count=least, topology_key=key, disruption_mode=mode)


def _stack(unit: str, parts: list[Leaf], wholes: int, options: GangOptions) -> Group:
    """What a replica of all roles has of a unit: its only set, or its sets side by side."""
    sets, mode = parts[0].replicas, options.disruption_mode
    key = options.group_topology_keys.get(unit, "")
    one: Group = parts[0] if len(parts) == 1 else Composite("replica", tuple(parts), len(parts), "", mode, sets)
    if sets == wholes:
        return one if len(parts) == 1 else one._replace(name=unit, topology_key=key)
    return Composite(unit, (one,), options.group_min_counts.get(unit, parts[0].first), key, mode, wholes)


def _keep(leaf: Leaf, options: GangOptions) -> Leaf:
    """A role that is one group."""
    least, key = options.group_min_counts.get(leaf.name, leaf.min_count), options.group_topology_keys.get(leaf.name, "")
    return leaf._replace(min_count=least, topology_key=key, disruption_mode=options.disruption_mode, replicas=1, by="")


def _cut(leaf: Leaf, options: GangOptions, alone: bool) -> Composite:
    """The groups of a role: its slices, or its replicas, which have no topology key."""
    key, mode = options.group_topology_keys.get(leaf.name, ""), options.disruption_mode
    levels = options.levels or (("", leaf.size),)
    inner, size = levels[-1]
    by = divide(leaf.number, size) if options.slices else leaf.by
    made: Group = Leaf(_name_level(inner), _bridge(leaf), size, inner, mode, replicas=leaf.pods // size, by=by)
    for outer, pods in reversed(levels[:-1]):
        made = Composite(_name_level(outer), (made,), pods // size, outer, mode, leaf.pods // pods)
        size = pods
    least = options.min_count if isinstance(options.min_count, int) else leaf.min_count or leaf.pods
    quorum = options.group_min_counts.get(leaf.name) or (options.min_groups if alone else None) or -(-least // size)
    return Composite(leaf.name, (made,), quorum, key, mode)


def _name_level(key: str) -> str:
    """What the groups of a level are called: the last word of its topology key."""
    return key.rpartition("/")[2].lower() or "replica"


def _forget_replicas(group: Group) -> Group:
    """The tree in which all replicas of a leaf are one group."""
    if isinstance(group, Leaf):
        return group._replace(replicas=1, by="") if group.replicas != 1 or group.by else group
    return group._replace(children=tuple(map(_forget_replicas, group.children)))


def _refine(group: Group, options: GangOptions) -> Group:
    """The tree with the options of its leaves, without those that guarantee no pod.

    A composite that is disrupted as a whole needs children that are, so the mode goes everywhere.
    """
    if isinstance(group, Leaf):
        key = options.group_topology_keys.get(group.name, "")
        key = "" if key == options.topology_key else key  # the root's key holds for its leaves already
        least = options.group_min_counts.get(group.name, group.min_count)
        return group._replace(topology_key=key, disruption_mode=options.disruption_mode, min_count=least)
    children = tuple(
        _refine(child, options) for child in group.children if any(leaf.min_count != 0 for leaf in leaves(child))
    )
    if group.min_group_count is None:
        return group._replace(children=children)
    return group._replace(children=children, min_group_count=len(children), disruption_mode=options.disruption_mode)


def _check_number(every: Sequence[Leaf], options: GangOptions) -> Notes:
    if isinstance(options.min_count, int) and len(every) > 1:
        path = every[0].templates[0].count_path
        yield tell("min-count-for-groups", path, least=options.min_count, count=len(every))


def _note_keys(every: Sequence[Leaf], options: GangOptions, groups: Collection[str]) -> Notes:
    """Topology keys of groups that there are not, because nobody has them or all pods are one group."""
    known = {leaf.name: leaf for leaf in every}
    for name, key in options.group_topology_keys.items():
        if name in known and name not in groups:
            path = known[name].templates[0].count_path
            yield tell("group-topology-unused", path, "merged", key, name=name)
        elif name not in groups:
            yield tell("group-topology-unused", (), "", key, name=name, near=_suggest(name, known))


def _suggest(name: str, known: Collection[str]) -> str:
    """What a group may be called instead."""
    nearest = find_nearest(name, known)
    return f"Did you mean {nearest}?" if nearest else f"Its groups are {join_words(known)}."


def _note_minima(every: Sequence[Leaf], options: GangOptions, merged: bool = False) -> Notes:
    """Minima of groups that there are not, because nobody has them or all pods are one group (`merged`)."""
    known = [leaf.name for leaf in every]
    marks = ("metadata", "annotations")
    wanted = {f"krmfn.dev/min-count.{name}": name for name in options.group_min_counts}
    if options.min_groups is not None:
        wanted["krmfn.dev/min-groups"] = ""
    for mark, name in wanted.items():
        if name and name not in known:
            yield tell("minimum-unused", (*marks, mark), mark=mark, near=_suggest(name, known))
        elif merged:
            yield tell("minimum-unused", (*marks, mark), "merged", mark=mark)


def _own(group: Group, owner: int) -> Group:
    """The tree with `owner` in all of its pod templates."""
    if isinstance(group, Leaf):
        return group._replace(templates=tuple(template._replace(owner=owner) for template in group.templates))
    return group._replace(children=tuple(_own(child, owner) for child in group.children))


def _lift(root: Composite, keys: Sequence[str], modes: Sequence[DisruptionMode]) -> Composite:
    """Give the root what all of its children ask for; a topology key then holds for all of them together."""
    if len(set(keys)) == 1:
        children = tuple(child._replace(topology_key="") for child in root.children)
        root = root._replace(topology_key=keys[0], children=children)
    if len(set(modes)) == 1:
        root = root._replace(disruption_mode=modes[0])
    return root


def _agree(values: Sequence[str], what: str, notes: list[tuple[int, Note]]) -> str:
    """The one value that is not empty; a note for the first resource that wants another."""
    chosen = ""
    for index, value in enumerate(values):
        if not chosen:
            chosen = value
        elif value and value != chosen:
            path = ("metadata", "annotations", f"krmfn.dev/{what}")
            notes.append((index, tell("gang-group-conflict", path, "", value, chosen, what=what)))
            break
    return chosen
