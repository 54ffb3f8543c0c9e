"""A file or stream of manifests: YAML documents, JSON objects, lists that are unpacked, or a ResourceList.

Documents that are no Kubernetes objects stay in the text and are not among the items.
"""

from __future__ import annotations

from krmfn.krm.documents import read_stream
from krmfn.krm.listing import splice
from krmfn.krm.source import Source
from krmfn.krm.writing import write_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.krm.item import Item
    from krmfn.krm.listing import Splice
    from krmfn.krm.parts import Part, Skipped


class Stream:
    """The objects of one file. `items` may be changed as a list; new ones come last in the text."""

    __slots__ = ("_parts", "_source", "items", "skipped")

    def __init__(self, source: Source, parts: Sequence[Part], skipped: list[Skipped]) -> None:
        """Use `parse`."""
        self._source = source
        self._parts = parts
        self.skipped = skipped
        self.items: list[Item] = [item for part in parts for item in part.items]

    @classmethod
    def parse(cls, data: bytes, path: str = "", *, tolerant: bool = False) -> Stream:
        """Read a file; `path` is what results call it.

        Raises Unreadable; `tolerant` leaves documents that cannot be read among `skipped` instead.
        """
        source = Source(data, path)
        return cls(source, *read_stream(source, tolerant))

    def append(self, item: Item) -> None:
        """Add an object: to the list when the stream is one list, as a document otherwise."""
        self.items.append(item)

    def remove(self, item: Item) -> None:
        """Take an object out, with its document or as an element of its list."""
        for place, own in enumerate(self.items):
            if own is item:
                del self.items[place]
                return
        raise ValueError("the item is not in the stream")

    def render(self, *, objects_only: bool = False) -> bytes:
        """The text with all edits. With `objects_only` documents that are no Kubernetes objects are left out."""
        kept = {id(item) for item in self.items}
        known = {id(item) for part in self._parts for item in part.items}
        added = [item for item in self.items if id(item) not in known]
        alone = self._parts[0].listing if len(self._parts) == 1 else None
        edits: list[Splice] = []
        seen = self._source.begin
        for part in self._parts:
            if objects_only and self._source.data[seen : part.start].strip():
                edits.append((seen, part.start, b""))
            seen = part.end
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
        if objects_only and self._source.data[seen:].strip():
            edits.append((seen, len(self._source.data), b""))
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


def _append_documents(body: bytes, items: list[Item], newline: str) -> bytes:
    """Add documents at the end; a marker goes before each unless nothing is there yet."""
    end = newline.encode()
    texts = [_spell(item, newline) for item in items]
    if body and not body.endswith(b"\n"):
        body += end
    last = body.rstrip().rpartition(b"\n")[2]
    if body.strip() and last != b"---":
        body += b"---" + end
    return body + (b"---" + end).join(texts)


def _spell(item: Item, newline: str) -> bytes:
    """An item as a document of its own."""
    if item.frame.new:
        text = item.text
        return (text if newline == "\n" else text.replace("\n", newline)).encode()
    return (write_block(item.value) + "\n").replace("\n", newline).encode()
