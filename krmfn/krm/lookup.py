"""Finds the nodes at field paths: through aliases and merge keys, and the last of duplicate keys. Makes no values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from krmfn.krm.dialect import spell_key
from krmfn.krm.errors import Unreadable
from krmfn.krm.nodes import Alias, Mapping, Node, Parent, Scalar, Sequence, follow, is_merge
from krmfn.krm.paths import Path
from krmfn.krm.places import content_start


class Step(NamedTuple):
    """One step of a path: from the collection `holder` (aliases followed) to its child `node`, as written.

    `key` is the key's node in a mapping, None in a sequence; `place` is the index of the pair or element. A `merged`
    child comes out of a merge key of the holder: `key` and `place` are those of the `<<`.
    """

    holder: Parent
    place: int
    key: Node | None
    node: Node
    merged: bool


#: Steps, each from the node that the one before leads to.
Way = list[Step]


def read_key(key: Node) -> str | None:
    """The key as the API machinery spells it; None for a key that is null or not a scalar."""
    target = follow(key)
    if not isinstance(target, Scalar):
        return None
    if target.style and target.tag is None:
        return target.content
    try:
        return spell_key(target.content, target.tag)
    except Unreadable:
        return None


def find_child(node: Node, part: str | int) -> Step | None:
    """The step to the child that gives the value: the last of duplicates, merged ones included. None: there is none."""
    holder = follow(node)
    if isinstance(part, int):
        if isinstance(holder, Sequence) and 0 <= part < len(holder.items):
            return Step(holder, part, None, holder.items[part], False)
        return None
    if not isinstance(holder, Mapping):
        return None
    pairs = holder.pairs
    for place in range(len(pairs) - 1, -1, -1):
        key, child = pairs[place]
        if is_merge(key):
            merged = _find_merged(child, part)
            if merged is not None:
                return Step(holder, place, key, merged, True)
        elif read_key(key) == part:
            return Step(holder, place, key, child, False)
    return None


def _find_merged(node: Node, part: str) -> Node | None:
    for source in _list_merged(node):
        step = find_child(source, part)
        if step is not None:
            return step.node
    return None


def _list_merged(value: Node) -> Iterable[Node]:
    """The mappings that the value of a merge key names: one, or a list of them."""
    target = follow(value)
    return target.items if isinstance(target, Sequence) else [value]


def find_steps(root: Node, path: Path) -> Way:
    """The steps of `path` that exist; as long as the path when the value exists."""
    steps: Way = []
    node = root
    for part in path:
        step = find_child(node, part)
        if step is None:
            break
        steps.append(step)
        node = step.node
    return steps


def find_scalar(root: Node, path: Path, text: str) -> Scalar | None:
    """The scalar at `path`, with its spelling in `text` as its `source`; None for a collection, or for nothing."""
    steps = find_steps(root, path)
    if len(steps) != len(path):
        return None
    node = follow(steps[-1].node if steps else root)
    if not isinstance(node, Scalar):
        return None
    if any(isinstance(step.node, Alias) and step.node.origin is not None for step in steps):
        node.source = node.content  # its text is that of another object
    elif not node.source:
        node.source = text[content_start(text, node) : node.end]
    return node


def list_scalars(root: Node) -> Iterator[tuple[Path, Node, bool]]:
    """Every scalar with its path, and every key with that of its mapping (and True). In no order, duplicates included.

    An alias of an anchor in the text of the root is followed; any other is given as it is.
    """
    waiting: list[tuple[Path, Node]] = [((), root)]
    while waiting:
        path, written = waiting.pop()
        node = written if isinstance(written, Alias) and written.origin is not None else follow(written)
        if isinstance(node, Sequence):
            waiting += [((*path, index), child) for index, child in enumerate(node.items)]
        elif isinstance(node, Mapping):
            for key, child in node.pairs:
                yield path, key, True
                if is_merge(key):
                    waiting += [(path, each) for each in _list_merged(child)]
                else:
                    waiting.append(((*path, read_key(key) or ""), child))
        else:
            yield path, node, False


def find_place(root: Node, path: Path) -> int:
    """The offset of what `path` names, or of its nearest parent that exists: of the key in block style, and of the
    alias or merge key where one comes on the way."""
    steps = find_steps(root, path)
    for step in steps:
        if step.merged and step.key is not None:
            return step.key.start
        if isinstance(step.node, Alias):
            return step.node.start
    if not steps:
        return root.start
    last = steps[-1]
    if isinstance(last.node, Parent) and not last.node.flow and last.key is not None:
        return last.key.start
    return last.node.start
