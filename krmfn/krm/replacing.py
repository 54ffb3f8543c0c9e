"""Splices that put a value into a collection: replace a child, insert an entry, append an element.

Each function gives edits (offset, length, text). Knows style, not paths; sharing is somebody else's concern.
"""

from __future__ import annotations

from typing import Any

from krmfn.krm.errors import EditRefused
from krmfn.krm.nodes import Mapping, Node, Sequence
from krmfn.krm.places import (
    colon_after,
    column,
    content_start,
    dash_of,
    entry_start,
    first_dash,
    is_block_scalar,
    is_explicit,
    keeps_breaks,
    last_leaf,
    line_end,
    line_start,
    visible_end,
)
from krmfn.krm.style import Style
from krmfn.krm.styling import flow_style, is_multiline
from krmfn.krm.writing import (
    write_after_colon,
    write_block,
    write_entry,
    write_flow,
    write_indented,
    write_scalar,
)

Edits = list[tuple[int, int, str]]


def replace_child(text: str, holder: Mapping | Sequence, place: int, value: Any, style: Style) -> Edits:
    """Put `value` where the child at `place` is."""
    if isinstance(holder, Sequence):
        node = holder.items[place]
        if holder.flow:
            return _replace_in_flow(text, holder, node, value, style)
        return _replace_element(text, holder, place, value, style)
    key, node = holder.pairs[place]
    if not holder.flow:
        return _replace_value(text, key, node, value, style)
    if node.start == node.end and ":" not in text[key.end : node.start]:
        return [(key.end, 0, ": " + write_flow(value, flow_style(text, holder, style)))]
    return _replace_in_flow(text, holder, node, value, style)


def _replace_in_flow(text: str, holder: Mapping | Sequence, node: Node, value: Any, style: Style) -> Edits:
    flow = flow_style(text, holder, style)
    indent = column(text, node.start) - len(text[line_start(text, node.start) : node.start].lstrip())
    new = write_indented(value, flow, indent) if style.indented else write_flow(value, flow)
    # A flow indicator may stand right before an empty value, and a colon needs a blank behind it.
    blank = " " if text[node.start - 1] == ":" and not style.json else ""
    return [(node.start, node.end - node.start, blank + new)]


def _replace_element(text: str, holder: Sequence, place: int, value: Any, style: Style) -> Edits:
    node = holder.items[place]
    if node.start == node.end:
        dash = dash_of(text, holder, place)
        return [(dash + 1, 0, " " + write_block(value, style, column(text, dash) + 2))]
    return [(node.start, visible_end(text, node) - node.start, write_block(value, style, column(text, node.start)))]


def is_collection_node(node: Node) -> bool:
    """Whether a node is a mapping or a sequence."""
    return isinstance(node, Mapping | Sequence)


def _replace_value(text: str, key: Node, node: Node, value: Any, style: Style) -> Edits:
    colon = colon_after(text, key)
    end = visible_end(text, node)
    if colon < 0 or is_explicit(text, key):
        if node.start == node.end or "\n" in text[node.start : end]:
            raise EditRefused("the key is written with `?`")
        return [(node.start, end - node.start, write_flow(value, style))]
    after = colon + 1
    new = write_after_colon(value, style, column(text, key.start))
    block = new[0] in "\r\n"
    if node.start == node.end:
        end = after
    elif "\n" in text[after : node.start]:
        key_line = line_end(text, after)
        if is_collection_node(node):
            end = line_end(text, end)  # with a comment behind its last line
        if block:
            return [(key_line, end - key_line, new)]
        return [(after, 0, new), (key_line, end - key_line, "")]
    if not block:
        if node.start == node.end:
            return [(after, 0, new)]
        return [(node.start, end - node.start, new[1:])]
    rest = line_end(text, end)
    if text[end:rest].strip():  # a comment stays on the line of its key
        return [(after, end - after, ""), (rest, 0, new)]
    return [(after, rest - after, new)]


def insert_entry(text: str, holder: Mapping, key: str, value: Any, style: Style) -> Edits:
    """Put a new key behind the last one."""
    if holder.flow:
        return _insert_in_flow(text, holder, key, value, style)
    last_key, last = holder.pairs[-1]
    start = entry_start(text, last_key)
    indent = column(text, start)
    entry = write_entry(key, value, style, indent)
    offset, before, behind = find_line_behind(text, last, style.newline)
    if offset < 0:  # a block scalar ends the text without a line break: one behind it would belong to it
        return [(start, 0, entry + style.newline + " " * indent)]
    return [(offset, 0, before + " " * indent + entry + behind)]


def find_line_behind(text: str, node: Node, newline: str) -> tuple[int, str, str]:
    """Where lines behind a node go, and what to write before and behind them; offset -1: nowhere."""
    leaf = last_leaf(node)
    if is_block_scalar(leaf):
        if not text.endswith("\n") and leaf.end >= len(text.rstrip(" \t")):
            return -1, "", ""
        if keeps_breaks(text, leaf):
            return (leaf.end, "", newline) if text[leaf.end - 1] == "\n" else (-1, "", "")
    return line_end(text, visible_end(text, node)), newline, ""


def insert_element(text: str, holder: Sequence, value: Any, style: Style) -> Edits:
    """Put a new element behind the last one."""
    if holder.flow:
        return _insert_in_flow(text, holder, None, value, style)
    indent = column(text, first_dash(text, holder))
    offset, before, behind = find_line_behind(text, holder.items[-1], style.newline)
    if offset < 0:
        raise EditRefused("the last element is a block scalar without a line break at its end")
    return [(offset, 0, before + " " * indent + "- " + write_block(value, style, indent + 2) + behind)]


def _insert_in_flow(text: str, holder: Mapping | Sequence, key: str | None, value: Any, style: Style) -> Edits:
    flow = flow_style(text, holder, style)
    children = [child for _, child in holder.pairs] if isinstance(holder, Mapping) else holder.items
    opening = content_start(text, holder)
    if not children:
        whole: Any = [value] if key is None else {key: value}
        indent = column(text, opening) - len(text[line_start(text, opening) : opening].lstrip())
        new = write_indented(whole, flow, indent) if style.indented else write_flow(whole, flow)
        return [(opening, holder.end - opening, new)]
    last = children[-1]
    offset = max(last.end, holder.pairs[-1][0].end) if isinstance(holder, Mapping) else last.end
    name = "" if key is None else write_scalar(key, flow.json) + flow.colon
    if not is_multiline(text, holder):
        return [(offset, 0, flow.comma + name + write_flow(value, flow))]
    first = holder.pairs[-1][0] if isinstance(holder, Mapping) else last
    indent = column(text, first.start)
    return [(offset, 0, "," + style.newline + " " * indent + name + write_indented(value, flow, indent))]
