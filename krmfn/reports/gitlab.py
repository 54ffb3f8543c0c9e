"""Results as a GitLab code quality report, which shows in merge requests.

Source: GitLab documentation, "Code Quality", section "Code Quality report format".
"""

from __future__ import annotations

from typing import Any

from krmfn.krm.results import Result
from krmfn.reports import channels
from krmfn.reports.report import Report, describe, fingerprint, rule_id

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report) -> str:
    """A JSON array. A place is required there, so a finding without one is put at line 1 of the path `.`."""
    prints = fingerprint(report.results)
    issues = [_issue(result, print_) for result, print_ in zip(report.results, prints, strict=True)]
    return channels.json(issues)


def _issue(result: Result, print_: str) -> dict[str, Any]:
    rule, hint = rule_id(result), result.tags.get("hint", "")
    path, line = (result.file.path, result.file.line) if result.file else ("", 0)
    return {
        "description": channels.line(describe(result) + (f" ({hint})" if hint else "")),
        "check_name": f"krmfn/{rule}" if rule else "krmfn",
        "fingerprint": print_,
        "severity": _SEVERITIES[result.severity],
        "location": {"path": path.removeprefix("./") or ".", "lines": {"begin": line or 1}},
    }
