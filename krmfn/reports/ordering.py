"""The order of results, and how many there are of each severity."""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.krm.results import FileRef, ResourceRef, Result, Severity
from krmfn.model.gotext import parse_int

_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
#: So many notes of one rule are shown one by one.
_NOTES = 3
_NOWHERE = FileRef("")
_NOBODY = ResourceRef("", "", "")


def order(results: Iterable[Result]) -> list[Result]:
    """Sort by file, document, object, field path, rule; exact duplicates appear once; placeless results come last.

    Indices in paths compare as numbers: `spec.a[2]` comes before `spec.a[10]`.
    """
    ordered = sorted(results, key=_key)
    return [result for number, result in enumerate(ordered) if number == 0 or result != ordered[number - 1]]


def count(results: Iterable[Result]) -> dict[str, int]:
    """How many results there are of each severity; every severity is a key."""
    counts: dict[str, int] = dict.fromkeys(_SEVERITIES, 0)
    for result in results:
        counts[result.severity] += 1
    return counts


def summarize(results: Iterable[Result]) -> str:
    """The counts in words, worst first.

    >>> summarize([Result("a"), Result("b", "info"), Result("c", "info")])
    '1 error, 2 infos'
    >>> summarize([])
    'no findings'
    """
    counts = count(results)
    words = [f"{number} {severity}{'' if number == 1 else 's'}" for severity, number in counts.items() if number]
    return ", ".join(words) or "no findings"


def summarize_skipped(results: Iterable[Result]) -> str:
    """What was not checked, counted by its sort (the tag `sort`); empty when all was.

    >>> summarize_skipped([Result("a", "info", tags={"sort": "templates"})])
    'not checked: templates (1)'
    """
    counts: dict[str, int] = {}
    for result in results:
        if "sort" in result.tags:
            counts[result.tags["sort"]] = counts.get(result.tags["sort"], 0) + 1
    words = [f"{sort} ({number})" for sort, number in sorted(counts.items())]
    return f"not checked: {', '.join(words)}" if words else ""


def fold(results: Iterable[Result]) -> list[tuple[Result, int]]:
    """Results for people, each with how many more like it are left out: what was not read is only counted, and of the
    notes of one rule some are shown."""
    results = list(results)
    notes: dict[str, int] = {}
    for result in results:
        if result.severity == "info":
            rule = result.tags.get("rule", "")
            notes[rule] = notes.get(rule, 0) + 1
    shown: list[tuple[Result, int]] = []
    told: dict[str, int] = {}
    for result in results:
        rule = result.tags.get("rule", "")
        if result.severity != "info":
            shown.append((result, 0))
        elif "sort" not in result.tags:
            told[rule] = told.get(rule, 0) + 1
            if notes[rule] <= _NOTES or told[rule] == 1:
                shown.append((result, notes[rule] - 1 if notes[rule] > _NOTES else 0))
    return shown


def _key(result: Result) -> tuple[object, ...]:
    file, ref = result.file or _NOWHERE, result.ref or _NOBODY
    return (
        not file.path,
        file.path,
        file.index,
        result.ref is None,
        ref,
        _natural(result.path),
        result.tags.get("rule", ""),
        _SEVERITIES.index(result.severity),
        result.message,
    )


def _natural(path: str) -> tuple[tuple[bool, int, str], ...]:
    parts = path.replace("]", "").replace("[", ".").split(".")
    numbers = ((parse_int(part), part) for part in parts)
    return tuple((number is not None, number or 0, part) for number, part in numbers)
