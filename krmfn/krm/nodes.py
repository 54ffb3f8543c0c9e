"""The light tree of a text: scalars, mappings, sequences and aliases with their offsets. No values, no edits.

Offsets count characters of the text that was read. `start` includes an anchor or tag in front; `end` is the end of
the content itself: a block collection ends with its last child, not at the next token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as Children
from typing import Any

#: Tells numbers of JSON apart from YAML's: the type of their value follows the spelling (`1.0` is a float).
NUMBER_TAG = "json:number"
#: Deeper documents are refused, aliases followed: nothing in Kubernetes comes near, and Python's stack is finite.
MAX_DEPTH = 200


class Node:
    """What all nodes share."""

    __slots__ = ("anchor", "end", "start", "tag")

    def __init__(self, start: int, end: int, anchor: str | None, tag: str | None) -> None:
        """`tag` is the explicit tag in its long form, None when there is none."""
        self.start = start
        self.end = end
        self.anchor = anchor
        self.tag = tag


class Scalar(Node):
    """A scalar. `content` is the text without quotes, escapes and folding; `style` is '', '"', "'", '|' or '>'.

    For JSON, and for everything whose spelling matters (`1.0` or `1e3`), `source` is the text as it stands.
    """

    __slots__ = ("content", "source", "style")

    def __init__(self, start: int, end: int, anchor: str | None, tag: str | None, content: str, style: str) -> None:
        """`source` is filled in by whoever hands a scalar out."""
        super().__init__(start, end, anchor, tag)
        self.content = content
        self.style = style
        self.source = ""


class Later:
    """Children that are made one by one, when somebody asks for them."""

    __slots__ = ("_made", "_make", "_rows")

    def __init__(self, rows: list[Any], make: Callable[[Any], Any]) -> None:
        """`make` makes the child of a row."""
        self._rows = rows
        self._made: list[Any] = [None] * len(rows)
        self._make = make

    def __len__(self) -> int:
        """How many children there are."""
        return len(self._made)

    def __getitem__(self, place: int) -> Any:
        """The child at a place; always the same."""
        child = self._made[place]
        if child is None:
            child = self._made[place] = self._make(self._rows[place])
        return child

    def __iter__(self) -> Iterator[Any]:
        """All children in their order."""
        return map(self.__getitem__, range(len(self._made)))


class Parent(Node):
    """A mapping or sequence. `height` is the number of levels in it, aliases followed: 1 where all children are
    scalars."""

    __slots__ = ("children", "flow", "height")

    def __init__(self, start: int, end: int, anchor: str | None, tag: str | None, flow: bool) -> None:
        """An empty collection, to be filled."""
        super().__init__(start, end, anchor, tag)
        self.flow = flow
        self.height = 1
        #: A list, or Later.
        self.children: Any = []

    @property
    def pairs(self) -> Children[tuple[Node, Node]]:
        """Keys and values of a mapping."""
        pairs: Children[tuple[Node, Node]] = self.children
        return pairs

    @property
    def items(self) -> Children[Node]:
        """The elements of a sequence."""
        items: Children[Node] = self.children
        return items


class Mapping(Parent):
    """Pairs in the order of the text, duplicates and merge keys included."""

    __slots__ = ()


class Sequence(Parent):
    """Elements in the order of the text."""

    __slots__ = ()


class Alias(Node):
    """A use of an anchor. `target` is a node of another text where `origin` is set: the byte of the source at which
    the part of the document begins that defines it. Offsets of such a node mean nothing here."""

    __slots__ = ("name", "origin", "target")

    def __init__(self, start: int, end: int, name: str, target: Node, origin: int | None) -> None:
        """An alias that has been resolved; the target is no alias."""
        super().__init__(start, end, None, None)
        self.name = name
        self.target = target
        self.origin = origin


def follow(node: Node) -> Node:
    """The node itself, or what an alias stands for."""
    return node.target if isinstance(node, Alias) else node


def is_merge(key: Node) -> bool:
    """Whether a key is the merge key `<<` (plain, or tagged `!!merge` or `!`)."""
    return (
        isinstance(key, Scalar)
        and key.content == "<<"
        and ((not key.style and key.tag is None) or key.tag in ("!", "tag:yaml.org,2002:merge"))
    )


def walk(node: Node) -> Iterator[Node]:
    """All nodes of a text in its order, aliases themselves but not what they mean."""
    return (place[0] for place in walk_places(node))


def walk_places(root: Node) -> Iterator[tuple[Node, Parent | None, int]]:
    """Like `walk`, with the collection that each node is in, and its place there: -1 for a key."""
    todo: list[tuple[Node, Parent | None, int]] = [(root, None, 0)]
    while todo:
        found = todo.pop()
        yield found
        node = found[0]
        if isinstance(node, Mapping):
            for place in range(len(node.pairs) - 1, -1, -1):
                key, child = node.pairs[place]
                todo += [(child, node, place), (key, node, -1)]
        elif isinstance(node, Sequence):
            todo += [(node.items[place], node, place) for place in range(len(node.items) - 1, -1, -1)]
