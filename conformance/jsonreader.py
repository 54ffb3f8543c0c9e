"""JSON read as the server reads it: nothing is lost, and what is no JSON is refused in Go's words.

`json.loads` forgets repeated keys and how a number was spelled, and words its errors differently. Only exact request
bodies need this; manifests come through `krmfn.krm`.

Source: Go's encoding/json scanner, which sigs.k8s.io/json shares.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.krm.paths import Path

_SPACE = b" \t\r\n"
_DIGITS = b"0123456789"
_HEX = b"0123456789abcdefABCDEF"
_ESCAPES = {
    ord('"'): '"', ord("\\"): "\\", ord("/"): "/", ord("b"): "\b", ord("f"): "\f", ord("n"): "\n",
    ord("r"): "\r", ord("t"): "\t",
}  # fmt: skip
_MAX_DEPTH = 10000


class BadJson(ValueError):
    """The text is no JSON; the message is Go's."""


class Spelled(float):
    """A number that is no plain integer, with its spelling in `text`."""

    text: str


class Repeated(dict[str, Any]):
    """An object in which keys came twice: `again`. The dict has the last of each, at its place."""

    again: list[str]


def list_repeated(value: Any, path: Path = ()) -> Iterator[Path]:
    """The places of keys that came twice."""
    if isinstance(value, Repeated):
        yield from ((*path, key) for key in value.again)
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from list_repeated(each, (*path, key))


def read_json(body: bytes) -> Any:
    """The value of a request body. Raises BadJson."""
    reader = _Reader(body)
    value = reader.value(0)
    reader.space()
    if reader.at < len(body):
        raise reader.unexpected("after top-level value")
    return value


class _Reader:
    def __init__(self, body: bytes) -> None:
        self.body = body
        self.at = 0

    def space(self) -> None:
        while self.at < len(self.body) and self.body[self.at] in _SPACE:
            self.at += 1

    def unexpected(self, context: str) -> BadJson:
        if self.at >= len(self.body):
            return BadJson("unexpected end of JSON input")
        from krmfn.model.gotext import quote

        character = chr(self.body[self.at])
        shown = {"'": "\\'", '"': '"'}.get(character) or quote(character)[1:-1]
        return BadJson(f"invalid character '{shown}' {context}")

    def peek(self) -> int:
        self.space()
        return self.body[self.at] if self.at < len(self.body) else -1

    def value(self, depth: int) -> Any:
        first = self.peek()
        if first == ord("{"):
            return self.object(depth + 1)
        if first == ord("["):
            return self.array(depth + 1)
        if first == ord('"'):
            return self.string()
        if first == ord("-") or (first >= 0 and first in _DIGITS):
            return self.number()
        for word, value in ((b"true", True), (b"false", False), (b"null", None)):
            if first == word[0]:
                return self.literal(word, value)
        raise self.unexpected("looking for beginning of value")

    def literal(self, word: bytes, value: Any) -> Any:
        for character in word:
            if self.at >= len(self.body) or self.body[self.at] != character:
                raise self.unexpected(f"in literal {word.decode()} (expecting '{chr(character)}')")
            self.at += 1
        return value

    def object(self, depth: int) -> dict[str, Any]:
        if depth > _MAX_DEPTH:
            raise BadJson("exceeded max depth")
        self.at += 1
        pairs: list[tuple[str, Any]] = []
        if self.peek() == ord("}"):
            self.at += 1
            return {}
        while True:
            if self.peek() != ord('"'):
                raise self.unexpected("looking for beginning of object key string")
            key = self.string()
            if self.peek() != ord(":"):
                raise self.unexpected("after object key")
            self.at += 1
            pairs.append((key, self.value(depth)))
            end = self.peek()
            if end < 0 or end not in b",}":
                raise self.unexpected("after object key:value pair")
            self.at += 1
            if end == ord("}"):
                break
        out = dict(pairs)
        if len(out) == len(pairs):
            return out
        repeated = Repeated()
        repeated.again = [key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number])]
        for key, each in pairs:
            repeated.pop(key, None)
            repeated[key] = each
        return repeated

    def array(self, depth: int) -> list[Any]:
        if depth > _MAX_DEPTH:
            raise BadJson("exceeded max depth")
        self.at += 1
        out: list[Any] = []
        if self.peek() == ord("]"):
            self.at += 1
            return out
        while True:
            out.append(self.value(depth))
            end = self.peek()
            if end < 0 or end not in b",]":
                raise self.unexpected("after array element")
            self.at += 1
            if end == ord("]"):
                return out

    def number(self) -> int | Spelled:
        start = self.at
        if self.body[self.at] == ord("-"):
            self.at += 1
        if self.at < len(self.body) and self.body[self.at] == ord("0"):
            self.at += 1
        else:
            self.digits("in numeric literal")
        whole = True
        if self.at < len(self.body) and self.body[self.at] == ord("."):
            whole = False
            self.at += 1
            self.digits("after decimal point in numeric literal")
        if self.at < len(self.body) and self.body[self.at] in b"eE":
            whole = False
            self.at += 1
            if self.at < len(self.body) and self.body[self.at] in b"+-":
                self.at += 1
            self.digits("in exponent of numeric literal")
        text = self.body[start : self.at].decode()
        if whole and len(text) < 1000:
            return int(text)
        spelled = Spelled(text)
        spelled.text = text
        return spelled

    def digits(self, context: str) -> None:
        start = self.at
        while self.at < len(self.body) and self.body[self.at] in _DIGITS:
            self.at += 1
        if self.at == start:
            raise self.unexpected(context)

    def string(self) -> str:
        self.at += 1
        out: list[str] = []
        start = self.at
        while True:
            if self.at >= len(self.body):
                raise self.unexpected("")
            character = self.body[self.at]
            if character == ord('"'):
                break
            if character < 0x20:
                raise self.unexpected("in string literal")
            if character == ord("\\"):
                out.append(self.body[start : self.at].decode("utf-8", "replace"))
                out.append(self.escape())
                start = self.at
            else:
                self.at += 1
        out.append(self.body[start : self.at].decode("utf-8", "replace"))
        self.at += 1
        return "".join(out)

    def escape(self) -> str:
        self.at += 1
        letter = self.body[self.at] if self.at < len(self.body) else -1
        if letter == ord("u"):
            self.at += 1
            code = self.hexadecimal()
            if 0xD800 <= code < 0xDC00 and self.body[self.at : self.at + 2] == b"\\u":
                mark = self.at
                self.at += 2
                low = self.hexadecimal()
                if 0xDC00 <= low < 0xE000:
                    return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
                self.at = mark
            return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)
        if letter < 0 or letter not in _ESCAPES:
            raise self.unexpected("in string escape code")
        self.at += 1
        return _ESCAPES[letter]

    def hexadecimal(self) -> int:
        start = self.at
        for _ in range(4):
            if self.at >= len(self.body) or self.body[self.at] not in _HEX:
                raise self.unexpected("in \\u hexadecimal character escape")
            self.at += 1
        return int(self.body[start : self.at], 16)
