"""Reads YAML of the plainest kind line by line; gives None for everything else.

What kustomize, kpt and most people write is of that kind: ASCII, block style, plain keys, scalars on one line (plain or
in single quotes on several), literal blocks, flow collections of plain words on one line. Lines give an outline, and
the outline the value, and the nodes where somebody asks for them: they are those that libyaml's events give
(`composing`), many times faster and without importing a YAML library. Documents whose lines differ in their scalars
only have one outline. Where a line is not of a form below, the answer is None: no guess is ever made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from krmfn.krm.dialect import resolve_plain, spell_key
from krmfn.krm.errors import Unreadable
from krmfn.krm.nodes import LazyChildren, Mapping, Node, Scalar, Sequence
from krmfn.krm.paths import Fields, Path

_PLAIN = (
    r"(?:[A-Za-z0-9_./+~($^;=]|-(?=[^ \n]))"  # no indicator begins it
    r"[^ \n:#]*(?:(?::(?=[^ \n])|(?<=[^ ])#| +(?=[^ #\n]))[^ \n:#]*)*"  # neither `: ` nor ` #` ends it early
)
_NAME = r"[A-Za-z_][A-Za-z0-9_./-]{0,1000}"
# Atomic groups, not possessive quantifiers behind a group: before Python 3.11.5 those are wrong (gh-106052).
_QUOTED = r""""(?>(?:[^"\\\n]|\\["\\/nt])*)\""""
# A flow collection is taken to any of its brackets behind which nothing stands; `_split_flow` says
# whether it ends there.
_BRACES = r"\{[^}\n]*\}(?:[^}\n]*\})*?|\[[^]\n]*\](?:[^]\n]*\])*?"
_VALUE = rf"""'(?>(?:[^'\n]|'')*)'?+|{_QUOTED}|{_BRACES}|\|[-+]?|{_PLAIN}"""
#: Indentation, dashes, a key, a value, a comment: each may be missing.
_LINE = re.compile(rf"( *+)((?>(?:- ++)*))(?:({_NAME}):(?![^ ]) *+)?({_VALUE})? *+(?:(?<![^ ])#[^\n]*+)?")
#: A scalar in a flow collection: its characters mean nothing there.
_WORD = r"""'[^'\n]*'(?!')|"[^"\\\n]*"|(?:[A-Za-z0-9_./]|-(?=[A-Za-z0-9_./-]))[A-Za-z0-9_./=*-]*"""
#: A step through a flow collection: a key, a bracket that opens or a scalar, brackets that close, a comma.
_STEP = rf"(?:({_NAME})(: ++))?([{{[]|{_WORD})([]}} ]*+)(, *+)?"
#: A flow collection of plain words without anything inside, or alone in another one, as most are.
_PLAIN_WORD = "(?:[A-Za-z0-9_./]|-(?=[A-Za-z0-9_./-]))[A-Za-z0-9_./=*-]*"
_ENTRY = f"{_NAME}: {_PLAIN_WORD}"
_WORDS = rf"(?:\{{{_ENTRY}(?:, {_ENTRY})*\}}|\[{_PLAIN_WORD}(?:, {_PLAIN_WORD})*\])"
_FLAT = re.compile(rf"{_WORDS}|\{{{_NAME}: {_WORDS}\}}")
#: A scalar that nobody could take for anything else.
_SIMPLE = re.compile(r"""[A-Za-z0-9_./][A-Za-z0-9_./-]*(?::[A-Za-z0-9_./-]+)*|"[^"\\\n]*\"""")
#: What this reader leaves to others is all else: line breaks other than LF, tabs, controls.
_KNOWN = bytes([10, *range(0x20, 0x7F)])
#: How many levels a text may have, and a flow collection in it.
MAX_DEPTH, _DEEPEST = 150, 40

#: What may follow a key or a dash: nothing (a collection, or null), a scalar, a flow collection, a literal block or a
#: text in quotes that ends on a further line.
_NOTHING, _SCALAR, _FLOWING, _LITERAL = range(4)


class _Line(NamedTuple):
    """A line that says something: its column, the columns of its dashes, the column behind them; the key as JSON spells
    it (None: no key); which sort of value follows; the columns where the key ends and where the value begins."""

    column: int
    dashes: tuple[int, ...]
    content: int
    key: str | None
    sort: int
    key_end: int
    start: int


#: What is asked of every line: its form, which is all that it says save a scalar; that scalar, its node where it goes
#: on below (_LITERAL); the rest; and the column where the value ends. Comments and blanks have neither form nor rest.
#: What was not read to its end has no form that an outline is known by.
_Known = tuple[str, Any, Any, int]
#: A pair or an element: the number of the collection that it is in, in the order of the text (0: the document); the
#: number of its line among those that say something; its key (None: an element); its value, and the column of that.
#: The value is a scalar or nothing, as the line says (None); a flow collection, as the line says (_FLOWING); a scalar
#: of several lines (_LITERAL); or a collection that begins there or below (`dict` or `list`).
_Step = tuple[int, int, "str | None", Any, int]
#: A step, and the number of the collection that is its value, 0 for others.
_Row = tuple[_Step, int]

_ESCAPES = {"n": "\n", "t": "\t"}
_SAYS_NOTHING: _Known = ("", None, None, 0)
#: Lines that were seen, as long as they are not too many: objects of one kind have most in common.
_SEEN: dict[str, _Known] = {}
#: What lines have in common that differ in what is behind their key: its form, and the line but for its end.
_HEADS: dict[str, tuple[str, _Line]] = {}
#: Outlines by the forms of all lines: generated objects of one kind have them in common.
_OUTLINES: dict[tuple[str, ...], _Outline] = {}
#: How many of them are remembered, and of how many lines a text is that may be like others.
_MOST_LINES, _MOST_OUTLINES, _LONGEST = 8192, 256, 400


class _Unusual(Exception):
    """The text is not of the plainest kind."""


class _Collection(NamedTuple):
    """The rows of a collection; the places of its keys or indices among them; the step in whose line it ends."""

    rows: list[_Row]
    places: dict[str | int | None, int]
    last: _Step


#: What texts have in common whose lines differ in scalars only: the steps in their order, and the collections, none
#: until somebody asks for a place.
_Outline = tuple[list[_Step], list[_Collection]]


def read_lines(text: str) -> Lines | None:
    """Read a block mapping; None where the text is not of the plainest kind."""
    if not text.isascii() or text.encode().translate(None, _KNOWN):
        return None
    try:
        return Lines(text, *_scan(text))
    except (_Unusual, Unreadable):
        return None  # whoever reads it fully says what is wrong


def _take_apart(raw: str) -> _Known:
    """The parts of a line without its line break."""
    head, _, value = raw.partition(": ")
    is_flat = value[:1] in ("{", "[")
    head += value[:1] if is_flat else ""
    is_usual = (_FLAT if is_flat else _SIMPLE).fullmatch(value)
    if is_usual and head in _HEADS:
        form, line = _HEADS[head]
        known = form, _read_flat(value) if is_flat else _read_value(value), line, len(raw)
    else:
        known = _take_any_apart(raw)
        if is_usual and known[2] and known[2].sort in (_SCALAR, _FLOWING) and len(_HEADS) < _MOST_LINES:
            _HEADS[head] = known[0], known[2]
    if not known[2] or known[2].sort != _FLOWING:  # such a value belongs to one document
        if len(_SEEN) >= _MOST_LINES:
            _SEEN.clear()
        _SEEN[raw] = known
    return known


def _take_any_apart(raw: str) -> _Known:
    if (line := _LINE.fullmatch(raw)) is None:
        raise _Unusual
    indent, marks, name, text = line.groups("")
    first = text[:1]
    if not name and bool(marks) != bool(text):
        raise _Unusual  # a dash without a value, or a value without a dash
    if not (name or text):
        return _SAYS_NOTHING
    is_open = first == "|" or (first == "'" and text.count("'") % 2 == 1)
    sort = _NOTHING if not text else _LITERAL if is_open else _FLOWING if first in "{[" else _SCALAR
    value = text if sort == _LITERAL else _read_value(text) if text else None
    column, content = len(indent), len(indent) + len(marks)
    dashes = tuple(offset for offset in range(column, content) if raw[offset] == "-") if marks else ()
    key = spell_key(name) if name else None
    place = _Line(column, dashes, content, key, sort, content + len(name), line.start(4))
    return f"{indent}{marks}{name}:{'?' if is_open else sort}", value, place, line.end(4)


def _read_value(text: str) -> Any:
    first = text[0]
    if first == "'":
        return text[1:-1].replace("''", "'")
    if first == '"':
        text = text[1:-1]
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text) if "\\" in text else text
    return _read_flow(text) if first in "{[" else resolve_plain(text)


def _split_flow(text: str) -> Iterator[tuple[str | None, str | None, str, str, str | None]]:
    """The steps through a flow collection, each in its parts (`_STEP`), in the order of the text."""
    awaited = ""  # the brackets that close what is open, the outermost first
    is_done = False
    # Compiled when it is needed, which costs as much as reading a file. Nothing stands between two steps.
    *pieces, rest = re.compile(_STEP).split(text)
    for between, key, colon, head, closed, comma in zip(*[iter(pieces)] * 6, strict=True):
        if is_done or between or (key is None) is (awaited[-1:] == "}") or len(awaited) > _DEEPEST:
            raise _Unusual
        is_ended = True
        if head in "{[":
            awaited += "}" if head == "{" else "]"
            is_ended = "}" in closed or "]" in closed
        if closed:
            brackets = closed.replace(" ", "")
            if not awaited.endswith(brackets[::-1]):
                raise _Unusual
            awaited = awaited[: len(awaited) - len(brackets)]
        is_done = not awaited
        if (comma is None) is (is_ended and not is_done):
            raise _Unusual
        yield key, colon, head, closed, comma
    if rest or awaited:
        raise _Unusual


def _read_flat(text: str) -> Any:
    inner = text[1:-1]
    if text[0] == "[":
        return list(map(resolve_plain, inner.split(", ")))
    if inner[-1] in "}]":  # one alone in another one
        key, _, value = inner.partition(": ")
        return {spell_key(key): _read_flat(value)}
    found: Fields = {}
    entries = inner.split(", ")
    for entry in entries:
        key, _, word = entry.partition(": ")
        found[spell_key(key)] = resolve_plain(word)
    if len(found) < len(entries):
        raise _Unusual
    return found


def _read_flow(text: str) -> Any:
    """The value of a flow collection."""
    opened: list[Any] = [[]]
    root = opened[0]
    for key, _, head, closed, _ in _split_flow(text):
        value = {} if head == "{" else [] if head == "[" else _read_value(head)
        if key is None:
            opened[-1].append(value)
        elif (name := spell_key(key)) in opened[-1]:
            raise _Unusual
        else:
            opened[-1][name] = value
        if head in "{[":
            opened.append(value)
        if closed:
            del opened[len(opened) - len(closed) + closed.count(" ") :]
    return root[0]


def _scan(text: str) -> tuple[list[_Known], list[int]]:
    """The lines that say something, and where they begin."""
    lines: list[_Known] = []
    starts: list[int] = []
    behind = 0  # the end of a scalar of several lines
    stop = -1
    for raw in text.split("\n"):
        position = stop + 1
        stop = position + len(raw)
        if position < behind:
            continue
        known = _SEEN.get(raw)
        if known is None:
            try:
                known = _take_apart(raw)
            except _Unusual:
                if not lines or lines[-1][2].sort != _SCALAR:
                    raise
                lines[-1] = _read_further(text, lines[-1], starts[-1], position)
                behind = lines[-1][1].end
                continue
        form, _, line, _ = known
        if not form:
            continue
        if line.sort == _LITERAL:
            known = _read_further(text, known, position, stop + 1)
            behind = known[1].end
        lines.append(known)
        starts.append(position)
    return lines, starts


def _read_further(text: str, known: _Known, offset: int, position: int) -> _Known:
    """The line at `offset`, with the scalar of it that goes on at `position`."""
    from krmfn.krm.paragraphs import read_literal, read_on, read_quoted  # most texts have none

    form, mark, line, end = known
    start = offset + line.start
    column = line.dashes[-1] if line.key is None else line.content  # of the collection that the line is in
    if line.sort == _SCALAR:
        found = read_on(text, start, offset + end, position, column)
    else:
        found = (
            read_literal(text, start, mark, position, column) if mark[0] == "|" else read_quoted(text, start, column)
        )
    if found is None:
        raise _Unusual
    return f"{form[:-1]}{_LITERAL}", found, line._replace(sort=_LITERAL), end


def _recall(lines: list[_Known]) -> _Outline:
    """The outline of all texts whose lines have these forms."""
    forms = tuple([form for form, _, _, _ in lines])
    outline = _OUTLINES.get(forms)
    if outline is None:
        outline = _draw(lines), []
        if len(lines) <= _LONGEST:
            if len(_OUTLINES) >= _MOST_OUTLINES:
                _OUTLINES.clear()
            _OUTLINES[forms] = outline
    return outline


def _draw(lines: list[_Known]) -> list[_Step]:
    outline: list[_Step] = []
    #: The innermost open collection: its column, its number, and its keys (None: it is a list).
    here = -1
    place = -1
    keys: set[str] | None = None
    waiting = False  # whether its last key waits for a value
    stack: list[tuple[int, int, set[str] | None]] = []
    last = -1
    for number, (_, _, line, _) in enumerate(lines):
        column, dashes, content, key, sort, _, _ = line
        if dashes or waiting or here != column or keys is None:
            # Close what is indented more, and a sequence in this column when a key follows.
            while here > column or (here == column and not dashes and keys is None):
                waiting = False
                here, place, keys = stack.pop()
            # What the line opens: a sequence for each dash, and a mapping for the key.
            fresh: list[tuple[int, type]] = []
            if dashes:
                if here != column or keys is not None:
                    fresh.append((column, list))
                fresh += [(dash, list) for dash in dashes[1:]]
            if key is not None:
                if dashes or here != column or keys is None:
                    fresh.append((content, dict))
                else:
                    waiting = False
            if fresh and fresh[0][0] == column and not waiting and last >= 0:
                raise _Unusual
            for start, kind in fresh:
                if len(stack) > MAX_DEPTH or (last < 0 and kind is list):
                    raise _Unusual
                stack.append((here, place, keys))
                if waiting:
                    outline[-1] = (*outline[-1][:3], kind, start)
                    waiting = False
                elif last >= 0:
                    outline.append((place, number, None, kind, start))
                last += 1
                here, place, keys = start, last, set() if kind is dict else None
        if key is not None and keys is not None:
            if key in keys:
                raise _Unusual
            keys.add(key)
        waiting = sort == _NOTHING
        outline.append((place, number, key, sort if sort in (_FLOWING, _LITERAL) else None, 0))
    if not outline:
        raise _Unusual
    return outline


def _list_collections(steps: list[_Step]) -> list[_Collection]:
    rows: list[list[_Row]] = [[]]
    for step in steps:
        is_open = step[3] is dict or step[3] is list
        rows[step[0]].append((step, len(rows) if is_open else 0))
        if is_open:
            rows.append([])
    ends = [own[-1][0] for own in rows]
    for place in range(len(rows) - 1, -1, -1):  # what is in a collection has a number above its own
        if inner := rows[place][-1][1]:
            ends[place] = ends[inner]
    keys: list[dict[str | int | None, int]] = [
        {at if step[2] is None else step[2]: at for at, (step, _) in enumerate(own)} for own in rows
    ]
    return [_Collection(*each) for each in zip(rows, keys, ends, strict=True)]


def _make_value(steps: list[_Step], lines: list[_Known]) -> Fields:
    root: Fields = {}
    made: list[Any] = [root]
    for place, number, key, what, _ in steps:
        if what is None or what is _FLOWING:
            value = lines[number][1]
        elif what is dict or what is list:
            value = what()
            made.append(value)
        else:
            node: Scalar = lines[number][1]
            value = node.content if node.style else resolve_plain(node.content)
        if key is None:
            made[place].append(value)
        else:
            made[place][key] = value
    return root


class Lines:
    """A text that was read by lines: its value; on request its tree, and where a new key goes."""

    __slots__ = ("_lines", "_outline", "_starts", "_text", "value")

    def __init__(self, text: str, lines: list[_Known], starts: list[int]) -> None:
        """`starts` are where the lines that say something begin. Raises Unreadable."""
        self._text = text
        self._lines = lines
        self._starts = starts
        self._outline = _recall(lines)
        self.value = _make_value(self._outline[0], lines)

    @property
    def _collections(self) -> list[_Collection]:
        steps, collections = self._outline
        if not collections:
            collections.extend(_list_collections(steps))
        return collections

    def make_root(self) -> Node:
        """The node of the document; its children are made when they are asked for."""
        return self._make(dict, 0, self._lines[0][2].content)

    def find_gap(self, path: Path) -> tuple[int, int, int] | None:
        """Where the first key of `path` goes that is not there: its number in the path, the start of the line behind
        those of its mapping, and its column. None where all are there, or where that takes a look at the nodes."""
        place = 0
        for depth, part in enumerate(path):
            rows, places, last = self._collections[place]
            at = places.get(part)
            if at is None:
                _, number, key, _, _ = rows[0][0]
                end = self._text.find("\n", self._find_end(last)) + 1 if last[3] is not _LITERAL else 0
                is_key = key is not None and isinstance(part, str)
                return (depth, end, self._lines[number][2].content) if end and is_key else None
            place = rows[at][1]
            if not place:
                break
        return None

    def _make(self, kind: type, place: int, column: int) -> Mapping | Sequence:
        rows, _, last = self._collections[place]
        start, end = self._starts[rows[0][0][1]] + column, self._find_end(last)
        node = (Mapping if kind is dict else Sequence)(start, end, None, None, False)
        node.children = LazyChildren(rows, self._make_pair if kind is dict else self._make_child)
        return node

    def _find_end(self, last: _Step) -> int:
        _, number, _, what, _ = last
        if what is _LITERAL:
            return int(self._lines[number][1].end)
        _, _, line, end = self._lines[number]
        return self._starts[number] + (line.key_end + 1 if line.sort == _NOTHING else end)

    def _make_pair(self, row: _Row) -> tuple[Node, Node]:
        number = row[0][1]
        line, position = self._lines[number][2], self._starts[number]
        start, end = position + line.content, position + line.key_end
        return Scalar(start, end, None, None, self._text[start:end], ""), self._make_child(row)

    def _make_child(self, row: _Row) -> Node:
        step, inner = row
        _, number, _, what, column = step
        if inner:
            return self._make(what, inner, column)
        if what is _LITERAL:
            scalar: Scalar = self._lines[number][1]
            return scalar
        line, end = self._lines[number][2], self._find_end(step)
        if line.sort == _NOTHING:
            return Scalar(end, end, None, None, "", "")
        start = self._starts[number] + line.start
        return (_make_scalar if line.sort == _SCALAR else _make_flow)(start, self._text[start:end])


def _make_scalar(start: int, source: str) -> Scalar:
    style = source[0] if source[0] in "'\"" else ""
    content = _read_value(source) if style else source
    return Scalar(start, start + len(source), None, None, content, style)


def _make_flow(place: int, source: str) -> Node:
    root = Sequence(place, place, None, None, True)
    opened: list[Mapping | Sequence] = [root]
    for key, colon, head, closed, comma in _split_flow(source):
        start = place + len(key or "") + len(colon or "")
        make = {"{": Mapping, "[": Sequence}.get(head)
        node: Node = make(start, start, None, None, True) if make else _make_scalar(start, head)
        name = key and Scalar(place, place + len(key), None, None, key, "")
        opened[-1].children.append((name, node) if name else node)
        if isinstance(node, Mapping | Sequence):
            opened.append(node)
        place = start + len(head)
        for sign in closed:
            place += 1
            if sign != " ":
                opened.pop().end = place
        place += len(comma or "")
    return root.items[0]
