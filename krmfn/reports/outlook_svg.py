"""Outlooks as a picture: the gangs with their verdicts, then domains, nodes and pods; one colour and letter a gang.

SVG without scripts, fonts or anything from elsewhere, for light and dark pages. What it shows is in its description,
too. Measures are pixels.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from krmfn.forecast.standing import Load, Outlook, Standing
from krmfn.model.wording import count
from krmfn.reports.channels import Lines, draw, markup
from krmfn.reports.outlook_view import (
    PALETTE,
    View,
    group_alike,
    list_resources,
    name_authority,
    sort_alike,
    spell_share,
    spell_site,
    spell_verdict,
    sum_domains,
    summarize,
)

WIDTH = 1000
_EDGE = 20
_CARD = 180  # the width of a node
_GAP = 10
_COLUMN = 380  # pixels for the name of a gang
_WIDE, _USUAL = 13, 9  # pixels of a letter in the widest usual font
_NAME = 18  # as many letters of the widest usual font fit into a card
_NOTE = 14  # the height of the line below the name
_POD = 16
_STEP = _POD + 3
_IN_ROW = 8
#: How many pods of a node or of a gang are drawn, and how many cards of nodes.
_MOST_PODS = 32
_MOST_CARDS = 120
_SIGNS: Mapping[str, str] = {"runs": "✓", "never": "✗", "waits": "…", "grows": "+", "depends": "?", "open": "–"}


class _Mark(NamedTuple):
    """How a gang is drawn. The letter is A, B, …, Z, A1, B1, …"""

    letter: str
    fill: str
    ink: str


class _Card(NamedTuple):
    """A node or several of them, with a line about them."""

    load: Load
    number: int
    note: str


def render(views: Sequence[View], mark: str = "") -> str:
    """One picture, the worlds one below the other. `mark` tells its identifiers apart from those of another picture on
    a page, which has the heading then."""
    parts: list[str] = []
    top = _EDGE
    for view in views:
        drawn, top = _draw(view, top, len(views) > 1, headed=not mark)
        parts += drawn
    title = "; ".join(summarize(view.outlook) for view in views)
    told = " ".join(line for view in views for line in describe(view.outlook))
    return draw(WIDTH, top + _EDGE, title, told, "outlook-picture.css", parts, mark)


def describe(outlook: Outlook) -> Lines:
    """A sentence for each gang."""
    for standing in outlook.standings:
        why = f": {standing.why}" if standing.why else ""
        yield f"{standing.name} {spell_verdict(standing)}{spell_site(standing)}{why}."


def _draw(view: View, top: int, named: bool, headed: bool) -> tuple[list[str], int]:
    outlook = view.outlook
    marks = {
        standing.name: _Mark(chr(ord("A") + number % 26) + str(number // 26 or ""), *PALETTE[number % len(PALETTE)])
        for number, standing in enumerate(outlook.standings)
    }
    title = f"{view.world or 'other files'}: {summarize(outlook)}" if named else summarize(outlook)
    parts, hidden = [], 0
    if headed:
        parts = [_text(_EDGE, top + 16, title, "t"), _text(_EDGE, top + 36, name_authority(view), "d")]
        top += 54
    for standing in outlook.standings:
        drawn, top = _draw_gang(standing, marks[standing.name], top)
        parts += drawn
    loads = outlook.loads or ()
    resources = list_resources(loads)[:3]
    top += 8
    if loads:
        parts += _draw_legend(any(load.others for load in loads), top)
        top += 26
    left = _MOST_CARDS
    for title, cards in _sort_cards(loads, outlook.key.rpartition("/")[2]).items():
        if left:
            drawn, top = _draw_domain(title, cards[:left], resources, marks, top)
            parts += drawn
        hidden += sum(card.number for card in cards[left:])
        left = max(0, left - len(cards))
    if hidden:
        parts.append(_text(_EDGE, top + 14, f"and {hidden} more nodes", "d"))
        top += 24
    return parts, top


def _sort_cards(loads: Sequence[Load], key: str) -> dict[str, list[_Card]]:
    """The cards by the titles of their frames: each node with pods of a gang; where these are too many, one for those
    with the same pods, or one for each domain."""
    grouped = group_alike(loads)
    if len(grouped) > _MOST_CARDS:
        grouped = group_alike(loads, gangs=True)
    sums = sum_domains(loads) if len(grouped) > _MOST_CARDS else []
    if 1 < len(sums) <= _MOST_CARDS:
        return {f"nodes by {key}": [_Card(load, number, count(number, "node")) for load, number in sums]}
    frames: dict[str, list[_Card]] = {}
    for load, number in sort_alike(grouped):
        note = f"and {number - 1} like it" if number > 1 else ""
        note = ", ".join(filter(None, (note, "cordoned" if load.unschedulable else "")))
        frames.setdefault(f"{key} {load.domain}" if load.domain else "nodes", []).append(_Card(load, number, note))
    return frames


def _draw_gang(standing: Standing, mark: _Mark, top: int) -> tuple[list[str], int]:
    """A line with the verdict, below it the reason and the pods that have no node."""
    total = len(standing.places)
    pods = count(total, "pod") if standing.verdict == "open" else f"{standing.placed} of {total} pods"
    verdict = f"{_SIGNS[standing.verdict]} {spell_verdict(standing)}"
    parts = [
        *_draw_pod(_EDGE, top, mark, standing.name),
        _text(_EDGE + 24, top + 13, _cut(standing.name, _COLUMN), "b"),
        _text(_EDGE + 420, top + 13, pods, "d"),
        _text(_EDGE + 525, top + 13, verdict, f"b {standing.verdict}"),
    ]
    top += 22
    reasons = [standing.why, f"Change: {standing.way_out}" if standing.way_out else ""]
    for line in (line for reason in reasons for line in textwrap.wrap(reason, 140)[:4]):
        parts.append(_text(_EDGE + 24, top + 10, line, "d"))
        top += 17
    lost = [place for place in standing.places if not place.node]
    if lost and standing.verdict != "open":
        for number, place in enumerate(lost[:_MOST_PODS]):
            told = f"{place.pod.name} has no node{f': {place.message}' if place.message else ''}"
            parts += _draw_pod(_EDGE + 24 + number * _STEP, top, mark, told, hollow=True)
        words = f"+{len(lost) - _MOST_PODS} without a node" if len(lost) > _MOST_PODS else "without a node"
        parts.append(_text(_EDGE + 30 + min(len(lost), _MOST_PODS) * _STEP, top + 12, words, "s"))
        top += _STEP + 3
    return parts, top + 6


def _draw_legend(others: bool, top: int) -> Lines:
    """What is in a node without a letter of its own."""
    x = _EDGE
    if others:
        yield f'<rect class="o" x="{x}" y="{top}" width="{_POD}" height="{_POD}" rx="3"/>'
        yield _text(x + _STEP + 4, top + 12, "another pod", "s")
        x += 110
    yield from _draw_bar(x, top + 7, 30, 0.6)
    yield _text(x + 38, top + 12, "requested", "s")
    yield from _draw_bar(x + 110, top + 7, 30, 1)
    yield _text(x + 148, top + 12, "nothing left", "s")


def _draw_bar(x: int, y: int, width: int, share: float) -> Lines:
    yield f'<rect class="track" x="{x}" y="{y}" width="{width}" height="3"/>'
    style = "bar full" if share >= 1 else "bar"
    yield f'<rect class="{style}" x="{x}" y="{y}" width="{round(min(share, 1) * width)}" height="3"/>'


def _draw_domain(
    title: str, cards: Sequence[_Card], resources: Sequence[str], marks: Mapping[str, _Mark], top: int
) -> tuple[list[str], int]:
    columns = (WIDTH - 2 * _EDGE - _GAP) // (_CARD + _GAP)
    rows = [cards[start : start + columns] for start in range(0, len(cards), columns)]
    parts, start = [_text(_EDGE + _GAP, top + 20, title, "b")], top
    top += 32
    for row in rows:
        height = max(_measure(card, resources) for card in row)
        for column, card in enumerate(row):
            parts += _draw_node(_EDGE + _GAP + column * (_CARD + _GAP), top, height, card, resources, marks)
        top += height + _GAP
    frame = f'<rect class="dom" x="{_EDGE}" y="{start}" width="{WIDTH - 2 * _EDGE}" height="{top - start}" rx="8"/>'
    return [frame, *parts], top + 12


def _measure(card: _Card, resources: Sequence[str]) -> int:
    load = card.load
    pods = min(sum(load.gangs.values()) + load.others, _MOST_PODS)
    bars = sum(resource in load.allocatable for resource in resources)
    return 34 + (_NOTE if card.note else 0) + -(-pods // _IN_ROW) * _STEP + bars * 20


def _draw_node(
    left: int, top: int, height: int, card: _Card, resources: Sequence[str], marks: Mapping[str, _Mark]
) -> Lines:
    load, style = card.load, "more" if card.number > 1 else "card"
    told = ", ".join([*(f"{gang} ×{pods}" for gang, pods in load.gangs.items()), count(load.others, "other")])
    yield f"<g><title>{markup(f'{load.name}: {told}')}</title>"
    yield f'<rect class="{style}" x="{left}" y="{top}" width="{_CARD}" height="{height}" rx="5"/>'
    yield _text(left + 8, top + 18, _shorten(load.name, _NAME), "b")
    if card.note:
        top += _NOTE
        yield _text(left + 8, top + 18, card.note, "s")
    pods = [marks[gang] for gang, count in load.gangs.items() for _ in range(count)]
    drawn = [*pods, *([None] * load.others)]
    for place, mark in enumerate(drawn[:_MOST_PODS]):
        x, y = left + 8 + place % _IN_ROW * _STEP, top + 28 + place // _IN_ROW * _STEP
        if place == _MOST_PODS - 1 and len(drawn) > _MOST_PODS:
            yield _text(x, y + 12, f"+{len(drawn) - _MOST_PODS + 1}", "s")
        elif mark is None:
            yield f'<rect class="o" x="{x}" y="{y}" width="{_POD}" height="{_POD}" rx="3"/>'
        else:
            yield from _draw_pod(x, y, mark, "")
    y = top + 30 + -(-min(len(drawn), _MOST_PODS) // _IN_ROW) * _STEP
    for resource in (resource for resource in resources if resource in load.allocatable):
        share = load.used.get(resource, 0) / load.allocatable[resource] if load.allocatable.get(resource) else 0
        label = f"{_cut(resource.rpartition('/')[2], 14 * _USUAL)} {spell_share(load, resource)}"
        yield _text(left + 8, y + 10, label, "s")
        yield from _draw_bar(left + 8, y + 14, _CARD - 16, share)
        y += 20
    yield "</g>"


def _draw_pod(x: int, y: int, mark: _Mark, told: str, hollow: bool = False) -> Lines:
    paint = f'fill="{mark.fill}"'
    edge = 1 if hollow else 0
    if hollow:
        paint = f'fill="none" stroke="{mark.fill}" stroke-width="1.5" stroke-dasharray="3 2"'
    yield "<g>"
    if told:
        yield f"<title>{markup(told)}</title>"
    size = _POD - 2 * edge
    yield f'<rect x="{x + edge}" y="{y + edge}" width="{size}" height="{size}" rx="3" {paint}/>'
    ink = "" if hollow else f' style="fill:{mark.ink}"'
    yield f'<text class="l" x="{x + _POD / 2}" y="{y + 12}"{ink}>{mark.letter}</text>'
    yield "</g>"


def _text(x: int, y: int, text: str, style: str) -> str:
    return f'<text class="{style}" x="{x}" y="{y}">{markup(text)}</text>'


def _shorten(name: str, most: int) -> str:
    """A node's name without its domain, when it would not fit."""
    first = name if len(name) <= most else name.partition(".")[0]
    return first if len(first) <= most else f"{first[: max(1, most - 6)]}…{first[-5:]}"


def _cut(text: str, most: int) -> str:
    """A name without what is in its middle, when it is wider than so many pixels."""
    shown = text
    for end in range(len(text) - 10, 0, -1):
        if sum(_WIDE if letter in "mwMW@%" else _USUAL for letter in shown) <= most:
            break
        shown = f"{text[:end]}…{text[-8:]}"
    return shown
