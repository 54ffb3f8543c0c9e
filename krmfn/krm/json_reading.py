"""Reads JSON text into the same nodes as YAML, with offsets. libyaml is not used: it refuses surrogate escapes.

Strings become double-quoted scalars; numbers and words keep their spelling, so `1.0`, `1` and `1e3` stay apart.
"""

from __future__ import annotations

from typing import Any

from krmfn.krm.dialect import replace_surrogates
from krmfn.krm.errors import Unreadable
from krmfn.krm.nodes import MAX_DEPTH, NUMBER_TAG, Mapping, Node, Scalar, Sequence
from krmfn.krm.places import position

_BLANK = " \t\r\n"
_WORDS = ("true", "false", "null")


def load_json(text: str | bytes) -> Any:
    """The value of a JSON text that anybody may have written. Raises ValueError, also where it nests too deeply."""
    import json

    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from None


def compose_json(text: str, start: int = 0) -> tuple[Node, int]:
    """Read one JSON value from `start`; gives the node and the offset behind it. Raises Unreadable."""
    return _Reader(text).read(start)


class _Reader:
    """An explicit stack of open collections; strings are read by the C scanner of the json module."""

    def __init__(self, text: str) -> None:
        from json import decoder

        self.text = text
        self.scan: Any = vars(decoder)["scanstring"]  # the C scanner where there is one; typeshed omits it

    def read(self, position: int) -> tuple[Node, int]:
        stack: list[Mapping | Sequence] = []
        keys: list[Scalar | None] = []
        position = self.skip(position)
        while True:
            node, position = self.read_start(position)
            if stack:
                self.attach(stack[-1], keys[-1], node)
            if isinstance(node, Mapping | Sequence):
                if len(stack) >= MAX_DEPTH:
                    raise self.refuse(position, f"nested deeper than {MAX_DEPTH} levels")
                stack.append(node)
                keys.append(None)
                position = self.skip(position)
                if self.text[position : position + 1] != ("}" if isinstance(node, Mapping) else "]"):
                    position = self.read_key(stack, keys, position)
                    continue
            elif not stack:
                return node, position
            position = self.skip(position)
            while stack:
                sign = self.text[position : position + 1]
                closing = "}" if isinstance(stack[-1], Mapping) else "]"
                if sign != closing:
                    break
                position += 1
                closed = stack.pop()
                closed.end = position
                keys.pop()
                if not stack:
                    return closed, position
                position = self.skip(position)
            if self.text[position : position + 1] != ",":
                raise self.refuse(position, "expected a comma or a closing bracket")
            position = self.read_key(stack, keys, self.skip(position + 1))

    def read_key(self, stack: list[Mapping | Sequence], keys: list[Scalar | None], position: int) -> int:
        if isinstance(stack[-1], Sequence):
            return position
        if self.text[position : position + 1] != '"':
            raise self.refuse(position, "expected a key in double quotes")
        key, position = self.read_string(position)
        keys[-1] = key
        position = self.skip(position)
        if self.text[position : position + 1] != ":":
            raise self.refuse(position, "expected a colon")
        return self.skip(position + 1)

    def attach(self, parent: Mapping | Sequence, key: Scalar | None, node: Node) -> None:
        if isinstance(parent, Sequence):
            parent.children.append(node)
        else:
            assert key is not None
            parent.children.append((key, node))

    def read_start(self, position: int) -> tuple[Node, int]:
        sign = self.text[position : position + 1]
        if sign == "{":
            return Mapping(position, position + 1, None, None, True), position + 1
        if sign == "[":
            return Sequence(position, position + 1, None, None, True), position + 1
        if sign == '"':
            return self.read_string(position)
        for word in _WORDS:
            if self.text.startswith(word, position):
                end = position + len(word)
                return Scalar(position, end, None, None, word, ""), end
        return self.read_number(position)

    def read_string(self, position: int) -> tuple[Scalar, int]:
        try:
            content, end = self.scan(self.text, position + 1, True)
        except ValueError as error:
            raise self.refuse(position, str(getattr(error, "msg", error))) from None
        return Scalar(position, end, None, None, replace_surrogates(content), '"'), end

    def read_number(self, position: int) -> tuple[Scalar, int]:
        end = position
        while self.text[end : end + 1] and self.text[end] in "+-.0123456789eE":
            end += 1
        source = self.text[position:end]
        whole = source.removeprefix("-").lower().partition("e")[0].partition(".")[0]
        try:
            float(source)
        except ValueError:
            raise self.refuse(position, "expected a value") from None
        if (
            not whole
            or (len(whole) > 1 and whole[0] == "0")
            or source[0] in "+."
            or source[-1] == "."
            or ".e" in source.lower()
        ):
            raise self.refuse(position, "expected a value")
        return Scalar(position, end, None, NUMBER_TAG, source, ""), end

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
    import re

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
