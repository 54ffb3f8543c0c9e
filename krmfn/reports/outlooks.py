"""Outlooks (what would run, and where) in a format by name. Knows the formats, not how an outlook is made."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from krmfn.forecast.standing import Load, Outlook, Place, Standing
from krmfn.model.quantity import format_quantity
from krmfn.model.values import Fields
from krmfn.model.wording import count
from krmfn.reports import channels, outlook_svg
from krmfn.reports.channels import Lines, markup, open_page
from krmfn.reports.document import write_yaml
from krmfn.reports.outlook_view import (
    PALETTE,
    View,
    group_alike,
    list_resources,
    name_alike,
    name_authority,
    note_worlds,
    sort_alike,
    spell_nodes,
    spell_pods,
    spell_pods_of,
    spell_preempted,
    spell_share,
    spell_site,
    spell_verdict,
    summarize,
)
from krmfn.reports.paint import CYAN, GREEN, RED, YELLOW, paint

FORMATS = ("text", "json", "yaml", "markdown", "mermaid", "svg", "html")

_COLORS = {"runs": GREEN, "never": RED, "waits": YELLOW, "grows": YELLOW, "depends": YELLOW, "open": CYAN}
_WIDTH = 110
#: How many nodes are listed or drawn; the others are only counted.
_MOST_LINES = 40
_SIGNS = {"runs": "🟢", "never": "🔴", "waits": "🟡", "grows": "🟡", "depends": "🟡", "open": "⚪"}
_MOST_ROWS = 60


def render_outlooks(views: Sequence[View], form: str, *, color: bool = False) -> str:
    """Spell the outlooks in one of FORMATS. `color` matters to text alone."""
    match form:
        case "json" | "yaml":  # one document: an outlook, or with several worlds a list of them
            outlooks = [spell_outlook(view) for view in views]
            document = outlooks[0] if len(outlooks) == 1 else {"worlds": outlooks}
            return channels.json(document) if form == "json" else write_yaml(document)
        case "markdown":
            return _render_markdown(views)
        case "mermaid":
            return _render_mermaid(views)
        case "svg":
            return outlook_svg.render(views)
        case "html":
            return render_page(views)
    return _render_text(views, color)


def _render_text(views: Sequence[View], color: bool) -> str:
    """World by world."""
    parts = []
    for view in views:
        title = [f"{view.world or 'other files'}:"] if len(views) > 1 else []
        parts.append("".join(f"{line}\n" for line in [*title, *_tell_world(view, color)]))
    note = note_worlds(views)
    return "\n".join([*parts, *([f"{note}\n"] if note else ())])


def _tell_world(view: View, color: bool) -> Lines:
    outlook = view.outlook
    if outlook.standings:
        width = max(len("GANG"), *(len(standing.name) for standing in outlook.standings))
        yield f"{'GANG':{width}}  {'PODS':>9}  VERDICT"
        for standing in outlook.standings:
            yield from _tell_gang(standing, width, color)
    if outlook.loose:
        placed = f", {sum(bool(place.node) for place in outlook.loose)} with a node" if outlook.simulator else ""
        yield f"in no gang: {count(len(outlook.loose), 'pod')}{placed}"
    if outlook.preempted:
        yield channels.line(spell_preempted(outlook.preempted))
    if outlook.loads and any(load.gangs or load.others or load.used for load in outlook.loads):
        yield ""
        yield from _list_nodes(outlook)
    yield ""
    yield f"{summarize(outlook)}; {name_authority(view)}"


def _tell_gang(standing: Standing, width: int, color: bool) -> Lines:
    verdict = paint(standing.verdict, _COLORS[standing.verdict], color)
    words = f": {spell_verdict(standing)}" if standing.verdict in ("depends", "open") else ""
    words = " for capacity that others use" if standing.verdict == "waits" else words
    words = spell_site(standing) or words
    yield f"{channels.line(standing.name):{width}}  {spell_pods(standing):>9}  {verdict}{channels.line(words)}"
    indent = " " * (width + 13)
    admitted = (each.spell() for each in standing.admissions)
    for text in (*admitted, standing.why, f"change: {standing.way_out}" if standing.way_out else ""):
        lines = textwrap.wrap(channels.line(text), max(40, _WIDTH - len(indent)), break_on_hyphens=False)
        yield from (channels.line(indent + line) for line in lines)


def _list_nodes(outlook: Outlook) -> Lines:
    loads = outlook.loads or ()
    resources = list_resources(loads)
    head = ["NODE", *([outlook.key.rpartition("/")[2].upper()] if outlook.key else []), *resources, "PODS"]
    rows = []
    grouped = sort_alike(group_alike(loads))
    for load, number in grouped[:_MOST_LINES]:
        pods = [f"{gang} ×{count}" if count > 1 else gang for gang, count in load.gangs.items()]
        pods += [count(load.others, "other")] if load.others else []
        pods += ["cordoned"] if load.unschedulable else []
        shown = [name_alike(load, number), *([load.domain or "–"] if outlook.key else [])]
        rows.append([*shown, *(spell_share(load, resource) for resource in resources), ", ".join(pods)])
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    sides = ["<"] * (len(head) - 1 - len(resources)) + [">"] * len(resources) + ["<"]
    for row in (head, *rows):
        columns = zip(row, sides, widths, strict=True)
        cells = [f"{channels.line(cell):{side}{width}}" for cell, side, width in columns]
        yield channels.line("  ".join(cells).rstrip())
    if len(grouped) > _MOST_LINES:
        yield f"… and {sum(number for _, number in grouped[_MOST_LINES:])} more nodes"


def _render_markdown(views: Sequence[View]) -> str:
    """A heading for each world."""
    parts = []
    for view in views:
        title = f"## What would run{f' from {channels.code(view.world)}' if view.world else ''}"
        parts.append("\n".join([title, "", *_write_world(view)]).rstrip("\n") + "\n")
    note = note_worlds(views)
    return "\n".join([*parts, *([f"{channels.markdown(note)}\n"] if note else ())])


def _write_world(view: View) -> Lines:
    outlook = view.outlook
    yield f"**{channels.markdown(summarize(outlook))}**, {channels.markdown(name_authority(view))}."
    yield ""
    if outlook.standings:
        yield "| gang | pods | verdict | where, or why not |"
        yield "|---|---:|---|---|"
        yield from map(_write_row, outlook.standings)
        yield ""
    for standing in outlook.standings:
        if standing.way_out and standing.verdict != "runs":
            yield f"* {channels.code(standing.name)}: {channels.markdown(standing.way_out)}"
    if outlook.preempted:
        yield f"* {channels.markdown(spell_preempted(outlook.preempted))}"
    if outlook.loads and any(load.gangs for load in outlook.loads):
        yield ""
        yield from _write_nodes(outlook)


def _write_row(standing: Standing) -> str:
    where = "; ".join(filter(None, [spell_nodes(standing), *(each.spell() for each in standing.admissions)]))
    where = where if standing.verdict == "runs" else standing.why
    verdict = f"{_SIGNS[standing.verdict]} {spell_verdict(standing)}"
    return f"| {channels.code(standing.name)} | {spell_pods(standing)} | {verdict} | {channels.markdown(where)} |"


def _write_nodes(outlook: Outlook) -> Lines:
    loads = outlook.loads or ()
    resources = list_resources(loads)
    domain = [channels.code(outlook.key)] if outlook.key else []
    yield f"<details><summary>{len(loads)} nodes</summary>"
    yield ""
    yield f"| node | {' | '.join([*domain, *map(channels.code, resources), 'pods'])} |"
    yield f"|---|{'---|' * len(domain)}{'---:|' * len(resources)}---|"
    grouped = sort_alike(group_alike(loads))
    for load, number in grouped[:_MOST_ROWS]:
        cells = [name_alike(load, number, channels.code), *([channels.markdown(load.domain)] if domain else [])]
        cells += [*(spell_share(load, resource) for resource in resources), spell_pods_of(load, channels.code)]
        yield f"| {' | '.join(cells)} |"
    if len(grouped) > _MOST_ROWS:
        yield f"| {sum(number for _, number in grouped[_MOST_ROWS:])} more | {'| ' * (len(domain) + len(resources))}|"
    yield ""
    yield "</details>"


def draw_change(before: View | None, after: View) -> Lines:
    """Lines of Markdown: the nodes whose pods of gangs change, before and after, in one chart."""
    old, new = (view.outlook.loads or () if view else () for view in (before, after))
    held = {load.name: load.gangs for load in old}
    differ = {load.name for load in new if load.gangs != held.get(load.name, {})}
    if not differ:
        return
    views = [
        view._replace(outlook=view.outlook._replace(loads=tuple(x for x in view.outlook.loads if x.name in differ)))
        for view in (before, after)
        if view and view.outlook.loads
    ]
    yield from ("", "```mermaid", _render_mermaid(views, ("before", "after")[-len(views) :]).rstrip("\n"), "```")


def _render_mermaid(views: Sequence[View], titles: Sequence[str] = ()) -> str:
    """One chart over all worlds, or over states of one, which have `titles` and the same colours; GitHub, GitLab and
    documentation sites draw it."""
    lines = ["flowchart LR"]
    names = dict.fromkeys(standing.name for view in views for standing in view.outlook.standings)
    shared = {name: f"g{number % len(PALETTE)}" for number, name in enumerate(names)} if titles else None
    for number, view in enumerate(views):
        chart = _draw_chart(view.outlook, f"w{number}", shared)
        lines += [f'  subgraph s{number}["{titles[number]}"]', *chart, "  end"] if titles else chart
    for number, (fill, ink) in enumerate(PALETTE):
        lines.append(f"  classDef g{number} fill:{fill},stroke:{fill},color:{ink}")
    lines.append("  classDef free fill:none,stroke:#888888,stroke-dasharray:3")
    return "\n".join(lines) + "\n"


def _draw_chart(outlook: Outlook, name: str, colors: Mapping[str, str] | None) -> Lines:
    colors = colors or {each.name: f"g{number % len(PALETTE)}" for number, each in enumerate(outlook.standings)}
    grouped = group_alike(outlook.loads or ())[:_MOST_LINES]
    for place, domain in enumerate(sorted({load.domain for load, _ in grouped})):
        title = f"{outlook.key.rpartition('/')[2]} {domain}" if domain else "nodes"
        yield f'  subgraph {name}d{place}["{channels.mermaid(title)}"]'
        for number, (load, alike) in enumerate(grouped):
            if load.domain != domain:
                continue
            if alike > 1 or not load.gangs:
                yield f'    {name}n{number}["{channels.mermaid(name_alike(load, alike))}"]:::free'
                continue
            yield f'    subgraph {name}n{number}["{channels.mermaid(load.name)}"]'
            for index, (gang, pods) in enumerate(load.gangs.items()):
                yield f'      {name}n{number}p{index}("{channels.mermaid(f"{gang} ×{pods}")}"):::{colors[gang]}'
            yield "    end"
        yield "  end"
    waiting = [standing for standing in outlook.standings if standing.verdict != "runs"]
    if waiting:
        yield f'  subgraph {name}x["{channels.mermaid(summarize(outlook))}"]'
        for number, standing in enumerate(waiting):
            text = f"{channels.mermaid(standing.name)}<br/>{channels.mermaid(spell_verdict(standing))}"
            why = f"<br/>{channels.mermaid(standing.why)}" if standing.why else ""
            yield f'    {name}x{number}["{text}{why}"]:::{colors[standing.name]}'
        yield "  end"


def spell_outlook(view: View) -> Fields:
    """An outlook as plain values, as pages draw it."""
    outlook = view.outlook
    document: Fields = {"world": view.world} if view.world else {}
    document |= {
        "simulator": outlook.simulator or None,
        **({"kueue": view.kueue or None} if outlook.queued else {}),
        "gangs": [_spell_standing(standing) for standing in outlook.standings],
        "podsWithoutGroup": [_spell_place(place) for place in outlook.loose],
        **({"preempted": list(outlook.preempted)} if outlook.preempted else {}),
    }
    if outlook.loads is not None:
        document |= {"topologyKey": outlook.key, "nodes": [_spell_load(load) for load in outlook.loads]}
    return document


def _spell_standing(standing: Standing) -> Fields:
    told = {"why": standing.why, "change": standing.way_out, "rule": standing.rule}
    return {
        "name": standing.name,
        "verdict": standing.verdict,
        "pods": len(standing.places),
        "placed": standing.placed,
        **{key: text for key, text in told.items() if text},
        **({"kueue": [each.told for each in standing.admissions]} if standing.admissions else {}),
        "groups": [{"name": group.full_name} for group in standing.groups],
        "places": [_spell_place(place) for place in standing.places],
    }


def _spell_place(place: Place) -> Fields:
    return {"pod": place.pod.name, "node": place.node or None} | ({"message": place.message} if place.message else {})


def _spell_load(load: Load) -> Fields:
    return {
        "name": load.name,
        **({"domain": load.domain} if load.domain else {}),
        **({"unschedulable": True} if load.unschedulable else {}),
        "allocatable": {name: format_quantity(amount) for name, amount in load.allocatable.items()},
        "used": {name: format_quantity(amount) for name, amount in load.used.items()},
        "gangs": dict(load.gangs),
        "otherPods": load.others,
    }


def render_page(views: Sequence[View]) -> str:
    """The page."""
    lines = [open_page("; ".join(summarize(view.outlook) for view in views), "outlook.css")]
    for number, view in enumerate(views):
        heading = f"{view.world}: {summarize(view.outlook)}" if view.world else summarize(view.outlook)
        lines.append(f"<h1>{markup(heading)}</h1>")
        lines.append(f"<p>{markup(name_authority(view))}</p>")
        if view.outlook.loads:
            lines.append(outlook_svg.render([view], f"-{number}"))
        lines += _table_gangs(view.outlook)
        lines += _table_nodes(view.outlook)
    note = note_worlds(views)
    lines += [f"<p>{markup(note)}</p>"] if note else []
    return "\n".join([*lines, "</body></html>", ""])


def _table_gangs(outlook: Outlook) -> Lines:
    yield '<table><thead><tr><th>gang</th><th class="n">pods</th><th>verdict</th></tr></thead><tbody>'
    for standing in outlook.standings:
        pods = spell_pods(standing)
        yield f'<tr class="{standing.verdict}"><td>{markup(standing.name)}</td><td class="n">{pods}</td><td>'
        yield f"<b>{spell_verdict(standing)}</b>{markup(spell_site(standing))}"
        yield from (f'<div class="why">{markup(text)}</div>' for text in (standing.why, standing.way_out) if text)
        if standing.places:
            yield f"<details><summary>{count(len(standing.places), 'pod')}</summary><ul>"
            for place in standing.places:
                said = place.node or place.message or "no node"
                yield f"<li>{markup(place.pod.name)}: {markup(said)}</li>"
            yield "</ul></details>"
        yield "</td></tr>"
    yield "</tbody></table>"


def _table_nodes(outlook: Outlook) -> Lines:
    loads = outlook.loads or ()
    if not loads:
        return
    resources = list_resources(loads)
    heads = "".join(f'<th class="n">{markup(resource)}</th>' for resource in resources)
    yield f"<details><summary>{count(len(loads), 'node')}</summary><table>"
    yield f"<thead><tr><th>node</th><th>domain</th>{heads}"
    yield "<th>pods</th></tr></thead><tbody>"
    for load, number in group_alike(loads):
        cells = "".join(f'<td class="n">{spell_share(load, resource)}</td>' for resource in resources)
        place = f"<td>{markup(name_alike(load, number))}</td><td>{markup(load.domain)}</td>"
        yield f"<tr>{place}{cells}<td>{markup(spell_pods_of(load))}</td></tr>"
    yield "</tbody></table></details>"
