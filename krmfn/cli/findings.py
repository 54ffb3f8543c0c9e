"""How commands show findings: the format, the colours, and the exit status. One place decides what ends with 1."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from krmfn.cli import Options, streams
from krmfn.krm.results import FileRef, ResourceRef, Result, Severity, has_errors
from krmfn.model.rules import RULES
from krmfn.reports import order, render, summarize, summarize_skipped
from krmfn.reports.report import Screen
from krmfn.workspace.disk import find_here, find_top, is_below
from krmfn.workspace.manifests import LoadedFile, hides


def is_colored(options: Options, aside: bool = False) -> bool:
    """Whether --color, the environment and the stream (stdout, with `aside` stderr) ask for colours.

    The variables are those of https://no-color.org and https://bixense.com/clicolors.
    """
    stream = sys.stderr if aside else sys.stdout
    choice = options.get("color", "auto")
    if choice != "auto" or os.environ.get("NO_COLOR"):
        return bool(choice == "always")
    if os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    if os.environ.get("CLICOLOR") == "0" or os.environ.get("TERM") == "dumb":
        return False
    return stream is not None and stream.isatty()


def find_screen(options: Options, files: Iterable[LoadedFile], aside: bool = False) -> Screen | None:
    """The terminal that findings are read at, None where a program or a file gets them. `files` are shown in parts."""
    stream = sys.stderr if aside else sys.stdout
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        return None
    from shutil import get_terminal_size

    by_path = {file.path: file for file in files}

    @cache
    def read(path: str) -> Sequence[str]:
        from krmfn.workspace.writing import spell_lines

        return spell_lines(by_path[path].data, path) if path in by_path else ()

    return Screen(get_terminal_size().columns, is_colored(options, aside), read)


def show(text: str, options: Options) -> None:
    """The output of a command: for people in the encoding of their terminal, for programs in UTF-8."""
    if options["output"] == "text":
        streams.write(text)
    else:
        streams.write_bytes(text.encode("utf-8", "backslashreplace"))


def report_aside(results: Iterable[Result], options: Options, files: Iterable[LoadedFile] = ()) -> None:
    """Findings of a command whose output is something else: as text on stderr. With --quiet, errors alone."""
    results = order(results)
    shown = [result for result in results if result.severity == "error" or not options.get("quiet")]
    color, screen = is_colored(options, aside=True), find_screen(options, files, aside=True)
    streams.tell(render(shown, "text", color=color, folded=not options.get("verbose"), screen=screen))
    skipped = summarize_skipped(results)
    if skipped:
        streams.remark(skipped, options)


def report(
    results: Iterable[Result],
    options: Options,
    checked: Iterable[tuple[ResourceRef, FileRef | None]] = (),
    fail_on: Severity = "error",
    scope: str = "",
    files: Iterable[LoadedFile] = (),
    part: Mapping[str, Any] = {},
) -> None:
    """Findings as the output of a command, in the format of --output. `scope` says what was looked at, and how much;
    of `files` a terminal shows the lines that findings are about; `part` is what the report of a shard adds."""
    form = options["output"]
    results = order(results)
    shown = [result for result in results if result.severity == "error" or not options.get("quiet")]
    if form in ("sarif", "github", "gitlab", "junit"):  # services that look for the paths in the repository
        place = _find_top()
        shown = [result._replace(file=place(result.file)) for result in shown]
        checked = [(ref, place(file)) for ref, file in checked]
    text = render(
        shown,
        form,
        color=is_colored(options),
        rules=RULES if form == "sarif" else {},
        checked=checked,
        fail_on=fail_on,
        folded=not options.get("verbose"),
        screen=find_screen(options, files) if form == "text" else None,
        part=part,
    )
    show(text, options)
    if form == "text":
        streams.remark(_summarize(results, scope), options)


def _find_top() -> Callable[[FileRef | None], FileRef | None]:
    """Places seen from the top of the repository, that of the file where the working directory is in none; outside of
    any they stay relative to the working directory."""
    here = find_here()
    top_of_folder = cache(find_top)

    def place(file: FileRef | None) -> FileRef | None:
        if not file or file.path in ("", "-"):
            return file
        whole = os.path.normpath(os.path.join(here, file.path))
        top = top_of_folder(here) or top_of_folder(os.path.dirname(whole)) or here
        return file._replace(path=os.path.relpath(whole, top)) if is_below(whole, top) else file

    return place


def exit_status(results: Iterable[Result], problems: Iterable[Result], fail_on: Severity = "error") -> int:
    """2 when something could not be read, by the `problems`, else 1 when a finding reaches `fail_on`, else 0."""
    if any(map(hides, problems)):
        return 2
    # What was not checked is a warning whatever warnings mean: --require-render makes it an error.
    judged = [each for each in results if each.severity == "error" or each.tags.get("rule") != "not-rendered"]
    return int(has_errors(judged, fail_on))


def _summarize(results: list[Result], scope: str) -> str:
    """The last line, of results in their order."""
    text = summarize(result for result in results if "sort" not in result.tags)
    text = f"{scope}: {text}" if scope else text
    skipped = summarize_skipped(results)
    text += f"; {skipped}" if skipped else ""
    errors = [result for result in results if result.severity == "error" and "rule" in result.tags]
    if errors:
        text += f"; for details: krmfn rules {errors[0].tags['rule']}"
    return text
