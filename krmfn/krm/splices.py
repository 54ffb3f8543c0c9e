"""Splices of a text: replace a child of a collection, add one, take one out. Each function gives the edits.

Knows style, not paths; who else uses an anchor is somebody else's concern.
"""

from __future__ import annotations

import re
from collections.abc import Sequence as Children
from typing import Any

from krmfn.krm.errors import EditRefused
from krmfn.krm.nodes import Mapping, Node, Parent, Scalar, Sequence, is_merge
from krmfn.krm.places import (
    begins_line,
    block_header,
    column,
    content_start,
    dash_of,
    ending,
    entry_start,
    find_colon,
    first_dash,
    is_bare,
    is_block_scalar,
    last_leaf,
    line_end,
    line_start,
    lines_end,
    next_line,
    visible_end,
)
from krmfn.krm.style import Style, flow_style, is_multiline
from krmfn.krm.writing import write_after_colon, write_block, write_entry, write_flow, write_indented, write_scalar

#: What to put where: an offset, how many characters go, the text that comes.
Edits = list[tuple[int, int, str]]


def replace_child(text: str, holder: Parent, place: int, value: Any, style: Style) -> Edits:
    """Put `value` where the child at `place` is. Raises EditRefused for a key that no value can be put behind."""
    if isinstance(holder, Sequence):
        node = holder.items[place]
        if holder.flow:
            return _replace_in_flow(text, holder, node, value, style)
        return _replace_element(text, holder, place, value, style)
    key, node = holder.pairs[place]
    if not holder.flow:
        return _replace_value(text, key, node, value, style)
    if is_bare(text, key, node):
        if line_end(text, key.start) < key.end:
            raise EditRefused("the key is on several lines")
        return [(key.end, 0, ": " + write_flow(value, flow_style(text, holder, style)))]
    return _replace_in_flow(text, holder, node, value, style)


def _replace_in_flow(text: str, holder: Parent, node: Node, value: Any, style: Style) -> Edits:
    new = _write_at(text, node.start, value, flow_style(text, holder, style))
    # A flow indicator may stand right before an empty value, and a colon needs a blank behind it.
    blank = " " if text[node.start - 1] == ":" and not style.json else ""
    return [(node.start, node.end - node.start, blank + new)]


def _write_at(text: str, offset: int, value: Any, style: Style) -> str:
    """Spell a value in flow form for a place in the text, whose line is indented as its last line is to be."""
    if not style.indented:
        return write_flow(value, style)
    before = text[line_start(text, offset) : offset]
    return write_indented(value, style, len(before) - len(before.lstrip()))


def _replace_element(text: str, holder: Sequence, place: int, value: Any, style: Style) -> Edits:
    node = holder.items[place]
    if node.start == node.end:
        dash = dash_of(text, holder, place)
        return [(dash + 1, 0, " " + write_block(value, style, column(text, dash) + 2))]
    return [(node.start, visible_end(text, node) - node.start, write_block(value, style, column(text, node.start)))]


def _replace_value(text: str, key: Node, node: Node, value: Any, style: Style) -> Edits:
    colon = find_colon(text, key.end, line_end(text, key.end))
    end = visible_end(text, node)
    start = entry_start(text, key)
    if colon < 0 or start != key.start:  # behind a `?`
        deep = column(text, node.start) > column(text, start)
        if node.start == node.end or line_end(text, node.start) < end or not deep:
            raise EditRefused("the key is written with `?`")
        return [(node.start, end - node.start, write_flow(value, style))]
    after = colon + 1
    new = write_after_colon(value, style, column(text, key.start))
    block = new[0] in "\r\n"
    key_line = line_end(text, after)
    if node.start == node.end:
        end = after
    elif key_line < node.start:
        if isinstance(node, Parent):
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


def insert_entry(text: str, holder: Parent, key: str, value: Any, style: Style) -> Edits:
    """Put a new key behind the last one."""
    if holder.flow:
        return _insert_in_flow(text, holder, [(key, value)], style)
    last_key, _ = holder.pairs[-1]
    start = entry_start(text, last_key)
    indent = column(text, start)
    entry = write_entry(key, value, style, indent)
    end = lines_end(text, holder)
    if not begins_line(text, end) and is_block_scalar(last_leaf(text, holder)) and not is_merge(last_key):
        return [(start, 0, entry + style.newline + " " * indent)]  # a line break would become part of the scalar
    return insert_lines(text, holder, end, " " * indent + entry, style.newline)


def insert_elements(text: str, holder: Parent, values: Children[Any], style: Style) -> Edits:
    """Put new elements behind the last one."""
    if holder.flow:
        return _insert_in_flow(text, holder, [(None, value) for value in values], style)
    indent = column(text, first_dash(text, holder))
    lines = style.newline.join(" " * indent + "- " + write_block(value, style, indent + 2) for value in values)
    last = holder.items[-1]
    return insert_lines(text, last, lines_end(text, last), lines, style.newline)


def insert_lines(text: str, node: Node, end: int, lines: str, newline: str) -> Edits:
    """Put lines behind those of a node, at their `end`; a last line without a break stays the last one without."""
    if begins_line(text, end):
        return [(end, 0, lines + newline)]
    *edits, (offset, length, new) = end_line(text, node, newline)
    return [*edits, (offset, length, new + lines)]


def end_line(text: str, node: Node, newline: str) -> Edits:
    """Give the text, which ends in the last line of a node, a line break there that changes no value."""
    offset = len(text)
    leaf = last_leaf(text, node)
    if not isinstance(leaf, Scalar) or not is_block_scalar(leaf) or begins_line(text, lines_end(text, node)):
        return [(offset, 0, newline)]
    tail = line_start(text, offset)
    if not text[tail:offset].strip() and leaf.content[-1:] in ("", "\n"):
        return [(tail, offset - tail, "")]  # blanks that mean nothing, where a line would mean something
    header = block_header(text, leaf)
    if "-" in header:
        return [(offset, 0, newline)]
    # The last line of the scalar gets a break that it does not have.
    return [(content_start(text, leaf), len(header), header.replace("+", "") + "-"), (offset, 0, newline)]


def _insert_in_flow(text: str, holder: Parent, new: Children[tuple[str | None, Any]], style: Style) -> Edits:
    """Put pairs into a mapping, or elements (with the key None) into a sequence, behind the last one."""
    flow = flow_style(text, holder, style)
    opening = content_start(text, holder)
    if not holder.children:
        whole: Any = dict(new) if isinstance(holder, Mapping) else [value for _, value in new]
        return [(opening, holder.end - opening, _write_at(text, opening, whole, flow))]
    start, offset = _list_spans(text, holder)[-1]
    named = [("" if key is None else write_scalar(key, flow.json) + flow.colon, value) for key, value in new]
    pairs = "".join(flow.comma + name + write_flow(value, flow) for name, value in named)
    if text[opening] not in "{[":  # `[a: b]`: a pair without braces
        return [(opening, 0, "{"), (offset, 0, pairs + "}")]
    if not is_multiline(text, holder):
        return [(offset, 0, pairs)]
    indent = column(text, start)
    comma = "," + style.newline + " " * indent
    return [(offset, 0, "".join(comma + name + write_indented(value, flow, indent) for name, value in named))]


def remove_child(text: str, holder: Parent, place: int) -> Edits:
    """Take out a pair or an element; the collection has another one."""
    if holder.flow:
        return _remove_from_flow(text, _list_spans(text, holder), place)
    if isinstance(holder, Mapping):
        key, node = holder.pairs[place]
        start, end = entry_start(text, key), max(lines_end(text, node), lines_end(text, key))
    else:
        start, end = dash_of(text, holder, place), lines_end(text, holder.items[place])
    line = line_start(text, start)
    if text[line:start].strip() or (not line and start):  # behind a dash, where what follows takes its place
        while text[end : end + 1].isspace():
            end += 1
        return [(start, end - start, "")]
    before = last_leaf(text, ending(text, holder, place - 1)) if place else None
    if before is not None and is_block_scalar(before):
        return [(line, end - line, ""), *_part_from(text, before, end, start - line)]
    if not begins_line(text, end) and line:
        # The last line has no line break, and shall have none after the deletion.
        line -= 2 if text[line - 2 : line] == "\r\n" else 1
    return [(line, end - line, "")]


def _list_spans(text: str, holder: Parent) -> list[tuple[int, int]]:
    """Where each pair or element of a flow collection begins and ends."""
    if isinstance(holder, Mapping):
        return [(entry_start(text, key), max(key.end, child.end)) for key, child in holder.pairs]
    return [(node.start, node.end) for node in holder.items]


def _remove_from_flow(text: str, spans: list[tuple[int, int]], place: int) -> Edits:
    start, end = spans[place]
    if place + 1 < len(spans):
        return [(start, spans[place + 1][0] - start, "")]
    before = spans[place - 1][1]
    word = re.split(r"[\s,]", text[line_start(text, before) : before])[-1]
    # A tag without a value would go on with the bracket behind it.
    blank = " " if word.startswith("!") or "[!" in word or "{!" in word else ""
    return [(before, end - before, blank)]


def _part_from(text: str, scalar: Node, offset: int, indent: int) -> Edits:
    """Keep blank lines and comments that come to stand behind a block scalar from becoming lines of it."""
    edits: Edits = []
    keeps = "+" in block_header(text, scalar)
    while offset < len(text):
        end = line_end(text, offset)
        line = text[offset:end]
        behind = next_line(text, offset)
        if not line.strip():
            if line or keeps:
                edits.append((offset, behind - offset, ""))
        elif line.lstrip()[0] == "#":
            edits.append((offset, max(len(line) - len(line.lstrip()) - indent, 0), ""))
        else:
            break
        offset = behind
    return edits
