"""`krmfn merge`: reports that become one, those of the shards of a run and those of several repositories.

Also what a shard writes into its report, so that the reports of all shards can be joined.
"""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from krmfn.cli import Options, Words
from krmfn.cli.baseline import handle_baseline, read_baseline
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
from krmfn.workspace.world import World, collect, merge, name_worlds

if TYPE_CHECKING:
    from krmfn.workspace.sharding import Shard

#: The rules about files, and not about objects.
_OF_FILES = ("alternatives", "not-rendered", "skipped", "unreadable")
#: The tag with the numbers of all worlds that have a result: their names do not say in which order they come.
_RANKS = "worlds"


class Document(NamedTuple):
    """A report: its results, and of a shard what joins it with the others (see describe)."""

    path: str
    results: Sequence[Result]
    shard: Value | None


def run(words: Words, options: Options) -> int:
    """Print one report of all that are given; the exit status is that of one run. Raises UsageError."""
    if options["write_baseline"] and not options["baseline"]:
        raise UsageError("--write-baseline needs --baseline FILE")
    named: dict[str, list[Document]] = {}
    for word in words:
        name, document = _read(word)
        named.setdefault(name, []).append(document)
    lists: list[list[Result]] = []
    for name, documents in named.items():
        shards = [(each, each.shard) for each in documents if each.shard is not None]
        reports = [join(shards)] if shards else []
        reports += [list(each.results) for each in documents if each.shard is None]
        lists += [[_move(result, name) for result in each] for each in reports]
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
        for identity, result in zip(fingerprint(ordered), ordered, strict=True):
            known = found.setdefault(identity, result)
            if SEVERITIES.index(result.severity) < SEVERITIES.index(known.severity):
                found[identity] = result
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
    """The name before `=`, empty without one, and the report. A word that is the path of a file has no name."""
    name, equals, path = word.partition("=")
    if not equals or os.path.exists(word):
        name, path = "", word
    return name, parse_report(read_file(path), path)


def _move(result: Result, name: str) -> Result:
    """The result with the name of its repository in front of its path."""
    if not name or not result.file:
        return result
    return result._replace(file=result.file._replace(path=posixpath.join(name, result.file.path)))


def mark(found: Iterable[tuple[World, Sequence[tuple[Finding, Result]]]]) -> Iterator[Result]:
    """The results of worlds, what is the same in several once, each with the numbers of its worlds."""
    pairs = (((world.rank, world.name), result) for world, findings in found for _, result in findings)
    for result, places in collect(pairs):
        named = name_worlds(result, [name for _, name in places if name])
        yield named._replace(tags={**named.tags, _RANKS: " ".join(str(rank) for rank, _ in places)})


def describe(
    shard: Shard, digest: str, fail_on: str, found: Iterable[tuple[World, Sequence[object]]], ignores: Ignores
) -> Fields:
    """The part `shard` of the report of a shard. `digest` is of all that was read, which every shard reads."""
    return {
        "number": shard.number,
        "of": shard.of,
        "digest": digest,
        "failOn": fail_on,
        "worlds": {str(world.rank): world.name for world, results in found if results},
        "ignores": ignores,
    }


def check_part(part: Value, results: Iterable[Result]) -> None:
    """Raises KeyError, TypeError or ValueError unless `part` and `results` are what a shard writes (see describe)."""
    number, of, digest, names = (part[key] for key in ("number", "of", "digest", "worlds"))
    if not (type(number) is type(of) is int and 1 <= number <= of and part["failOn"] in ("error", "warning")):
        raise ValueError("not one of several parts")
    ignores = _read_ignores(part["ignores"])
    texts = [digest, *(names[rank] for each in results for rank in each.tags.get(_RANKS, "").split())]
    for each in (*ignores.unused, *ignores.used):
        texts += [*each.rules, each.text, *([each.place.path] if each.place else [])]
    lost = any(not each.tags.get(_RANKS, "0").strip() for each in results)  # in no world, so in no joined report
    if lost or not all(isinstance(text, str) for text in texts) or not all(map(str.isdecimal, names)):
        raise ValueError("a result or an ignore is nowhere")


def join(shards: Sequence[tuple[Document, Value]]) -> list[Result]:
    """The results of one run, from the reports of all its shards. Raises UsageError if they are not of one run."""
    _check_complete(shards)
    placed: list[tuple[int, int, str, Result]] = []
    for document, shard in shards:
        for number, result in enumerate(document.results):
            tags = {key: text for key, text in result.tags.items() if key not in (_RANKS, "world")}
            if _RANKS not in result.tags:
                placed.append((-1, number, "", result))
            for rank in result.tags.get(_RANKS, "").split():
                placed.append((int(rank), number, shard["worlds"][rank], result._replace(tags=tags)))
    placed.sort(key=lambda each: each[:2])
    unused = tell_unused([_read_ignores(shard["ignores"]) for _, shard in shards])
    return [*merge((world, result) for _, _, world, result in placed), *unused]


def _check_complete(shards: Sequence[tuple[Document, Value]]) -> None:
    """Raises UsageError unless each shard of one run is there once."""
    opening, first = shards[0]
    for document, shard in shards:
        if (shard["of"], shard["digest"]) != (first["of"], first["digest"]):
            reason = f"a shard of something else than {opening.path}: other files, or other options"
            raise UsageError(f"{document.path}: {reason}; NAME=FILE tells the reports of several repositories apart")
    numbers = [shard["number"] for _, shard in shards]
    twice = [str(each) for each in sorted(set(numbers)) if numbers.count(each) > 1]
    if twice:
        raise UsageError(f"shard {join_words(twice)} of {first['of']} is there twice")
    missing = [str(each) for each in range(1, first["of"] + 1) if each not in numbers]
    if missing:
        few = [*missing[:5], *(["others"] if len(missing) > 5 else [])]
        raise UsageError(f"the report of shard {join_words(few)} of {first['of']} is missing: nothing is known of it")


def _read_ignores(value: Sequence[Any]) -> Ignores:
    unused, used = (
        tuple(Ignore(tuple(rules), text, FileRef(*place) if place else None) for rules, text, place in listed)
        for listed in value[:2]
    )
    return Ignores(unused, used, tuple(map(tuple, value[2])), tuple(value[3]))
