"""Outlooks as Markdown for a pull request: the verdict, a table of gangs, and the nodes folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krmfn.forecast.standing import Outlook, Standing
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

_SIGNS = {"runs": "🟢", "never": "🔴", "waits": "🟡", "depends": "🟡", "open": "⚪"}
_MOST = 60


def render(views: Sequence[View]) -> str:
    """A heading for each world."""
    parts = []
    for view in views:
        title = f"## What would run{f' from {channels.code(view.world)}' if view.world else ''}"
        parts.append("\n".join([title, "", *_render(view)]).rstrip("\n") + "\n")
    note = note_worlds(views)
    return "\n".join([*parts, *([f"{channels.markdown(note)}\n"] if note else ())])


def _render(view: View) -> Iterator[str]:
    outlook = view.outlook
    yield f"**{channels.markdown(summarize(outlook))}**, {channels.markdown(name_authority(view))}."
    yield ""
    if outlook.standings:
        yield "| gang | pods | verdict | where, or why not |"
        yield "|---|---:|---|---|"
        yield from map(_row, outlook.standings)
        yield ""
    for standing in outlook.standings:
        if standing.way_out and standing.verdict != "runs":
            yield f"* {channels.code(standing.name)}: {channels.markdown(standing.way_out)}"
    if outlook.loads and any(load.gangs for load in outlook.loads):
        yield ""
        yield from _list_nodes(outlook)


def _row(standing: Standing) -> str:
    pods = f"{standing.placed}/{len(standing.places)}" if standing.verdict != "open" else str(len(standing.places))
    where = spell_nodes(standing) if standing.verdict == "runs" else standing.why
    verdict = f"{_SIGNS[standing.verdict]} {MEANINGS[standing.verdict]}"
    return f"| {channels.code(standing.name)} | {pods} | {verdict} | {channels.markdown(where)} |"


def _list_nodes(outlook: Outlook) -> Iterator[str]:
    loads = outlook.loads or ()
    resources = list_resources(loads)
    domain = [channels.code(outlook.key)] if outlook.key else []
    yield f"<details><summary>{len(loads)} nodes</summary>"
    yield ""
    yield f"| node | {' | '.join([*domain, *map(channels.code, resources), 'pods'])} |"
    yield f"|---|{'---|' * len(domain)}{'---:|' * len(resources)}---|"
    grouped = sorted(group_alike(loads), key=lambda entry: (entry[0].domain, not entry[0].gangs))
    for load, number in grouped[:_MOST]:
        name = channels.code(load.name) + (f" and {number - 1} like it" if number > 1 else "")
        pods = [f"{channels.code(gang)} ×{count}" for gang, count in load.gangs.items()]
        pods += [f"{load.others} others"] if load.others else []
        cells = [channels.markdown(load.domain)] if domain else []
        cells += [spell_share(load, resource) for resource in resources]
        yield f"| {name} | {' | '.join([*cells, ', '.join(pods)])} |"
    if len(grouped) > _MOST:
        yield f"| {sum(number for _, number in grouped[_MOST:])} more | {'| ' * (len(domain) + len(resources))}|"
    yield ""
    yield "</details>"
