"""What is said of a field while others are so and so, as data: the cases of `schemas/kubernetes/fields.json`.

Knows keywords, no kinds; the README beside the rows says what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from krmfn.krm.paths import Path, dig
from krmfn.model.gotext import quote
from krmfn.server.plain.values import RULE, check_choice, check_least, refuse, spell_any
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind, find_function
from krmfn.server.verdict import (
    Cause,
    duplicate,
    find_repeated,
    forbidden,
    invalid,
    invalid_text,
    not_supported,
    required,
)

Check: TypeAlias = "Callable[[Kind, Any, Path], Iterable[Cause]]"
_Conditions: TypeAlias = "list[tuple[list[tuple[str, ...]], Any]]"


def read_conditions(row: Mapping[str, Any]) -> _Conditions:
    """What `when` asks: fields that stand for each other, each with its path, and what one of them has to be."""
    return [
        ([tuple(each.split(".")) for each in names.split("|")], wanted) for names, wanted in row.get("when", {}).items()
    ]


def holds(kind: Kind, conditions: _Conditions, holder: Object) -> bool:
    for paths, wanted in conditions:
        name = paths[0][0]
        if name[0] == "@":
            value: Any = kind.cluster if name == "@cluster" else kind.gates.get(name[1:], False)
        else:
            value = next((found for path in paths if (found := dig(holder, *path)) is not None), None)
        if isinstance(wanted, dict):
            fits = value not in wanted["not"]
        elif isinstance(wanted, list):
            fits = value in wanted
        elif isinstance(wanted, str):
            fits = (value is None) is (wanted == "absent")
        else:
            fits = bool(value) is wanted
        if not fits:
            return False
    return True


def list_checks(row: Mapping[str, Any]) -> list[Check]:
    """What the keywords of a row ask of a value, in the order in which it is asked."""
    return [make(row[keyword]) for keyword, make in _KEYWORDS.items() if keyword in row]


class Case:
    """What is said of a field, or of a place below it, while other fields of the same struct are as `when` says."""

    def __init__(self, row: Mapping[str, Any], name: str = "", unset: Any = None) -> None:
        self.when = read_conditions(row)
        self.place: Path = tuple(part for part in (name, *row.get("at", "").split(".")) if part)
        self.says = [(say, row[word]) for word, say in _SAYINGS.items() if word in row]
        self.shown: str | None = row.get("shown")
        self.checks = list_checks(row)
        #: What the field has where nothing is written.
        self.unset = unset if "at" not in row else None

    def check(self, kind: Kind, holder: Object, path: Path) -> Iterator[Cause]:
        if not holds(kind, self.when, holder):
            return
        at, value = (*path, *self.place), dig(holder, *self.place)
        for say, detail in self.says:
            yield say(at, detail, self.shown or spell_any("" if value is None else value))
        value = self.unset if value is None else value
        for check in self.checks if value is not None else ():
            yield from check(kind, value, at)


def _make_enum(values: list[str]) -> Check:
    known = tuple(values)
    return lambda kind, value, path: () if value in known else check_choice(value, path, known)


def _make_format(name: str) -> Check:
    find_faults = find_function(f"formats.check_{name}")
    return lambda kind, value, path: refuse(path, value, wrong) if (wrong := find_faults(value)) else ()


def _make_limits(limits: list[Any]) -> Check:
    return lambda kind, value, path: [
        invalid(path, RULE, value, detail)
        for least, most, detail in limits
        if (least is not None and value < least) or (most is not None and value > most)
    ]


def _make_alone(others: str) -> Check:
    detail = f"if '*' is present, must not specify other {others}"
    return lambda kind, value, path: (
        [invalid_text(path, RULE, "{…}", detail)] if "*" in value and len(value) > 1 else ()
    )


def _make_unique(key: str | bool) -> Check:
    """Texts, or objects by one of their fields."""

    def check(kind: Kind, values: list[Any], path: Path) -> list[Cause]:
        texts = [value.get(key, "") for value in values] if isinstance(key, str) else values
        below = (key,) if isinstance(key, str) else ()
        again = sorted(find_repeated(texts))
        return [duplicate((*path, index, *below), "unique-key", quote(texts[index])) for index in again]

    return check


#: What is said of a field as soon as a case is there, with the text of the row.
_SAYINGS: Mapping[str, Callable[[Path, Any, str], Cause]] = {
    "required": lambda path, detail, shown: required(path, "required", detail),
    "forbidden": lambda path, detail, shown: forbidden(path, RULE, detail),
    "invalid": lambda path, detail, shown: invalid_text(path, RULE, shown, detail),
    "unsupported": lambda path, values, shown: not_supported(path, "enum", shown, tuple(values)),
}

#: In the order in which they are looked at.
_KEYWORDS: Mapping[str, Callable[[Any], Check]] = {
    "enum": _make_enum,
    "format": _make_format,
    "minimum": lambda least: lambda kind, value, path: check_least(value, least, path),
    "limits": _make_limits,
    "alone": _make_alone,
    "unique": _make_unique,
    "check": find_function,
}
