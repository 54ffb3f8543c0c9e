"""Outlooks (what would run, and where) in a format by name. Knows the formats, not how an outlook is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from krmfn.reports import outlook_html, outlook_markdown, outlook_mermaid, outlook_svg, outlook_text
from krmfn.reports.outlook_view import View

FORMATS: Final = ("text", "json", "yaml", "markdown", "mermaid", "svg", "html")


def render_outlooks(views: Sequence[View], form: str, *, color: bool = False) -> str:
    """Spell the outlooks in one of FORMATS; ValueError for another. `color` matters to text alone."""
    match form:
        case "text":
            return outlook_text.render(views, color=color)
        case "json" | "yaml":
            from krmfn.reports.outlook_document import render  # PyYAML takes a while to load

            return render(views, form)
        case "markdown":
            return outlook_markdown.render(views)
        case "mermaid":
            return outlook_mermaid.render(views)
        case "svg":
            return outlook_svg.render(views)
        case "html":
            return outlook_html.render(views)
        case _:
            raise ValueError(f"unknown format {form!r}: use one of {', '.join(FORMATS)}")
