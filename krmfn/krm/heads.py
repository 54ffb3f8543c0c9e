"""Reads who an object is from the first lines of its text, where that is provably right; None where it is not.

Holds for block mappings whose quotes and flows end on their lines (`splitting`), with plain keys. Such a line at the
column of the object's keys is one of its keys: scalars that span lines are indented more.
"""

from __future__ import annotations

import re

_RESERVED = frozenset([b"y", b"n", b"yes", b"no", b"on", b"off", b"true", b"false", b"null"])
_STEP = 2


class HeadReader:
    """Reads the heads of all objects in a text whose keys stand in one column."""

    __slots__ = ("_api_version", "_column", "_data", "_kind", "_metadata", "_name", "_namespace", "_odd", "_root_line")

    def __init__(self, data: bytes, column: int) -> None:
        """Prepare the patterns; `column` is that of the objects' keys."""
        line = b"\n" + b" " * column
        inner = line + b" " * _STEP
        self._data = data
        self._column = column
        self._api_version = line + b"apiVersion: "
        self._kind = line + b"kind: "
        self._metadata = line + b"metadata:\n"
        self._name = inner + b"name: "
        self._namespace = inner + b"namespace: "
        #: How a key begins that is more than a plain word: quoted, explicit, tagged, anchored, an alias, a merge.
        signs = [bytes([sign]) for sign in b"\"'?!&*<" if data.find(sign) >= 0]
        self._odd = [line + sign for sign in signs] + [inner + sign for sign in signs]
        self._root_line = re.compile(b"\n {%d}[^ \n#]" % column)

    def read_kind(self, start: int, end: int) -> str | None:
        """The kind of the object in a span; `start` is its first key."""
        if self._is_odd(start, end):
            return None
        return self._read_word(self._kind, start, end, self._column)

    def read(self, start: int, end: int) -> tuple[str, str, str, str] | None:
        """apiVersion, kind, name and namespace (empty where there is none)."""
        kind = self.read_kind(start, end)
        api_version = self._read_word(self._api_version, start, end, self._column)
        block = self.find_metadata(start, end) if kind and api_version else None
        if not kind or not api_version or block is None:
            return None
        begin, stop = block
        name = self._read_word(self._name, begin, stop, self._column + _STEP)
        if not name:
            return None
        if self._data.find(self._namespace, begin, stop) < 0:
            return api_version, kind, name, ""
        namespace = self._read_word(self._namespace, begin, stop, self._column + _STEP)
        return (api_version, kind, name, namespace) if namespace else None

    def find_metadata(self, start: int, end: int) -> tuple[int, int] | None:
        """The span of `metadata:` and its block, from the key to the line break before the next key."""
        data = self._data
        place = data.find(self._metadata, start, end)
        if place < 0 or data.find(self._metadata, place + 1, end) >= 0:
            return None
        first = place + len(self._metadata)
        indent = self._column + _STEP
        if data[first : first + indent + 1].strip(b" ") == b"" or not data.startswith(b" " * indent, first):
            return None
        following = self._root_line.search(data, first - 1, end)
        return place + 1 + self._column, following.start() if following else end

    def _is_odd(self, start: int, end: int) -> bool:
        data = self._data
        return not data[start : start + 1].isalpha() or any(data.find(odd, start, end) >= 0 for odd in self._odd)

    def _read_word(self, needle: bytes, start: int, end: int, column: int) -> str | None:
        """The value of the only line that begins with `needle`, when it is one harmless word on that line."""
        data = self._data
        key = needle.lstrip()
        if data.startswith(key, start):
            place = start + len(key)
            if data.find(needle, place, end) >= 0:
                return None
        else:
            place = data.find(needle, start, end)
            if place < 0:
                return None
            place += len(needle)
            if data.find(needle, place, end) >= 0:
                return None
        stop = data.find(b"\n", place, end)
        if stop < 0:
            stop = end
        elif data.startswith(b" " * (column + 1), stop + 1):
            return None  # the scalar may go on in the next line
        word = data[place:stop]
        if word[:1] == b"'" == word[-1:] and len(word) > 2:
            word = word[1:-1]
        elif not word[:1].isalpha() or word.lower() in _RESERVED:
            return None
        return word.decode() if word.translate(None, b"./_-").isalnum() else None
