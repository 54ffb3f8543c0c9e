"""Outlooks as a Mermaid flowchart: domains with their nodes, the gangs' pods in them, and what does not run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krmfn.forecast.standing import Outlook
from krmfn.reports import channels
from krmfn.reports.outlook_view import LIGHT, MEANINGS, View, group_alike, summarize

_MOST = 40


def render(views: Sequence[View]) -> str:
    """One chart over all worlds; GitHub, GitLab and documentation sites draw it."""
    lines = ["flowchart LR"]
    for number, view in enumerate(views):
        lines += _draw(view.outlook, f"w{number}")
    for number, (fill, ink) in enumerate(LIGHT):
        lines.append(f"  classDef g{number} fill:{fill},stroke:{fill},color:{ink}")
    lines.append("  classDef free fill:none,stroke:#888888,stroke-dasharray:3")
    return "\n".join(lines) + "\n"


def _draw(outlook: Outlook, name: str) -> Iterator[str]:
    colors = {standing.name: f"g{number % len(LIGHT)}" for number, standing in enumerate(outlook.standings)}
    grouped = group_alike(outlook.loads or ())[:_MOST]
    domains = dict.fromkeys(load.domain for load, _ in grouped)
    for place, domain in enumerate(sorted(domains)):
        title = f"{outlook.key.rpartition('/')[2]} {domain}" if domain else "nodes"
        yield f'  subgraph {name}d{place}["{channels.mermaid(title)}"]'
        for number, (load, count) in enumerate(grouped):
            if load.domain != domain:
                continue
            if count > 1 or not load.gangs:
                text = channels.mermaid(f"{load.name} and {count - 1} like it" if count > 1 else load.name)
                yield f'    {name}n{number}["{text}"]:::free'
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
            text = f"{channels.mermaid(standing.name)}<br/>{channels.mermaid(MEANINGS[standing.verdict])}"
            why = f"<br/>{channels.mermaid(standing.why)}" if standing.why else ""
            yield f'    {name}x{number}["{text}{why}"]:::{colors[standing.name]}'
        yield "  end"
