"""Reads YAML of the plainest kind line by line into plain values, without a tree.

The forms are those of `line_reading`, save literal blocks, and so are the answers: None for everything else. Made for
streams of many documents, where most lines were seen before and few places have to be known.
"""

from __future__ import annotations

from krmfn.krm.dialect import resolve_plain, spell_key
from krmfn.krm.errors import Unreadable
from krmfn.krm.line_reading import MAX_DEPTH, Unusual, is_plain, split_flow, take_apart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Column of the line, columns of its dashes, column behind them, key, whether a value follows, the value.
_Line = tuple[int, tuple[int, ...], int, "str | None", bool, "Any"]
_SEEN: dict[str, _Line] = {}
#: Longer documents may hold more values than are allowed, which the other reader counts.
_LONGEST = 4_000_000


def read_values(text: str) -> dict[str, Any] | None:
    """The value of a block mapping; None where the text is not of the plainest kind, or cannot be read."""
    if len(text) > _LONGEST or not is_plain(text):
        return None
    try:
        return _read(text)
    except (Unusual, Unreadable):
        return None


def _read_line(raw: str) -> _Line:
    column, content, name, value, _ = take_apart(raw)
    if value is not None and value[0] == "|":
        raise Unusual
    dashes = tuple(place for place in range(column, content) if raw[place] == "-")
    plain = None if value is None else _read_value(value)
    line = (column, dashes, content, name if name is None else spell_key(name, None), value is not None, plain)
    if len(_SEEN) < 8192:
        _SEEN[raw] = line
    return line


def _read_value(value: str) -> Any:
    first = value[0]
    if first == "'":
        return value[1:-1].replace("''", "'")
    if first == '"':
        return value[1:-1]
    if first == "{":
        return {spell_key(pair[1], None): _read_value(pair[2]) for pair in split_flow(value)}
    if first == "[":
        return [_read_value(pair[2]) for pair in split_flow(value)]
    return resolve_plain(value)


def _read(text: str) -> dict[str, Any]:
    root: dict[str, Any] = {}
    columns: list[int] = []
    opened: list[dict[str, Any] | list[Any]] = []
    key: str | None = None  # waits for its value in the innermost mapping
    top: Any = None
    for raw in text.split("\n"):
        column, dashes, content, name, given, value = _SEEN.get(raw) or _read_line(raw)
        if name is None and not given:
            continue
        if dashes or key is not None or not columns or columns[-1] != column or type(top) is not dict:
            # Close what is indented more, and a sequence in this column when a key follows.
            while columns and (columns[-1] > column or (columns[-1] == column and not dashes and type(top) is list)):
                if key is not None:
                    top[key] = key = None
                columns.pop()
                opened.pop()
                top = opened[-1] if opened else None
            # What the line opens: a sequence for each dash, and a mapping for the key.
            fresh: list[tuple[int, Any]] = [(dash, []) for dash in dashes]
            if dashes and type(top) is list and columns[-1] == column:
                del fresh[0]
            elif dashes and (type(top) is not dict or key is None):
                raise Unusual
            if name is not None:
                if dashes:
                    fresh.append((content, {}))
                elif type(top) is not dict or columns[-1] != column:
                    if top is not None and (type(top) is not dict or key is None):
                        raise Unusual
                    fresh.append((column, {} if columns or root else root))
                elif key is not None:
                    top[key] = key = None
            for place, node in fresh:
                if len(columns) > MAX_DEPTH:
                    raise Unusual
                if type(top) is list:
                    top.append(node)
                elif key is not None:
                    top[key] = node
                    key = None
                elif node is not root:
                    raise Unusual
                columns.append(place)
                opened.append(node)
                top = node
        if given and type(value) in _CONTAINERS:
            value = value.copy()  # a line's value is that of many documents
        if name is None:
            top.append(value)
        elif given:
            top[name] = value
        else:
            key = name
    if key is not None:
        top[key] = None
    if not root:
        raise Unusual
    return root


_CONTAINERS = (dict, list)
