"""Places in a text: lines, columns, the dash of an element, where a node's last line ends. Reads, never edits."""

from __future__ import annotations

from krmfn.krm.nodes import Mapping, Node, Parent, Scalar, Sequence

_BLANKS = " \t"
_RARE_BREAKS = "\x85\u2028\u2029"


def line_start(text: str, offset: int) -> int:
    """Offset of the first character of the line, as libyaml sees lines: a CR alone, NEL, LS and PS begin one, too."""
    start = text.rfind("\n", 0, offset) + 1
    place = text.rfind("\r", start, offset)
    if place >= 0 and text[place + 1 : place + 2] != "\n":
        start = place + 1
    return start if text.isascii() else max(start, *(text.rfind(sign, start, offset) + 1 for sign in _RARE_BREAKS))


def line_end(text: str, offset: int) -> int:
    """Offset of the line break that ends the line (of its CR in CRLF), or the end of the text."""
    end = len(text)
    for sign in "\n\r" if text.isascii() else "\n\r" + _RARE_BREAKS:
        found = text.find(sign, offset, end)
        end = end if found < 0 else found
    return end


def next_line(text: str, offset: int) -> int:
    """Offset of the first character of the next line, or the end of the text."""
    end = line_end(text, offset)
    return min(end + (2 if text.startswith("\r\n", end) else 1), len(text))


def begins_line(text: str, offset: int) -> bool:
    """Whether a line begins at an offset: the end of a text that ends in a line break counts."""
    return not offset or text[offset - 1] in "\n\r" + _RARE_BREAKS


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column of a character, both from 1. Lines end with LF, CR LF, or CR."""
    line = 1 + text.count("\n", 0, offset)
    start = text.rfind("\n", 0, offset) + 1
    if "\r" in text:
        line += text.count("\r", 0, offset) - text.count("\r\n", 0, offset + 1)
        start = max(start, text.rfind("\r", 0, offset) + 1)
    return line, offset - start + 1


def column(text: str, offset: int) -> int:
    """Column from 0."""
    return offset - line_start(text, offset)


def last_leaf(text: str, node: Node) -> Node:
    """The node whose text ends `node`."""
    while isinstance(node, Parent) and not node.flow and node.children:
        node = ending(text, node, -1)
    return node


def ending(text: str, holder: Parent, place: int) -> Node:
    """The node that ends an entry: its value, or the key if that is a block scalar with no colon behind it."""
    if isinstance(holder, Sequence):
        return holder.items[place]
    key, value = holder.pairs[place]
    return key if is_block_scalar(key) and is_bare(text, key, value) else value


def is_bare(text: str, key: Node, value: Node) -> bool:
    """Whether a key has neither a value nor a colon."""
    return value.start == value.end and find_colon(text, key.end, value.start) < 0


def is_block_scalar(node: Node) -> bool:
    """Whether a node is a literal or folded scalar."""
    return isinstance(node, Scalar) and node.style in ("|", ">")


def block_header(text: str, node: Node) -> str:
    """The sign of a block scalar with what stands directly behind it: `|`, `>2-`, `|+`."""
    start = content_start(text, node)
    end = start + 1
    while text[end : end + 1] and text[end] in "+-0123456789":
        end += 1
    return text[start:end]


def content_start(text: str, node: Node) -> int:
    """Offset behind a node's anchor and tag, which may stand on a line of their own."""
    offset = node.start
    while text[offset : offset + 1] in ("&", "!") and offset < node.end and (node.anchor or node.tag):
        while offset < node.end and not text[offset].isspace():
            offset += 1
        while offset < node.end and text[offset].isspace():
            offset += 1
    return offset


def visible_end(text: str, node: Node) -> int:
    """Offset behind the last character of a node, without the line break of a block scalar."""
    leaf = last_leaf(text, node)
    if is_block_scalar(leaf):
        end = lines_end(text, leaf)
        return line_end(text, line_start(text, end - 1)) if begins_line(text, end) else end
    return _end_of(text, node, leaf)


def _end_of(text: str, node: Node, leaf: Node) -> int:
    """As visible_end, of a node whose last leaf is no block scalar."""
    end = max(leaf.end, leaf.start)
    return max(_retreat(text, end), _last_key_end(text, node)) if leaf.start == leaf.end else end


def lines_end(text: str, node: Node) -> int:
    """Where the lines of a node end and others may begin: the start of a line, or the end of a text without a break.

    Empty lines behind a block scalar that mean nothing to it are not among its lines.
    """
    if node.end > node.start and not text[node.end - 1].isspace():
        return next_line(text, node.end)  # neither a block scalar ends it, nor an empty value that begins further on
    leaf = last_leaf(text, node)
    if not is_block_scalar(leaf):
        return next_line(text, _end_of(text, node, leaf))
    end = leaf.end
    if "+" not in block_header(text, leaf):
        first = next_line(text, content_start(text, leaf))
        while end > first and begins_line(text, end):
            start = line_start(text, end - 1)
            if line_end(text, start) != start:
                break
            end = start
    return end


def _last_key_end(text: str, node: Node) -> int:
    """Where the last key of what ends a node ends: a quoted one may have lines that look like comments."""
    end = 0
    while not isinstance(node, Scalar) and last_leaf(text, node) is not node:
        if isinstance(node, Mapping):
            key, node = node.pairs[-1]
            end = visible_end(text, key)
        elif isinstance(node, Sequence):
            node = node.items[-1]
    return end


def _retreat(text: str, offset: int) -> int:
    """From an empty value back over lines without content: that of `? key` is where the next token begins."""
    start = line_start(text, offset)
    while start and text[start:offset].lstrip(_BLANKS)[:1] in ("", "#", *"\r\n", *_RARE_BREAKS):
        offset = start - (2 if text[start - 2 : start] == "\r\n" else 1)
        start = line_start(text, offset)
    return offset


def entry_start(text: str, key: Node) -> int:
    """Offset of a block mapping's entry: of its key, or of the `?` of an explicit key."""
    offset = key.start
    while offset and text[offset - 1] in _BLANKS:
        offset -= 1
    return offset - 1 if offset and offset < key.start and text[offset - 1] == "?" else key.start


def find_colon(text: str, start: int, end: int) -> int:
    """Offset of the first colon between a key and its value, which is not in a comment, or -1."""
    while start < end and text[start] != ":":
        start = line_end(text, start) if text[start] == "#" else start + 1
    return start if start < end else -1


def first_dash(text: str, sequence: Parent) -> int:
    """Offset of the first dash of a block sequence, which stands below its anchor and tag."""
    offset = sequence.start
    while text[offset] != "-":
        offset = next_line(text, offset)
        while text[offset] in _BLANKS:
            offset += 1
    return offset


def dash_of(text: str, sequence: Parent, index: int) -> int:
    """Offset of the dash of an element of a block sequence."""
    dash = first_dash(text, sequence)
    if index == 0:
        return dash
    indent = column(text, dash)
    start = line_start(text, sequence.items[index].start)
    while True:
        offset = start + indent
        if text[offset : offset + 1] == "-" and not text[start:offset].strip():
            return offset
        start = line_start(text, start - 1)
