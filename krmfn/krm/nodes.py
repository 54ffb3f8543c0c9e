"""The light tree of a text: scalars, mappings, sequences and aliases with their offsets. No values, no edits.

Offsets count characters of the text that was read. `start` includes an anchor or tag in front; `end` is the end of
the content itself: a block collection ends with its last child, not at the next token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as Children
from typing import Any

#: The tag of numbers in JSON: other than in YAML, the type of their value follows the spelling (`1.0` is a float).
NUMBER_TAG = "json:number"
#: How many levels a document may have, aliases followed: Kubernetes needs a tenth, and Python's stack is finite.
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


class LazyChildren:
    """Children that are made one by one, when somebody asks for them, and then kept."""

    __slots__ = ("_made", "_make", "_rows")

    def __init__(self, rows: list[Any], make: Callable[[Any], Any]) -> None:
        """`rows` are what the children are made from, each by `make`."""
        self._rows = rows
        self._made: list[Any] = [None] * len(rows)
        self._make = make

    def __len__(self) -> int:
        """How many children there are."""
        return len(self._made)

    def __getitem__(self, place: int) -> Any:
        """The child at a place, always the same object. Raises IndexError."""
        child = self._made[place]
        if child is None:
            child = self._made[place] = self._make(self._rows[place])
        return child

    def __iter__(self) -> Iterator[Any]:
        """All children in their order."""
        return map(self.__getitem__, range(len(self._made)))


class Parent(Node):
    """A mapping or sequence. `height`: the number of levels in it, aliases followed; 1 with nothing but scalars."""

    __slots__ = ("children", "flow", "height")

    def __init__(self, start: int, end: int, anchor: str | None, tag: str | None, flow: bool) -> None:
        """An empty collection, to be filled."""
        super().__init__(start, end, anchor, tag)
        self.flow = flow
        self.height = 1
        #: A list, or LazyChildren.
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
    """A use of an anchor. `target` is what the anchor stands for, never an alias itself.

    Where another part of the document defines the anchor, `origin` is the byte of the source at which that part begins,
    and the offsets of the target are those of its text; None where the target is in this text.
    """

    __slots__ = ("name", "origin", "target")

    def __init__(self, start: int, end: int, name: str, target: Node, origin: int | None) -> None:
        """An alias that has been resolved."""
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


def walk(root: Node) -> Iterator[Node]:
    """All nodes of a text in its order; an alias counts, what it stands for does not."""
    return (node for node, _, _ in walk_places(root))


def walk_places(root: Node) -> Iterator[tuple[Node, Parent | None, int]]:
    """Like `walk`, with the collection that each node is in, and the index of its pair or element: -1 for a key."""
    waiting: list[tuple[Node, Parent | None, int]] = [(root, None, 0)]  # the next node is the last one
    while waiting:
        node, holder, index = waiting.pop()
        yield node, holder, index
        if isinstance(node, Mapping):
            for index in range(len(node.pairs) - 1, -1, -1):
                key, child = node.pairs[index]
                waiting += [(child, node, index), (key, node, -1)]
        elif isinstance(node, Sequence):
            waiting += [(node.items[index], node, index) for index in range(len(node.items) - 1, -1, -1)]
