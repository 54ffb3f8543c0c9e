"""Splices that take a child out of a collection that has others. Gives edits (offset, length, text)."""

from __future__ import annotations

from krmfn.krm.nodes import Mapping, Node, Sequence
from krmfn.krm.places import (
    dash_of,
    entry_start,
    is_block_scalar,
    last_leaf,
    line_start,
    next_line,
    visible_end,
)

Edits = list[tuple[int, int, str]]


def remove_entry(text: str, holder: Mapping, place: int) -> Edits:
    """Take out a pair; the mapping has another one."""
    key, node = holder.pairs[place]
    if holder.flow:
        ends = [max(key.end, child.end) for key, child in holder.pairs]
        return _remove_from_flow([entry_start(text, pair[0]) for pair in holder.pairs], ends, place)
    return _remove_lines(text, entry_start(text, key), node, holder.pairs[place - 1][1] if place else None)


def remove_element(text: str, holder: Sequence, place: int) -> Edits:
    """Take out an element; the sequence has another one."""
    if holder.flow:
        items = holder.items
        return _remove_from_flow([child.start for child in items], [child.end for child in items], place)
    dash = dash_of(text, holder, place)
    return _remove_lines(text, dash, holder.items[place], holder.items[place - 1] if place else None)


def _remove_from_flow(starts: list[int], ends: list[int], place: int) -> Edits:
    if place + 1 < len(starts):
        return [(starts[place], starts[place + 1] - starts[place], "")]
    return [(ends[place - 1], ends[place] - ends[place - 1], "")]


def _remove_lines(text: str, start: int, node: Node, previous: Node | None) -> Edits:
    """Delete whole lines; what shares its first line with a dash leaves that dash to what follows."""
    leaf = last_leaf(node)
    end = leaf.end if is_block_scalar(leaf) and text[leaf.end - 1] == "\n" else next_line(text, visible_end(text, node))
    line = line_start(text, start)
    if text[line:start].strip():
        while text[end : end + 1] and text[end] in " \t\r\n":
            end += 1
        return [(start, end - start, "")]
    if previous is not None and is_block_scalar(last_leaf(previous)):
        # Blank lines and comments behind the deleted lines would become part of the scalar before them.
        while end < len(text) and text[end : next_line(text, end)].strip()[:1] in ("", "#"):
            end = next_line(text, end)
    if end == len(text) and not text.endswith("\n") and line:
        # The last line has no line break, and shall have none after the deletion.
        line -= 2 if text[line - 2 : line] == "\r\n" else 1
    return [(line, end - line, "")]
