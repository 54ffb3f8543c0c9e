"""What the bytes of an item rule out, so that most items of a large input need not be read. Knows no kinds."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krmfn.krm.item import Item


def may_hold(item: Item, word: bytes) -> bool:
    """False where `word` is surely no part of the item's keys and strings.

    Edits, escapes (backslashes), and aliases for what stands elsewhere (`*`) leave it open.
    """
    if item.touched:
        return True
    data, start, end = item.source.data, item.start, item.end
    return data.find(word, start, end) >= 0 or data.find(b"*", start, end) >= 0 or data.find(b"\\", start, end) >= 0
