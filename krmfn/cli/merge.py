"""`krmfn merge`: reports of shards and of several repositories become one."""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Sequence

from krmfn.cli import Options, Words
from krmfn.cli.findings import exit_status, report
from krmfn.cli.options import UsageError
from krmfn.cli.parts import Document, check_part, join
from krmfn.cli.reading import read_file
from krmfn.krm.results import SEVERITIES, Result, Severity
from krmfn.model.wording import count
from krmfn.reports import order
from krmfn.reports.report import fingerprint
from krmfn.workspace.manifests import hides

#: What can be said of files, and not of objects.
_OF_FILES = ("alternatives", "not-rendered", "skipped", "unreadable")


def run(words: Words, options: Options) -> int:
    """Reads all reports; the exit status is that of one run. Raises UsageError."""
    if options["write_baseline"] and not options["baseline"]:
        raise UsageError("--write-baseline needs --baseline FILE")
    named: dict[str, list[Document]] = {}
    for word in words:
        name, document = _read(word)
        named.setdefault(name, []).append(document)
    lists: list[list[Result]] = []
    for name, documents in named.items():
        shards = [each for each in documents if each.shard is not None]
        wholes = [[*each.results] for each in documents if each.shard is None]
        lists += [[_move(result, name) for result in each] for each in ([join(shards)] if shards else []) + wholes]
    results = join_reports(lists)
    if options["baseline"]:
        from krmfn.cli.baseline import handle_baseline, read_baseline

        results = handle_baseline(results, read_baseline(options), options)
    parts = [each.shard for documents in named.values() for each in documents if each.shard]
    strict: Severity = "warning" if any(part["failOn"] == "warning" for part in parts) else "error"
    fail_on: Severity = options["fail_on"] or strict
    report(results, options, fail_on=fail_on, scope=count(len(words), "report"))
    return exit_status(results, fail_on, any(map(is_unreadable, results)))


def join_reports(lists: Sequence[Sequence[Result]]) -> list[Result]:
    """The results of several reports in their order; one that is in several is there once, as its worst."""
    if len(lists) == 1:
        return order(lists[0])
    found: dict[str, Result] = {}
    for ordered in map(order, lists):
        for print_, result in zip(fingerprint(ordered), ordered, strict=True):
            known = found.setdefault(print_, result)
            if SEVERITIES.index(result.severity) < SEVERITIES.index(known.severity):
                found[print_] = result
    return order(found.values())


def is_unreadable(result: Result) -> bool:
    """Whether a result of a report says that something could not be read."""
    return result.tags.get("rule") in _OF_FILES and hides(result)


def parse_report(data: bytes, path: str) -> Document:
    """A report of `krmfn validate -o json`. Raises UsageError."""
    try:
        value = json.loads(data)
        results = tuple(map(Result.from_json, value["results"]))
        shard = value.get("shard")
        if shard is not None:
            check_part(shard, results)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise UsageError(f"{path}: not a report of krmfn validate -o json") from None
    return Document(path, results, shard)


def _read(word: str) -> tuple[str, Document]:
    """The name before `=`, and the report; a file whose own name has one needs none."""
    name, equals, path = word.partition("=")
    if not equals or os.path.exists(word):
        name, path = "", word
    return name, parse_report(read_file(path), path)


def _move(result: Result, name: str) -> Result:
    """The result of a repository that is called so."""
    if not name or not result.file:
        return result
    return result._replace(file=result.file._replace(path=posixpath.join(name, result.file.path)))
