"""Which lines two texts have in common, in time that grows as the texts do.

difflib alone looks through all that is left for each change that it finds. Here the lines that stand once in each text,
such as those with a name, divide the texts first (Bram Cohen's patience diff); difflib has what is between them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import Match, SequenceMatcher


class Matcher(SequenceMatcher[str]):
    """A SequenceMatcher of lines."""

    a: Sequence[str]  # what SequenceMatcher compares; its type stubs lack the names
    b: Sequence[str]

    def get_matching_blocks(self) -> list[Match]:
        """The runs of lines that both texts have, in order, no two of them adjacent; an empty one ends the list."""
        found: list[tuple[int, int, int]] = []
        i = j = 0
        for x, y, size in [*_find_anchors(self.a, self.b), (len(self.a), len(self.b), 0)]:
            if i < x and j < y:
                inner = SequenceMatcher(None, self.a[i:x], self.b[j:y]).get_matching_blocks()
                found += [(i + block.a, j + block.b, block.size) for block in inner if block.size]
            found.append((x, y, size))
            i, j = x + size, y + size
        blocks: list[Match] = []
        for x, y, size in found:
            if size and blocks and (blocks[-1].a + blocks[-1].size, blocks[-1].b + blocks[-1].size) == (x, y):
                last = blocks.pop()
                blocks.append(Match(last.a, last.b, last.size + size))
            else:
                blocks.append(Match(x, y, size))
        return blocks


def _find_anchors(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int, int]]:
    """The lines that stand once in each text, as many of them as have one order in both, as blocks of one line."""
    counts = Counter(before), Counter(after)
    places = {line: y for y, line in enumerate(after) if counts[0][line] == counts[1][line] == 1}
    pairs = [(x, places[line]) for x, line in enumerate(before) if line in places]
    # The longest chain of growing places: on each pile lies the pair that ends a chain of that length first.
    piles: list[int] = []
    tops: list[int] = []
    below: list[int] = []
    for number, (_, y) in enumerate(pairs):
        pile = bisect_left(piles, y)
        below.append(tops[pile - 1] if pile else -1)
        piles[pile : pile + 1] = [y]
        tops[pile : pile + 1] = [number]
    chain = []
    number = tops[-1] if tops else -1
    while number >= 0:
        chain.append((*pairs[number], 1))
        number = below[number]
    return chain[::-1]
