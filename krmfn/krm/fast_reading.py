"""Reads a YAML ResourceList from what `splitting` found, without parsing its items. Only for the spellings that
kustomize, kpt and people write; `listing` reads the others."""

from __future__ import annotations

from krmfn.krm.frames import Anchors, Frame, Part
from krmfn.krm.item import Item
from krmfn.krm.listing import Found, Listing, check_version
from krmfn.krm.source import Source
from krmfn.krm.splitting import KeyLine, Split, split
from krmfn.krm.style import Style

_NULLS = (b"", b"~", b"null", b"Null", b"NULL")


class _NotPlain(Exception):
    """A spelling that takes the full reader."""


def read_fast(source: Source) -> Found | None:
    """Read a ResourceList in block style; None where that takes the full reader. Raises Unreadable for another kind."""
    found = split(source)
    if found is None:
        return None
    try:
        return _read(source, found)
    except _NotPlain:
        return None


def _read(source: Source, found: Split) -> Found:
    entries = found.entries
    api_version, kind = (_read_word(source.data, entries.get(key)) for key in ("apiVersion", "kind"))
    check_version(api_version, kind)
    listing = Listing(source, Frame(source))
    listing.entries = [(entry.start, entry.end, key) for key, entry in entries.items() if key != "items"]
    _find_items(listing, found)
    _find_ends(listing, found)
    config = _find_config(listing.frame, entries.get("functionConfig"))
    if b"&" in source.data:
        objects = listing.items if config is None else [config, *listing.items]
        anchors = Anchors(source, lambda: _list_parts(listing, objects, config is not None))
        for frame in {listing.frame, *(item.frame for item in objects)}:
            frame.anchors = anchors
    return Found(api_version, listing, config)


def _list_parts(listing: Listing, objects: list[Item], has_config: bool) -> list[Part]:
    """The parts of the document in the order of the text, each to be read by itself."""
    parts = [(item.start, item.end, item.frame.pad) for item in objects]
    parts += [(start, end, 0) for start, end, key in listing.entries if not (has_config and key == "functionConfig")]
    return sorted(parts)


def _read_word(data: bytes, entry: KeyLine | None) -> str:
    """The value of an entry that is one plain word on its line."""
    if entry is None or not _is_on_one_line(data, entry):
        raise _NotPlain
    word = entry.rest
    if not word[:1].isalpha() or not word.translate(None, b"./_-").isalnum():
        raise _NotPlain
    return word.decode()


def _is_on_one_line(data: bytes, entry: KeyLine) -> bool:
    """Whether nothing but comments and blank lines follows the line of an entry."""
    line = data.find(b"\n", entry.start, entry.end)
    return line < 0 or all(map(_is_idle, data[line : entry.end].split(b"\n")))


def _find_items(listing: Listing, found: Split) -> None:
    data = listing.source.data
    entry = found.entries.get("items")
    if entry is None:
        return
    listing.after_key = entry.after
    if not found.starts:
        if entry.rest not in (*_NULLS, b"[]") or not _is_on_one_line(data, entry):
            raise _NotPlain
        listing.form = "empty"
        listing.value = (entry.after, data.index(entry.rest, entry.after) + len(entry.rest))
        return
    pad = found.column + 2
    frame = listing.frame.indented(pad)
    starts = found.starts
    stop = _trim(data, starts[-1], found.stop, found.column)
    listing.items = [Item(frame, start + pad, end) for start, end in zip(starts, [*starts[1:], stop], strict=True)]
    listing.form = "block"
    listing.indent = found.column
    listing.style = Style(wide=found.column > 0, newline=listing.source.newline)
    listing.starts = starts
    listing.value = (starts[0], stop)


def _trim(data: bytes, start: int, end: int, column: int) -> int:
    """The end of an item without the blank lines and comments behind it, which may belong to what follows."""
    if b"+" in data[start:end]:
        return end  # a block scalar may keep blank lines
    while end > start:
        line = max(start, data.rfind(b"\n", start, end - 1) + 1)  # the item may have one line only
        text = data[line:end]
        indent = len(text) - len(text.lstrip(b" "))
        belongs = not _is_idle(text) or (text.strip() and indent > column)
        if belongs or indent > column + 2:
            break  # blanks beyond the indentation of a block scalar are its text
        end = line
    return end


def _find_ends(listing: Listing, found: Split) -> None:
    """Where new entries go, and where results do."""
    data = listing.source.data
    first = next(iter(found.entries.values()))
    listing.foot = len(data) if data.endswith(b"\n") else first.start
    entry = found.entries.get("results")
    if entry is not None:
        listing.results = (entry.start, entry.after, entry.after + len(data[entry.after : entry.end].rstrip()))


def _find_config(frame: Frame, entry: KeyLine | None) -> Item | None:
    """The functionConfig, a block mapping whose first key is plain; None when it is missing or null."""
    if entry is None:
        return None
    data = frame.source.data
    is_on_one_line = _is_on_one_line(data, entry)
    if is_on_one_line and entry.rest in _NULLS:
        return None
    if is_on_one_line or entry.rest:
        raise _NotPlain
    start = data.index(b"\n", entry.start) + 1
    while _is_idle(line := data[start : data.find(b"\n", start) + 1 or len(data)]):
        start += len(line)
    text = line.lstrip(b" ")
    indent = len(line) - len(text)
    key, colon, rest = text.partition(b":")
    is_plain = key.translate(None, b"._/-").isalnum() and rest[:1] in (b"", b" ", b"\r", b"\n")
    if not indent or not colon or not is_plain:
        raise _NotPlain
    return Item(frame.indented(indent), start + indent, entry.end)


def _is_idle(line: bytes) -> bool:
    """Whether a line is blank or a comment."""
    text = line.strip()
    return not text or text.startswith(b"#")
