"""Draws the rooms of krmfn/ as SVG for docs/architecture.md: a row a step from the ground, an arrow an import.

Knows the shape of docs/rooms.yaml, and nothing of what is in the rooms.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Iterator, Mapping, Sequence

from docs.draw import MARGIN, frame

_WIDTH, _HEIGHT, _GAP, _RISE = 104, 34, 26, 46


def draw_rooms(imports: Mapping[str, Sequence[str]], doors: Collection[str]) -> str:
    """A picture of the rooms, the ground below. `imports` has them from the ground up, each with those that it imports;
    an arrow that follows from others is left out, and `doors` have a thick border."""
    arrows = _find_direct(imports)
    rows: list[list[str]] = []
    rank: dict[str, int] = {}
    for room, direct in arrows.items():
        rank[room] = 1 + max((rank[each] for each in direct), default=-1)
        rows.extend([] for _ in range(rank[room] + 1 - len(rows)))
        rows[rank[room]].append(room)
    width = max(len(row) for row in rows) * (_WIDTH + _GAP) - _GAP + 2 * MARGIN
    height = len(rows) * (_HEIGHT + _RISE) - _RISE + 2 * MARGIN
    places: dict[str, tuple[int, int]] = {}
    for number, row in enumerate(rows):
        row.sort(key=lambda room: sum(places[each][0] for each in arrows[room]) / (len(arrows[room]) or 1))
        left = (width - len(row) * (_WIDTH + _GAP) + _GAP) // 2
        for at, room in enumerate(row):
            places[room] = (left + at * (_WIDTH + _GAP), height - MARGIN - _HEIGHT - number * (_HEIGHT + _RISE))
    parts = [_join(places[each], places[room]) for room, direct in arrows.items() for each in direct]
    for room, (x, y) in places.items():
        parts += _write_room(room, x, y, room in doors)
    return frame("The rooms of krmfn, and which ones each of them imports", width, height, parts)


def _find_direct(imports: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The rooms with the imports that do not follow from others."""
    below: dict[str, set[str]] = {}
    for room, named in imports.items():
        below[room] = {*named}.union(*(below.get(each, set()) for each in named))
    return {
        room: [each for each in named if not any(each in below[other] for other in named)]
        for room, named in imports.items()
    }


def _join(start: tuple[int, int], end: tuple[int, int]) -> str:
    """An arrow from the top of one room to the bottom of another, drawn as a curve."""
    x, y = start[0] + _WIDTH // 2, start[1]
    to, below = end[0] + _WIDTH // 2, end[1] + _HEIGHT
    bend = max(_RISE // 2, (y - below) // 2)
    return f'<path class="line" d="M{x} {y}C{x} {y - bend} {to} {below + bend} {to} {below + 3}m-4 6l4 -6l4 6"/>'


def _write_room(room: str, x: int, y: int, is_door: bool) -> Iterator[str]:
    style = ' style="stroke:var(--group);stroke-width:3"' if is_door else ""
    yield f'<rect class="box" x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="8"{style}/>'
    yield f'<text class="name" x="{x + 16}" y="{y + 22}">{html.escape(room)}</text>'
