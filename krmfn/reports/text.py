"""Results for people: one line each, the hint indented below it.

The function prints its findings with this module, so it imports nothing that costs start-up time.
"""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.krm.results import FileRef, Result
from krmfn.krm.terminal import line
from krmfn.reports.ordering import fold, order, summarize
from krmfn.reports.report import Report, describe, rule_id

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_FAINT = "\x1b[2m"
_COLORS = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "info": "\x1b[1;36m"}
_RANK = {"error": 0, "warning": 1, "info": 2}


def render(report: Report) -> str:
    """`file:line:column: severity: Kind namespace/name path: message [rule]`, then the hint on a line of its own."""
    if not report.folded:
        return "".join(_render_result(result, report.color) for result in report.results)
    return "".join(_render_result(result, report.color, more) for result, more in fold(report.results))


def render_short(results: Iterable[Result], *, color: bool = False) -> str:
    """The findings for the standard error stream of the function: the summary first, then the worst first.

    kpt shows four lines of that stream and kustomize shows nothing else, hence the order. Empty when there is nothing
    to say.
    """
    ordered = sorted(order(results), key=lambda result: _RANK[result.severity])
    if not ordered:
        return ""
    return f"krmfn: {summarize(ordered)}\n" + "".join(_render_result(result, color) for result in ordered)


def _render_result(result: Result, color: bool, more: int = 0) -> str:
    place, rule, hint = _place(result.file), rule_id(result), result.tags.get("hint", "")
    severity: str = result.severity
    if color:
        place = f"{_BOLD}{place}{_RESET}" if place else ""
        severity = f"{_COLORS[severity]}{severity}{_RESET}"
    text = f"{place}: " if place else ""
    text += f"{severity}: {line(describe(result))}"
    if rule:
        text += f" {_FAINT}[{rule}]{_RESET}" if color else f" [{rule}]"
    if more:
        text += f" and {more} more like it (-v shows them)"
    if hint:
        text += f"\n    {_FAINT}{line(hint)}{_RESET}" if color else f"\n    {line(hint)}"
    return text + "\n"


def _place(file: FileRef | None) -> str:
    if file is None or not file.path:
        return ""
    path = line(file.path)
    if not file.line:
        return path
    return f"{path}:{file.line}:{file.column}" if file.column else f"{path}:{file.line}"
