"""A list of objects inside a document: where its items stand, and how to write others there.

Holds for ResourceList, v1/List and the like. Offsets count bytes of the source. Knows nothing about what items are.
"""

from __future__ import annotations

from krmfn.krm.style import Style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from krmfn.krm.item import Item
    from krmfn.krm.source import Source

    #: Replace the bytes from the first to the second offset.
    Splice = tuple[int, int, bytes]


class Listing:
    """The places of one list document.

    `form`: how the items stand: "block", "flow", "empty" (`[]`, null, nothing) or "missing" (no `items` at all).
    `value`: the bytes of the value of `items`; in "block" form from the line of the first dash to the line behind the
    last item. `after_key`: behind the colon of `items`. `indent`: the column of the dashes, or of flow items on lines
    of their own. `root_flow`, `root_indent`: how the document itself stands. `foot`: where a new entry of the
    document goes; `foot_line`: whether it goes before the line there, otherwise behind the last value.
    `results`: the bytes of the value of `results`, from behind its colon.
    """

    __slots__ = (
        "after_key",
        "foot",
        "form",
        "indent",
        "items",
        "results",
        "root_flow",
        "root_indent",
        "source",
        "spans",
        "style",
        "value",
    )

    def __init__(self, source: Source) -> None:
        """An empty listing, filled by the reader."""
        self.source = source
        self.items: list[Item] = []
        #: Line starts of the items' dashes (block) or the items' first bytes (flow), and their ends.
        self.spans: list[tuple[int, int]] = []
        self.form = "missing"
        self.value = (0, 0)
        self.after_key = 0
        self.indent = 0
        self.root_flow = False
        self.root_indent = 0
        self.foot = 0
        self.results: tuple[int, int] | None = None
        self.style = Style(newline=source.newline)

    def splice_items(self, items: Sequence[Item]) -> list[Splice]:
        """The edits that make the list hold `items`: changed ones, missing ones, new ones at the end."""
        kept = {id(item) for item in items}
        own = {id(item) for item in self.items}
        added = [item for item in items if id(item) not in own]
        self._keep_anchors(kept)
        edits: list[Splice] = [
            (item.start, item.end, item.text.encode()) for item in self.items if item.touched and id(item) in kept
        ]
        places = [place for place, item in enumerate(self.items) if id(item) in kept]
        if len(places) == len(self.items) and not added:
            return edits
        if self.form == "block":
            return edits + self._splice_block(places, added)
        if self.form == "flow":
            return edits + self._splice_flow(places, added)
        if self.form == "empty":
            start, end = self.value
            return [(start, end, self._write_items(added, fresh=True))]
        name = '"items":' if self.style.json else "items:"
        return [self.insert_root(name.encode() + self._write_items(added, fresh=True))]

    def _keep_anchors(self, kept: set[int]) -> None:
        """Where an item goes that defines anchors, the others get what they took from it."""
        data = self.source.data
        if any(b"&" in data[item.start : item.end] for item in self.items if id(item) not in kept):
            for item in self.items:
                if id(item) in kept and b"*" in data[item.start : item.end]:
                    item.detach()

    def _splice_block(self, places: list[int], added: list[Item]) -> list[Splice]:
        newline = self.source.newline.encode()
        start, end = self.value
        if not places and not added:
            return [(self.after_key, self.after_key, b" []"), (start, end, b"")]
        gone = set(range(len(self.items))) - set(places)
        edits: list[Splice] = []
        for place in sorted(gone):
            following = self.spans[place + 1][0] if place + 1 < len(self.spans) else end
            edits.append((self.spans[place][0], following, b""))
        if added:
            new = self._write_items(added, fresh=False)
            data = self.source.data
            if data[end - 1 : end] == b"\n":
                edits.append((end, end, new + newline))
            else:
                edits.append((end, end, newline + new))
        return edits

    def _splice_flow(self, places: list[int], added: list[Item]) -> list[Splice]:
        edits: list[Splice] = []
        keep = set(places)
        last = places[-1] if places else -1
        for place in range(last + 1):
            if place not in keep:
                edits.append((self.spans[place][0], self.spans[place + 1][0], b""))
        start = self.spans[last][1] if last >= 0 else self.spans[0][0]
        new = b""
        if added:
            comma = (b"," + self._break()) if self.style.indented else self.style.comma.encode()
            new = (comma if last >= 0 else b"") + self._write_items(added, fresh=False)
        edits.append((start, self.spans[-1][1] if last + 1 < len(self.spans) else start, new))
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

    def splice_results(self, results: list[dict[str, Any]]) -> Splice:
        """The edit that puts results into the document, in place of those that were there."""
        new = self.write_list(results, fresh=True)
        if self.results is not None:
            return (*self.results, new)
        return self.insert_root((b'"results":' if self.style.json else b"results:") + new)

    def insert_root(self, entry: bytes) -> Splice:
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
