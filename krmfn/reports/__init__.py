"""Reports: results as text, JSON, YAML, SARIF, JUnit XML, GitHub annotations or a GitLab code quality report.

One function per format. A report knows results and rule rows; it does not know where they come from,
it reads no file, and it decides neither colours nor exit codes.

Recipe for a new format: a module here with a function `render(report: Report) -> str`, one row in `_WRITERS`,
and a test that reads the output with a program that consumes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from krmfn.krm.results import Result
from krmfn.reports.report import Report, count, order, summarize, summarize_skipped

__all__ = ["FORMATS", "Report", "count", "order", "render", "summarize", "summarize_skipped"]

#: The module and function of each format, imported when it is used: the function prints text at every build.
_WRITERS = {
    "text": ("text", "render"),
    "json": ("document", "render_json"),
    "yaml": ("document", "render_yaml"),
    "sarif": ("sarif", "render"),
    **{name: ("services", f"render_{name}") for name in ("junit", "github", "gitlab")},
}
FORMATS = tuple(_WRITERS)


def render(results: Iterable[Result], format: str = "text", **fields: Any) -> str:
    """Spell `results` in `format`, sorted and without duplicates; the text ends with a newline unless it is empty.
    `fields` are further ones of the Report.

    Raises ValueError for a format that is not in `FORMATS`.
    """
    if format not in _WRITERS:
        raise ValueError(f"unknown report format {format!r}: use one of {', '.join(FORMATS)}")
    module, name = _WRITERS[format]
    write: Callable[[Report], str] = getattr(__import__(f"krmfn.reports.{module}", fromlist=[name]), name)
    return write(Report(tuple(order(results)), **fields))
