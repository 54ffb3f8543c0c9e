"""Update plans in a format by name. Knows the formats, not how a plan is made."""

from __future__ import annotations

from typing import Final

from krmfn.plan.records import Plan
from krmfn.reports import plan_document, plan_markdown, plan_text

FORMATS: Final = ("text", "json", "markdown")


def render_plan(plan: Plan, form: str = "text", *, color: bool = False) -> str:
    """Spell `plan` in one of FORMATS; ValueError for another. `color` matters to text alone."""
    match form:
        case "text":
            return plan_text.render(plan, color=color)
        case "json":
            return plan_document.render(plan)
        case "markdown":
            return plan_markdown.render(plan)
        case _:
            raise ValueError(f"unknown format {form!r}: use one of {', '.join(FORMATS)}")
