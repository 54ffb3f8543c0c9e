"""Outlooks as text: a table of the gangs, and one of the nodes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from krmfn.forecast.standing import Outlook, Standing
from krmfn.model.wording import count
from krmfn.reports import channels
from krmfn.reports.outlook_view import (
    MEANINGS,
    View,
    group_alike,
    list_resources,
    name_authority,
    note_worlds,
    spell_nodes,
    spell_share,
    summarize,
)
from krmfn.reports.paint import CYAN, GREEN, RED, YELLOW, paint

_COLORS = {"runs": GREEN, "never": RED, "waits": YELLOW, "depends": YELLOW, "open": CYAN}
_WIDTH = 110
#: So many nodes are listed; the rest is told as a number.
_MOST = 40


def render(views: Sequence[View], *, color: bool) -> str:
    """World by world."""
    parts = []
    for view in views:
        title = [f"{view.world or 'other files'}:"] if len(views) > 1 else []
        parts.append("".join(f"{line}\n" for line in [*title, *_render(view, color)]))
    note = note_worlds(views)
    return "\n".join([*parts, *([f"{note}\n"] if note else ())])


def _render(view: View, color: bool) -> Iterator[str]:
    outlook = view.outlook
    if outlook.standings:
        width = max(len("GANG"), *(len(standing.name) for standing in outlook.standings))
        yield f"{'GANG':{width}}  {'PODS':>9}  VERDICT"
        for standing in outlook.standings:
            yield from _tell(standing, width, color)
    if outlook.loose:
        placed = sum(bool(place.node) for place in outlook.loose)
        yield (
            f"in no gang: {count(len(outlook.loose), 'pod')}, {placed} with a node"
            if outlook.simulator
            else f"in no gang: {count(len(outlook.loose), 'pod')}"
        )
    if outlook.loads and any(load.gangs or load.others or load.used for load in outlook.loads):
        yield ""
        yield from _list_nodes(outlook)
    yield ""
    yield f"{summarize(outlook)}; {name_authority(view)}"


def _tell(standing: Standing, width: int, color: bool) -> Iterator[str]:
    pods = f"{standing.placed}/{len(standing.places)}" if standing.verdict != "open" else f"{len(standing.places)}"
    verdict = paint(standing.verdict, _COLORS[standing.verdict], color)
    words = f": {MEANINGS[standing.verdict]}" if standing.verdict in ("depends", "open") else ""
    words = " for capacity that others use" if standing.verdict == "waits" else words
    if standing.verdict == "runs" and standing.placed:
        words = f" on {spell_nodes(standing)}"
    yield f"{channels.line(standing.name):{width}}  {pods:>9}  {verdict}{channels.line(words)}"
    indent = " " * (width + 13)
    for text in (standing.why, f"change: {standing.way_out}" if standing.way_out else ""):
        lines = textwrap.wrap(channels.line(text), max(40, _WIDTH - len(indent)), break_on_hyphens=False)
        yield from (channels.line(indent + line) for line in lines)


def _list_nodes(outlook: Outlook) -> Iterator[str]:
    loads = outlook.loads or ()
    resources = list_resources(loads)
    head = ["NODE", *([outlook.key.rpartition("/")[2].upper()] if outlook.key else []), *resources, "PODS"]
    rows = []
    grouped = sorted(group_alike(loads), key=lambda entry: (entry[0].domain, not entry[0].gangs))
    for load, number in grouped[:_MOST]:
        name = f"{load.name} and {number - 1} like it" if number > 1 else load.name
        pods = [f"{gang} ×{count}" if count > 1 else gang for gang, count in load.gangs.items()]
        pods += [f"{load.others} other{'s' if load.others > 1 else ''}"] if load.others else []
        pods += ["cordoned"] if load.unschedulable else []
        domain = [load.domain or "–"] if outlook.key else []
        rows.append([name, *domain, *(spell_share(load, resource) for resource in resources), ", ".join(pods)])
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        cells = [
            f"{channels.line(cell):>{width}}"
            if 0 < len(row) - 1 - column <= len(resources)
            else (f"{channels.line(cell):{width}}")
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield channels.line("  ".join(cells).rstrip())
    if len(grouped) > _MOST:
        yield f"… and {sum(number for _, number in grouped[_MOST:])} more nodes"
