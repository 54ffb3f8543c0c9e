"""A list of objects inside a document: where its items stand, and how to write others there.

Holds for ResourceList, v1/List and the like. Offsets count bytes of the source. Knows nothing about what items are.
"""

from __future__ import annotations

from krmfn.krm.errors import EditRefused
from krmfn.krm.item import Item
from krmfn.krm.style import Style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from krmfn.krm.frames import Frame
    from krmfn.krm.source import Source

    #: Replace the bytes from the first to the second offset.
    Splice = tuple[int, int, bytes]


class Listing:
    """The places of one list document.

    `form`: how the items stand: "block", "flow", "empty" (`[]`, null, nothing) or "missing" (no `items` at all).
    `value`: the bytes of the value of `items`; in "block" form from the line of the first dash to the line behind the
    last item. `after_key`: behind the colon of `items`. `indent`: the column of the dashes, or of flow items on lines
    of their own. `root_flow`, `root_indent`: how the document itself stands. `foot`: where a new entry of the
    document goes. `results`: where the entry `results` begins, its value (behind the colon), and its end. `entries`:
    start, end and key of what else is in the document, None where it cannot be read entry by entry; `frame`: what an
    entry is read with.
    """

    __slots__ = (
        "after_key",
        "entries",
        "foot",
        "form",
        "frame",
        "indent",
        "items",
        "results",
        "root_flow",
        "root_indent",
        "source",
        "starts",
        "style",
        "value",
    )

    def __init__(self, source: Source, frame: Frame) -> None:
        """An empty listing, filled by the reader."""
        self.source = source
        self.frame = frame
        self.entries: list[tuple[int, int, str]] | None = None
        self.items: list[Item] = []
        #: Line starts of the items' dashes (block) or the items' first bytes (flow).
        self.starts: list[int] = []
        self.form = "missing"
        self.value = (0, 0)
        self.after_key = 0
        self.indent = 0
        self.root_flow = False
        self.root_indent = 0
        self.foot = 0
        self.results: tuple[int, int, int] | None = None
        self.style = Style(newline=source.newline)

    def copy(self) -> Listing:
        """The same list before any edit."""
        other = Listing(self.source, self.frame)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other.items = [Item(item.frame, item.start, item.end) for item in self.items]
        return other

    def splice(self, items: Sequence[Item], results: list[dict[str, Any]] | None = None) -> list[Splice]:
        """The edits that make the list hold `items`: changed ones, missing ones, new ones at the end. `results` take
        the place of those that were there. Raises EditRefused.
        """
        kept = {id(item) for item in items}
        gone = [(item.start, item.end) for item in self.items if id(item) not in kept]
        if results and self.results is not None:
            gone.append((self.results[0], self.results[2]))
        edits = self._keep_anchors(kept, gone, bool(results))
        own = {id(item) for item in self.items}
        added = [item for item in items if id(item) not in own]
        staying = [item for item in self.items if id(item) in kept]
        if staying and added and self.form == "block" and staying[-1].end == len(self.source.data):
            staying[-1] = staying[-1].end_line()
            if not staying[-1].text:  # a dash alone, at the end of the document
                edits.append((staying[-1].end, staying[-1].end, self.source.newline.encode()))
        edits += [(item.start, item.end, item.text.encode()) for item in staying if item.touched]
        edits += self._splice_items([place for place, item in enumerate(self.items) if id(item) in kept], added)
        if results:
            edits.append(self._splice_results(results))
        return edits

    def _splice_items(self, places: list[int], added: list[Item]) -> list[Splice]:
        """Keep the items at `places`, and add others."""
        if len(places) == len(self.items) and not added:
            return []
        if self.form == "block":
            return self._splice_block(places, added)
        if self.form == "flow":
            return self._splice_flow(places, added)
        if self.form == "empty":
            start, end = self.value
            return [(start, end, self._write_items(added, fresh=True))]
        name = '"items":' if self.style.json else "items:"
        return [self._insert_root(name.encode() + self._write_items(added, fresh=True))]

    def _keep_anchors(self, kept: set[int], gone: list[tuple[int, int]], results: bool) -> list[Splice]:
        """Where something goes that defines anchors, the rest gets what it took from it. Gives the edits of entries
        that are no items."""
        data = self.source.data
        gone = [span for span in gone if data.find(b"&", *span) >= 0]
        if not gone or self.frame.anchors is None:
            return []

        def goes(origin: int) -> bool:
            return any(start <= origin < end for start, end in gone)

        for item in self.items:
            if id(item) in kept and data.find(b"*", item.start, item.end) >= 0:
                item.detach(goes)
        if self.entries is None:
            raise EditRefused("the object to remove defines anchors that the rest of the document uses")
        edits: list[Splice] = []
        for start, end, key in self.entries:
            if data.find(b"*", start, end) >= 0 and not (results and key == "results"):
                entry = Item(self.frame.indented(self.root_indent), start, end)
                entry.detach(goes)
                if entry.touched:
                    edits.append((start, end, entry.text.encode()))
        return edits

    def _splice_block(self, places: list[int], added: list[Item]) -> list[Splice]:
        newline = self.source.newline.encode()
        start, end = self.value
        if not places and not added:
            return [(self.after_key, self.after_key, b" []"), (start, end, b"")]
        gone = set(range(len(self.items))) - set(places)
        edits: list[Splice] = []
        for place in sorted(gone):
            following = self.starts[place + 1] if place + 1 < len(self.starts) else self._skip_blanks(end)
            edits.append((self.starts[place], following, b""))
        if added:
            new = self._write_items(added, fresh=False)
            finished = self.source.data[end - 1 : end] in (b"\n", b"\r")
            end = max([end, *(edit[1] for edit in edits)])
            edits.append((end, end, new + newline if finished else new))
        return edits

    def _skip_blanks(self, offset: int) -> int:
        """Behind blank lines, which would become part of a block scalar that comes to stand before them."""
        data = self.source.data
        while (line := data.find(b"\n", offset) + 1) > 0 and not data[offset:line].strip():
            offset = line
        return offset

    def _splice_flow(self, places: list[int], added: list[Item]) -> list[Splice]:
        edits: list[Splice] = []
        keep = set(places)
        last = places[-1] if places else -1
        for place in range(last + 1):
            if place not in keep:
                edits.append((self.starts[place], self.starts[place + 1], b""))
        start = self.items[last].end if last >= 0 else self.starts[0]
        new = b""
        if added:
            comma = (b"," + self._break()) if self.style.indented else self.style.comma.encode()
            new = (comma if last >= 0 else b"") + self._write_items(added, fresh=False)
        edits.append((start, self.items[-1].end if last + 1 < len(self.items) else start, new))
        return edits

    def _break(self) -> bytes:
        return (self.source.newline + " " * self.indent).encode()

    def _write_items(self, items: Sequence[Item], fresh: bool) -> bytes:
        """Write items for their place; `fresh` when there is no list yet: what follows the colon."""
        if self.form == "block" and not fresh and not self.style.wide and all(item.is_new for item in items):
            # What is new is written without scalars over several lines, so it can be moved as it is.
            separator = self.style.newline + " " * self.indent
            texts = [item.text.rstrip("\n").replace("\n", separator + "  ") for item in items]
            return (" " * self.indent + separator.join("- " + text for text in texts)).encode()
        values = [item.value for item in items]
        return self.write_list(values, fresh)

    def write_list(self, values: list[Any], fresh: bool, indent: int | None = None) -> bytes:
        """Spell a list for an entry of the document (`fresh`: with what follows the colon), or its elements alone."""
        from krmfn.krm.writing import write_block, write_flow

        style = self.style
        if self.root_flow or style.json:
            inner = self.root_indent if fresh else self.indent
            if not fresh:
                comma = "," + self._break().decode() if style.indented else style.comma
                return comma.join(self._write_flow(value, inner) for value in values).encode()
            return (style.colon[1:] + self._write_flow(values, inner)).encode()
        if fresh and not values:
            return b" []"
        column = indent if indent is not None else self.root_indent if fresh else self.indent
        if self.form == "flow" and not fresh:
            return style.comma.join(write_flow(value, style) for value in values).encode()
        separator = style.newline + " " * column
        lines = separator.join("- " + write_block(value, style, column + 2) for value in values)
        return ((separator if fresh else " " * column) + lines).encode()

    def _write_flow(self, value: Any, indent: int) -> str:
        from krmfn.krm.writing import write_flow, write_indented

        return write_indented(value, self.style, indent) if self.style.indented else write_flow(value, self.style)

    def _splice_results(self, results: list[dict[str, Any]]) -> Splice:
        """The edit that puts results into the document, in place of those that were there."""
        new = self.write_list(results, fresh=True)
        if self.results is not None:
            return (*self.results[1:], new)
        return self._insert_root((b'"results":' if self.style.json else b"results:") + new)

    def _insert_root(self, entry: bytes) -> Splice:
        """The edit that adds an entry to the document."""
        if self.root_flow:
            if self.style.indented:
                return (self.foot, self.foot, b"," + (self.source.newline + " " * self.root_indent).encode() + entry)
            return (self.foot, self.foot, self.style.comma.encode() + entry)
        return (self.foot, self.foot, b" " * self.root_indent + entry + self.source.newline.encode())


def splice(data: bytes, edits: Iterable[Splice]) -> list[memoryview | bytes]:
    """Apply edits that do not overlap; gives the parts, so that large inputs are not copied."""
    view = memoryview(data)
    parts: list[memoryview | bytes] = []
    done = 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        parts += [view[done:start], new]
        done = end
    return [*parts, view[done:]]
