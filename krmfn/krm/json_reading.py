"""Reads JSON text into the same nodes as YAML, with offsets. libyaml is not used: it refuses surrogate escapes.

Strings become double-quoted scalars; numbers and words keep their spelling, so `1.0`, `1` and `1e3` stay apart.
"""

from __future__ import annotations

import re
from typing import Any

from krmfn.krm.dialect import replace_surrogates
from krmfn.krm.errors import Unreadable
from krmfn.krm.nodes import MAX_DEPTH, NUMBER_TAG, Mapping, Node, Scalar, Sequence
from krmfn.krm.places import position

_BLANK = " \t\r\n"
#: What stands without quotes: a word, or a number as a whole.
_BARE = r"(true|false|null)|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?(?![-+.0-9eE])"


def load_json(text: str | bytes) -> Any:
    """The value of a JSON text that anybody may have written. Raises ValueError, also where it nests too deeply."""
    import json

    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from None


def compose_json(text: str, start: int = 0) -> tuple[Node, int]:
    """Read one JSON value from `start`; gives the node and the offset behind it. Raises Unreadable."""
    return _Reader(text).read(start, 0)


class _Reader:
    """Each method gives a node and the offset behind it. Strings are read by the C scanner of the json module."""

    def __init__(self, text: str) -> None:
        from json import decoder

        self.text = text
        self.scan: Any = vars(decoder)["scanstring"]  # the C scanner where there is one; typeshed omits it

    def read(self, position: int, depth: int) -> tuple[Node, int]:
        position = self.skip(position)
        sign = self.text[position : position + 1]
        if sign in ("{", "["):
            return self.read_collection(position, depth)
        if sign == '"':
            return self.read_string(position)
        found = re.compile(_BARE).match(self.text, position)
        if found is None:
            raise self.refuse(position, "expected a value")
        return Scalar(position, found.end(), None, None if found[1] else NUMBER_TAG, found[0], ""), found.end()

    def read_collection(self, position: int, depth: int) -> tuple[Node, int]:
        is_map = self.text[position] == "{"
        closing = "}" if is_map else "]"
        node = (Mapping if is_map else Sequence)(position, position + 1, None, None, True)
        position += 1
        if depth >= MAX_DEPTH:
            raise self.refuse(position, f"nested deeper than {MAX_DEPTH} levels")
        position = self.skip(position)
        sign = self.text[position : position + 1]
        while sign != closing:
            key = None
            if is_map:
                key, position = self.read_key(position)
            child, position = self.read(position, depth + 1)
            node.children.append((key, child) if key else child)
            position = self.skip(position)
            sign = self.text[position : position + 1]
            if sign == ",":
                position = self.skip(position + 1)
            elif sign != closing:
                raise self.refuse(position, "expected a comma or a closing bracket")
        node.end = position + 1
        return node, node.end

    def read_key(self, position: int) -> tuple[Scalar, int]:
        if self.text[position : position + 1] != '"':
            raise self.refuse(position, "expected a key in double quotes")
        key, position = self.read_string(position)
        position = self.skip(position)
        if self.text[position : position + 1] != ":":
            raise self.refuse(position, "expected a colon")
        return key, position + 1

    def read_string(self, position: int) -> tuple[Scalar, int]:
        try:
            content, end = self.scan(self.text, position + 1, True)
        except ValueError as error:
            raise self.refuse(position, str(getattr(error, "msg", error))) from None
        return Scalar(position, end, None, None, replace_surrogates(content), '"'), end

    def skip(self, position: int) -> int:
        text = self.text
        while text[position : position + 1] and text[position] in _BLANK:
            position += 1
        return position

    def refuse(self, offset: int, message: str) -> Unreadable:
        return Unreadable(message, *position(self.text, offset))


def has_comments(text: bytes) -> bool:
    """Whether a text is JSON but for comments, and for commas behind the last element.

    >>> has_comments(b'// a\\n{"a": "http://b", /* c */}')
    True
    """
    # What is opened and never closed goes up to the end: no second look at the same bytes.
    string = rb"""("(?:[^"\\]|\\.|\\\Z)*(?:"|\Z))"""
    comment = rb"|//[^\n]*|/\*.*?(?:\*/|\Z)"
    bare = re.sub(string + comment, lambda found: found[1] or b" ", text, flags=re.DOTALL)
    if bare == text or not bare.lstrip().startswith((b"{", b"[")):
        return False
    try:
        load_json(re.sub(string + rb"|,(?=\s*[}\]])", lambda found: found[1] or b"", bare, flags=re.DOTALL))
    except ValueError:
        return False
    return True
