"""Findings that were known before, so that only new ones fail: --baseline and --write-baseline.

A line of a baseline is one finding, without its line number and its message: `path: rule: Kind namespace/name field`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from krmfn.cli import Options, streams
from krmfn.cli.options import UsageError
from krmfn.krm.results import Result
from krmfn.model.wording import count
from krmfn.reports import order
from krmfn.workspace.disk import Disk
from krmfn.workspace.replacing import FileChange, replace
from krmfn.workspace.trees import LeftOut
from krmfn.workspace.witness import lexists

_HEAD = "# Findings that krmfn validate --baseline does not report. --write-baseline writes this file again.\n"


def read_baseline(options: Options) -> bytes | None:
    """The content of the file that --baseline names; None if it does not exist and --write-baseline will create it.
    Raises UsageError for any other file that is missing, cannot be read, or would be overwritten without being ours."""
    path: str = options["baseline"]
    try:
        old = Disk(path).read(path)
    except FileNotFoundError:
        if options["write_baseline"]:
            return None
        raise UsageError(f"--baseline {path}: no such file; --write-baseline writes it") from None
    except LeftOut as left:
        raise UsageError(f"--baseline {left}") from None
    if options["write_baseline"] and old and not old.startswith(_HEAD[:10].encode()):
        raise UsageError(f"--write-baseline: {path} is not a file that krmfn wrote; name another one, or remove it")
    return old


def handle_baseline(results: Sequence[Result], old: bytes | None, options: Options) -> list[Result]:
    """What is left to report of `results`: the findings that are not in `old`, the content of the file. With
    --write-baseline they are written instead, and only files that cannot be read are reported."""
    ordered = order(results)
    if options["write_baseline"]:
        _write(ordered, old, options)
        return list(filter(_is_unreadable, ordered))
    kept, left_out, gone = _leave_out_known(ordered, (old or b"").decode("utf-8", "replace").splitlines())
    if left_out or gone:
        more = f", {gone} no longer found (--write-baseline removes them)" if gone else ""
        streams.remark(f"{count(left_out, 'known finding')} of {options['baseline']} left out{more}", options)
    return kept


def _write(results: Sequence[Result], old: bytes | None, options: Options) -> None:
    path: str = options["baseline"]
    lines = sorted(f"{_spell(each)}\n" for each in results if each.severity != "info" and not _is_unreadable(each))
    replace([FileChange(path, old, "".join((_HEAD, *lines)).encode())])
    streams.remark(f"wrote {path}: {count(len(lines), 'known finding')}", options)


def _is_unreadable(result: Result) -> bool:
    return result.tags.get("rule") == "unreadable"


def _leave_out_known(results: Sequence[Result], lines: Sequence[str]) -> tuple[list[Result], int, int]:
    """The findings that are not in the lines of a baseline, how many are, and how many of the lines are gone."""
    known = Counter(line for line in lines if line.strip() and not line.startswith("#"))
    kept = [result for result in results if not _take(known, _spell(result))]
    # The same object may have the finding in another file, if the file of the line was renamed.
    parts = (line.partition(": ") for line in known.elements())
    moved = Counter(finding for path, _, finding in parts if not lexists(path))
    new = [result for result in kept if not _take(moved, _spell(result).partition(": ")[2])]
    return new, len(results) - len(new), known.total() - (len(kept) - len(new))


def _take(lines: Counter[str], line: str) -> bool:
    """Use up one of the equal lines; False where none is left."""
    if lines[line] <= 0:
        return False
    lines[line] -= 1
    return True


def _spell(result: Result) -> str:
    path = result.file.path if result.file else ""
    return ascii(f"{path}: {result.tags.get('rule', '')}: {result.subject}")[1:-1]  # escaped, so it is one line
