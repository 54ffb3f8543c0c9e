"""A file or stream of manifests: YAML documents, JSON objects, lists that are unpacked, or a ResourceList.

Documents that are no Kubernetes objects stay in the text and are not among the items. Knows the wrappers (ResourceList,
v1/List), not the objects inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Sequence as Many
from typing import Any, NamedTuple, TypeAlias

from krmfn.krm.errors import Unreadable
from krmfn.krm.frames import Frame, Remark
from krmfn.krm.item import Item
from krmfn.krm.lines import read_lines
from krmfn.krm.listing import Found, Listing, Offsets, Splice, check_version, read_listing, splice
from krmfn.krm.lookup import read_key
from krmfn.krm.nodes import Mapping, Node, Scalar, Sequence, follow
from krmfn.krm.paths import Fields
from krmfn.krm.places import column, lines_end, position
from krmfn.krm.sharing import share
from krmfn.krm.source import BOM, Source, looks_like_json

_IDENTITY = ("apiVersion", "kind")
#: What an object has beside its identity. Files of other programs (an install-config, a scorecard) have other keys.
_BODY = {
    *(*_IDENTITY, "metadata", "spec", "status", "data", "stringData", "binaryData", "immutable", "type"),
    *("rules", "subjects", "roleRef", "webhooks"),
}
#: What every manifest has somewhere, and what templates have that cannot be read before they are rendered.
_MANIFEST = rb"""(?m)^[ \t{,-]*["']?apiVersion["']?\s*:"""
_KIND = rb"""(?m)^[ \t{,-]*["']?kind["']?\s*:"""
TEMPLATE = (
    rb"(?m)\{\{|%\{|\{%|<%|\$\{|^[ \t]*@[A-Za-z_]+@|^[ \t]*#@|:[ \t]+\{[A-Za-z_][\w-]*\}[^\s,}\]]"
    rb"|^[ \t]*<[A-Za-z][^<>\n]*>[ \t\r]*$"  # a line for people, or for sed
    rb"|^[ \t]*</?#[a-z]"  # FreeMarker
)


#: Of so many documents in one file, processes share the reading.
_MANY = 1000
_FOREIGN = "files that are not manifests"


class Skipped(NamedTuple):
    """A document that could not be read as manifests: why, and where it begins (line from 1).

    `sort` is "templates", "files that are not manifests", "JSON with comments", "incomplete" for an object without kind
    or API version, or empty for a manifest with a mistake at `line`, `column`.
    """

    path: str
    index: int  # type: ignore[assignment]  # tuples have a method of that name
    line: int
    message: str
    sort: str = ""
    column: int = 1


#: Where a document begins with its marker, where its content begins, and where it ends.
Span: TypeAlias = tuple[int, int, int]
#: Values of documents, by their numbers.
Known: TypeAlias = "dict[int, Any] | None"


class StreamPart(NamedTuple):
    """A document of a stream: its bytes with the marker line before it, and either one item or a listing.

    `items` are the objects found in it; `listing` is None unless it was unpacked.
    """

    start: int
    end: int
    items: list[Item]
    listing: Listing | None


class Stream:
    """The objects of one file. `items` may be changed as a list; new ones come last in the text."""

    __slots__ = ("_parts", "_source", "items", "skipped")

    def __init__(self, source: Source, parts: Many[StreamPart], skipped: list[Skipped]) -> None:
        """Use `parse`."""
        self._source = source
        self._parts = parts
        self.skipped = skipped
        self.items: list[Item] = [item for part in parts for item in part.items]

    @classmethod
    def parse(cls, data: bytes, path: str = "", *, tolerant: bool = False, known: Known = None) -> Stream:
        """Read a file; `path` is what results call it, and `known` what `list_values` gave for the same data.

        Raises Unreadable; `tolerant` leaves documents that cannot be read among `skipped` instead.
        """
        source = Source(data, path)
        return cls(source, *read_stream(source, tolerant, known))

    def list_values(self) -> dict[int, Any]:
        """The values of the documents that are one object, by their numbers. Raises Unreadable."""
        alone = [item for part in self._parts if part.listing is None for item in part.items]
        plain = [item for item in alone if not (item.frame.json or item.may_repeat) and _is_object(item.value)]
        return {item.frame.index: item.value for item in plain}

    def append(self, item: Item) -> None:
        """Add an object: to the list when the stream is one list, as a document otherwise."""
        self.items.append(item)

    def remove(self, item: Item) -> None:
        """Take an object out, with its document or as an element of its list. Raises ValueError if it is absent."""
        self.items.remove(item)

    def render(self, *, objects_only: bool = False) -> bytes:
        """The text with all edits. With `objects_only` documents that are no Kubernetes objects are left out.

        Raises EditRefused where the rest of a list needs what a removed object defines.
        """
        kept = {id(item) for item in self.items}
        known = {id(item) for part in self._parts for item in part.items}
        added = [item for item in self.items if id(item) not in known]
        alone = self._parts[0].listing if len(self._parts) == 1 else None
        edits = self._cut_others() if objects_only else []
        for part in self._parts:
            if part.listing is not None:
                # Elements that are no objects are not among the items, and stay.
                gone = {id(item) for item in part.items} - kept
                own = [item for item in part.listing.items if id(item) not in gone]
                edits += part.listing.splice(own + (added if part.listing is alone else []))
            else:
                for item in part.items:
                    if id(item) not in kept:
                        edits.append((part.start, part.end, b""))
                    elif item.touched:
                        edits.append((item.start, item.end, item.text.encode()))
        if added and alone is None and self._parts:
            last = self._parts[-1]
            for item in last.listing.items[-1:] if last.listing else last.items:
                if item.end == len(self._source.data) and id(item) in kept and (ended := item.end_line()) is not item:
                    edits = [edit for edit in edits if edit[0] != item.start]
                    edits.append((item.start, item.end, ended.text.encode()))
        body = b"".join(splice(self._source.data, edits))
        if alone is not None or not added:
            return body
        return _append_documents(body, added, self._source.newline)

    def _cut_others(self) -> list[Splice]:
        """The edits that leave out what is between the parts."""
        data = self._source.data
        starts = [self._source.begin, *(part.end for part in self._parts)]
        ends = [*(part.start for part in self._parts), len(data)]
        return [(start, end, b"") for start, end in zip(starts, ends, strict=True) if data[start:end].strip()]


def _append_documents(body: bytes, items: list[Item], newline: str) -> bytes:
    """Add documents at the end; a marker goes before each unless nothing is there yet."""
    newline = newline if "\n" in newline else "\n"  # a marker behind CR alone separates no documents
    end = newline.encode()
    texts = [_spell_document(item, newline) for item in items]
    if body and not body.endswith(b"\n"):
        body += end
    last = body.rstrip().rpartition(b"\n")[2]
    if body.strip() and last != b"---":
        body += b"---" + end
    return body + (b"---" + end).join(texts)


def _spell_document(item: Item, newline: str) -> bytes:
    """An item as a document of its own."""
    if item.frame.new:
        text = item.text
        return (text if newline == "\n" else text.replace("\n", newline)).encode()
    from krmfn.krm.writing import write_block

    return (write_block(item.value) + "\n").replace("\n", newline).encode()


def read_resource_list(source: Source) -> Found:
    """Read the only document of a source as a ResourceList. Raises Unreadable."""
    from krmfn.krm.composing import compose
    from krmfn.krm.json_reading import compose_json

    start = source.begin
    end = len(source.data)
    text = source.text(start, end)
    json = looks_like_json(text)
    root: Node | None
    if json:
        try:
            root, behind = compose_json(text)
            if text[behind:].strip():
                raise Unreadable("something follows the ResourceList", *position(text, behind))
        except Unreadable as error:
            json = False
            try:
                root = compose(text)
            except Unreadable:
                raise error from None
    else:
        root = compose(text)
    if not isinstance(root, Mapping):
        raise Unreadable("expected a ResourceList, found " + ("nothing" if root is None else "something else"))
    frame = Frame(source, json=json)
    words = {key.content: follow(node) for key, node in root.pairs if isinstance(key, Scalar)}
    api_version, kind = (_spell(words.get(name)) for name in _IDENTITY)
    check_version(api_version, kind)
    listing, config = read_listing(source, text, start, root, frame)
    function_config = None
    if config is not None and isinstance(follow(config), Mapping):
        function_config = _cut_item(text, config, Offsets(text, start), frame)
    return Found(api_version, listing, function_config)


def _cut_item(text: str, node: Node, at: Offsets, frame: Frame) -> Item:
    """Cut a node out of a document as an item of its own."""
    if isinstance(node, Mapping) and not node.flow:
        start = node.start
        return Item(frame.indented(column(text, start)), at(start), at(lines_end(text, node)))
    return Item(frame, at(node.start), at(node.end))


def _spell(node: Node | None) -> str:
    return node.content if isinstance(node, Scalar) else ""


def read_stream(source: Source, tolerant: bool = False, known: Known = None) -> tuple[list[StreamPart], list[Skipped]]:
    """Read all documents of a source, whose values may be `known` by their numbers. Raises Unreadable, unless it is
    `tolerant` of documents that cannot be read."""
    parts: list[StreamPart] = []
    skipped: list[Skipped] = []
    start = source.begin
    head = source.text(start, min(start + 64, len(source.data))) if source.data.isascii() else ""
    try:
        if looks_like_json(head or source.text(start, len(source.data))):
            json_parts = _read_json_stream(source, start, skipped)
            if json_parts is not None:
                return json_parts, skipped
            skipped.clear()
    except Unreadable:
        if not tolerant:
            raise
    spans = split_documents(source.data, start)
    values = [(known or {}).get(number) for number in range(len(spans))]
    if len(spans) >= _MANY and not known:
        values = share(lambda span: _read_lines(source, span), spans)
    for index, (span, value) in enumerate(zip(spans, values, strict=True)):
        try:
            part = _read_document(source, span, index, skipped, value)
        except Unreadable as error:
            if not tolerant:
                raise
            skipped.append(_skip(source, span[1], span[2], index, error))
            continue
        if part is not None:
            parts.append(part)
    if skipped and any(part.items for part in parts) and not re.search(TEMPLATE, source.data):
        # kubectl and kustomize refuse the whole file.
        skipped = [each._replace(sort="") if each.sort == _FOREIGN else each for each in skipped]
    return parts, skipped


def _skip(source: Source, begin: int, end: int, index: int, error: Unreadable) -> Skipped:
    """What to say of a document that cannot be read: only a manifest is a mistake, and a template is none."""
    text = source.data[begin:end]
    from krmfn.krm.json_reading import has_comments

    if has_comments(text):
        message, sort = (
            "JSON with comments, which kubectl and kustomize refuse: remove the comments",
            "JSON with comments",
        )
    elif not re.search(_MANIFEST, text) or not re.search(_KIND, text):
        message, sort = f"neither a manifest nor YAML or JSON: {error.message}", _FOREIGN
    elif re.search(TEMPLATE, text):
        message, sort = f"the document is a template, render it first: {error.message}", "templates"
    else:
        message, sort = error.message, ""
    return Skipped(source.path, index, error.line or source.line(begin), message, sort, error.column or 1)


def split_documents(data: bytes, start: int) -> list[Span]:
    """Cut YAML at the lines that begin or end a document, which no scalar can contain.

    Gives the spans of all documents that are not empty. Content on the line of a marker keeps the marker.
    """
    documents: list[Span] = []
    before = begin = start
    for marker in _find_markers(data, start):
        line = data.find(b"\n", marker) + 1 or len(data)
        ends = data.startswith(b"...", marker)
        if _has_content(data, begin, marker):
            documents.append((before, _skip_mark(data, begin), line if ends else marker))
            before = line if ends else marker
        beside = data[marker + 3 : line].strip()
        begin = line if ends or not beside or (beside.startswith(b"#") and b"\r" not in beside) else marker
    if _has_content(data, begin, len(data)):
        documents.append((before, _skip_mark(data, begin), len(data)))
    return documents


def _skip_mark(data: bytes, begin: int) -> int:
    """Behind a byte order mark, as in files that were put together."""
    return begin + len(BOM) if data.startswith(BOM, begin) else begin


def _find_markers(data: bytes, start: int) -> list[int]:
    """Offsets of the lines that are `---` or `...`, alone or with something behind a blank."""
    found = [start] if data[start : start + 3] in (b"---", b"...") else []
    for sign in (b"\n---", b"\n..."):
        position = data.find(sign, start)
        while position >= 0:
            found.append(position + 1)
            position = data.find(sign, position + 1)
    return sorted(place for place in found if data[place + 3 : place + 4] in (b"", b" ", b"\t", b"\r", b"\n"))


def _has_content(data: bytes, start: int, end: int) -> bool:
    """Whether a line holds something besides comments, directives and end markers, or what no reader takes."""
    position = start
    while position < end:
        line = data.find(b"\n", position, end)
        line = end if line < 0 else line
        text = data[position:line].strip()
        if text and text != b"..." and not (text.startswith((b"#", b"%")) and _is_readable(text)):
            return True
        position = line + 1
    return False


def _is_readable(line: bytes) -> bool:
    try:
        # Where lines end with CR, all of them look like one.
        return not re.search(r"[\0-\x08\x0b-\x1f\x7f]", line.decode())
    except UnicodeDecodeError:
        return False


def _read_json_stream(source: Source, start: int, skipped: list[Skipped]) -> list[StreamPart] | None:
    """Read JSON objects one behind the other; None when the text is no JSON."""
    from krmfn.krm.json_reading import compose_json

    text = source.text(start, len(source.data))
    at = Offsets(text, start)
    parts: list[StreamPart] = []
    offset = 0
    while text[offset:].strip() if len(text) - offset < 4096 else True:
        try:
            root, end = compose_json(text, offset)
        except Unreadable:
            return None
        if isinstance(root, Mapping):
            frame = Frame(source, index=len(parts), json=True)
            part = _unpack(text, root, None, start, (at(root.start), at(end)), frame, skipped)
            if part is not None:
                parts.append(part)
        offset = end
    return parts


def _is_object(value: Any) -> bool:
    """Whether a value is surely one object: a list of objects is not, nor what lacks its kind."""
    version, kind = value.get("apiVersion"), value.get("kind")
    return isinstance(version, str) and isinstance(kind, str) and bool(version and kind) and not kind.endswith("List")


def _read_lines(source: Source, span: Span) -> Fields | None:
    """The value of a document that is one object, and of the plainest kind; None for all others."""
    try:
        lines = read_lines(source.text(*span[1:]))
    except Unreadable:
        return None
    return lines.value if lines and _is_object(lines.value) else None


def _read_document(
    source: Source, span: Span, index: int, skipped: list[Skipped], value: Fields | None
) -> StreamPart | None:
    """Read one YAML document: an object, whose `value` may be known, a list of objects, or something else (None)."""
    before, begin, end = span
    frame = Frame(source, index=index)
    if value is None:
        text = source.text(begin, end)
        lines = read_lines(text)
        if lines and _is_object(lines.value):
            value = lines.value
    if value is not None:
        frame.remarks = _find_remarks(source, before, begin)
        item = Item(frame, begin, end)
        item.adopt_value(value)
        return StreamPart(before, end, [item], None)
    try:
        root = lines.make_root() if lines else _compose(text)
    except Unreadable as error:
        if "{{" not in text:
            source.refuse(error, begin)
        message = "the document is a template (`{{`): render it first"
        skipped.append(Skipped(source.path, index, source.line(begin), message, "templates"))
        return None
    if not isinstance(root, Mapping):
        return None
    frame.remarks = _find_remarks(source, before, begin)
    return _unpack(text, root, lines.value if lines else None, begin, (before, end), frame, skipped)


def _compose(text: str) -> Node | None:
    """The tree of a text of any kind. Raises Unreadable."""
    from krmfn.krm.composing import compose
    from krmfn.krm.values import to_value

    root = compose(text)
    if "{{" in text and root is not None:
        to_value(root, text)
    return root


def _find_incomplete(value: object, frame: Frame, begin: int) -> Iterator[Skipped]:
    """What kubectl says of an object that lacks its kind or its API version; nothing of what need not be an object."""
    if not isinstance(value, dict) or not isinstance(value.get("metadata"), dict):
        return
    missing = [name for name in _IDENTITY if not isinstance(value.get(name), str) or not value[name]]
    if len(missing) != 1:
        return
    (name,) = missing
    letters = sorted(name.lower())
    if any(sorted(str(key).lower()) != letters for key in value.keys() - _BODY):  # `Kind` and `apiVerison` are slips
        return
    if name == "apiVersion" and not value["kind"][0].isupper():  # a kind of some other program: `kind: run`
        return
    words = "not set" if value.get(name) in (None, "") else "isn't string type"
    kind = value["kind"] if name == "apiVersion" else "object"
    message = f"{name} {words}: kubectl refuses this {kind}"
    source = frame.source
    yield Skipped(source.path, frame.index, source.line(begin), message, "incomplete")


def _find_remarks(source: Source, before: int, begin: int) -> tuple[Remark, ...]:
    """What some tools make of a document's frame: directives, content beside a marker or behind an end. Raises
    Unreadable where that is not UTF-8."""
    remarks: list[Remark] = []
    data = source.data
    head = source.text(before, begin)
    for number, line in enumerate(head.splitlines() if "%" in head else ()):
        if line.startswith("%"):
            message = f"kustomize cannot read a file with the directive `{line.strip()}`"
            remarks.append(("yaml-directive", message, source.line(before) + number))
    if data.startswith(b"---", begin):
        message = "kustomize and kpt refuse content on the line of a document marker"
        remarks.append(("content-after-marker", message, source.line(begin)))
    elif before == begin and data[data.rfind(b"\n", 0, max(begin - 1, 0)) + 1 : begin].startswith(b"..."):
        message = "kustomize drops what follows `...` without `---`"
        remarks.append(("content-after-end", message, source.line(begin)))
    return tuple(remarks)


def _unpack(
    text: str,
    root: Mapping,
    value: Fields | None,
    begin: int,
    span: tuple[int, int],
    frame: Frame,
    skipped: list[Skipped],
) -> StreamPart | None:
    """Make a part of a document; `begin` is the first byte of `text`, `span` the bytes of the whole part."""
    words: dict[Any, Node | None] = {}
    if value is not None:
        api_version, kind = (word if isinstance(word := value.get(name), str) else "" for name in _IDENTITY)
        is_list = kind.endswith("List") and isinstance(value.get("items"), list)
    else:
        words = {read_key(key): follow(node) for key, node in root.pairs}
        api_version, kind = (_spell(words.get(name)) for name in _IDENTITY)
        is_list = kind.endswith("List") and isinstance(words.get("items"), Sequence)
    if is_list:
        listing, _ = read_listing(frame.source, text, begin, root, frame)
        if value is not None:
            for item, own in zip(listing.items, value["items"], strict=True):
                item.adopt_value(own)
        objects = []
        for item in listing.items:
            if item.kind and item.api_version:
                objects.append(item)
            else:
                skipped += _find_incomplete(item.value, frame, item.start)
        return StreamPart(*span, objects, listing)
    if not api_version or not kind:
        if value is None and api_version != kind and isinstance(words.get("metadata"), Mapping):
            from krmfn.krm.values import to_value

            value = to_value(root, text)
        skipped += _find_incomplete(value, frame, begin)
        return None
    start = begin + len(text[: root.start].encode()) if frame.json else begin
    item = Item(frame, start, span[1])
    if value is not None:
        item.adopt_value(value)
    elif not frame.json:
        item.adopt(root)
    return StreamPart(*span, [item], None)
