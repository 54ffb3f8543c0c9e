"""What is said of a field while others are so and so, as data: the cases of `schemas/kubernetes/fields.json`, and those
of `parts.json` beside it for parts of which only code knows when they are looked at.

Knows keywords, no kinds; the README beside the rows says what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, TypeAlias

from krmfn.krm.paths import Path, dig
from krmfn.model.gotext import quote
from krmfn.releases import schemastore
from krmfn.server.formats import Form, count_bytes, find_format
from krmfn.server.plain.values import check_choice, check_least, spell_any
from krmfn.server.pods.setting import Object, Setting
from krmfn.server.schema import Kind, find_function
from krmfn.server.spell import Key, read_written, write_json
from krmfn.server.verdict import (
    Cause,
    duplicate,
    find_repeated,
    forbidden,
    invalid,
    invalid_text,
    not_supported,
    note_rule,
    refuse_text,
    required,
    too_long,
    too_many,
)

Check: TypeAlias = "Callable[[Any, Any, Path], Iterable[Cause] | None]"
_CHANGES = ("changed", "rewritten")
Condition: TypeAlias = "Callable[[Any, Object, Object | None], bool]"


def read_conditions(row: Mapping[str, Any]) -> Condition | None:
    """What `when` asks of what knows the gates, of the struct and of the stored one; None where it asks nothing."""
    found: Condition | None = None
    for names, wanted in reversed(row.get("when", {}).items()):
        found = _join(_make_condition(names, wanted), found)
    return found


def _join(one: Condition, others: Condition | None) -> Condition:
    return one if others is None else lambda kind, holder, old: one(kind, holder, old) and others(kind, holder, old)


def _make_condition(names: str, wanted: Any) -> Condition:
    if wanted in _CHANGES:
        strict, place = wanted == "rewritten", _read_place(names)
        return lambda kind, holder, old: old is not None and _is_changed(holder, old, place, strict)
    fits = _make_test(wanted)
    if names == "@cluster":
        return lambda kind, holder, old: fits(kind.cluster)
    if names[0] == "@":
        return lambda kind, holder, old: fits(kind.is_on(names[1:]))
    if names[0] == "<":
        before = _read_place(names[1:])
        return lambda kind, holder, old: old is not None and fits(dig(old, *before))
    paths = [_read_place(each) for each in names.split("|")]
    if paths == [(names,)]:
        return lambda kind, holder, old: fits(holder.get(names))
    return lambda kind, holder, old: fits(
        next((found for path in paths if (found := dig(holder, *path)) is not None), None)
    )


def _is_changed(new: Object, old: Object, place: Path, strict: bool) -> bool:
    """Whether a field is not as it was. `strict`: an empty map is not the same as none."""
    before = dig(old, *place)
    return dig(new, *place) != before or (strict and before is None and read_written(new, *place) == {})


def _make_test(wanted: Any) -> Callable[[Any], bool]:
    if isinstance(wanted, dict):
        ((word, asked),) = wanted.items()
        return {
            "not": lambda value: value not in asked,
            "more": lambda value: len(value or ()) > asked,
            "above": lambda value: value is not None and value > asked,
            "below": lambda value: value is not None and value < asked,
            "blank": lambda value: (not (value or "").strip()) is asked,
            "has": lambda value: asked in (value or ()),
            "lacks": lambda value: asked not in (value or ()),
            "beyond": lambda value: not set(value or ()) <= set(asked),
        }[word]
    if isinstance(wanted, list):
        return lambda value: value in wanted
    if isinstance(wanted, str):
        return lambda value: (value is None) is (wanted == "absent")
    return lambda value: bool(value) is wanted


def list_checks(row: Mapping[str, Any]) -> list[Check]:
    """What the keywords of a row ask of a value, in the order in which it is asked."""
    return [make(row[keyword]) for keyword, make in _KEYWORDS.items() if keyword in row]


def _read_place(text: str) -> Path:
    return tuple(Key(part[1:-1]) if part[0] == "[" else part for part in text.split(".") if part)


def _is_needed(names: str, wanted: Any) -> bool:
    """Whether a condition never holds without the field that it is about."""
    return names[0] not in "@.<" and "|" not in names and wanted not in _CHANGES and not _make_test(wanted)(None)


class Case:
    """What is said of a field, or of a place below it, while other fields of the same struct are as `when` says."""

    def __init__(self, row: Mapping[str, Any], name: str = "", unset: Any = None) -> None:
        self.when = read_conditions(row)
        self.place: Path = (*_read_place(name), *_read_place(row.get("at", "")))
        named: str | None = row.get("path")
        #: The place that the server names, behind so many steps of the struct's own.
        self.named = self.place if named is None else _read_place(named.lstrip("^"))
        self.kept = -named.count("^") if named and named[0] == "^" else None
        self.says = [(say, row[word]) for word, say in _SAYINGS.items() if word in row]
        self.shown: str | None = row.get("shown")
        self.rule: str | None = row.get("rule")
        self.checks = list_checks(row)
        #: What the field has where nothing is written.
        self.unset = unset if "at" not in row else row.get("unset")
        needed = [names for names, wanted in row.get("when", {}).items() if _is_needed(names, wanted)]
        if not needed and not self.says and self.unset is None:
            needed = list(self.place[:1])
        #: The field without which nothing is said.
        self.needs = str(needed[0]).partition(".")[0] if needed else None

    def check(self, kind: Any, holder: Object, path: Path, out: list[Cause]) -> None:
        """What is said, where `when` holds."""
        value, before = dig(holder, *self.place), len(out)
        if value is None and not self.says:
            value = self.unset
            if value is None:
                return
        at = path[: self.kept] + self.named
        for say, detail in self.says:
            found = "" if value is None else value
            shown = write_json(found) if self.shown == "json" else self.shown or spell_any(found)
            out.append(say(at, detail, shown))
        value = self.unset if value is None else value
        for check in self.checks if value is not None else ():
            if causes := check(kind, value, at):
                out.extend(causes)
        if self.rule:
            note_rule(out, before, self.rule)


class Cases:
    """The cases of a struct, in the order in which the server asks."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._cases = tuple(cases)
        # Objects have few sets of fields, and each of them leaves few cases: saves a few percent of stage server.
        self._select = lru_cache(256)(self._choose)

    def check(self, kind: Any, holder: Object, path: Path, out: list[Cause], old: Object | None = None) -> None:
        """What they say, where their `when` holds. `old` is the stored struct in an update."""
        for case in self._select(tuple(holder) if isinstance(holder, dict) else ()):
            if case.when is None or case.when(kind, holder, old):
                case.check(kind, holder, path, out)

    def _choose(self, fields: tuple[str, ...]) -> list[Case]:
        return [case for case in self._cases if case.needs is None or case.needs in fields]


def check_part(kind: Any, name: str, part: Any, at: Path, rule: str = "", old: Object | None = None) -> list[Cause]:
    """What the rows of a part say of one at a path; a pod's setting keeps that itself. `kind`: what knows the gates. A
    cause that is of no rule of its own is of `rule`, where that is given. `old` is the stored part in an update."""
    keeps = isinstance(kind, Setting)
    out: list[Cause] = kind.out if keeps else []
    before = len(out)
    _read_part(name).check(kind, part, at, out, old)
    if rule:
        note_rule(out, before, rule)
    return [] if keeps else out


def check_each(kind: Any, name: str, parts: Iterable[Any], at: Path, rule: str = "") -> list[Cause]:
    """What the rows of a part say of each item of a list."""
    return [cause for index, part in enumerate(parts) for cause in check_part(kind, name, part, (*at, index), rule)]


@cache
def _read_part(name: str) -> Cases:
    return Cases(Case(row) for row in schemastore.load("kubernetes/parts.json")[name])


def _make_enum(values: list[str]) -> Check:
    known = tuple(values)

    def check(kind: Any, value: Any, path: Path) -> Iterable[Cause]:
        if isinstance(value, list):
            return [cause for each in value for cause in check_choice(each, path, known)]
        return () if value in known else check_choice(value, path, known)

    return check


def _make_format(name: str) -> Check:
    find_faults = find_format(name)
    return lambda kind, value, path: refuse_text(path, value, wrong) if (wrong := find_faults(value)) else ()


def _make_joined(wanted: list[str]) -> Check:
    """As a format, with all that is wrong in one cause."""
    name, comma = wanted
    find_faults = find_format(name)
    return lambda kind, value, path: [invalid(path, value, comma.join(wrong))] if (wrong := find_faults(value)) else ()


def _make_limits(limits: list[Any]) -> Check:
    return lambda kind, value, path: [
        invalid(path, value, detail)
        for least, most, detail in limits
        if (least is not None and value < least) or (most is not None and value > most)
    ]


def _make_alone(others: str) -> Check:
    detail = f"if '*' is present, must not specify other {others}"
    return lambda kind, value, path: [invalid_text(path, "{…}", detail)] if "*" in value and len(value) > 1 else ()


def _make_unique(wanted: Any) -> Check:
    """Texts, or objects `by` a field or several; of a `form`, where what is empty or wrong is alike without harm. The
    server names the object, or its field."""
    asked = wanted if isinstance(wanted, dict) else {"by": wanted}
    by, form, shown = (asked.get(word, "") for word in ("by", "form", "shown"))
    below = (by,) if isinstance(by, str) and "shown" not in asked else ()
    find_faults: Form = find_format(form) if form else lambda text: ()

    def read(value: Any) -> Any:
        if isinstance(by, list):
            return tuple(value.get(name, "") for name in by)
        return value.get(by, "") if isinstance(by, str) else value

    def check(kind: Kind, values: list[Any], path: Path) -> list[Cause]:
        texts = [read(value) for value in values]
        return [
            duplicate((*path, index, *below), shown or quote(texts[index]))
            for index in sorted(find_repeated(texts))
            if not find_faults(texts[index])
        ]

    return check


#: What is said of a field as soon as a case is there, with the text of the row.
_SAYINGS: Mapping[str, Callable[[Path, Any, str], Cause]] = {
    "required": lambda path, detail, shown: required(path, detail),
    "forbidden": lambda path, detail, shown: forbidden(path, detail),
    "invalid": lambda path, detail, shown: invalid_text(path, shown, detail),
    "unsupported": lambda path, values, shown: not_supported(path, shown, tuple(values)),
}

#: In the order in which they are looked at.
_KEYWORDS: Mapping[str, Callable[[Any], Check]] = {
    "enum": _make_enum,
    "format": _make_format,
    "minimum": lambda least: lambda kind, value, path: check_least(value, least, path),
    "joined": _make_joined,
    "limits": _make_limits,
    "most": lambda most: lambda kind, value, path: [too_many(path, len(value), most)] if len(value) > most else (),
    "maxBytes": lambda most: lambda kind, value, path: [too_long(path, most)] if count_bytes(value) > most else (),
    "alone": _make_alone,
    "unique": _make_unique,
    "check": find_function,
    "part": lambda name: lambda kind, value, path: check_part(kind, name, value, path),
    "each": lambda name: lambda kind, values, path: check_each(kind, name, values, path),
}
