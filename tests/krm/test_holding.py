"""Which items may hold a word: the look at the whole text against the look at each item."""

import copy

from hypothesis import given
from hypothesis import strategies as some

from krmfn.krm.frames import Frame
from krmfn.krm.item import Item, list_holding
from krmfn.krm.source import Source

WORDS = some.lists(some.sampled_from([b"a", b"ab", b"ba\n"]), min_size=1, max_size=3)
TEXTS = some.lists(some.text("ab*\n", max_size=40), min_size=1, max_size=3)
#: Spans of items in one of the texts; each is edited where the last number is 0.
SPANS = some.lists(some.tuples(some.integers(0, 2), some.integers(0, 40), some.integers(0, 40), some.integers(0, 5)))


@given(texts=TEXTS, spans=SPANS, words=WORDS, ordered=some.booleans())
def test_same_items(
    texts: list[str], spans: list[tuple[int, int, int, int]], words: list[bytes], ordered: bool
) -> None:
    frames = [Frame(Source(text.encode())) for text in texts]
    items = []
    for number, start, length, edited in sorted(spans) if ordered else spans:
        frame = frames[number % len(frames)]
        size = len(frame.source.data)
        item = Item(frame, min(start, size), min(start + length, size))
        if not edited:
            item = copy.copy(item)
            item._read().replace_text("")
        items.append(item)
    assert list_holding(items, *words) == [item for item in items if any(map(item.may_hold, words))]
