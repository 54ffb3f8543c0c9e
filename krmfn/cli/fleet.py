"""`krmfn fleet`: many repositories checked, and one page of what was found in them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krmfn.cli import Options, Words, streams
from krmfn.cli.merge import parse_report
from krmfn.cli.options import UsageError
from krmfn.cli.reading import read_file
from krmfn.config.problems import ask_about
from krmfn.krm import Item, Unreadable
from krmfn.krm.sharing import prepare_start
from krmfn.krm.terminal import line
from krmfn.model.values import Fields, as_mapping
from krmfn.reports.fleet import FleetRow, render_html, render_json, render_markdown, sum_up
from krmfn.reports.report import summarize
from krmfn.workspace.fleet import FleetMember, Logbook, Visit, check

_TABLE = "fleet.json"


def run(words: Words, options: Options) -> int:
    """Checks what is not done yet; the exit status is the worst of all. Raises UsageError and InputMissing."""
    repositories = read_fleet(words[0])
    jobs = options["jobs"] or str(os.cpu_count() or 1)
    if not jobs.isdecimal() or int(jobs) < 1:
        raise UsageError(f"--jobs {jobs}: not a number of processes")
    try:
        logbook = Logbook(options["into"])
    except OSError as error:
        raise UsageError(f"--into {options['into']}: {error.strerror}") from None
    before = _read_last(logbook.read(_TABLE))
    visits = {each: visit for each in repositories if (visit := logbook.find(each))}
    if visits:
        streams.remark(f"{len(visits)} of {len(repositories)} were done before the last run ended", options)
    rest = [each for each in repositories if each not in visits]
    for number, (repository, visit, running) in enumerate(_check_all(rest, int(jobs)), 1):
        logbook.keep(repository, visit)
        visits[repository] = visit
        streams.remark(_describe(repository, visit, len(rest) - number, running), options)
    checked = [_read(each, visits[each], before.get(each.name)) for each in repositories]
    pages = {_TABLE: render_json(checked), "fleet.md": render_markdown(checked), "index.html": render_html(checked)}
    logbook.write({name: text.encode("utf-8", "backslashreplace") for name, text in pages.items()})
    logbook.end()
    for each in checked:
        if each.status not in ("clean", "info"):
            owner = f" ({each.owner})" if each.owner else ""
            streams.write(line(f"{each.name}{owner}: {each.failure or summarize(each.results)}") + "\n")
    streams.remark(f"{sum_up(checked)}; wrote {os.path.join(options['into'], 'index.html')}", options)
    return max(visit.status if visit.status in (0, 1) else 2 for visit in visits.values())


def read_fleet(path: str) -> list[FleetMember]:
    """The repositories in a file, which its paths are relative to. Raises UsageError and InputMissing."""
    try:
        value = as_mapping(Item.parse(read_file(path), path).value)
    except Unreadable as error:
        raise UsageError(error.spell(path)) from None
    listed = value.get("repositories")
    if not isinstance(listed, list) or not listed or len(value) > 1:
        raise UsageError(f"{path}: should be a mapping with a list `repositories`, and nothing else")
    found = [_read_repository(each, f"{path}: repositories[{number}]", path) for number, each in enumerate(listed)]
    names = [each.name for each in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{path}: two repositories are called {name}: set name")
    return found


def _read_repository(value: object, place: str, path: str) -> FleetMember:
    given: Fields = {}
    for key, entry in as_mapping(value).items():
        if key not in FleetMember._fields:
            raise UsageError(f"{place}: unknown key {key!r}. {ask_about(str(key), FleetMember._fields)}".rstrip())
        sort, said = (list, "list of strings") if key in ("paths", "options") else (str, "string")
        if not isinstance(entry, sort) or not all(isinstance(each, str) for each in entry):
            raise UsageError(f"{place}.{key}: should be a {said}")
        given[key] = entry if sort is str else tuple(entry)
    if not given.get("folder"):
        raise UsageError(f"{place}.folder: is missing")
    for key in ("folder", "configuration"):
        if given.get(key):
            given[key] = os.path.abspath(os.path.join(os.path.dirname(path), given[key]))
    return FleetMember(**{**given, "name": given.get("name") or os.path.basename(given["folder"])})


def _check_all(repositories: Sequence[FleetMember], jobs: int) -> Iterator[tuple[FleetMember, Visit, list[str]]]:
    """Each with what came of it as soon as that is known, and the names of those that are at work then."""
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

    prepare_start()
    waiting = list(reversed(repositories))
    with ThreadPoolExecutor(jobs) as pool:
        running: dict[Any, FleetMember] = {}
        while waiting or running:
            while waiting and len(running) < jobs:
                repository = waiting.pop()
                running[pool.submit(check, repository)] = repository
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                repository = running.pop(future)
                yield repository, future.result(), [each.name for each in running.values()]


def _describe(repository: FleetMember, visit: Visit, left: int, running: Sequence[str]) -> str:
    said = visit.failure or ("findings" if visit.status else "clean")
    at_work = f"; at work: {', '.join(running)}" if running else ""
    return f"{repository.name}: {said} ({visit.seconds:.1f} s); {left} left{at_work}"


def _read(repository: FleetMember, visit: Visit, before: Mapping[str, int] | None) -> FleetRow:
    try:
        results = parse_report(visit.report, repository.file).results if visit.report else ()
        failure = visit.failure
    except UsageError as error:
        results, failure = (), visit.failure or str(error)
    return FleetRow(repository.name, repository.owner, results, failure, visit.seconds, before)


def _read_last(data: bytes | None) -> dict[str, Mapping[str, int]]:
    """The counts of the last run by the names of repositories; of a file that cannot be read, none."""
    try:
        found = json.loads(data or b"{}").get("repositories", [])
        return {str(each["name"]): {key: int(number) for key, number in each["summary"].items()} for each in found}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return {}
