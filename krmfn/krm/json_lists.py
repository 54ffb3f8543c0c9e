"""Lists of objects as JSON, read object by object: a dump of a cluster is many times larger in memory than in its file,
and its reader keeps little of it.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from typing import Any

#: Bytes that are decoded at once: what is large is not larger in memory for that.
_PIECE = 1 << 20
_BLANK = " \t\r\n"
#: Where keys are sorted, as kubectl does it, these are before `items`, and every object begins with its apiVersion.
_SORTED = ["apiVersion", "items"]
_FIRST = b'"apiVersion":'
#: How kubectl, and everybody who indents, begins an element of a list: the blanks before the fields of the object.
_STEPS = (4, 2)

Skip = Callable[[bytes, int, int], bool]


def read_list(data: bytes, skip: Skip | None = None) -> Iterator[tuple[str | None, Any]]:
    """The fields of a JSON object, each with its value; where `items` is a list, it is empty, and every element comes
    behind it without a key.

    `skip` is asked of the elements of a list that is written as kubectl does it (data, begin, end): what it takes is
    passed over unread.

    Raises ValueError for what is no JSON object, or more than one, when it comes to it.

    >>> list(read_list(b'{"kind": "List", "items": [1, 2]}'))
    [('kind', 'List'), ('items', []), (None, 1), (None, 2)]
    """
    text = _Text(data)
    text.take("{")
    keys = []
    if not text.takes("}"):
        while True:
            key = text.read()
            keys.append(key)
            text.take(":")
            if key == "items" and text.takes("["):
                yield key, []
                yield from _read_elements(text, skip if keys == _SORTED else None)
            else:
                yield key, text.read()
            if text.takes("}"):
                break
            text.take(",")
    if text.sign():
        raise ValueError("something follows the object")


def _read_elements(text: _Text, skip: Skip | None) -> Iterator[tuple[None, Any]]:
    if text.takes("]"):
        return
    if skip is not None:
        yield from text.read_indented(skip)
    while True:
        yield None, text.read()
        if text.takes("]"):
            return
        text.take(",")


def _refuse(word: str) -> None:
    """NaN and Infinity, which Python takes."""
    raise ValueError(f"{word} is not JSON")


class _Text:
    """A text that is decoded piece by piece; what was read of it is forgotten."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogatepass")
        self._scan = json.JSONDecoder(parse_constant=_refuse).raw_decode
        self._next = 0
        self._size = _PIECE
        self.text = ""
        self.at = 0

    def _go_on(self) -> bool:
        """Decode more; False at the end. Where that did not suffice for one value, twice as much comes next."""
        if self._next >= len(self._data):
            return False
        self._size = _PIECE if self.at else self._size * 2
        piece = self._data[self._next : self._next + self._size]
        self._next += len(piece)
        self.text = self.text[self.at :] + self._decoder.decode(piece, self._next >= len(self._data))
        self.at = 0
        return True

    def sign(self) -> str:
        """The next character that is no blank; empty at the end."""
        while True:
            while self.at < len(self.text):
                if self.text[self.at] not in _BLANK:
                    return self.text[self.at]
                self.at += 1
            if not self._go_on():
                return ""

    def takes(self, sign: str) -> bool:
        """Whether that is the next character; it is behind us then."""
        if self.sign() != sign:
            return False
        self.at += 1
        return True

    def take(self, sign: str) -> None:
        if not self.takes(sign):
            raise ValueError(f"expected {sign}")

    def read(self) -> Any:
        """The next value."""
        self.sign()
        while True:
            try:
                value, end = self._scan(self.text, self.at)
            except RecursionError as error:
                raise ValueError(str(error)) from None
            except ValueError:
                if not self._go_on():
                    raise
                continue
            if end + 2 < len(self.text) or not self._go_on():  # a number might go on: with `e+` and a digit
                self.at = end
                return value

    def read_indented(self, skip: Skip) -> Iterator[tuple[None, Any]]:
        """All elements but the last one, where the way in which the next one is indented shows where each begins: no
        string of JSON holds a line break. We are before the last one then; elsewhere nothing is read."""
        self.sign()
        data, at = self._data, self._next - len(self.text[self.at :].encode("utf-8", "surrogatepass"))
        place = data.find(_FIRST, at)
        heads = (b"\n" + b" " * (2 * step) + b"{\n" + b" " * (3 * step) for step in _STEPS)
        head = next((each for each in heads if data.endswith(each, 0, max(place, 0))), b"")
        before = len(head.lstrip())
        if not head or place - before != at:
            return
        while (place := data.find(_FIRST, place + 1)) >= 0:
            end = place - len(head) - 1
            if data.startswith(b"," + head, end):
                if not skip(data, at, end):
                    yield None, json.loads(data[at:end], parse_constant=_refuse)
                at = place - before
        self._decoder.reset()
        self.text, self.at, self._next = "", 0, at
