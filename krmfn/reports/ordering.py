"""The order of results, and how many there are of each severity."""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.krm.results import SEVERITIES, FileRef, ResourceRef, Result
from krmfn.model import wording
from krmfn.model.gotext import parse_int

#: So many notes of one rule are shown one by one.
_NOTES = 3
_UNRENDERED = "not-rendered"
_NOT_SERVED = "version-not-served"
_NOWHERE = FileRef("")
_NOBODY = ResourceRef("", "", "")
#: A path, part by part: whether it is an index, which one, and how it is spelled.
_Parts = tuple[tuple[bool, int, str], ...]


def order(results: Iterable[Result]) -> list[Result]:
    """Sort by file, document, object, field path, rule; exact duplicates appear once; placeless results come last.

    Indices in paths compare as numbers: `spec.a[2]` comes before `spec.a[10]`.
    """
    results = list(results)
    paths = {path: _natural(path) for path in {result.path for result in results}}
    ordered = sorted(results, key=lambda result: _key(result, paths[result.path]))
    return [result for number, result in enumerate(ordered) if number == 0 or result != ordered[number - 1]]


def count(results: Iterable[Result]) -> dict[str, int]:
    """How many results there are of each severity; every severity is a key."""
    counts: dict[str, int] = dict.fromkeys(SEVERITIES, 0)
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
    counted = count(results).items()
    return ", ".join(wording.count(number, severity) for severity, number in counted if number) or "no findings"


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
    """Results for people, each with how many more like it are left out: what was not read is only counted, and of many
    notes of one rule, warnings with one text, objects of one old API version, or errors with one text about a field of
    one file, the first is shown.
    """
    results = [result for result in results if "sort" not in result.tags]
    spelled = [_spell_alike(result) for result in results]
    numbers: dict[tuple[str, str], int] = {}
    for alike in spelled:
        numbers[alike] = numbers.get(alike, 0) + 1
    shown: list[tuple[Result, int]] = []
    told: set[tuple[str, str]] = set()
    for result, alike in zip(results, spelled, strict=True):
        if numbers[alike] <= _NOTES:
            shown.append((result, 0))
        elif alike not in told:
            told.add(alike)
            shown.append((result, numbers[alike] - 1))
    return shown


def _spell_alike(result: Result) -> tuple[str, str]:
    rule = result.tags.get("rule", "")
    if result.severity == "info":
        return rule, ""
    if result.severity == "error":  # somebody has to open each file, unless a command converts them all
        place = result.file.path if result.file and rule != _NOT_SERVED else ""
        return rule, f"{place} {result.path} {result.message}"
    # What a kustomization lacks has another name in each of them, and the reason comes last.
    reason = result.message
    if rule == _UNRENDERED:
        reason = reason.partition(" ")[0] + (result.tags.get("hint") or reason.rpartition(", ")[2])
    return rule, result.severity + reason


def _key(result: Result, path: _Parts) -> tuple[object, ...]:
    file, ref = result.file or _NOWHERE, result.ref or _NOBODY
    return (
        not file.path,
        file.path,
        file.index,
        result.ref is None,
        ref,
        path,
        result.tags.get("rule", ""),
        SEVERITIES.index(result.severity),
        result.message,
    )


def _natural(path: str) -> _Parts:
    parts = path.replace("]", "").replace("[", ".").split(".")
    numbers = ((parse_int(part), part) for part in parts)
    return tuple((number is not None, number or 0, part) for number, part in numbers)
