"""Finds the items of a YAML ResourceList by the column of their dashes, without reading them.

Every step is a proof; where one fails the answer is None and the full reader (`listing`) takes over. Only block style
at column 0 with plain keys is understood, as kustomize, kpt and people write ResourceLists.

That no piece reaches into the next one is proved by looking at its bytes. Only two things of YAML ignore indentation:
quoted scalars and flow collections. Where each of them that may begin in a piece also ends on its line, a line at a
lower indentation is what it looks like. The proof rests on how libyaml scans: in block context a quote or a bracket
begins a token only behind a blank, a tab or a line break. Block scalars and plain scalars end where a line is indented
less, so they need no look.
"""

from __future__ import annotations

import re

from krmfn.krm.errors import Unreadable
from krmfn.krm.nodes import Scalar
from krmfn.krm.source import BOM, RARE_BREAKS, Source

_OTHER_BREAKS = (*RARE_BREAKS, BOM)
_BLOCK = 200
_EMPTY_MAPS = (b"}\n", b"}\r")
_EMPTY_LISTS = (b"]\n", b"]\r")


class KeyLine:
    """A line `key: …` of the document and what belongs to it: `start` to `end`; `after` is behind the colon."""

    __slots__ = ("after", "end", "key", "rest", "start")

    def __init__(self, key: str, start: int, after: int, rest: bytes) -> None:
        """`rest` is the text behind the colon on the key's line, without a comment."""
        self.key = key
        self.start = start
        self.after = after
        self.rest = rest
        self.end = 0


class Split:
    """What was found: entries by key, the items' first bytes (of their dashes' lines), the dashes' column."""

    __slots__ = ("column", "entries", "starts", "stop")

    def __init__(self) -> None:
        """Empty, filled by `split`."""
        self.entries: dict[str, KeyLine] = {}
        self.starts: list[int] = []
        self.stop = 0
        self.column = 0


def split(source: Source) -> Split | None:
    """Split a ResourceList; None where the text cannot be proved to be what it looks like."""
    data = source.data
    start = source.begin
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return None
    if not data.isascii() and any(data.find(sign, start) >= 0 for sign in _OTHER_BREAKS):
        return None
    found = Split()
    edges = _walk(data, start, found)
    if edges is None or not _prove(source, edges, found):
        return None
    return found


def _walk(data: bytes, start: int, found: Split) -> list[int] | None:
    """Collect entries and items by the lines at low columns; gives the edges between pieces."""
    edges: list[int] = []
    position = start
    entry: KeyLine | None = None
    size = len(data)
    while position < size:
        sign = data[position]
        line = data.find(b"\n", position) + 1 or size
        if sign in b" \r\n#" or (data[position : position + 2] == b"- " and entry is not None):
            if entry is None and sign == 32 and data[position:line].strip():
                return None
        elif entry is None and data[position:line].rstrip() == b"---":
            pass
        else:
            entry = _open_entry(data, position, found, edges, entry)
            if entry is None:
                return None
            if entry.key == "items" and not entry.rest:
                line = _walk_items(data, line, found, edges)
                if not line:
                    return None
        position = line
    if entry is None:
        return None
    entry.end = size
    edges.append(size)
    return edges


def _open_entry(data: bytes, position: int, found: Split, edges: list[int], last: KeyLine | None) -> KeyLine | None:
    line = data[position : data.find(b"\n", position) + 1 or len(data)]
    name, colon, rest = line.partition(b":")
    key = name.decode() if name.isalpha() and name.isascii() else ""
    if not key or not colon or rest[:1] not in (b"", b" ", b"\t", b"\r", b"\n") or key in found.entries:
        return None
    rest = rest.strip()
    rest = b"" if rest.startswith(b"#") else rest.partition(b" #")[0].strip()
    entry = KeyLine(key, position, position + len(name) + 1, rest)
    if last is not None:
        last.end = position
    found.entries[key] = entry
    edges.append(position)
    return entry


def _walk_items(data: bytes, position: int, found: Split, edges: list[int]) -> int:
    """Collect the lines of the dashes; gives the offset of the line behind the items, 0 when in doubt."""
    while _is_idle(data, position):
        if position == len(data):
            return position
        position = data.find(b"\n", position) + 1 or len(data)
    column = 0
    while data[position + column : position + column + 1] == b" ":
        column += 1
    item = b" " * column + b"- "
    if not data.startswith(item, position):
        return position
    pattern = re.compile(rb"\n(?! {%d})" % (column + 1) if column else rb"\n(?! )")
    starts = [position]
    stop = len(data)
    for match in pattern.finditer(data, position):
        line = match.start() + 1
        if data.startswith(item, line):
            starts.append(line)
        elif data[line : line + 1] not in (b"", b"#", b"\r", b"\n"):
            if data[line : line + 1] == b" " and not _is_idle(data, line):
                return 0
            if data[line : line + 1] != b" ":
                stop = line
                break
    found.column = column
    found.starts = starts
    found.stop = stop
    edges += starts
    return stop


def _is_idle(data: bytes, line: int) -> bool:
    """Whether a line holds a comment or nothing. A tab in front of that is an error, which the full reader tells."""
    text = data[line : data.find(b"\n", line) + 1 or len(data)].strip(b" \r\n")
    return not text or text.startswith(b"#")


def _prove(source: Source, edges: list[int], found: Split) -> bool:
    """Whether no piece between two edges reaches into the next one."""
    data = source.data
    if not any(sign in data for sign in (b"'", b'"', b"[", b"{")):
        return True
    items = set(found.starts)
    for first in range(0, len(edges) - 1, _BLOCK):
        last = min(first + _BLOCK, len(edges) - 1)
        if _closes_plainly(data[edges[first] : edges[last]]):
            continue
        for begin, end in zip(edges[first:last], edges[first + 1 : last + 1], strict=True):
            if not _is_complete(source, begin, end, begin in items):
                return False
    return True


def _closes_plainly(data: bytes) -> bool:
    """A quick proof for what kustomize and kpt write: quotes in pairs on a line, `{}` and `[]` at its end.

    Sound because a quote that may begin a scalar (a blank stands before it) is never the second of a pair here.
    """
    if b"\t" in data:
        return False
    for quote in (b"'", b'"'):
        if quote in data:
            parts = data.split(quote)
            inside = quote.join(parts[1::2])
            if (
                len(parts) % 2 == 0
                or b"\n" in inside
                or b" " + quote in inside
                or inside.endswith(b" ")
                or b"" in parts[2:-1:2]  # two quotes in a row are one that is escaped
                or (quote == b'"' and b"\\" in inside)
            ):
                return False
    if b"{" in data and not all(part.startswith(_EMPTY_MAPS) for part in data.split(b"{")[1:]):
        return False
    return b"[" not in data or all(part.startswith(_EMPTY_LISTS) for part in data.split(b"[")[1:])


def _is_complete(source: Source, begin: int, end: int, item: bool) -> bool:
    """Whether a piece is a whole document by itself: libyaml scans it alike with and without the rest."""
    from krmfn.krm.composing import compose
    from krmfn.krm.lines import read_lines

    text = source.text(begin, end)
    if item:
        text = text.replace("-", " ", 1)
    try:
        anywhere = Scalar(0, 0, None, None, "", ""), 0
        return (read_lines(text) or compose(text, lambda _: anywhere)) is not None
    except Unreadable:
        return False
