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
    for room in (
        room for room, direct in arrows.items() if not direct
    ):  # what needs no room is below those that need it
        rank[room] = min((rank[user] - 1 for user, direct in arrows.items() if room in direct), default=0)
    rows.extend([] for _ in range(1 + max(rank.values())))
    for room in arrows:
        rows[rank[room]].append(room)
    width = max(len(row) for row in rows) * (_WIDTH + _GAP) - _GAP + 2 * MARGIN
    height = len(rows) * (_HEIGHT + _RISE) - _RISE + 2 * MARGIN
    places: dict[str, tuple[int, int]] = {}
    for number, row in enumerate(rows):
        row.sort(key=lambda room: sum(places[each][0] for each in arrows[room]) / (len(arrows[room]) or 1))
        left = (width - len(row) * (_WIDTH + _GAP) + _GAP) // 2
        for at, room in enumerate(row):
            places[room] = (left + at * (_WIDTH + _GAP), height - MARGIN - _HEIGHT - number * (_HEIGHT + _RISE))
    parts = _join_all(arrows, [[places[room] for room in row] for row in rows], places)
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


def _join_all(
    arrows: Mapping[str, Sequence[str]],
    rows: Sequence[Sequence[tuple[int, int]]],
    places: Mapping[str, tuple[int, int]],
) -> list[str]:
    """All arrows. One that passes rows goes through the gap between two of their rooms that is next to its way, beside
    those that are in the gap already."""
    taken: dict[tuple[int, int], int] = {}
    parts = []
    pairs = [(each, room) for room, direct in arrows.items() for each in direct]
    for below, room in sorted(pairs, key=lambda pair: abs(places[pair[0]][1] - places[pair[1]][1])):
        (x, y), (to, end) = places[below], places[room]
        way = [(x + _WIDTH // 2, y)]
        for row in rows:
            top = row[0][1]
            if end < top < y:
                wanted = x + _WIDTH // 2 + (to - x) * (y - top) / (y - end)
                gaps = sorted({each + side for each, _ in row for side in (-_GAP // 2, _WIDTH + _GAP // 2)})
                gap = min(gaps, key=lambda gap: abs(gap - wanted) + 12 * taken.get((gap, top), 0))
                number = taken[gap, top] = taken.get((gap, top), 0) + 1
                shift = (number // 2) * (4 if number % 2 else -4)
                way += [(gap + shift, top + _HEIGHT), (gap + shift, top)]
        parts.append(_spell_way([*way, (to + _WIDTH // 2, end + _HEIGHT + 3)]))
    return parts


def _spell_way(way: Sequence[tuple[int, int]]) -> str:
    """An arrow from the top of one room to the bottom of another: curves between rows, and straight beside rooms."""
    words = [f"M{way[0][0]} {way[0][1]}"]
    for at in range(0, len(way), 2):
        (x, y), (to, top) = way[at : at + 2]
        bend = (y - top) // 2
        words.append(f"C{x} {y - bend} {to} {top + bend} {to} {top}")
        words += [f"L{x} {y}" for x, y in way[at + 2 : at + 3]]
    return f'<path class="line" d="{"".join(words)}m-4 6l4 -6l4 6"/>'


def _write_room(room: str, x: int, y: int, is_door: bool) -> Iterator[str]:
    style = ' style="stroke:var(--group);stroke-width:3"' if is_door else ""
    yield f'<rect class="box" x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="8"{style}/>'
    yield f'<text class="name" x="{x + 16}" y="{y + 22}">{html.escape(room)}</text>'
