"""Trees of groups as a picture, in SVG or in an HTML page of its own: a card for each group, a dot for each pod.

Without scripts, fonts or anything from elsewhere, for light and dark pages. What it shows is in its description, too.
Measures are pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from krmfn.reports.channels import markup, open_page, read_asset
from krmfn.survey.forest import Branch

WIDTH: Final = 960
_EDGE, _STEP, _CARD, _GAP = 20, 30, 46, 10
#: The width of a letter in the widest usual font, and as many pods of a card as are drawn.
_LETTER: Final = 8
_MOST_PODS: Final = 24


def render(worlds: Sequence[tuple[str, Sequence[Branch], Sequence[str]]]) -> str:
    """The picture. Of each world its name (empty for an only one), its trees, and what is in no group."""
    parts: list[str] = []
    told: list[str] = []
    top = _EDGE
    for name, trees, loose in worlds:
        if name:
            parts.append(_write(_EDGE, top + 14, name, "b"))
            top += 30
        for tree in trees:
            for row, level, above in _list_rows(tree):
                parts += _draw(row, level, top, above)
                told.append(f"{row.name}: {row.words}." if row.words else f"{row.name}.")
                top += _CARD + _GAP
        for each in ["without a group, scheduled pod by pod:", *loose] if loose else ():
            parts.append(_write(_EDGE, top + 14, each, "loose"))
            told.append(each)
            top += 24
        top += _GAP
    size = f'width="{WIDTH}" height="{top}" viewBox="0 0 {WIDTH} {top}"'
    style = read_asset("trees-picture.css")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"'
    return "\n".join(
        [
            f'{head} aria-labelledby="title told"><title id="title">Trees of groups</title>',
            f'<desc id="told">{markup(" ".join(told))}</desc><style>{style}</style>',
            f'<rect class="bg" width="{WIDTH}" height="{top}"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def render_page(worlds: Sequence[tuple[str, Sequence[Branch], Sequence[str]]]) -> str:
    """The picture as a page, which loads nothing."""
    return f"{open_page('Trees of groups', 'trees.css')}\n{render(worlds)}</body></html>\n"


def _list_rows(tree: Branch) -> Iterator[tuple[Branch, int, int]]:
    """Every branch from the top, with its level and how many rows are between it and its parent."""
    waiting: list[tuple[Branch, int, int]] = [(tree, 0, -1)]
    number = 0
    while waiting:
        branch, level, parent = waiting.pop()
        yield branch, level, number - parent - 1 if parent >= 0 else -1
        waiting += [(child, level + 1, number) for child in reversed(branch.children)]
        number += 1


def _draw(branch: Branch, level: int, top: int, above: int) -> Iterator[str]:
    """A card, with the way from its parent, so many rows above."""
    left = _EDGE + level * _STEP
    if above >= 0:
        start = top - above * (_CARD + _GAP) - _GAP
        yield f'<path class="way" d="M{left - _STEP + 14} {start}V{top + _CARD // 2}H{left}"/>'
    color = "never" if branch.facts.get("neverStarts") else branch.shape
    yield f'<rect class="card" x="{left}" y="{top}" width="{WIDTH - _EDGE - left}" height="{_CARD}" rx="7"/>'
    yield f'<rect class="{color}" x="{left}" y="{top}" width="5" height="{_CARD}" rx="2"/>'
    yield _write(left + 16, top + 19, branch.name, "b")
    pods = branch.facts.get("pods")
    drawn = min(pods, _MOST_PODS) if branch.shape == "pods" and isinstance(pods, int) else 0
    yield from (f'<circle class="pods" cx="{left + 22 + 14 * each}" cy="{top + 34}" r="5"/>' for each in range(drawn))
    yield _write(left + 16 + 14 * drawn + 6 * bool(drawn), top + 38, branch.words, "d")


def _write(left: int, top: int, words: str, kind: str) -> str:
    """A line of text, cut at the edge; all of it is its tooltip."""
    room = max((WIDTH - _EDGE - left) // _LETTER, 8)
    shown = words if len(words) <= room else words[: room - 1] + "…"
    return f'<text class="{kind}" x="{left}" y="{top}">{markup(shown)}<title>{markup(words)}</title></text>'
