"""The light tree of a text: scalars, mappings, sequences and aliases with their offsets. No values, no edits.

Offsets count characters of the text that was read. `start` includes an anchor or tag in front; `end` is the end of
the content itself: a block collection ends with its last child, not at the next token.
"""

from __future__ import annotations

#: Tells numbers of JSON apart from YAML's: the type of their value follows the spelling (`1.0` is a float).
NUMBER_TAG = "json:number"


class Node:
    """What all nodes share. The constructors below repeat the fields: they run once per word of a manifest."""

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
        self.start = start
        self.end = end
        self.anchor = anchor
        self.tag = tag
        self.content = content
        self.style = style
        self.source = ""


class Mapping(Node):
    """A mapping: pairs in the order of the text, duplicates and merge keys included."""

    __slots__ = ("flow", "pairs")

    def __init__(self, start: int, end: int, anchor: str | None, tag: str | None, flow: bool) -> None:
        """An empty mapping, to be filled."""
        self.start = start
        self.end = end
        self.anchor = anchor
        self.tag = tag
        self.flow = flow
        self.pairs: list[tuple[Node, Node]] = []


class Sequence(Node):
    """A sequence."""

    __slots__ = ("flow", "items")

    def __init__(self, start: int, end: int, anchor: str | None, tag: str | None, flow: bool) -> None:
        """An empty sequence, to be filled."""
        self.start = start
        self.end = end
        self.anchor = anchor
        self.tag = tag
        self.flow = flow
        self.items: list[Node] = []


class Alias(Node):
    """A use of an anchor. `target` may be a node of another text (`outside`), whose offsets mean nothing here."""

    __slots__ = ("name", "outside", "target")

    def __init__(self, start: int, end: int, name: str, target: Node, outside: bool) -> None:
        """An alias that has been resolved."""
        super().__init__(start, end, None, None)
        self.name = name
        self.target = target
        self.outside = outside


def follow(node: Node) -> Node:
    """The node itself, or what an alias stands for."""
    while isinstance(node, Alias):
        node = node.target
    return node


def is_merge(key: Node) -> bool:
    """Whether a key is the merge key `<<` (plain, or tagged `!!merge`)."""
    return (
        isinstance(key, Scalar)
        and key.content == "<<"
        and ((not key.style and key.tag is None) or key.tag == "tag:yaml.org,2002:merge")
    )
