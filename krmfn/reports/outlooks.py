"""Outlooks (what would run, and where) in a format by name. Knows the formats, not how an outlook is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from krmfn.reports.outlook_view import View

FORMATS: Final = ("text", "json", "yaml", "markdown", "mermaid", "svg", "html")


def render_outlooks(views: Sequence[View], form: str, *, color: bool = False) -> str:
    """Spell the outlooks in one of FORMATS; ValueError for another. `color` matters to text alone."""
    match form:
        case "text":
            from krmfn.reports.outlook_text import render as render_text

            return render_text(views, color=color)
        case "json" | "yaml":
            from krmfn.reports.outlook_document import render as render_document

            return render_document(views, form)
        case "markdown":
            from krmfn.reports.outlook_markdown import render as render_markdown

            return render_markdown(views)
        case "mermaid":
            from krmfn.reports.outlook_mermaid import render as render_mermaid

            return render_mermaid(views)
        case "svg":
            from krmfn.reports.outlook_svg import render as render_svg

            return render_svg(views)
        case "html":
            from krmfn.reports.outlook_html import render as render_html

            return render_html(views)
        case _:
            raise ValueError(f"unknown format {form!r}: use one of {', '.join(FORMATS)}")
