"""Makes a ResourceList of what the splitter found, without parsing YAML. None where that takes a full reader."""

from __future__ import annotations

from krmfn.krm.frames import Anchors, Frame, Part
from krmfn.krm.item import Item
from krmfn.krm.listing import Found, Listing, check_version
from krmfn.krm.source import Source
from krmfn.krm.splitting import KeyLine, Split, split
from krmfn.krm.style import Style

_NULLS = (b"", b"~", b"null", b"Null", b"NULL")


def read_fast(source: Source) -> Found | None:
    """Split a YAML ResourceList in block style; None when in doubt about anything."""
    found = split(source)
    if found is None:
        return None
    entries = found.entries
    words = [_read_word(source.data, entries.get(key)) for key in ("apiVersion", "kind")]
    if not all(words):
        return None
    check_version(*map(str, words))
    frame = Frame(source)
    listing = Listing(source, frame)
    listing.entries = [(entry.start, entry.end, key) for key, entry in entries.items() if key != "items"]
    if not _fill_items(listing, found):
        return None
    _find_foot(listing, found)
    config = _cut_config(frame, entries.get("functionConfig"))
    if isinstance(config, bool):
        return None
    if b"&" in source.data:
        anchors = Anchors(source, lambda: _list_parts(listing, config))
        for own in (frame, *{item.frame for item in listing.items}, *([config.frame] if config else [])):
            own.anchors = anchors
    return Found(str(words[0]), listing, config)


def _list_parts(listing: Listing, config: Item | None) -> list[Part]:
    """The parts of the document in the order of the text, each to be read by itself."""
    items = ([] if config is None else [config]) + listing.items
    parts = [(item.start, item.end, item.frame.pad) for item in items]
    for start, end, key in listing.entries:
        if key != "functionConfig" or config is None:
            parts.append((start, end, 0))
    return sorted(parts)


def _read_word(data: bytes, entry: KeyLine | None) -> str | None:
    """The value of an entry that is one plain word on its line."""
    if entry is None or not _has_only_head(data, entry):
        return None
    word = entry.rest
    return word.decode() if word[:1].isalpha() and word.translate(None, b"./_-").isalnum() else None


def _has_only_head(data: bytes, entry: KeyLine) -> bool:
    """Whether nothing belongs to an entry but comments behind its line."""
    line = data.find(b"\n", entry.start, entry.end)
    return line < 0 or all(
        not text or text.startswith(b"#") for text in map(bytes.strip, data[line : entry.end].split(b"\n"))
    )


def _fill_items(listing: Listing, found: Split) -> bool:
    data = listing.source.data
    entry = found.entries.get("items")
    if entry is None:
        return True
    listing.after_key = entry.after
    if not found.starts:
        listing.form = "empty"
        listing.value = (entry.after, entry.after)
        if entry.rest in _NULLS[1:] or entry.rest == b"[]":
            listing.value = (entry.after, data.index(entry.rest, entry.after) + len(entry.rest))
        elif entry.rest:
            return False
        return _has_only_head(data, entry)
    pad = found.column + 2
    frame = listing.frame.indented(pad)
    starts = found.starts
    stop = _trim(data, starts[-1], found.stop, found.column)
    ends = [*starts[1:], stop]
    listing.items = [Item(frame, start + pad, end) for start, end in zip(starts, ends, strict=True)]
    listing.form = "block"
    listing.indent = found.column
    listing.style = Style(wide=found.column > 0, newline=listing.source.newline)
    listing.starts = starts
    listing.value = (starts[0], stop)
    return True


def _trim(data: bytes, start: int, end: int, column: int) -> int:
    """The end of an item without the blank lines and comments behind it, which may belong to what follows."""
    if b"+" in data[start:end]:
        return end  # a block scalar may keep blank lines
    while end > start:
        line = max(start, data.rfind(b"\n", start, end - 1) + 1)  # the item may have one line only
        text = data[line:end]
        blanks = len(text) - len(text.lstrip(b" "))
        if (text.strip() and not (text.lstrip().startswith(b"#") and blanks <= column)) or blanks > column + 2:
            break  # blanks may be the text of a block scalar, where they are more than its indentation
        end = line
    return end


def _find_foot(listing: Listing, found: Split) -> None:
    """Where new entries and results go."""
    data = listing.source.data
    first = next(iter(found.entries.values()))
    listing.foot = len(data) if data.endswith(b"\n") else first.start
    entry = found.entries.get("results")
    if entry is not None:
        end = entry.after + len(data[entry.after : entry.end].rstrip())
        listing.results = (entry.start, entry.after, max(end, entry.after))


def _cut_config(frame: Frame, entry: KeyLine | None) -> Item | bool | None:
    """The functionConfig as an item; None when it is null, False when it is no plain block mapping."""
    data = frame.source.data
    if entry is None:
        return None
    if entry.rest:
        return None if entry.rest in _NULLS and _has_only_head(data, entry) else False
    if _has_only_head(data, entry):
        return None
    line = data.find(b"\n", entry.start) + 1
    while not (text := data[line : data.find(b"\n", line) + 1 or len(data)].strip()) or text.startswith(b"#"):
        line = data.find(b"\n", line) + 1
    start = line
    while data[start] == 32:
        start += 1
    name, colon, rest = data[start : data.find(b"\n", start) + 1 or len(data)].partition(b":")
    plain = name.translate(None, b"._/-").isalnum() and rest[:1] in (b"", b" ", b"\r", b"\n")
    if start == line or not colon or not plain:
        return False
    return Item(frame.indented(start - line), start, entry.end)
