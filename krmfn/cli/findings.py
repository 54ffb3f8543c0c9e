"""How commands show findings: the format, the colours, and the exit status. One place decides what ends with 1."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import IO, Any

from krmfn.krm.results import FileRef, ResourceRef, Result, Severity, has_errors
from krmfn.reports import order, render


def is_colored(options: Mapping[str, Any], stream: IO[str]) -> bool:
    """Whether --color, NO_COLOR and the stream ask for colours."""
    choice = options.get("color", "auto")
    if choice != "auto":
        return bool(choice == "always")
    return not os.environ.get("NO_COLOR") and stream.isatty() and os.environ.get("TERM") != "dumb"


def report_aside(results: Iterable[Result], options: Mapping[str, Any]) -> None:
    """Findings of a command whose output is something else: as text on stderr. With --quiet, errors alone."""
    shown = [result for result in results if result.severity == "error" or not options.get("quiet")]
    sys.stderr.write(render(shown, "text", color=is_colored(options, sys.stderr)))


def report(
    results: Iterable[Result],
    options: Mapping[str, Any],
    checked: Iterable[tuple[ResourceRef, FileRef | None]] = (),
    fail_on: Severity = "error",
) -> None:
    """Findings as the output of a command, in the format of --output."""
    form = options["output"]
    results = list(results)
    shown = [result for result in results if result.severity == "error" or not options.get("quiet")]
    rules = {}
    if form == "sarif":
        from krmfn.catalogue import RULES

        rules = dict(RULES)
    color = is_colored(options, sys.stdout)
    sys.stdout.write(render(shown, form, color=color, rules=rules, checked=checked, fail_on=fail_on))
    if form == "text" and not options.get("quiet"):
        sys.stdout.flush()  # the summary comes last also where both streams go into one file
        sys.stderr.write(_summarize(results))


def exit_status(results: Iterable[Result], fail_on: Severity = "error", unreadable: bool = False) -> int:
    """2 when something could not be read, 1 when a finding is at or above `fail_on`, else 0."""
    return 2 if unreadable else int(has_errors(results, fail_on))


def _summarize(results: list[Result]) -> str:
    from krmfn.reports import summarize

    text = summarize(results)
    errors = [result for result in order(results) if result.severity == "error" and "rule" in result.tags]
    if errors:
        text += f"; krmfn rules {errors[0].tags['rule']} says more"
    return f"krmfn: {text}\n"
