"""The bytes that items are cut from: positions, line breaks, encoding. Knows no YAML."""

from __future__ import annotations

from itertools import accumulate
from typing import NoReturn

from krmfn.krm.errors import Unreadable

#: Parts of a text that are looked for.
Signs = tuple[bytes, ...]
_BLANKS = " \t\r\n"
BOM = b"\xef\xbb\xbf"
#: What may stand for any word: aliases and escapes.
STAND_INS = (b"*", b"\\")
#: NEL, LS and PS, which end a line for libyaml.
RARE_BREAKS = (b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")
_BREAKS = (b"\n", b"\r", *RARE_BREAKS)
#: Bytes that continue a character of UTF-8, and how many bytes are counted at once.
_CONTINUES = bytes(range(0x80, 0xC0))
_BLOCK = 4096


class Source:
    """A file or stream. `data` is never changed; `path` is what people call it, empty for stdin."""

    __slots__ = ("_characters", "_digest", "_signs", "_starts", "begin", "data", "newline", "path")

    def __init__(self, data: bytes, path: str = "") -> None:
        """Find out how lines end: as the first one does."""
        self.data = data
        self.path = path
        #: The first byte behind a byte order mark.
        self.begin = len(BOM) if data.startswith(BOM) else 0
        first = data.find(b"\n")
        self.newline = "\r\n" if first > 0 and data[first - 1] == 13 else "\n"
        if first < 0 and b"\r" in data:
            self.newline = "\r"
        #: The characters with which lines begin, and how many come before each block; made when a place is asked for.
        self._starts: list[int] | None = None
        self._characters: list[int] | None = None
        self._digest = ""
        self._signs: dict[Signs, Signs] = {}

    @property
    def digest(self) -> str:
        """What stands for the data in a name."""
        if not self._digest:
            from hashlib import sha256  # few ask

            self._digest = sha256(self.data).hexdigest()
        return self._digest

    def list_signs(self, words: Signs) -> Signs:
        """Those that the data has of words and of what may stand for any: aliases and escapes."""
        if words not in self._signs:
            stand_ins = self.list_signs(()) if words else tuple(sign for sign in STAND_INS if sign in self.data)
            self._signs[words] = (*(word for word in words if word in self.data), *stand_ins)
        return self._signs[words]

    def place(self, character: int) -> tuple[int, int]:
        """Line and column of a character, both from 1. Lines end with LF, CR LF, or CR."""
        from bisect import bisect_right

        if self._starts is None:
            lines = self.data.splitlines(keepends=True)
            if not self.data.isascii():
                lines = [line.translate(None, _CONTINUES) for line in lines]
            self._starts = list(accumulate(map(len, lines), initial=0))
            if self.data and not self.data.endswith((b"\n", b"\r")):
                self._starts.pop()
            self._starts[0] = self.count(self.begin)
        line = bisect_right(self._starts, character)
        return line, character - self._starts[line - 1] + 1

    def line(self, offset: int) -> int:
        """Number of the line that has a byte, from 1."""
        return self.place_of(offset)[0]

    def place_of(self, offset: int) -> tuple[int, int]:
        """Line and column of a byte, both from 1."""
        return self.place(self.count(offset))

    def count(self, offset: int) -> int:
        """The characters before a byte."""
        if self._characters is None:
            self._characters = [0]
            if not self.data.isascii():
                for start in range(0, len(self.data), _BLOCK):
                    self._characters.append(self._characters[-1] + self._measure(start, start + _BLOCK))
        if len(self._characters) == 1:
            return offset
        block = offset // _BLOCK
        return self._characters[block] + self._measure(block * _BLOCK, offset)

    def _measure(self, start: int, end: int) -> int:
        return len(self.data[start:end].translate(None, _CONTINUES))

    def ends_line(self, end: int) -> bool:
        """Whether a line break stands before a byte."""
        return self.data.endswith(_BREAKS, 0, end)

    def refuse(self, error: Unreadable, start: int, pad: int = 0) -> NoReturn:
        """Raise an error of a text that was cut out at a byte, after `pad` blanks, with its place in the source."""
        if not error.line:
            raise error
        line, column = self.place_of(start)
        shift = column - 1 - pad if error.line == 1 else 0
        raise Unreadable(error.message, line + error.line - 1, error.column + shift) from None

    def text(self, start: int, end: int) -> str:
        """Decode a span. Raises Unreadable with the position of a byte that is no UTF-8."""
        try:
            return self.data[start:end].decode()
        except UnicodeDecodeError as error:
            offset = start + error.start
            raise Unreadable("the text is not UTF-8", *self.place_of(offset)) from None


def looks_like_json(text: str) -> bool:
    """Whether a text begins as JSON objects do; flow mappings of YAML may as well, so reading decides."""
    rest = text.lstrip(_BLANKS + "\ufeff")
    return rest.startswith("{") and rest[1:].lstrip(_BLANKS)[:1] in ('"', "}")
