"""Results for people: one line each, the hint indented below it.

The function prints its findings with this module, so it imports nothing that costs start-up time.
"""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.krm.results import SEVERITIES, Result
from krmfn.krm.terminal import line
from krmfn.reports.paint import BOLD, CYAN, FAINT, RED, YELLOW, paint
from krmfn.reports.report import Report, Screen, describe, fold, order, rule_id, summarize

_COLORS = {"error": RED, "warning": YELLOW, "info": CYAN}


def render(report: Report) -> str:
    """`file:line:column: severity: Kind namespace/name path: message [rule]`, then the hint on a line of its own.

    At a terminal the text is wrapped, the line of source stands below it, and the rule is a link to its page.
    """
    found = fold(report.results) if report.folded else [(result, 0) for result in report.results]
    return "".join(_render_result(result, report.color, more, report.screen) for result, more in found)


def render_short(results: Iterable[Result]) -> str:
    """The findings for the standard error stream of the function: the summary first, then the worst first.

    kpt shows four lines of that stream and kustomize shows nothing else, hence the order. Empty when there is nothing
    to say.
    """
    ordered = sorted(order(results), key=lambda result: SEVERITIES.index(result.severity))
    if not ordered:
        return ""
    return f"krmfn: {summarize(ordered)}\n" + "".join(_render_result(result, False) for result in ordered)


def _render_result(result: Result, color: bool, more: int = 0, screen: Screen | None = None) -> str:
    place = line(result.file.spell()) if result.file and result.file.path else ""
    rule, hint = rule_id(result), result.tags.get("hint", "")
    style = _COLORS[result.severity]
    folded = f"and {more} more like it (-v shows them)" if more else ""
    if screen is not None:
        from krmfn.reports.screen import spell_hint, spell_message, spell_source

        head = [(f"{place}:", f"{paint(place, BOLD, color)}:")] if place else []
        head.append((f"{result.severity}:", f"{paint(result.severity, style, color)}:"))
        told = spell_message(screen, head, describe(result), rule, folded)
        source = "" if result.severity == "info" else spell_source(screen, result.file, style)
        return told + source + spell_hint(screen, hint)
    text = f"{paint(place, BOLD, color)}: " if place else ""
    text += f"{paint(result.severity, style, color)}: {line(describe(result))}"
    text += f" {paint(f'[{rule}]', FAINT, color)}" if rule else ""
    text += f" {folded}" if folded else ""
    text += f"\n    {paint(line(hint), FAINT, color)}" if hint else ""
    return text + "\n"
