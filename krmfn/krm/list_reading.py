"""Reads a list document completely, by nodes: right for every spelling, the fallback of the splitter."""

from __future__ import annotations

from krmfn.krm.anchors import Anchors
from krmfn.krm.errors import Unreadable
from krmfn.krm.frames import Frame
from krmfn.krm.item import Item
from krmfn.krm.listing import Listing
from krmfn.krm.lookup import read_key
from krmfn.krm.nodes import Mapping, Node, Scalar, Sequence, follow, walk
from krmfn.krm.places import (
    begins_line,
    colon_after,
    column,
    dash_of,
    entry_start,
    line_start,
    lines_end,
    visible_end,
)
from krmfn.krm.source import Source
from krmfn.krm.style import detect_style, is_multiline


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


def read_listing(source: Source, text: str, start: int, root: Mapping, frame: Frame) -> tuple[Listing, dict[str, Node]]:
    """Find the items of a list document; gives the listing and the document's entries by key.

    `text` is the document, `start` its first byte in the source; `frame` is what its items share.
    """
    listing = Listing(source, frame)
    at = Offsets(text, start)
    listing.style = detect_style(text, root, frame.json, source.newline)
    listing.root_flow = root.flow
    entries: dict[str, Node] = {}
    keys: dict[str, Node] = {}
    for key, node in root.pairs:
        name = read_key(key)
        if name in entries:
            raise Unreadable(
                f'key "{name}" already set in map', source.line(at(key.start)), column(text, key.start) + 1
            )
        if name is not None:
            entries[name] = node
            keys[name] = key
    _find_foot(listing, text, root, at)
    listing.entries = _cut_entries(text, root, at)
    if "&" in text and not frame.json:
        frame.anchors = Anchors(source)
    if "items" in entries:
        _find_items(listing, text, keys["items"], entries["items"], at, frame)
    if "results" in entries:
        after = _behind_colon(text, keys["results"])
        end = max(after, visible_end(text, entries["results"]))
        listing.results = (at(entry_start(text, keys["results"])), at(after), at(end))
    if frame.anchors is not None:
        _define_anchors(text, frame.anchors, root, listing, at)
    return listing, entries


def _cut_entries(text: str, root: Mapping, at: Offsets) -> list[tuple[int, int, str]] | None:
    """Start and end of each entry but `items`; None where entries share lines with something else."""
    if root.flow:
        return None
    starts = [entry_start(text, key) for key, _ in root.pairs]
    if any(text[line_start(text, start) : start].strip() for start in starts):
        return None
    ends = [*(line_start(text, start) for start in starts[1:]), len(text)]
    names = [read_key(key) or "" for key, _ in root.pairs]
    return [(at(start), at(end), name) for start, end, name in zip(starts, ends, names, strict=True) if name != "items"]


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


def _behind_colon(text: str, key: Node) -> int:
    colon = colon_after(text, key)
    return colon + 1 if colon >= 0 else text.index(":", key.end) + 1


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


def _find_items(
    listing: Listing,
    text: str,
    key: Node,
    node: Node,
    at: Offsets,
    frame: Frame,
) -> None:
    source = listing.source
    listing.after_key = at(_behind_colon(text, key))
    sequence = follow(node)
    if isinstance(sequence, Scalar) and not sequence.style and sequence.content in ("", "~", "null", "Null", "NULL"):
        listing.form = "empty"
        listing.value = (listing.after_key, max(listing.after_key, at(node.end)))
        return
    if sequence is not node or not isinstance(sequence, Sequence):
        raise Unreadable("items is not a list", source.line(at(node.start)), column(text, node.start) + 1)
    if not sequence.items:
        listing.form = "empty"
        listing.value = (listing.after_key, at(node.end))
        return
    items = sequence.items
    if sequence.flow:
        listing.form = "flow"
        listing.indent = column(text, items[-1].start)
        for child in items:
            listing.starts.append(at(child.start))
            listing.items.append(Item(frame, listing.starts[-1], at(child.end)))
        return
    listing.form = "block"
    dashes = [dash_of(text, sequence, place) for place in range(len(items))]
    listing.indent = column(text, dashes[0])
    frames: dict[int, Frame] = {}
    for place, child in enumerate(items):
        line = line_start(text, dashes[place])
        end = lines_end(text, child)
        start = max(child.start, dashes[place] + 1)
        pad = column(text, start)
        listing.starts.append(at(line))
        if pad not in frames:
            frames[pad] = frame.indented(pad)
        listing.items.append(Item(frames[pad], at(start), at(end)))
    listing.value = (listing.starts[0], listing.items[-1].end)
