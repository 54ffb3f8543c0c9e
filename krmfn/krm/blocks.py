"""Reads an object in two parts, its head and its `spec`, and reads a `spec` that many objects share only once.

Holds where both parts are of the plainest kind (`line_reading`): neither can refer to the other then, so that the parts
make up the whole. Everything else gives None. Knows nothing about what a spec means.
"""

from __future__ import annotations

from krmfn.krm.errors import Unreadable
from krmfn.krm.line_reading import read_lines
from krmfn.krm.nodes import Mapping, Node, Scalar, Sequence
from krmfn.krm.places import column
from krmfn.krm.records import NamedTuple
from krmfn.krm.style import Style
from krmfn.krm.styling import detect_style
from krmfn.krm.values import to_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Block(NamedTuple):
    """The end of an object's text, from the line of `spec` on. Never changed: many objects have the same."""

    root: Mapping
    value: dict[str, Any]
    wide: bool


class Cut(NamedTuple):
    """Where the block of a text begins, in characters, and how many columns the head is indented per level."""

    offset: int
    step: int


#: Blocks that were read, by their text; trees are large, so the oldest are forgotten.
_KEPT = 256
_blocks: dict[str, Block] = {}


def read_in_parts(text: str, pad: int) -> tuple[dict[str, Any], Cut, int] | None:
    """The value of an object whose keys stand in column `pad`, where it is cut, and how many characters were new."""
    offset = text.find("\n" + " " * pad + "spec:\n") + 1
    head = read_lines(text[:offset]) if offset else None
    if not isinstance(head, Mapping):
        return None
    end = text[offset:]
    fresh = end not in _blocks
    block = find_block(end)
    step = _measure(head, text[:offset])
    if block is None or not step:
        return None
    try:
        value = to_value(head, text[:offset])
    except Unreadable:
        return None  # the whole text gives the place
    if not value.keys().isdisjoint(block.value):
        return None
    return value | block.value, Cut(offset, step), len(text) if fresh else offset


def find_block(text: str) -> Block | None:
    """The block of this text; None where it is not of the plainest kind."""
    block = _blocks.get(text)
    if block is None:
        root = read_lines(text)
        if not isinstance(root, Mapping):
            return None
        try:
            value = to_value(root, text)
        except Unreadable:
            return None
        block = Block(root, value, detect_style(text, root, False, "\n").wide)
        if len(_blocks) >= _KEPT:
            del _blocks[next(iter(_blocks))]
        _blocks[text] = block
    return block


def style_of(cut: Cut, block: Block, newline: str) -> Style:
    """How the whole text is written."""
    return Style(cut.step, block.wide, newline=newline)


def _measure(head: Mapping, text: str) -> int:
    """The columns per level, as `styling` finds them; 0 where lists in the head, or no field with fields, leave it open
    how the text looks."""
    step = 0
    todo: list[Node] = [head]
    while todo:
        node = todo.pop()
        if type(node) is Mapping:
            if node.pairs and not node.flow and not step and node is not head:
                step = column(text, node.pairs[0][0].start) - column(text, head.start)
            todo += [child for _, child in reversed(node.pairs) if type(child) is not Scalar]
        elif type(node) is Sequence and not node.flow:
            return 0
    return step
