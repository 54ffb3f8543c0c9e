"""Outlooks as one HTML file: the picture, the gangs with every pod, the nodes. No scripts, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krmfn.forecast.standing import Outlook, Standing
from krmfn.model.wording import count
from krmfn.reports import outlook_svg
from krmfn.reports.channels import markup, open_page
from krmfn.reports.outlook_view import (
    View,
    group_alike,
    list_resources,
    name_authority,
    note_worlds,
    spell_nodes,
    spell_pods,
    spell_share,
    spell_verdict,
    summarize,
)


def render(views: Sequence[View]) -> str:
    """The page."""
    lines = [open_page("; ".join(summarize(view.outlook) for view in views), "outlook.css")]
    for number, view in enumerate(views):
        heading = f"{view.world}: {summarize(view.outlook)}" if view.world else summarize(view.outlook)
        lines.append(f"<h1>{markup(heading)}</h1>")
        lines.append(f"<p>{markup(name_authority(view))}</p>")
        if view.outlook.loads:
            lines.append(outlook_svg.render([view._replace(world="")], f"-{number}", headed=False))
        lines += _list_gangs(view.outlook)
        lines += _list_nodes(view.outlook)
    note = note_worlds(views)
    lines += [f"<p>{markup(note)}</p>"] if note else []
    return "\n".join([*lines, "</body></html>", ""])


def _list_gangs(outlook: Outlook) -> Iterator[str]:
    yield '<table><thead><tr><th>gang</th><th class="n">pods</th><th>verdict</th></tr></thead><tbody>'
    for standing in outlook.standings:
        yield from _row(standing)
    yield "</tbody></table>"


def _row(standing: Standing) -> Iterator[str]:
    where = f" on {spell_nodes(standing)}" if standing.placed and standing.verdict == "runs" else ""
    pods = spell_pods(standing)
    yield f'<tr class="{standing.verdict}"><td>{markup(standing.name)}</td><td class="n">{pods}</td><td>'
    yield f"<b>{spell_verdict(standing)}</b>{markup(where)}"
    for text in (standing.why, standing.way_out):
        if text:
            yield f'<div class="why">{markup(text)}</div>'
    if standing.places:
        yield f"<details><summary>{count(len(standing.places), 'pod')}</summary><ul>"
        for place in standing.places:
            said = place.node or place.message or "no node"
            yield f"<li>{markup(place.pod.name)}: {markup(said)}</li>"
        yield "</ul></details>"
    yield "</td></tr>"


def _list_nodes(outlook: Outlook) -> Iterator[str]:
    loads = outlook.loads or ()
    if not loads:
        return
    resources = list_resources(loads)
    heads = "".join(f'<th class="n">{markup(resource)}</th>' for resource in resources)
    yield f"<details><summary>{count(len(loads), 'node')}</summary><table>"
    yield f"<thead><tr><th>node</th><th>domain</th>{heads}"
    yield "<th>pods</th></tr></thead><tbody>"
    for load, number in group_alike(loads):
        name = f"{load.name} and {number - 1} like it" if number > 1 else load.name
        cells = "".join(f'<td class="n">{spell_share(load, resource)}</td>' for resource in resources)
        pods = [f"{gang} ×{count}" for gang, count in load.gangs.items()]
        pods += [f"{load.others} others"] if load.others else []
        yield f"<tr><td>{markup(name)}</td><td>{markup(load.domain)}</td>{cells}<td>{markup(', '.join(pods))}</td></tr>"
    yield "</tbody></table></details>"
