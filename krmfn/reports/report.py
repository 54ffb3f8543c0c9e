"""What all formats of reports share: results in their order, counted, spelled and told apart. Knows no format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from krmfn.krm.results import SEVERITIES, FileRef, ResourceRef, Result, Severity
from krmfn.model import wording
from krmfn.model.findings import Rule
from krmfn.model.gotext import parse_int

#: How many notes of one rule are shown one by one.
_MOST_NOTES = 3
_UNRENDERED = "not-rendered"
_NOT_SERVED = "version-not-served"
_NOWHERE = FileRef("")
_NOBODY = ResourceRef("", "", "")
#: A field path, part by part: whether it is an index, which one, and how it is spelled.
_Parts = tuple[tuple[bool, int, str], ...]


@cache
def find_site() -> str:
    """The address of the documentation without a slash at its end: `Documentation` in the metadata of the package.
    Empty without one: then nothing links, and `krmfn rules ID` is the page of a rule."""
    from importlib.metadata import PackageNotFoundError, metadata  # 20 ms, for a terminal and SARIF only

    try:
        addresses: list[str] = metadata("krmfn").get_all("Project-URL") or []
    except PackageNotFoundError:  # run from a folder or as one file
        return ""
    named = {name: address for name, _, address in (entry.partition(", ") for entry in addresses)}
    return named.get("Documentation", "").rstrip("/")


def find_page(rule: str) -> str:
    """The address of the page of a rule, empty without a site."""
    return f"{find_site()}/rules/{rule}/" if find_site() else ""


class Screen(NamedTuple):
    """The terminal where findings are read. `read` returns the lines of a file as they may be shown, none if they are
    unknown."""

    width: int
    color: bool
    read: Callable[[str], Sequence[str]]


class Report(NamedTuple):
    """Sorted results, and how to present them."""

    results: tuple[Result, ...]
    #: The rows of rules by id, for help texts (SARIF).
    rules: Mapping[str, Rule] = {}
    #: All objects that were checked, and the severity from which a finding is a failure (JUnit).
    checked: Iterable[tuple[ResourceRef, FileRef | None]] = ()
    fail_on: Severity = "error"
    #: How results are shown to people: see `fold` (text).
    color: bool = False
    folded: bool = False
    screen: Screen | None = None
    #: What a shard says of itself (JSON and YAML).
    part: Mapping[str, Any] = {}


def rule_id(result: Result) -> str:
    """The id of the rule that found `result`, empty if no rule did."""
    return result.tags.get("rule", "")


def describe(result: Result) -> str:
    """The finding on one line, without file, severity and rule: `PodGroup ml/train spec.a: Invalid value: …`.

    >>> describe(Result("Required value", path="spec"))
    'spec: Required value'
    """
    world = result.tags.get("world", "")
    message = f"{result.message} (in {world})" if world else result.message
    return f"{result.subject}: {message}" if result.subject else message


def fingerprint(results: Iterable[Result]) -> list[str]:
    """A different fingerprint for each result, in their order: 32 hexadecimal digits. It is made of rule, file, object
    and path, so it stays the same when lines move; results with equal ones are numbered."""
    from hashlib import sha256  # for services only

    seen: Counter[str] = Counter()
    prints = []
    for result in results:
        parts = (
            rule_id(result) or result.message,
            result.file.path if result.file else "",
            "\n".join(result.ref) if result.ref else "",
            result.path,
        )
        identity = "\0".join(parts)
        text = f"{identity}\0{seen[identity]}".encode("utf-8", "surrogatepass")
        seen[identity] += 1
        prints.append(sha256(text).hexdigest()[:32])
    return prints


def order(results: Iterable[Result]) -> list[Result]:
    """Sort by file, document, object, field path, rule; exact duplicates appear once; placeless results come last.

    Indices in paths compare as numbers: `spec.a[2]` comes before `spec.a[10]`.
    """
    results = list(results)
    paths = {path: _split(path) for path in {result.path for result in results}}
    ordered = sorted(results, key=lambda result: _sort_key(result, paths[result.path]))
    return [result for number, result in enumerate(ordered) if number == 0 or result != ordered[number - 1]]


def count(results: Iterable[Result]) -> dict[str, int]:
    """How many results there are of each severity; every severity is a key."""
    counts = Counter(result.severity for result in results)
    return {severity: counts[severity] for severity in SEVERITIES}


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
    counts = Counter(result.tags["sort"] for result in results if "sort" in result.tags)
    words = [f"{sort} ({number})" for sort, number in sorted(counts.items())]
    return f"not checked: {', '.join(words)}" if words else ""


def fold(results: Iterable[Result]) -> list[tuple[Result, int]]:
    """Results for people, each with how many more like it are left out. Of many notes of one rule, warnings with one
    text, objects of one old API version, or errors with one text about a field of one file, only the first is shown.
    What was not checked is left out: see `summarize_skipped`."""
    results = [result for result in results if "sort" not in result.tags]
    spelled = [_spell_alike(result) for result in results]
    numbers = Counter(spelled)
    shown: list[tuple[Result, int]] = []
    told: set[tuple[str, str]] = set()
    for result, alike in zip(results, spelled, strict=True):
        if numbers[alike] <= _MOST_NOTES:
            shown.append((result, 0))
        elif alike not in told:
            told.add(alike)
            shown.append((result, numbers[alike] - 1))
    return shown


def _spell_alike(result: Result) -> tuple[str, str]:
    """The rule, and what else results have in common of which only the first is shown."""
    rule = result.tags.get("rule", "")
    if result.severity == "info":
        return rule, ""
    if result.severity == "error":  # somebody has to open each file, unless a command converts them all
        place = result.file.path if result.file and rule != _NOT_SERVED else ""
        return rule, f"{place} {result.path} {result.message}"
    reason = result.message
    if rule == _UNRENDERED:  # what a kustomization lacks has another name in each of them, and the reason comes last
        reason = reason.partition(" ")[0] + (result.tags.get("hint") or reason.rpartition(", ")[2])
    return rule, result.severity + reason


def _sort_key(result: Result, path: _Parts) -> tuple[object, ...]:
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


def _split(path: str) -> _Parts:
    parts = path.replace("]", "").replace("[", ".").split(".")
    numbers = ((parse_int(part), part) for part in parts)
    return tuple((number is not None, number or 0, part) for number, part in numbers)
