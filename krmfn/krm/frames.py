"""What the items of one document share."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krmfn.krm.anchors import Anchors
    from krmfn.krm.heads import HeadReader
    from krmfn.krm.source import Source


class Frame:
    """The document of an item, and what its items share.

    `pad`: the column of an item's first character in a block sequence, 0 elsewhere; `index`: the document's number in
    the file; `json`: whether it is read as JSON; `new`: whether it was never in a file. `anchors`: those of the other
    parts of the document, None where there are no others.
    `remarks`: what is odd about the document: (code, message, line). `heads`: reads who items are by their lines,
    where that is proved to be right.
    """

    __slots__ = ("anchors", "heads", "index", "json", "new", "pad", "remarks", "source")

    def __init__(self, source: Source, *, pad: int = 0, index: int = 0, json: bool = False, new: bool = False) -> None:
        """A document without anchors from outside."""
        self.source = source
        self.pad = pad
        self.index = index
        self.json = json
        self.new = new
        self.anchors: Anchors | None = None
        self.remarks: tuple[tuple[str, str, int], ...] = ()
        self.heads: HeadReader | None = None

    def indented(self, pad: int) -> Frame:
        """The same document for items that begin in column `pad` of a block sequence."""
        frame = Frame(self.source, pad=pad, index=self.index)
        frame.anchors = self.anchors
        frame.remarks = self.remarks
        return frame
