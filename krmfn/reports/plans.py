"""Update plans in a format by name. Knows the formats, not how a plan is made."""

from __future__ import annotations

from typing import Final

from krmfn.plan.records import Plan

FORMATS: Final = ("text", "json", "markdown")


def render_plan(plan: Plan, form: str = "text", *, color: bool = False) -> str:
    """Spell `plan` in one of FORMATS; ValueError for another. `color` matters to text alone."""
    match form:
        case "text":
            from krmfn.reports.plan_text import render as render_text

            return render_text(plan, color=color)
        case "json":
            from krmfn.reports.plan_document import render as render_document

            return render_document(plan)
        case "markdown":
            from krmfn.reports.plan_markdown import render as render_markdown

            return render_markdown(plan)
        case _:
            raise ValueError(f"unknown format {form!r}: use one of {', '.join(FORMATS)}")
