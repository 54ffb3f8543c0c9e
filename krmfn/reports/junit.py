"""Results as JUnit XML: a suite per file, a case per object that was checked.

The format has no standard. This output keeps to the schema of Jenkins' xUnit plugin (`junit-10.xsd`) and to one
`failure` per case, because readers show the first one only.
"""

from __future__ import annotations

from collections.abc import Sequence

from krmfn.krm.results import Result, has_errors
from krmfn.reports import channels
from krmfn.reports.report import Report, describe, rule_id

Case = tuple[str, str]  # file, object


def render(report: Report) -> str:
    """A `testsuites` document. Findings below the report's threshold are kept as the output of their case."""
    cases: dict[Case, list[Result]] = {}
    for ref, file in report.checked:
        cases.setdefault((file.path if file else "", str(ref)), [])
    for result in report.results:
        file_path = result.file.path if result.file else ""
        cases.setdefault((file_path, str(result.ref) if result.ref else "manifests"), []).append(result)
    suites: dict[str, list[tuple[str, list[Result]]]] = {}
    for (file_path, name), found in cases.items():
        suites.setdefault(file_path or "krmfn", []).append((name, found))
    failures = sum(has_errors(found, report.fail_on) for found in cases.values())
    lines = [f'<testsuites name="krmfn" tests="{len(cases)}" failures="{failures}" errors="0">']
    for suite, members in sorted(suites.items()):
        lines += _render_suite(suite, members, report)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join([*lines, "</testsuites>"]) + "\n"


def _render_suite(suite: str, members: Sequence[tuple[str, list[Result]]], report: Report) -> list[str]:
    failures = sum(has_errors(found, report.fail_on) for _, found in members)
    name = _attribute(suite)
    lines = [f'  <testsuite name={name} tests="{len(members)}" failures="{failures}" errors="0" skipped="0">']
    for case, found in members:
        opening = f"    <testcase name={_attribute(case)} classname={name}"
        if not found:
            lines.append(opening + "/>")
            continue
        lines.append(opening + ">")
        failing = [result for result in found if has_errors([result], report.fail_on)]
        passing = [result for result in found if result not in failing]
        if failing:
            more = f" (and {len(failing) - 1} more)" if len(failing) > 1 else ""
            message, kind = _attribute(describe(failing[0]) + more), _attribute(rule_id(failing[0]) or "finding")
            lines.append(f"      <failure message={message} type={kind}>{_list(failing)}</failure>")
        if passing:
            lines.append(f"      <system-out>{_list(passing)}</system-out>")
        lines.append("    </testcase>")
    return [*lines, "  </testsuite>"]


def _list(results: Sequence[Result]) -> str:
    from krmfn.reports import text

    return channels.xml(text.render(Report(tuple(results))).rstrip("\n"))


def _attribute(value: str) -> str:
    return f'"{channels.markup(value)}"'
