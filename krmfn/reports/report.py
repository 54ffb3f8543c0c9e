"""What a report is made from. Knows no format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from krmfn.krm.results import FileRef, ResourceRef, Result, Severity
from krmfn.model.findings import Rule


@cache
def find_site() -> str:
    """Where the documentation of this release is published, without a slash at its end: the address `Documentation` of
    the project's metadata. Empty where the metadata has none: then `krmfn rules ID` is the page, and nothing links."""
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
    """Where findings are read. `read` gives the lines of a file as they may be shown, none where that is unknown."""

    width: int
    color: bool
    read: Callable[[str], Sequence[str]]


class Report(NamedTuple):
    """Sorted results, the rows of their rules by id, every object that was checked, and how to present them."""

    results: tuple[Result, ...]
    rules: Mapping[str, Rule] = {}
    checked: Iterable[tuple[ResourceRef, FileRef | None]] = ()
    fail_on: Severity = "error"
    color: bool = False
    folded: bool = False
    screen: Screen | None = None
    part: Mapping[str, Any] = {}


def rule_id(result: Result) -> str:
    """The id of the rule that `result` belongs to, empty when it belongs to none."""
    return result.tags.get("rule", "")


def describe(result: Result) -> str:
    """The finding on one line, without place, severity, rule: `PodGroup ml/train spec.a: Invalid value: …`.

    >>> describe(Result("Required value", path="spec"))
    'spec: Required value'
    """
    subject = " ".join(part for part in (str(result.ref) if result.ref else "", result.path) if part)
    world = result.tags.get("world", "")
    message = f"{result.message} (in {world})" if world else result.message
    return f"{subject}: {message}" if subject else message


def fingerprint(results: Iterable[Result]) -> list[str]:
    """One fingerprint per result, in the same order, each different: 32 hexadecimal digits. A finding keeps its own
    after lines moved: it is of its rule, file, object and path; equal ones are told apart by their number."""
    from hashlib import sha256  # for services only

    seen: dict[str, int] = {}
    prints = []
    for result in results:
        parts = (
            rule_id(result) or result.message,
            result.file.path if result.file else "",
            "\n".join(result.ref) if result.ref else "",
            result.path,
        )
        identity = "\0".join(parts)
        number = seen.get(identity, 0)
        seen[identity] = number + 1
        text = f"{identity}\0{number}".encode("utf-8", "surrogatepass")
        prints.append(sha256(text).hexdigest()[:32])
    return prints
