"""What the items of one document share: its source, where it stands, how anchors are found. No text of theirs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.krm.heads import HeadReader
    from krmfn.krm.nodes import Node
    from krmfn.krm.source import Source


class Frame:
    """The document of an item.

    `pad`: the column of an item's first character in a block sequence, 0 elsewhere; `index`: the document's number in
    the file; `json`: whether it is read as JSON; `new`: whether it was never in a file. `find_anchor(name, offset)`
    gives the latest definition before a byte; `is_used(name, offset)` tells whether an anchor may be used behind one.
    `remarks`: what is odd about the document: (code, message, line). `heads`: reads who items are by their lines,
    where that is proved to be right.
    """

    __slots__ = ("find_anchor", "heads", "index", "is_used", "json", "new", "pad", "remarks", "source")

    def __init__(self, source: Source, *, pad: int = 0, index: int = 0, json: bool = False, new: bool = False) -> None:
        """A document without anchors from outside."""
        self.source = source
        self.pad = pad
        self.index = index
        self.json = json
        self.new = new
        self.find_anchor: Callable[[str, int], Node | None] | None = None
        self.is_used: Callable[[str, int], bool] | None = None
        self.remarks: tuple[tuple[str, str, int], ...] = ()
        self.heads: HeadReader | None = None

    def indented(self, pad: int) -> Frame:
        """The same document for items that begin in column `pad` of a block sequence."""
        frame = Frame(self.source, pad=pad, index=self.index)
        frame.find_anchor = self.find_anchor
        frame.is_used = self.is_used
        frame.remarks = self.remarks
        return frame
