"""Reports that become one: those of shards and of several repositories (`krmfn merge`), and findings that were known
before, so that only new ones fail (`--baseline`).

A line of a baseline is one finding, without its line number and its message: `path: rule: Kind namespace/name field`.
"""

from __future__ import annotations

import json
import os
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from krmfn.cli import Options, Words, streams
from krmfn.cli.findings import exit_status, report
from krmfn.cli.judged import tell_unused
from krmfn.cli.options import UsageError
from krmfn.cli.reading import read_file
from krmfn.judging import Ignore, Ignores
from krmfn.krm.results import SEVERITIES, FileRef, Result, Severity
from krmfn.model.findings import Finding
from krmfn.model.values import Fields, Value
from krmfn.model.wording import count
from krmfn.model.wording import join as join_words
from krmfn.reports import order
from krmfn.reports.report import fingerprint
from krmfn.workspace.disk import Disk
from krmfn.workspace.replacing import FileChange, replace
from krmfn.workspace.trees import LeftOut
from krmfn.workspace.witness import lexists
from krmfn.workspace.world import World, collect, merge, name_worlds

if TYPE_CHECKING:
    from krmfn.workspace.sharding import Shard


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
        results = handle_baseline(results, read_baseline(options), options)
    parts = [each.shard for documents in named.values() for each in documents if each.shard]
    strict: Severity = "warning" if any(part["failOn"] == "warning" for part in parts) else "error"
    fail_on: Severity = options["fail_on"] or strict
    report(results, options, fail_on=fail_on, scope=count(len(words), "report"))
    return exit_status(results, (each for each in results if each.tags.get("rule") in _OF_FILES), fail_on)


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


#: The tag with the numbers of all worlds that have a result: names alone do not say in which order they come.
_RANKS = "worlds"


class Document(NamedTuple):
    """A report: its results, and of a shard what joins it with the others."""

    path: str
    results: Sequence[Result]
    shard: Value | None


def mark(found: Iterable[tuple[World, Sequence[tuple[Finding, Result]]]]) -> Iterator[Result]:
    """The results of worlds, what is the same in several once, each with the numbers of its worlds."""
    pairs = (((world.rank, world.name), result) for world, findings in found for _, result in findings)
    for result, places in collect(pairs):
        named = name_worlds(result, [name for _, name in places if name])
        yield named._replace(tags={**named.tags, _RANKS: " ".join(str(rank) for rank, _ in places)})


def describe(
    shard: Shard, digest: str, fail_on: str, found: Iterable[tuple[World, Sequence[object]]], ignores: Ignores
) -> Fields:
    """What `shard` of a report says. `digest` is of all that was read, by every shard alike."""
    return {
        "number": shard.number,
        "of": shard.of,
        "digest": digest,
        "failOn": fail_on,
        "worlds": {str(world.rank): world.name for world, results in found if results},
        "ignores": ignores,
    }


def check_part(part: Value, results: Iterable[Result]) -> None:
    """Raises KeyError, TypeError and ValueError for what no shard says of itself, or of its results."""
    number, of, digest, names = (part[key] for key in ("number", "of", "digest", "worlds"))
    if not (type(number) is type(of) is int and 1 <= number <= of and part["failOn"] in ("error", "warning")):
        raise ValueError("not one of several parts")
    ignores = _read_ignores(part["ignores"])
    texts = [text for listed in ignores[:2] for each in listed for text in (*each[0], each[1], *(each[2] or ())[:1])]
    texts += [digest] + [names[rank] for each in results for rank in each.tags.get(_RANKS, "").split()]
    lost = any(not each.tags.get(_RANKS, "0").strip() for each in results)  # in no world, so in no joined report
    if lost or not all(isinstance(text, str) for text in texts) or not all(map(str.isdecimal, names)):
        raise ValueError("a result or an ignore is nowhere")


def join(documents: Sequence[Document]) -> list[Result]:
    """The results of one run, of the reports of all its shards. Raises UsageError where they are not that."""
    _check(documents)
    placed: list[tuple[int, int, str, Result]] = []
    for document in documents:
        names = (document.shard or {})["worlds"]
        for number, result in enumerate(document.results):
            tags = {key: text for key, text in result.tags.items() if key not in (_RANKS, "world")}
            if _RANKS not in result.tags:
                placed.append((-1, number, "", result))
            for rank in result.tags.get(_RANKS, "").split():
                placed.append((int(rank), number, names[rank], result._replace(tags=tags)))
    placed.sort(key=lambda each: each[:2])
    unused = tell_unused([_read_ignores((each.shard or {})["ignores"]) for each in documents])
    return [*merge((world, result) for _, _, world, result in placed), *unused]


def _check(documents: Sequence[Document]) -> None:
    first, *others = [each.shard or {} for each in documents]
    for document, shard in zip(documents[1:], others, strict=True):
        if (shard["of"], shard["digest"]) != (first["of"], first["digest"]):
            reason = f"a shard of something else than {documents[0].path}: other files, or other options"
            raise UsageError(f"{document.path}: {reason}; NAME=FILE tells the reports of several repositories apart")
    numbers = [each["number"] for each in (first, *others)]
    twice = [str(each) for each in sorted(set(numbers)) if numbers.count(each) > 1]
    if twice:
        raise UsageError(f"shard {join_words(twice)} of {first['of']} is there twice")
    missing = [str(each) for each in range(1, first["of"] + 1) if each not in numbers]
    if missing:
        few = [*missing[:5], *(["others"] if len(missing) > 5 else [])]
        raise UsageError(f"the report of shard {join_words(few)} of {first['of']} is missing: nothing is known of it")


def _read_ignores(value: Sequence[Any]) -> Ignores:
    unused, used = (
        tuple(Ignore(tuple(rules), text, FileRef(*place) if place else None) for rules, text, place in ignores)
        for ignores in value[:2]
    )
    return Ignores(unused, used, *(tuple(map(tuple, value[2])), tuple(value[3])))


_HEAD = "# Findings that krmfn validate --baseline does not report. --write-baseline writes this file again.\n"


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
        streams.remark(f"wrote {path}: {count(text.count(chr(10)) - 1, 'known finding')}", options)
        return list(filter(_is_unreadable, known))
    kept, left_out, gone = leave_out_known(known, (old or b"").decode("utf-8", "replace").splitlines())
    if left_out or gone:
        more = f", {gone} no longer found (--write-baseline removes them)" if gone else ""
        streams.remark(f"{count(left_out, 'known finding')} of {path} left out{more}", options)
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
