"""A list of objects inside a document: where its items stand, and how to write others there.

Holds for ResourceList, v1/List and the like. `read_listing` reads it by nodes, which is right for every spelling;
`fast_reading` is faster. Offsets count bytes of the source. Knows nothing about what items are.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Many
from typing import Any, NamedTuple

from krmfn.krm.errors import EditRefused, Unreadable
from krmfn.krm.frames import Anchors, Frame
from krmfn.krm.item import Item
from krmfn.krm.lookup import read_key
from krmfn.krm.nodes import Mapping, Node, Scalar, Sequence, follow, walk
from krmfn.krm.paths import Fields
from krmfn.krm.places import begins_line, column, dash_of, entry_start, find_colon, line_start, lines_end, visible_end
from krmfn.krm.sharing import share
from krmfn.krm.source import Source
from krmfn.krm.style import Style, detect_style, is_multiline

#: Replace the bytes from the first to the second offset.
Splice = tuple[int, int, bytes]
#: A text in pieces that share the memory of the input.
Parts = list[memoryview | bytes]


class Listing:
    """The places of one list document.

    `form`: how the items stand: "block", "flow", "empty" (`[]`, null, nothing) or "missing" (no `items` at all).
    `value`: the bytes of the value of `items`; in "block" form from the line of the first dash to the line behind the
    last item. `after_key`: behind the colon of `items`. `indent`: the column of the dashes, or of flow items on lines
    of their own. `root_flow`, `root_indent`: how the document itself stands. `foot`: where a new entry of the
    document goes. `results`: where the entry `results` begins, its value (behind the colon), and its end. `entries`:
    start, end and key of what else is in the document; `entries_apart`: whether each is on lines of its own, so that it
    can be read by itself; `frame`: what it is read with.
    """

    def __init__(self, source: Source, frame: Frame) -> None:
        """An empty listing, filled by the reader."""
        self.source = source
        self.frame = frame
        self.entries: list[tuple[int, int, str]] = []
        self.entries_apart = True
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

    def splice(self, items: Many[Item], results: list[Fields] | None = None) -> list[Splice]:
        """The edits that make the list hold `items`: changed ones, missing ones, new ones at the end. `results` replace
        those that are there. Raises EditRefused."""
        kept = {id(item) for item in items}
        gone = [(item.start, item.end) for item in self.items if id(item) not in kept]
        if results and self.results is not None:
            gone.append((self.results[0], self.results[2]))
        edits = self._keep_anchors(kept, gone, bool(results))
        own = {id(item) for item in self.items}
        added = [item for item in items if id(item) not in own]
        staying = [item for item in self.items if id(item) in kept]
        if staying and added and self.form == "block" and staying[-1].end == len(self.source.data):
            last = staying[-1]
            if last.value:
                staying[-1] = last.end_line()
            elif not self.source.ends_line(last.end):  # a dash with nothing that a line break would change
                edits.append((last.end, last.end, self.source.newline.encode()))
        edited = [item for item in staying if item.touched]
        texts = share(lambda item: item.text.encode(), edited)
        edits += [(item.start, item.end, text) for item, text in zip(edited, texts, strict=True)]
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
            return [(*self.value, self._write_items(added, fresh=True).encode())]
        return [self._insert_root("items", self._write_items(added, fresh=True))]

    def _keep_anchors(self, kept: set[int], gone: list[tuple[int, int]], results: bool) -> list[Splice]:
        """Give what is left the values of anchors that go, and return the edits of entries that are not items."""
        data = self.source.data
        gone = [span for span in gone if data.find(b"&", *span) >= 0]
        if not gone or self.frame.anchors is None:
            return []

        def goes(origin: int) -> bool:
            return any(start <= origin < end for start, end in gone)

        for item in self.items:
            if id(item) in kept and data.find(b"*", item.start, item.end) >= 0:
                item.detach(goes)
        edits: list[Splice] = []
        for start, end, key in self.entries:
            if data.find(b"*", start, end) >= 0 and not (results and key == "results"):
                if not self.entries_apart:
                    raise EditRefused("the object to remove defines anchors that the rest of the document uses")
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
            new = self._write_items(added, fresh=False).encode()
            finished = self.source.ends_line(end)
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
        keep = set(places)
        last = places[-1] if places else -1
        gone = (place for place in range(last + 1) if place not in keep)
        edits = [(self.starts[place], self.starts[place + 1], b"") for place in gone]
        start = self.items[last].end if last >= 0 else self.starts[0]
        new = ""
        if added:
            new = (self._comma(self.indent) if last >= 0 else "") + self._write_items(added, fresh=False)
        edits.append((start, self.items[-1].end if last + 1 < len(self.items) else start, new.encode()))
        return edits

    def _comma(self, indent: int) -> str:
        """What separates two entries in flow form."""
        return "," + self.source.newline + " " * indent if self.style.indented else self.style.comma

    def _write_items(self, items: Many[Item], fresh: bool) -> str:
        """Write items for their place; `fresh` when there is no list yet: what follows the colon."""
        if self.form == "block" and not fresh and not self.style.wide and all(item.is_new for item in items):
            # What is new is written without scalars over several lines, so it can be moved as it is.
            separator = self.style.newline + " " * self.indent
            texts = share(lambda item: "- " + item.text.rstrip("\n").replace("\n", separator + "  "), items)
            return " " * self.indent + separator.join(texts)
        return self._write_list([item.value for item in items], fresh)

    def _write_list(self, values: list[Any], fresh: bool) -> str:
        """Spell a list for an entry of the document (`fresh`: with what follows the colon), or its elements alone."""
        from krmfn.krm.writing import write_block, write_flow, write_indented

        style = self.style

        def write(value: Any, indent: int) -> str:
            return write_indented(value, style, indent) if style.indented else write_flow(value, style)

        if self.form == "flow" and not fresh:
            return self._comma(self.indent).join(write(value, self.indent) for value in values)
        if self.root_flow:
            return style.colon[1:] + write(values, self.root_indent)
        column = self.root_indent if fresh else self.indent
        separator = style.newline + " " * column
        lines = separator.join("- " + write_block(value, style, column + 2) for value in values)
        return (separator if fresh else " " * column) + lines

    def _splice_results(self, results: list[Fields]) -> Splice:
        """The edit that puts results into the document, in place of those that were there."""
        new = self._write_list(results, fresh=True)
        if self.results is not None:
            return (*self.results[1:], new.encode())
        return self._insert_root("results", new)

    def _insert_root(self, name: str, value: str) -> Splice:
        """The edit that adds an entry to the document; `value` is what follows the colon."""
        entry = f'"{name}":{value}' if self.style.json else f"{name}:{value}"
        if self.root_flow:
            return (self.foot, self.foot, (self._comma(self.root_indent) + entry).encode())
        return (self.foot, self.foot, (" " * self.root_indent + entry + self.source.newline).encode())


def splice(data: bytes, edits: Iterable[Splice]) -> Parts:
    """Apply edits that do not overlap; gives the parts, so that large inputs are not copied."""
    view = memoryview(data)
    parts: Parts = []
    done = 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        parts += [view[done:start], new]
        done = end
    return [*parts, view[done:]]


class Found(NamedTuple):
    """The parts of a ResourceList that matter."""

    api_version: str
    listing: Listing
    function_config: Item | None


def check_version(api_version: str, kind: str) -> None:
    """Raise Unreadable unless these belong to a ResourceList."""
    if kind != "ResourceList" or not api_version.startswith("config.kubernetes.io/"):
        found = f"{api_version} {kind}".strip() or "something else"
        raise Unreadable(f"expected a ResourceList of config.kubernetes.io/v1, found {found}")


class Offsets:
    """Turns offsets in a decoded text into offsets in the source; cheap when they grow."""

    def __init__(self, text: str, start: int) -> None:
        """`start` is the text's first byte in the source."""
        self.text = text
        self.plain = text.isascii()
        self.base = start
        self.known = (0, start)

    def __call__(self, offset: int) -> int:
        """The byte of a character."""
        if self.plain:
            return self.base + offset
        character, byte = self.known
        if offset >= character:
            byte += len(self.text[character:offset].encode())
        else:
            byte -= len(self.text[offset:character].encode())
        self.known = (offset, byte)
        return byte


def read_listing(source: Source, text: str, start: int, root: Mapping, frame: Frame) -> tuple[Listing, Node | None]:
    """Find the items of a list document; gives the listing, and the functionConfig where there is one.

    `text` is the document, `start` its first byte in the source; `frame` is what its items share. Raises Unreadable for
    a key that is there twice, and for items that are no list.
    """
    listing = Listing(source, frame)
    at = Offsets(text, start)
    listing.style = detect_style(text, root, frame.json, source.newline)
    listing.root_flow = root.flow
    entries: dict[str, tuple[Node, Node]] = {}
    for key, node in root.pairs:
        name = read_key(key)
        if name in entries:
            raise Unreadable(f'key "{name}" already set in map', *source.place_of(at(key.start)))
        if name is not None:
            entries[name] = key, node
    _find_foot(listing, text, root, at)
    listing.entries, listing.entries_apart = _cut_entries(text, root, at)
    if "&" in text and not frame.json:
        frame.anchors = Anchors(source)
    if "items" in entries:
        _find_items(listing, text, *entries["items"], at)
    if "results" in entries:
        key, node = entries["results"]
        after = find_colon(text, key.end, len(text)) + 1
        listing.results = (at(entry_start(text, key)), at(after), at(max(after, visible_end(text, node))))
    if frame.anchors is not None:
        _define_anchors(text, frame.anchors, root, listing, at)
    return listing, entries["functionConfig"][1] if "functionConfig" in entries else None


def _cut_entries(text: str, root: Mapping, at: Offsets) -> tuple[list[tuple[int, int, str]], bool]:
    """Start, end and key of each entry but `items`, and whether no entry shares a line with something else."""
    starts = [entry_start(text, key) for key, _ in root.pairs]
    apart = not root.flow and not any(text[line_start(text, start) : start].strip() for start in starts)
    following = [line_start(text, start) for start in starts[1:]] if apart else starts[1:]
    names = [read_key(key) or "" for key, _ in root.pairs]
    parts = zip(starts, [*following, len(text)], names, strict=True)
    return [(at(start), at(end), name) for start, end, name in parts if name != "items"], apart


def _define_anchors(text: str, anchors: Anchors, root: Mapping, listing: Listing, at: Offsets) -> None:
    """Tell what each entry and each item defines."""
    for key, node in root.pairs:
        name = read_key(key)
        if name == "items" and isinstance(node, Sequence) and listing.items:
            for item, child in zip(listing.items, node.items, strict=True):
                anchors.define(item.start, walk(child))
        elif name == "functionConfig":
            anchors.define(at(node.start), walk(node))
        else:
            anchors.define(at(entry_start(text, key)), [*walk(key), *walk(node)])


def _find_foot(listing: Listing, text: str, root: Mapping, at: Offsets) -> None:
    """Where a new entry of the document goes."""
    if not root.pairs:
        return
    first, last = root.pairs[0][0], root.pairs[-1]
    if root.flow:
        listing.root_indent = column(text, last[0].start) if is_multiline(text, root) else 0
        listing.foot = at(max(last[1].end, last[0].end))
        return
    start = entry_start(text, first)
    listing.root_indent = column(text, start)
    end = lines_end(text, last[1])
    # Behind the last line where there is a line break to go behind; before the first entry otherwise.
    listing.foot = at(end if begins_line(text, end) else line_start(text, start))


def _find_items(listing: Listing, text: str, key: Node, node: Node, at: Offsets) -> None:
    listing.after_key = at(find_colon(text, key.end, len(text)) + 1)
    word = follow(node)
    is_null = isinstance(word, Scalar) and not word.style and word.content in ("", "~", "null", "Null", "NULL")
    if is_null or (isinstance(node, Sequence) and not node.items):
        listing.form = "empty"
        listing.value = (listing.after_key, max(listing.after_key, at(node.end)))
        return
    if not isinstance(node, Sequence):
        raise Unreadable("items is not a list", *listing.source.place_of(at(node.start)))
    items, frame = node.items, listing.frame
    if node.flow:
        listing.form = "flow"
        listing.indent = column(text, items[-1].start)
        for child in items:
            listing.starts.append(at(child.start))
            listing.items.append(Item(frame, listing.starts[-1], at(child.end)))
        return
    listing.form = "block"
    dashes = [dash_of(text, node, place) for place in range(len(items))]
    listing.indent = column(text, dashes[0])
    frames: dict[int, Frame] = {}
    for dash, child in zip(dashes, items, strict=True):
        start = max(child.start, dash + 1)
        pad = column(text, start)
        if pad not in frames:
            frames[pad] = frame.indented(pad)
        listing.starts.append(at(line_start(text, dash)))
        listing.items.append(Item(frames[pad], at(start), at(lines_end(text, child))))
    listing.value = (listing.starts[0], listing.items[-1].end)
