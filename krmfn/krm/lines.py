"""Reads YAML of the plainest kind line by line; gives None for everything else.

What kustomize, kpt and most people write is of that kind: ASCII, block style, plain keys, scalars on one line (plain or
in single quotes on several), literal blocks, flow collections of plain words on one line. One pass gives the value and
an outline of the lines, from which the nodes are made where somebody asks for them: they are those that libyaml's
events give (`composing`), many times faster and without importing a YAML library. Where a line is not of a form below,
the answer is None: no guess is ever made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from krmfn.krm.dialect import resolve_plain, spell_key
from krmfn.krm.errors import Unreadable
from krmfn.krm.nodes import Later, Mapping, Node, Scalar, Sequence
from krmfn.krm.types import Any

_PLAIN = (
    r"(?:[A-Za-z0-9_./+~($^;=]|-(?=[^ \n]))"  # no indicator begins it
    r"[^ \n:#]*(?:(?::(?=[^ \n])|(?<=[^ ])#| +(?=[^ #\n]))[^ \n:#]*)*"  # neither `: ` nor ` #` ends it early
)
_NAME = r"[A-Za-z_][A-Za-z0-9_./-]{0,1000}"
# Atomic groups, not possessive quantifiers behind a group: before Python 3.11.5 those are wrong (gh-106052).
_QUOTED = r""""(?>(?:[^"\\\n]|\\["\\/nt])*)\""""
_VALUE = rf"""'(?>(?:[^'\n]|'')*)'?+|{_QUOTED}|\{{[^][{{}}\n]*\}}|\[[^][{{}}\n]*\]|\|[-+]?|{_PLAIN}"""
#: A further line of a plain scalar.
_REST = r" ++(?!#)((?:[^ \n:#]|:(?=[^ \n])|(?<=[^ ])#| ++(?=[^#\n]))+) *+(?=\n|\Z)"
#: Indentation, dashes, a key, a value, a comment: each may be missing.
_LINE = re.compile(rf"( *+)((?>(?:- ++)*))(?:({_NAME}):(?![^ ]) *+)?({_VALUE})? *+(?:(?<![^ ])#[^\n]*+)?")
#: A scalar in a flow collection: its characters mean nothing there.
_WORD = r"""'[^'\n]*'(?!')|"[^"\\\n]*"|(?:[A-Za-z0-9_./]|-(?=[A-Za-z0-9_./-]))[A-Za-z0-9_./=-]*"""
_FLOW = rf"\{{(?:{_NAME}: (?:{_WORD})(?:, {_NAME}: (?:{_WORD}))*)?\}}|\[(?:(?:{_WORD})(?:, (?:{_WORD}))*)?\]"
_PAIRS = rf"(?:({_NAME}): )?({_WORD})(?:, |[\]}}])"
#: What this reader leaves to others is all else: line breaks other than LF, tabs, controls.
_KNOWN = bytes([10, *range(0x20, 0x7F)])
MAX_DEPTH = 150

#: What may follow a key or a dash: nothing (a collection, or null), a scalar, a flow collection, a literal block or a
#: text in quotes that ends on a further line.
_NOTHING, _SCALAR, _FLOWING, _LITERAL = range(4)

#: A line that says something: its column, the columns of its dashes, the column behind them, the key as JSON spells it
#: (None: no key), which sort of value follows, that value, and the columns where key and value end, where it begins.
_Line = tuple[int, tuple[int, ...], int, "str | None", int, "Any", int, int, int]
#: An open collection: its class, its offset, and a row for each pair or element: the offset of its line, the line, and
#: the rows of the collection in it or the node of a literal block.
_Rows = list["Any"]

_ESCAPES = {"n": "\n", "t": "\t"}
#: A text in single quotes, on any number of lines; nothing follows it on its last line.
_TEXT = r"'((?:[^']|'')*)'(?= *(?:\n|\Z))"
_PAIR = 2  # a row that is wholly said by its line
_HEAD = 2  # what a collection says before its rows

#: Lines that were seen before: objects of one kind have most of them in common. Empty for comments and blanks.
_SEEN: dict[str, _Line | tuple[()]] = {}
_ROOM = 8192


class _Unusual(Exception):
    """The text is not of the plainest kind."""


def read_lines(text: str) -> tuple[Callable[[], Mapping], dict[str, Any]] | None:
    """What makes the tree of a block mapping, and its value; None where the text is not of the plainest kind."""
    if not text.isascii() or text.encode().translate(None, _KNOWN):
        return None
    try:
        rows, value = _read(text)
    except (_Unusual, Unreadable):
        return None  # whoever reads it fully says what is wrong

    def make_root() -> Mapping:
        root = _make_node(rows, text)
        assert isinstance(root, Mapping)
        return root

    return make_root, value


def _take_apart(raw: str) -> _Line | tuple[()]:
    """The parts of a line without its line break."""
    line = _LINE.fullmatch(raw)
    if line is None:
        raise _Unusual
    name, given = line.group(3, 4)
    text = given or ""
    first = text[:1]
    # Compiled when it is needed, which costs as much as reading a file.
    if first and first in "{[" and len(text) > 2 and not re.fullmatch(_FLOW, text):
        raise _Unusual
    if name is None and bool(line[2]) != (given is not None):
        raise _Unusual  # a dash without a value, or a value without a dash
    parts: _Line | tuple[()] = ()
    if name is not None or text:
        is_open = first == "|" or (first == "'" and text.count("'") % 2 == 1)
        sort = _NOTHING if not text else _FLOWING if first in "{[" else _LITERAL if is_open else _SCALAR
        value = text if sort == _LITERAL else _read_value(text) if text else None
        column, content = line.end(1), line.end(2)
        dashes = tuple(offset for offset in range(column, content) if raw[offset] == "-")
        key = None if name is None else spell_key(name)
        parts = (column, dashes, content, key, sort, value, line.end(3), line.start(4), line.end(4))
    if len(_SEEN) < _ROOM:
        _SEEN[raw] = parts
    return parts


def _read_value(text: str) -> Any:
    first = text[0]
    if first == "'":
        return text[1:-1].replace("''", "'")
    if first == '"':
        return _unescape(text[1:-1])
    if first == "{":
        pairs = [(spell_key(pair[1]), _read_value(pair[2])) for pair in _split_flow(text)]
        found = dict(pairs)
        if len(found) < len(pairs):
            raise _Unusual
        return found
    if first == "[":
        return [_read_value(pair[2]) for pair in _split_flow(text)]
    return resolve_plain(text)


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text) if "\\" in text else text


def _split_flow(text: str) -> Iterator[re.Match[str]]:
    """The pairs or elements of a flow collection: group 1 is the key if any, group 2 the scalar."""
    return re.compile(_PAIRS).finditer(text, 1) if len(text) > 2 else iter(())


def _read(text: str) -> tuple[_Rows, dict[str, Any]]:
    root: dict[str, Any] = {}
    outline: _Rows = []
    #: The innermost open collection: its column, value and rows; the key in it that waits for its value.
    here = -1
    top: Any = None
    rows = outline
    waiting: str | None = None
    stack: list[tuple[int, Any, _Rows]] = []
    behind = 0  # the end of a literal block
    position = -1
    stop = -1
    for raw in text.split("\n"):
        position = stop + 1
        stop = position + len(raw)
        if position < behind:
            continue
        parts = _SEEN.get(raw)
        if parts is None:
            try:
                parts = _take_apart(raw)
            except _Unusual:
                if waiting is not None:
                    raise
                value, behind = _read_on(text, rows, position, here)
                if type(top) is list:
                    top[-1] = value
                else:
                    top[rows[-1][1][3]] = value
                continue
        if not parts:
            continue
        column, dashes, content, key, sort, value, _, _, _ = parts
        if dashes or waiting is not None or here != column or type(top) is not dict:
            # Close what is indented more, and a sequence in this column when a key follows.
            while here > column or (here == column and not dashes and type(top) is list):
                if waiting is not None:
                    top[waiting] = waiting = None
                here, top, rows = stack.pop()
            # What the line opens: a sequence for each dash, and a mapping for the key.
            fresh: list[tuple[int, Any]] = []
            if dashes:
                if here != column or type(top) is not list:
                    if waiting is None:
                        raise _Unusual
                    fresh.append((column, []))
                if len(dashes) > 1:
                    fresh += [(dash, []) for dash in dashes[1:]]
                if key is not None:
                    fresh.append((content, {}))
            elif key is not None:
                if here != column or type(top) is not dict:
                    if top is None and not root:
                        fresh.append((column, root))
                    elif waiting is None:
                        raise _Unusual
                    else:
                        fresh.append((column, {}))
                elif waiting is not None:
                    top[waiting] = waiting = None
            for place, node in fresh:
                if len(stack) > MAX_DEPTH:
                    raise _Unusual
                stack.append((here, top, rows))
                inner: _Rows = [type(node), position + place]
                if waiting is not None:
                    top[waiting] = node
                    rows[-1] += (inner,)
                    waiting = None
                elif type(top) is list:
                    top.append(node)
                    rows.append((position, parts, inner))
                else:
                    outline = inner
                here, top, rows = place, node, inner
        row: Any = (position, parts)
        if sort != _SCALAR:
            if sort == _NOTHING:
                if key is not None and key in top:
                    raise _Unusual
                waiting = key
                rows.append(row)
                continue
            if sort == _FLOWING:
                value = value.copy()  # a line's value is that of many documents
            else:
                read = _read_literal if value[0] == "|" else _read_quoted
                scalar = read(text, position, parts, stop + 1, here)
                value, behind = scalar.content, scalar.end
                row = (position, parts, scalar)
        if key is None:
            top.append(value)
        elif key in top:
            raise _Unusual
        else:
            top[key] = value
        rows.append(row)
    if waiting is not None:
        top[waiting] = None
    if not root:
        raise _Unusual
    return outline, root


def _read_on(text: str, rows: _Rows, position: int, column: int) -> tuple[Any, int]:
    """The value of a plain scalar whose first line was the last one before `position`, and where the lines of it end.

    `column` is that of the collection that it is in.
    """
    row: Any = rows[-1] if len(rows) > _HEAD else ()
    if len(row) != _PAIR or row[1][4] != _SCALAR:
        raise _Unusual
    line, parts = row
    start, end = line + parts[7], line + parts[8]
    if text[start] in "'\"" or text[end:position].strip(" \n"):  # a comment ends it
        raise _Unusual
    pieces = [text[start:end]]
    rest = re.compile(_REST)
    while (found := rest.match(text, position)) and found.start(1) - position > column:
        breaks = text.count("\n", end, position)
        pieces += (" " if breaks == 1 else "\n" * (breaks - 1), found[1])
        end = found.end(1)
        position = found.end() + 1
        while text.startswith("\n", position):
            position += 1
    if len(pieces) == 1:
        raise _Unusual
    content = "".join(pieces)
    rows[-1] = (line, parts, Scalar(start, end, None, None, content, ""))
    return resolve_plain(content), end


def _read_quoted(text: str, line: int, parts: _Line, position: int, column: int) -> Scalar:
    """A text in single quotes that ends on a line behind `position`. The lines are indented more than `column`."""
    start = line + parts[7]
    found = re.compile(_TEXT).match(text, start)
    if found is None:
        raise _Unusual
    pieces: list[str] = []
    first, *lines = found[1].split("\n")
    breaks = 0
    for number, each in enumerate(lines, 1):
        bare = each.lstrip(" ")
        breaks += 1
        if bare or number == len(lines):
            if len(each) - len(bare) <= column:
                raise _Unusual
            pieces += (" " if breaks == 1 else "\n" * (breaks - 1), bare if number == len(lines) else bare.rstrip(" "))
            breaks = 0
    content = first.rstrip(" ") + "".join(pieces)
    return Scalar(start, found.end(), None, None, content.replace("''", "'"), "'")


def _read_literal(text: str, line: int, parts: _Line, position: int, column: int) -> Scalar:
    """The literal block whose lines begin at `position`: those that are indented as the first one, and empty ones.

    `column` is that of the collection that it is in. The node ends where the next line begins.
    """
    size = len(text)
    body = position
    while text[body : body + 1] == " ":
        body += 1
    indent = body - position
    if text[body : body + 1] in ("", "\n") or indent <= column:
        raise _Unusual
    margin = " " * indent
    lines: list[str] = []
    last = 0
    while position < size:
        stop = text.find("\n", position)
        if stop == position:
            lines.append("")
        elif not text.startswith(margin, position):
            if not text[position : stop if stop >= 0 else size].strip():
                raise _Unusual
            break
        else:
            found = text[position + indent : stop if stop >= 0 else size]
            if stop < 0 or not found.strip():
                raise _Unusual
            lines.append(found)
            last = len(lines)
        position = stop + 1
    content = "\n".join(lines[:last])
    mark = parts[5]
    if mark != "|-":
        content += "\n" * (1 + (len(lines) - last if mark == "|+" else 0))
    return Scalar(line + parts[7], position, None, None, content, "|")


def _make_node(rows: _Rows, text: str) -> Mapping | Sequence:
    """The node of a collection; its children are made when they are asked for."""
    start, end = rows[1], _find_end(rows)
    inner = rows[_HEAD:]
    if rows[0] is dict:
        mapping = Mapping(start, end, None, None, False)
        mapping.children = Later(inner, lambda row: _make_pair(row, text))
        mapping.places = {row[1][3]: place for place, row in enumerate(inner)}  # none is there twice
        return mapping
    sequence = Sequence(start, end, None, None, False)
    sequence.children = Later(inner, lambda row: _make_child(row, text))
    return sequence


def _find_end(rows: _Rows) -> int:
    while True:
        last = rows[-1]
        if len(last) == 2:
            position, parts = last
            end: int = position + (parts[6] + 1 if parts[4] == _NOTHING else parts[8])
            return end
        if isinstance(last[2], Scalar):
            return last[2].end
        rows = last[2]


def _make_pair(row: tuple[Any, ...], text: str) -> tuple[Node, Node]:
    position, parts = row[0], row[1]
    start, end = position + parts[2], position + parts[6]
    return Scalar(start, end, None, None, text[start:end], ""), _make_child(row, text)


def _make_child(row: tuple[Any, ...], text: str) -> Node:
    if len(row) == 3:
        return row[2] if isinstance(row[2], Scalar) else _make_node(row[2], text)
    position, parts = row
    if parts[4] == _NOTHING:
        after = position + parts[6] + 1
        return Scalar(after, after, None, None, "", "")
    start, end = position + parts[7], position + parts[8]
    source = text[start:end]
    if parts[4] == _SCALAR:
        return _make_scalar(start, source)
    if source[0] == "{":
        mapping = Mapping(start, end, None, None, True)
        mapping.children.extend(
            (
                Scalar(start + pair.start(1), start + pair.end(1), None, None, pair[1], ""),
                _make_scalar(start + pair.start(2), pair[2]),
            )
            for pair in _split_flow(source)
        )
        return mapping
    sequence = Sequence(start, end, None, None, True)
    sequence.children.extend(_make_scalar(start + pair.start(2), pair[2]) for pair in _split_flow(source))
    return sequence


def _make_scalar(start: int, source: str) -> Scalar:
    style = source[0] if source[0] in "'\"" else ""
    content = source[1:-1] if style else source
    if style == "'":
        content = content.replace("''", "'")
    elif style:
        content = _unescape(content)
    return Scalar(start, start + len(source), None, None, content, style)
