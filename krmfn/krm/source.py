"""The bytes that items are cut from: positions, line breaks, encoding. Knows no YAML."""

from __future__ import annotations

from krmfn.krm.errors import Unreadable

BOM = b"\xef\xbb\xbf"


class Source:
    """A file or stream. `data` is never changed; `path` is what people call it, empty for stdin."""

    __slots__ = ("_lines", "_offsets", "data", "kept", "newline", "path")

    def __init__(self, data: bytes, path: str = "") -> None:
        """Find out how lines end: as the first one does."""
        self.data = data
        self.path = path
        #: About how many bytes the values take that are kept of its items.
        self.kept = 0
        first = data.find(b"\n")
        self.newline = "\r\n" if first > 0 and data[first - 1] == 13 else "\n"
        self._offsets = [0]
        self._lines = [1]

    def line(self, offset: int) -> int:
        """Number of the line that holds a byte, from 1. Cheap for offsets that grow."""
        from bisect import bisect_right

        place = bisect_right(self._offsets, offset) - 1
        known = self._offsets[place]
        line = self._lines[place] + self.data.count(b"\n", known, offset)
        if offset - known > 4096:
            self._offsets.insert(place + 1, offset)
            self._lines.insert(place + 1, line)
        return line

    def column(self, offset: int) -> int:
        """Column of a byte in characters, from 0."""
        start = self.data.rfind(b"\n", 0, offset) + 1
        if start == 0 and self.data.startswith(BOM):
            start = len(BOM)
        return len(self.data[start:offset].decode("utf-8", "replace"))

    def text(self, start: int, end: int) -> str:
        """Decode a span. Raises Unreadable with the position of a byte that is no UTF-8."""
        try:
            return self.data[start:end].decode()
        except UnicodeDecodeError as error:
            offset = start + error.start
            raise Unreadable("the text is not UTF-8", self.line(offset), self.column(offset) + 1) from None
