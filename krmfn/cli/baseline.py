"""Findings that were known before: a file of them, so that only new ones fail.

A line is one finding, without its line number and its message: `path: rule: Kind namespace/name field`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from krmfn.cli import Options, streams
from krmfn.cli.options import UsageError
from krmfn.krm.results import Result
from krmfn.model.wording import count
from krmfn.reports import order
from krmfn.workspace.disk import Disk
from krmfn.workspace.replacing import FileChange, replace
from krmfn.workspace.trees import LeftOut
from krmfn.workspace.witness import lexists

_HEAD: Final = "# Findings that krmfn validate --baseline does not report. --write-baseline writes this file again.\n"


def read_baseline(options: Options) -> bytes | None:
    """What the file of --baseline holds; None where --write-baseline will make it. Raises UsageError."""
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
    """The findings that are not in `old`, the text of the file; with --write-baseline none, since they are written."""
    path: str = options["baseline"]
    known = order(results)
    if options["write_baseline"]:
        told = (each for each in known if each.severity != "info" and not _is_unreadable(each))
        text = _HEAD + "".join(sorted(f"{_spell(each)}\n" for each in told))
        replace([FileChange(path, old, text.encode())])
        if not options["quiet"]:
            streams.say(f"wrote {path}: {count(text.count(chr(10)) - 1, 'known finding')}")
        return list(filter(_is_unreadable, known))
    kept, left_out, gone = leave_out_known(known, (old or b"").decode("utf-8", "replace").splitlines())
    if not options["quiet"] and (left_out or gone):
        more = f", {gone} no longer found (--write-baseline removes them)" if gone else ""
        streams.say(f"{count(left_out, 'known finding')} of {path} left out{more}")
    return kept


def _is_unreadable(result: Result) -> bool:
    return result.tags.get("rule") == "unreadable"


def leave_out_known(results: Sequence[Result], lines: Sequence[str]) -> tuple[list[Result], int, int]:
    """The findings that are not in the lines of a file, how many are, and how many of the lines are gone."""
    known = Counter(line for line in lines if line.strip() and not line.startswith("#"))
    kept = [result for result in results if not _take(known, _spell(result))]
    moved = Counter(  # of files that were renamed: the same object may have the finding elsewhere
        line.partition(": ")[2] for line in known.elements() if not lexists(line.partition(": ")[0])
    )
    new = [result for result in kept if not (moved and _take(moved, _spell(result).partition(": ")[2]))]
    return new, len(results) - len(new), known.total() - (len(kept) - len(new))


def _take(known: Counter[str], line: str) -> bool:
    """Whether a line is left, which then is one fewer."""
    if known[line] <= 0:
        return False
    known[line] -= 1
    return True


def _spell(result: Result) -> str:
    path = result.file.path if result.file else ""
    subject = " ".join(part for part in (str(result.ref) if result.ref else "", result.path) if part)
    return ascii(f"{path}: {result.tags.get('rule', '')}: {subject}")[1:-1]
