"""From a tree to named groups that fit into the lists of a Workload. Knows no release: the limits are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from krmfn.model.names import LABEL_LIMIT, digest, name_group, shorten, slug
from krmfn.model.tree import Composite, Group, Leaf
from krmfn.releases.groups import Limits


class PlacedGroup(NamedTuple):
    """A group with its place. `path` holds the users' names from below the root to here; a *part* is a composite that
    exists only because a list was full, so it is in no path and the names below do not change when one appears."""

    group: Group
    path: tuple[str, ...]
    children: tuple[PlacedGroup, ...] = ()
    part: bool = False
    template: str = ""
    name: str = ""


Rank = Callable[[Group], str]


class TooLarge(Exception):
    """The tree cannot be described by one Workload; the message says which limit is in the way."""


def prune(group: Group) -> Group | None:
    """The tree without the leaves that have no pods, and without composites that have nothing left."""
    if isinstance(group, Leaf):
        return group if group.pods > 0 else None
    children = tuple(child for child in map(prune, group.children) if child)
    if not children:
        return None
    left = group._replace(children=children)
    quorum = group.min_group_count
    if quorum is not None:
        quorum = left.width if quorum == group.width else min(quorum, left.width) if quorum <= group.width else quorum
    return left._replace(min_group_count=quorum)


def lay_out(gang_name: str, root: Group, limits: Limits, rank: Rank | None = None) -> PlacedGroup:
    """The nested layout, with names; those of the groups in it begin with their rank. Raises TooLarge."""
    return assign_names(gang_name, _fit(root, (), 1, limits), rank)


def lay_out_whole(gang_name: str, root: Group) -> PlacedGroup:
    """The tree as it is, with names, for schedulers that have no limits."""
    return assign_names(gang_name, _place(root, ()))


def lay_out_flat(gang_name: str, root: Group) -> tuple[PlacedGroup, ...]:
    """The leaves alone, under the names that they have in the nested layout."""
    return tuple(node for node in walk(lay_out_whole(gang_name, root)) if isinstance(node.group, Leaf))


def walk(node: PlacedGroup) -> Iterator[PlacedGroup]:
    """`node` and everything below it, parents first."""
    yield node
    for child in node.children:
        yield from walk(child)


def _place(group: Group, path: tuple[str, ...]) -> PlacedGroup:
    if isinstance(group, Leaf):
        return PlacedGroup(group, path)
    return PlacedGroup(group, path, tuple(_place(child, (*path, child.name)) for child in group.children))


def _fit(group: Group, path: tuple[str, ...], level: int, limits: Limits) -> PlacedGroup:
    """`group` as a node whose lists are not too long: the first groups stay where they are, so that adding one more
    changes the parent of none of them (a parent is immutable)."""
    if isinstance(group, Leaf):
        return PlacedGroup(group, path)
    if level > limits.levels:
        raise TooLarge(f"composite {group.name!r} would be on level {level}, and a Workload has {limits.levels}")
    leaf_nodes = [PlacedGroup(child, (*path, child.name)) for child in group.children if isinstance(child, Leaf)]
    composites = [child for child in group.children if isinstance(child, Composite)]
    width = limits.composites
    direct, spare = leaf_nodes[: limits.leaves], leaf_nodes[limits.leaves :]
    nested: list[PlacedGroup] = []
    if len(composites) > width:
        for start in range(0, len(composites), width):
            below = [_fit(child, (*path, child.name), level + 2, limits) for child in composites[start : start + width]]
            nested.append(_part(group, path, len(nested), below))
    else:
        nested = [_fit(child, (*path, child.name), level + 1, limits) for child in composites]
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
    group: Composite, path: tuple[str, ...], spare: list[PlacedGroup], level: int, first: int, limits: Limits
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
        deeper = spare[start : start + deep]
        chunks = [deeper[place : place + leaves] for place in range(0, len(deeper), leaves)]
        below = [_part(group, path, place, chunk, f"part-{first + index + 1}") for place, chunk in enumerate(chunks)]
        parts.append(_part(group, path, first + index, [*members, *below]))
    return parts


def _part(
    group: Composite, path: tuple[str, ...], index: int, children: list[PlacedGroup], above: str = ""
) -> PlacedGroup:
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
        wanted = shorten("-".join(slug(part) for part in node.path) or slug(root.group.name), LABEL_LIMIT)
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
