"""Results as GitHub workflow commands, which show as annotations on the lines of a pull request.

Source: GitHub documentation, "Workflow commands for GitHub Actions"; the escapes are those of `@actions/core`.
"""

from __future__ import annotations

from krmfn.krm.results import Result
from krmfn.reports import channels
from krmfn.reports.report import Report, describe, rule_id

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report) -> str:
    """One command a line: `::error file=a.yaml,line=3,col=5,title=krmfn minimum::message`."""
    return "".join(_render_result(result) for result in report.results)


def _render_result(result: Result) -> str:
    rule, hint = rule_id(result), result.tags.get("hint", "")
    properties: dict[str, str] = {}
    if result.file and result.file.path:
        properties["file"] = result.file.path
        if result.file.line:
            properties["line"] = str(result.file.line)
        if result.file.line and result.file.column:
            properties["col"] = str(result.file.column)
    properties["title"] = f"krmfn {rule}" if rule else "krmfn"
    message = describe(result) + (f"\n{hint}" if hint else "")
    listed = ",".join(f"{key}={channels.github_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[result.severity]} {listed}::{channels.github(message)}\n"
