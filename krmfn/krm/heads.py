"""Reads who an object is from the lines of its text, where that is provably right; None where it is not.

Holds for block mappings whose quotes and flows end on their lines (`splitting`). A line at the column of the object's
keys is one of its keys then: scalars that span lines are indented more. Keys that are more than a plain word (quoted,
explicit, tagged, merged) make the answer None.
"""

from __future__ import annotations

import re

_RESERVED = frozenset([b"y", b"n", b"yes", b"no", b"on", b"off", b"true", b"false", b"null"])
_RESERVED_NAMES = frozenset(word.decode() for word in _RESERVED)
_ODD = b"\"'?!&*<\t"
_STEP = 2

_WORD = rb"([A-Za-z][A-Za-z0-9./_-]*|'[A-Za-z0-9./_-]+')"

#: A line without meaning: blanks, a comment in any column.
_IDLE = rb" *(?:#[^\n]*)?"

Head = tuple[str, str, str, str]


def _write_usual(column: int, newline: bytes) -> bytes:
    """A pattern for objects in the usual order: apiVersion, kind, metadata with name, namespace; others in between.

    It matches the object up to the next key behind metadata; every word has to end on its line. Two empty groups tell
    where the fields of metadata begin, behind its line, and where they end. `newline` matches the end of a line.
    """
    word = _WORD + newline
    keys, fields = b" {%d}" % column, b" {%d}" % (column + _STEP)
    odd = b"[\"'?!&*<\t]"
    other = keys + b"(?!(?:apiVersion|kind|metadata)[ \t:]|" + odd + b")[^\n]*"
    field = fields + b"(?!(?:name|namespace)[ \t:]|" + odd + b")[^\n]*"
    # Atomic groups, not possessive quantifiers: before Python 3.11.5 those go on in the wrong place (gh-106052).
    # Lines that are indented more would belong to the word, also behind empty ones.
    more = b"(?!(?>(?: *" + newline + b")*) {%d})"
    ends, field_ends = more % (column + 1), more % (column + _STEP + 1)
    others, inner = (
        b"(?>(?:(?:" + other + b")?" + newline + b")*)",
        b"(?>(?:(?:" + field + b"|" + _IDLE + b")" + newline + b")*)",
    )
    return b"".join(
        [
            *(b"apiVersion: ", word, ends, others, keys, b"kind: ", word, ends, others),
            *(keys, b"metadata:", newline, b"()", inner, fields, b"name: ", word, field_ends, inner),
            *(b"(?>(?:", fields, b"namespace: ", word, field_ends, inner, b")?)()(?=", keys, b"[^ \r\n]|\\Z)"),
        ]
    )


def _unquote(word: bytes) -> str:
    return word.decode().strip("'")


class HeadReader:
    """Reads the heads of all objects in a text whose keys stand in one column."""

    __slots__ = (
        "_again",
        "_column",
        "_continues",
        "_data",
        "_entries",
        "_fields",
        "_keys",
        "_margin",
        "_metadata",
        "_mixed",
        "_shared",
        "_usual",
        "_words",
    )

    def __init__(self, data: bytes, column: int) -> None:
        """Prepare the patterns; `column` is that of the objects' keys."""
        self._data = data
        self._column = column
        # Compiled when they are needed: objects in the usual order need no more than two patterns.
        #: Lines at the column of the keys, and whether the next line that is not empty is indented more.
        self._keys = b"\n {%d}([^ \n#][^\n]*)(?=(\n(?>(?: *\n)*) {%d})?)" % (column, column + 1)
        more = (column + _STEP, column + _STEP + 1)
        self._fields = b"\n {%d}([^ \n#][^\n]*)(?=(\n(?>(?: *\n)*) {%d})?)" % more
        self._metadata = b"\n" + b" " * column + b"metadata:\n" + b" " * (column + _STEP)
        self._continues = b"\n(?>(?: *\n)*) {%d}" % (column + 1)
        self._words: dict[bytes, str] = {}
        self._shared: dict[bytes, str] = {}
        #: Whether lines may end with CR LF: nothing but the usual order is known then.
        self._mixed = b"\r" in data
        #: A key that makes an object unusual when it stands behind metadata.
        self._again = re.compile(b"\n {%d}(?:(?:apiVersion|kind|metadata)[ \t:]|[\"'?!&*<\t])" % column)
        self._usual = re.compile(_write_usual(column, rb"\r?\n" if self._mixed else rb"\n"))
        depth = column + 2 * _STEP
        self._margin = " " * (depth + _STEP)
        #: A line of a field: a key with a string in single quotes, a word, or literal lines without empty ones.
        self._entries = (
            b" {%d}([A-Za-z][A-Za-z0-9./_-]*):" % depth
            + b" (?:'([^'\r\n]*)'|([A-Za-z][A-Za-z0-9./_-]*)|\\|\n((?: {%d}[^ \r\n][^\r\n]*\n)+))" % (depth + _STEP)
            + b"(?:(?<=\n)|\n(?! {%d}))(?! {%d} )" % (depth + 1, depth)
        )

    def read(self, start: int, end: int) -> Head | None:
        """apiVersion, kind, name and namespace (empty where there is none) of the object in a span."""
        usual = self._match_usual(start, end)
        if usual is not None:
            first, second, name, last = usual.group(1, 2, 4, 5)
            api_version, kind, namespace = self._spell(first), self._spell(second), self._spell(last or b"''")
            if api_version and kind and (namespace or not last) and name.lower() not in _RESERVED:
                return api_version, kind, _unquote(name), namespace
        return None if self._mixed else self._read_unusual(start, end)

    def _match_usual(self, start: int, end: int) -> re.Match[bytes] | None:
        """The head of an object in the usual order, none of whose keys comes twice."""
        usual = self._usual.match(self._data, start, end)
        return None if usual is None or self._again.search(self._data, usual.end(6) - 1, end) else usual

    def _spell(self, word: bytes) -> str:
        """A word that many objects have, once; empty for those that are no strings."""
        known = self._shared.get(word)
        if known is None:
            known = self._shared[word] = "" if word.lower() in _RESERVED else _unquote(word)
        return known

    def _read_unusual(self, start: int, end: int) -> Head | None:
        """Objects in another order, line by line."""
        data = self._data
        found = {b"apiVersion": "", b"kind": ""}
        stop = data.find(b"\n", start, end)
        if stop < 0:
            return None
        first = (data[start:stop], re.compile(self._continues).match(data, stop, end) is not None)
        seen: set[bytes] = set()
        name, colon, rest = first[0].partition(b":")
        if not colon or rest[:1] not in (b"", b" ") or not name.translate(None, b"._/-").isalnum():
            return None  # no mapping with a plain key: the lines below may be those of a block scalar
        for line, more in (first, *re.compile(self._keys).findall(data, start, end)):
            key, _, text = line.partition(b":")
            if line[0] in _ODD or key in seen or key[-1:] in b" \t":
                return None
            seen.add(key)
            if key in found:
                if more or not (word := self._read_word(text)):
                    return None
                found[key] = word
        if b"metadata" not in seen or not found[b"kind"] or not found[b"apiVersion"]:
            return None
        names = self._read_names(start, end)
        return names and (found[b"apiVersion"], found[b"kind"], *names)

    def find_field(self, field: bytes, start: int, end: int) -> tuple[int, int] | None:
        """The lines of a field of `metadata` with what is indented more; (0, 0) where there is none.

        None where the object is not in the usual order, or the field is written in another way.
        """
        usual = self._match_usual(start, end)
        if usual is None:
            return None
        data = self._data
        begin, stop = usual.end(3) - 1, usual.end(6)
        line = b"\n" + b" " * (self._column + _STEP) + field
        place = data.find(line, begin, stop)
        if place < 0:
            return (0, 0)
        behind = place + len(line)
        if not data.startswith(b":\n" + b" " * (self._column + _STEP + 1), behind):
            return None
        if data.find(line, behind, stop) >= 0:
            return None
        after = re.compile(self._fields).search(data, behind, stop)
        return place + 1, after.start() + 1 if after else stop

    def read_field(self, field: bytes, start: int, end: int) -> dict[str, str] | None:
        """A mapping of strings in `metadata`, such as its annotations; empty where there is none, None in doubt."""
        try:
            return self._read_field(field, start, end)
        except UnicodeDecodeError:
            return None  # whoever reads it all says where

    def _read_field(self, field: bytes, start: int, end: int) -> dict[str, str] | None:
        span = self.find_field(field, start, end)
        if span is None or span == (0, 0):
            return None if span is None else {}
        data = self._data
        begin, end = data.index(b"\n", span[0]) + 1, span[1]
        found: dict[str, str] = {}
        for entry in re.compile(self._entries).finditer(data, begin, end):
            if entry.start() != begin:
                return None
            begin = entry.end()
            key, quoted, word, literal = entry.groups()
            name = key.decode()
            if name in found or name.lower() in _RESERVED_NAMES:
                return None
            if word is not None:
                text = self._read_word(b" " + word)
                if not text:
                    return None
                found[name] = text
            elif quoted is not None:
                found[name] = quoted.decode()
            else:
                found[name] = literal.decode().replace("\n" + self._margin, "\n")[len(self._margin) :]
        return found if begin == end else None

    def _read_names(self, start: int, end: int) -> tuple[str, str] | None:
        data = self._data
        place = data.find(self._metadata, start, end)
        behind = place + len(self._metadata)
        if place < 0 or behind == end or data[behind] == 32:
            return None
        following = re.compile(self._keys).search(data, behind, end)
        found = {b"name": "", b"namespace": ""}
        seen: set[bytes] = set()
        begin = behind - self._column - _STEP - 1
        for line, more in re.compile(self._fields).findall(data, begin, following.start() if following else end):
            key, _, text = line.partition(b":")
            if line[0] in _ODD or key in seen or key[-1:] in b" \t":
                return None
            seen.add(key)
            if key in found:
                if more or not (word := self._read_word(text)):
                    return None
                found[key] = word
        return (found[b"name"], found[b"namespace"]) if found[b"name"] else None

    def _read_word(self, text: bytes) -> str:
        """A harmless word, plain or in single quotes; empty when it is something else."""
        known = self._words.get(text)
        if known is None:
            word = text[1:]
            if word[:1] == b"'" == word[-1:] and len(word) > 2:
                word = word[1:-1]
            elif not word[:1].isalpha() or word.lower() in _RESERVED:
                word = b""
            known = word.decode() if text[:1] == b" " and word.translate(None, b"./_-").isalnum() else ""
            if len(self._words) < 4096:
                self._words[text] = known
        return known
