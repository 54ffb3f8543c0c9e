"""What a file of manifests falls into: documents with their objects, and those that cannot be read."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krmfn.krm.item import Item
    from krmfn.krm.listing import Listing


class Skipped:
    """A document that could not be read as manifests: why, and where it begins (line from 1).

    `sort` is "templates", "files that are not manifests", "JSON with comments", "incomplete" for an object without kind
    or API version, or empty for a manifest with a mistake at `line`, `column`.
    """

    __slots__ = ("column", "index", "line", "message", "path", "sort")

    def __init__(self, path: str, index: int, line: int, message: str, sort: str = "", column: int = 1) -> None:
        """A plain record."""
        self.sort = sort
        self.column = column
        self.path = path
        self.index = index
        self.line = line
        self.message = message

    def __repr__(self) -> str:
        """For people who debug."""
        return f"Skipped({self.path!r}, {self.index}, {self.line}, {self.message!r})"


class Part:
    """A document of a stream: its bytes with the marker line before it, and either one item or a listing.

    `items` are the objects found in it; `listing` is None unless it was unpacked.
    """

    __slots__ = ("end", "items", "listing", "start")

    def __init__(self, start: int, end: int, items: list[Item], listing: Listing | None) -> None:
        """A plain record."""
        self.start = start
        self.end = end
        self.items = items
        self.listing = listing
