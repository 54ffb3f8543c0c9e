"""Anchors and their users: what an edit would change besides its own place. Knows one text and who is behind it."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.krm.nodes import Alias, Mapping, Node, Sequence, follow


def walk(node: Node) -> Iterator[Node]:
    """All nodes of a text in its order, aliases themselves but not what they stand for."""
    todo = [node]
    while todo:
        current = todo.pop()
        yield current
        if isinstance(current, Mapping):
            for key, child in reversed(current.pairs):
                todo += [child, key]
        elif isinstance(current, Sequence):
            todo += current.items[::-1]


def find_user(root: Node, shared: list[Node], region: tuple[int, int]) -> Alias | None:
    """The first alias outside `region` that stands for one of the `shared` nodes."""
    for node in walk(root):
        if (
            isinstance(node, Alias)
            and not node.outside
            and not region[0] <= node.start < region[1]
            and any(follow(node) is target for target in shared)
        ):
            return node
    return None


def list_anchored(node: Node) -> list[Node]:
    """The nodes in `node`, itself included, that carry an anchor."""
    return [child for child in walk(node) if child.anchor is not None]


def find_path_to(root: Node, wanted: Node) -> list[tuple[Node, int]] | None:
    """The collections and places that lead to a node: [(holder, place), …]; None for keys and for no such node."""
    todo: list[tuple[Node, list[tuple[Node, int]]]] = [(root, [])]
    while todo:
        node, way = todo.pop()
        if node is wanted:
            return way
        if isinstance(node, Mapping):
            todo += [(child, [*way, (node, place)]) for place, (_, child) in enumerate(node.pairs)]
        elif isinstance(node, Sequence):
            todo += [(child, [*way, (node, place)]) for place, child in enumerate(node.items)]
    return None
