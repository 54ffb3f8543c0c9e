"""What the items of one document share: its frame, and the anchors that its parts define.

YAML lets any part of a document use what an earlier one has defined, and define a name again; the latest definition
before the use counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from krmfn.krm.errors import Unreadable
from krmfn.krm.nodes import Node, walk
from krmfn.krm.source import Source

#: Start and end of a part in bytes, and how many columns its first line is indented.
Part = tuple[int, int, int]
#: What is odd about a document: code, message, line.
Remark = tuple[str, str, int]


class Frame:
    """The document of an item.

    `pad`: the column of an item's first character in a block sequence, 0 elsewhere; `index`: the document's number in
    the file; `json`: whether it is read as JSON; `new`: whether it was never in a file. `anchors`: those of the other
    parts of the document, None where there are no others.
    """

    __slots__ = ("anchors", "index", "json", "new", "pad", "remarks", "source")

    def __init__(self, source: Source, *, pad: int = 0, index: int = 0, json: bool = False, new: bool = False) -> None:
        """A document without anchors from outside."""
        self.source = source
        self.pad = pad
        self.index = index
        self.json = json
        self.new = new
        self.anchors: Anchors | None = None
        self.remarks: tuple[Remark, ...] = ()

    def indented(self, pad: int) -> Frame:
        """The same document for items that begin in column `pad` of a block sequence."""
        frame = Frame(self.source, pad=pad, index=self.index)
        frame.anchors = self.anchors
        frame.remarks = self.remarks
        return frame


class Anchors:
    """What the parts of one document define. Parts are read in the order of the text, each once, and only those with
    an anchor in them, when an earlier definition is asked for."""

    __slots__ = ("_defined", "_list_parts", "_parts", "_source", "_used")

    def __init__(self, source: Source, list_parts: Callable[[], list[Part]] | None = None) -> None:
        """`list_parts` gives the parts of the document in the order of the text; None: `define` is told of all."""
        self._source = source
        self._list_parts = list_parts
        #: Parts that were not looked at, the last one first.
        self._parts: list[Part] = []
        #: Starts of the parts that define a name, and the nodes.
        self._defined: dict[str, tuple[list[int], list[Node]]] = {}
        self._used: dict[bytes, int] | None = None

    def find(self, name: str, before: int) -> tuple[Node, int] | None:
        """The latest definition of a name in a part that begins before a byte, and where that part begins.

        Raises Unreadable where an earlier part that defines anchors cannot be read.
        """
        if self._list_parts is not None:
            self._parts = self._list_parts()[::-1]
            self._list_parts = None
        while self._parts and self._parts[-1][0] < before:
            part = self._parts[-1]
            if self._source.data.find(b"&", *part[:2]) >= 0:
                self._read(part)
            self._parts.pop()
        return self._look_up(name, before)

    def _look_up(self, name: str, before: int) -> tuple[Node, int] | None:
        from bisect import bisect_left

        starts, nodes = self._defined.get(name, ((), ()))
        place = bisect_left(starts, before) - 1
        return (nodes[place], starts[place]) if place >= 0 else None

    def _read(self, part: Part) -> None:
        from krmfn.krm.composing import compose

        start, end, pad = part
        text = " " * pad + self._source.text(start, end)
        try:
            root = compose(text, lambda name: self._look_up(name, start))
        except Unreadable as error:
            self._source.refuse(error, start, pad)
        self.define(start, walk(root) if root else ())

    def define(self, start: int, nodes: Iterable[Node]) -> None:
        """Take up the anchors of a part that begins at a byte, behind those of all earlier ones."""
        for node in nodes:
            if node.anchor is not None:
                starts, found = self._defined.setdefault(node.anchor, ([], []))
                starts.append(start)
                found.append(node)

    def is_used(self, name: str, behind: int) -> bool:
        """Whether a part that begins at a byte or later may use a name: true for every `*name` in its text."""
        if self._used is None:
            uses = re.finditer(rb"\*([0-9A-Za-z_-]+)", self._source.data)
            self._used = {use[1]: use.start() for use in uses}
        return self._used.get(name.encode(), -1) >= behind
