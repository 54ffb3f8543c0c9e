"""Results for services that read them: GitHub workflow commands, a GitLab code quality report, JUnit XML.

Sources: GitHub documentation, "Workflow commands for GitHub Actions" (the escapes are those of `@actions/core`); GitLab
documentation, "Code Quality", section "Code Quality report format"; the schema of Jenkins' xUnit plugin
(`junit-10.xsd`), since JUnit XML has no standard.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from krmfn.krm.results import FileRef, Result, has_errors
from krmfn.model.values import Fields
from krmfn.reports import channels
from krmfn.reports.report import Report, describe, fingerprint, rule_id

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render_github(report: Report) -> str:
    """Annotations of a pull request, one a line: `::error file=a.yaml,line=3,col=5,title=krmfn minimum::message`."""
    return "".join(map(_write_command, report.results))


def _write_command(result: Result) -> str:
    rule, hint = rule_id(result), result.tags.get("hint", "")
    properties: dict[str, str] = {}
    if result.file and result.file.path:
        properties["file"] = result.file.path
        if result.file.line:
            properties["line"] = str(result.file.line)
            if result.file.column:
                properties["col"] = str(result.file.column)
    properties["title"] = f"krmfn {rule}" if rule else "krmfn"
    message = describe(result) + (f"\n{hint}" if hint else "")
    listed = ",".join(f"{key}={channels.github_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[result.severity]} {listed}::{channels.github(message)}\n"


_OF_GITLAB = {"error": "major", "warning": "minor", "info": "info"}


def render_gitlab(report: Report) -> str:
    """A JSON array, which merge requests show. It needs places: a finding without one is at line 1 of the path `.`."""
    prints = fingerprint(report.results)
    issues = [_write_issue(result, print_) for result, print_ in zip(report.results, prints, strict=True)]
    return channels.json(issues)


def _write_issue(result: Result, print_: str) -> Fields:
    rule, hint = rule_id(result), result.tags.get("hint", "")
    path, line = (result.file.path, result.file.line) if result.file else ("", 0)
    return {
        "description": channels.line(describe(result) + (f" ({hint})" if hint else "")),
        "check_name": f"krmfn/{rule}" if rule else "krmfn",
        "fingerprint": print_,
        "severity": _OF_GITLAB[result.severity],
        "location": {"path": path.removeprefix("./") or ".", "lines": {"begin": line or 1}},
    }


def render_junit(report: Report) -> str:
    """A `testsuites` document: a suite per file, a case per object that was checked, one `failure` per case, because
    readers show the first one only. Findings below the report's threshold are kept as the output of their case."""
    suites: dict[str, dict[str, list[Result]]] = defaultdict(dict)
    for ref, file in report.checked:
        suites[_name_suite(file)].setdefault(str(ref), [])
    for result in report.results:
        suites[_name_suite(result.file)].setdefault(str(result.ref or "manifests"), []).append(result)
    cases = [found for suite in suites.values() for found in suite.values()]
    failures = sum(has_errors(found, report.fail_on) for found in cases)
    lines = [f'<testsuites name="krmfn" tests="{len(cases)}" failures="{failures}" errors="0">']
    for name, suite in sorted(suites.items()):
        lines += _render_suite(name, suite, report)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join([*lines, "</testsuites>"]) + "\n"


def _name_suite(file: FileRef | None) -> str:
    return file.path if file and file.path else "krmfn"


def _render_suite(path: str, suite: Mapping[str, list[Result]], report: Report) -> list[str]:
    failures = sum(has_errors(found, report.fail_on) for found in suite.values())
    name = _attribute(path)
    lines = [f'  <testsuite name={name} tests="{len(suite)}" failures="{failures}" errors="0" skipped="0">']
    for case, found in suite.items():
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
