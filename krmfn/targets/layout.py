"""From a tree to named groups that fit into the lists of a Workload, and to a list of groups, or one group for all
pods, where there are no trees (Kubernetes before 1.37). Knows what gets lost on the way; knows no spelling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from krmfn.model.findings import NoteTuple
from krmfn.model.names import LABEL_LIMIT, digest, name_group, shorten, slug
from krmfn.model.rules import tell
from krmfn.model.tree import Composite, DisruptionMode, Gang, Group, Leaf, leaves
from krmfn.model.values import Names
from krmfn.releases.release import Release, first_release
from krmfn.releases.spelling import Limits


class PlacedGroup(NamedTuple):
    """A group with its place. `path` holds the users' names from below the root to here; a *part* is a composite that
    exists only because a list was full, so it is in no path and the names below do not change when one appears."""

    group: Group
    path: Names
    children: tuple[PlacedGroup, ...] = ()
    part: bool = False
    template: str = ""
    name: str = ""


Rank = Callable[[Group], str]
Layouts = tuple[PlacedGroup, ...]


class TooLarge(Exception):
    """The tree cannot be described by one Workload; the message says which limit is in the way."""


def prune(group: Group) -> Group | None:
    """The tree without the leaves that have no pods, and without composites that have nothing left."""
    if isinstance(group, Leaf):
        return group if group.pods > 0 else None
    children = tuple(child for child in map(prune, group.children) if child)
    if not children:
        return None
    left, quorum = group._replace(children=children), group.min_group_count
    if quorum is None or quorum > group.width:
        return left
    return left._replace(min_group_count=min(quorum, left.width))


def lay_out(gang_name: str, root: Group, limits: Limits, rank: Rank | None = None) -> PlacedGroup:
    """The nested layout, with names; those of the groups in it begin with their rank. Raises TooLarge."""
    return assign_names(gang_name, _fit(root, (), 1, limits), rank)


def lay_out_whole(gang_name: str, root: Group) -> PlacedGroup:
    """The tree as it is, with names, for schedulers that have no limits."""
    return assign_names(gang_name, _place(root, ()))


def lay_out_flat(gang_name: str, root: Group) -> Layouts:
    """The leaves alone, under the names that they have in the nested layout."""
    return tuple(node for node in walk(lay_out_whole(gang_name, root)) if isinstance(node.group, Leaf))


def walk(*nodes: PlacedGroup) -> Iterator[PlacedGroup]:
    """The nodes and everything below them, parents first."""
    for node in nodes:
        yield node
        yield from walk(*node.children)


def _place(group: Group, path: Names) -> PlacedGroup:
    if isinstance(group, Leaf):
        return PlacedGroup(group, path)
    return PlacedGroup(group, path, tuple(_place(child, (*path, child.name)) for child in group.children))


def _fit(group: Group, path: Names, level: int, limits: Limits) -> PlacedGroup:
    """`group` as a node whose lists are not too long: the first groups stay where they are, so that adding one more
    changes the parent of none of them (a parent is immutable)."""
    if isinstance(group, Leaf):
        return PlacedGroup(group, path)
    if level > limits.levels:
        raise TooLarge(f"composite {group.name!r} would be on level {level}, and a Workload has {limits.levels}")
    width, composites = limits.composites, sum(isinstance(child, Composite) for child in group.children)
    below = level + (2 if composites > width else 1)
    nodes = [_fit(child, (*path, child.name), below, limits) for child in group.children]
    leaf_nodes = [node for node in nodes if isinstance(node.group, Leaf)]
    direct, spare = leaf_nodes[: limits.leaves], leaf_nodes[limits.leaves :]
    nested = [node for node in nodes if isinstance(node.group, Composite)]
    if composites > width:
        nested = [_part(path, index, chunk) for index, chunk in enumerate(_cut(nested, width))]
    nested += _share_out(group, path, spare, level, len(nested), limits)
    if len(nested) > width:
        raise TooLarge(f"{group.name!r} has {len(group.children)} groups")
    if len(direct) + len(nested) != len(group.children):
        if group.min_group_count != len(group.children):
            raise TooLarge(
                f"{group.name!r} has {len(group.children)} groups of which {group.min_group_count} have to start"
            )
        group = group._replace(min_group_count=len(direct) + len(nested))
    return PlacedGroup(group, path, (*direct, *nested))


def _share_out(
    group: Composite, path: Names, spare: list[PlacedGroup], level: int, first: int, limits: Limits
) -> list[PlacedGroup]:
    """Parts for the leaves that did not fit, beside the `first` composites that are there already: a full list of
    leaves in each part, then a full list of such parts below each of them."""
    if not spare:
        return []
    slots, leaves = limits.composites - first, limits.leaves
    deep = leaves * limits.composites if level + 2 <= limits.levels else 0
    room = slots * (leaves + deep) if level < limits.levels else 0
    if len(spare) > room:
        raise TooLarge(f"{group.name!r} has {len(group.children)} groups, but there is room for {leaves + room}")
    parts = []
    for index in range(min(slots, -(-len(spare) // leaves))):
        members = spare[index * leaves : (index + 1) * leaves]
        start = slots * leaves + index * deep
        chunks = enumerate(_cut(spare[start : start + deep], leaves))
        below = [_part(path, place, chunk, f"part-{first + index + 1}") for place, chunk in chunks]
        parts.append(_part(path, first + index, [*members, *below]))
    return parts


def _cut(nodes: list[PlacedGroup], length: int) -> list[list[PlacedGroup]]:
    """The nodes in lists of this length, the last of which may be shorter."""
    return [nodes[start : start + length] for start in range(0, len(nodes), length)]


def _part(path: Names, index: int, children: list[PlacedGroup], above: str = "") -> PlacedGroup:
    name = f"{above or 'part'}-{index + 1}"
    made = Composite(name, tuple(child.group for child in children), len(children))
    return PlacedGroup(made, (*path, name), tuple(children), part=True)


def assign_names(gang_name: str, root: PlacedGroup, rank: Rank | None = None) -> PlacedGroup:
    """Give every node the name of its template, unique in the tree, and of its object, with its rank.

    The users' groups come first, so a part never takes the name of one; of two groups that want the same name the
    later one gets a digest of its path behind it.
    """
    order = sorted(enumerate(walk(root)), key=lambda entry: entry[1].part)
    taken: dict[str, int] = {}
    templates: dict[int, str] = {}
    for index, node in order:
        wanted = shorten("-".join(map(slug, node.path)) or slug(root.group.name), LABEL_LIMIT)
        name = wanted
        while name in taken:
            taken[wanted] += 1
            name = shorten(f"{wanted}-{digest('/'.join(node.path) + f'#{taken[wanted]}')}", LABEL_LIMIT)
        taken[name] = 0
        templates[index] = name
    numbers = iter(range(len(order)))

    def rename(node: PlacedGroup) -> PlacedGroup:
        index = next(numbers)
        template = templates[index]
        name = gang_name
        if index:
            name = name_group(gang_name, f"{rank(node.group)}-{template}" if rank and not node.part else template)
        return node._replace(template=template, name=name, children=tuple(map(rename, node.children)))

    return rename(root)


def flatten(gang: Gang, name: str, release: Release, longest: int) -> tuple[Layouts, NoteTuple]:
    """The groups of `gang` side by side, `longest` at most, under names that begin with `name`, and what is to be said.

    A gang across resources becomes one group, because groups side by side do not wait for each other. The leader of
    a composite (its first group, where that is a single pod: Ray's head) gets policy basic, as KubeRay's own first
    design had it: on its own it waits for nobody.
    """
    root = gang.root
    if isinstance(root, Leaf):
        return (assign_names(name, PlacedGroup(root, ())),), ()
    if len(gang.owners) > 1:
        merged, notes = _merge(root)
        return (assign_names(name, PlacedGroup(merged, ())),), notes
    nodes = lay_out_flat(name, _push_down(root))
    if len(nodes) > longest:
        later = first_release("composite-groups")
        return (), (tell("groups-do-not-fit", (), "flat", len(nodes), longest, release=release, later=later),)
    if root.min_group_count is None:
        return nodes, _note_topology(root)  # they need not start together
    names, later = ", ".join(leaf.name for leaf in leaves(root)), first_release("composite-groups")
    apart = tell("groups-apart", (), release=release, names=names, later=later)
    notes = (apart, *_note_topology(root)) if len(nodes) > 1 else ()
    first = nodes[0].group
    if isinstance(first, Leaf) and first.pods == 1 and len(nodes) > 1:
        mode = "" if first.disruption_mode == "All" else first.disruption_mode
        nodes = (nodes[0]._replace(group=first._replace(min_count=None, disruption_mode=mode)), *nodes[1:])
    return nodes, notes


def _merge(root: Composite) -> tuple[Leaf, NoteTuple]:
    """All pods of the tree as one group. A topology key survives if it is the root's, or the same for all."""
    every = leaves(root)
    quorums = [leaf.min_count for leaf in every if leaf.min_count is not None]
    keys, modes = ({getattr(leaf, field) for leaf in every} for field in ("topology_key", "disruption_mode"))
    key = root.topology_key or (keys.pop() if len(keys) == 1 else "")
    mode = root.disruption_mode or (modes.pop() if len(modes) == 1 else "")
    lost = sorted(({leaf.topology_key for leaf in every} | _composite_keys(root)) - {key, ""})
    later = first_release("composite-groups")
    told = tell("topology-lost", (), "parts", lost[0], key or None, keys=", ".join(lost), later=later) if lost else None
    templates = tuple(template for leaf in every for template in leaf.templates)
    return Leaf(root.name, templates, sum(quorums) if quorums else None, key, mode), (told,) if told else ()


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


def _note_topology(root: Composite) -> NoteTuple:
    keys, later = ", ".join(sorted(_composite_keys(root) - {""})), first_release("composite-groups")
    return (tell("topology-loosened", (), keys=keys, later=later),) if keys else ()
