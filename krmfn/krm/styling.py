"""Finds out how a text is written, so that an edit looks like its neighbours. Reads, never edits."""

from __future__ import annotations

from krmfn.krm.nodes import Mapping, Node, Scalar, Sequence, walk
from krmfn.krm.places import column, entry_start, first_dash, line_start
from krmfn.krm.style import Style


def detect_style(text: str, root: Node, json: bool, newline: str) -> Style:
    """The style of a whole text: indentation step and dashes of blocks, separators of JSON."""
    style = Style(json=json, newline=newline)
    if json:
        _detect_json(text, root, style)
        return style
    stepped = dashed = False
    for node in walk(root):
        if not isinstance(node, Mapping) or node.flow:
            continue
        for key, child in node.pairs:
            if isinstance(child, Sequence) and not child.flow and not dashed:
                offset = column(text, first_dash(text, child)) - column(text, entry_start(text, key))
                style.wide = offset > 0
                dashed = True
            elif isinstance(child, Mapping) and not child.flow and child.pairs and not stepped:
                inner = column(text, entry_start(text, child.pairs[0][0]))
                style.step = max(1, inner - column(text, entry_start(text, key)))
                stepped = True
        if stepped and dashed:
            break
    return style


def _detect_json(text: str, root: Node, style: Style) -> None:
    """Separators from the first pair, the step from the first key that begins a line."""
    if not isinstance(root, Mapping) or not root.pairs:
        return
    key, child = root.pairs[0]
    style.colon = ":" + " " * (text[key.end : child.start].endswith(" "))
    indent = key.start - line_start(text, key.start)
    if is_multiline(text, root):
        closing = column(text, root.end - 1)
        style.step = max(1, indent - closing)
        style.indented = True
    elif len(root.pairs) > 1:
        style.comma = "," + " " * text[child.end : root.pairs[1][0].start].endswith(" ")
    else:
        style.comma = ", " if style.colon == ": " else ","


def flow_style(text: str, node: Mapping | Sequence, style: Style) -> Style:
    """The style of one flow collection inside YAML: strings in double quotes where its neighbours have them."""
    if style.json:
        return style
    quoted = isinstance(node, Mapping) and any(isinstance(key, Scalar) and key.style == '"' for key, _ in node.pairs)
    comma, colon = style.comma, style.colon
    if isinstance(node, Mapping) and quoted and node.pairs:
        key, child = node.pairs[0]
        colon = ": " if text[key.end : child.start].endswith(" ") else ":"
        comma = ", " if colon == ": " else ","
        if len(node.pairs) > 1:
            comma = ", " if text[child.end : node.pairs[1][0].start].endswith(" ") else ","
    return Style(style.step, style.wide, quoted, style.newline, comma, colon)


def is_multiline(text: str, node: Mapping | Sequence) -> bool:
    """Whether a flow collection has its children on lines of their own."""
    children = [key for key, _ in node.pairs] if isinstance(node, Mapping) else node.items
    last = children[-1] if children else None
    return (
        last is not None
        and not text[line_start(text, last.start) : last.start].strip()
        and (line_start(text, last.start) > node.start)
    )
