"""What hand-written validation says of fields, as data: the rows of `schemas/kubernetes/fields.json`, each with the
cases in which something is said, and those of `parts.json` beside it, for parts that code chooses to check.

A row belongs to a field of a Go type, wherever an object has that type. Unlike a declarative rule, a row holds on every
write, whether or not the field changed. Knows keywords, no kinds; the README beside the rows says what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, TypeAlias

from krmfn.krm.paths import Path, dig
from krmfn.model.gotext import quote
from krmfn.model.values import Fields, Names, Value
from krmfn.releases import schemastore
from krmfn.server.conditions import Condition, is_about_presence, is_needed, read_conditions, read_place
from krmfn.server.formats import Form, count_bytes, find_format
from krmfn.server.plain.values import check_choice, check_least, spell_any
from krmfn.server.schema import Kind, Stored, Type, find_function
from krmfn.server.spell import write_json
from krmfn.server.strategy import copy_value
from krmfn.server.verdict import (
    Cause,
    Out,
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


def list_checks(row: Value) -> list[Check]:
    """What the keywords of a row ask of a value, in the order in which it is asked."""
    return [make(row[keyword]) for keyword, make in _KEYWORDS.items() if keyword in row]


def _fill_in(detail: Any, holder: Value) -> Any:
    """A text with the fields of the struct that it names in braces."""
    if "{" not in detail:
        return detail
    return re.sub(r"\{([\w.]+)\}", lambda named: str(dig(holder, *named[1].split("."), default="")), detail)


class Case:
    """What is said of a field, or of a place below it, while the fields of the same struct are as `when` says."""

    def __init__(self, row: Value, name: str = "", unset: Any = None) -> None:
        """`name` is that of the field, `unset` what it has where nothing is written; a row of a part has neither."""
        self.when = read_conditions(row, chosen=True)
        self.place: Path = (*read_place(name), *read_place(row.get("at", "")))
        named: str | None = row.get("path")
        #: The path that the server names, below the struct's; each `^` before it takes a step from the struct's.
        self.named = self.place if named is None else read_place(named.lstrip("^"))
        self.kept = -named.count("^") if named and named[0] == "^" else None
        #: What the server shows as the value, "json" for all of it; None: as it shows any.
        self.shown: str | None = row.get("shown")
        self.rule: str | None = row.get("rule")
        self.checks = list_checks(row)
        #: What is said of an empty value, which is not checked.
        self.required: str | None = row.get("required") if self.checks else None
        self.says = [(say, row[word]) for word, say in _SAYINGS.items() if word in row and self.required is None]
        self.unset = unset if "at" not in row else row.get("unset")
        if self.unset is None and (self.says or self.required is not None):
            self.unset = ""
        when = row.get("when", {})
        needed = [names.partition(".")[0] for names, wanted in when.items() if is_needed(names, wanted)]
        if self.unset is None:
            needed += map(str, self.place[:1])
        #: The fields without which nothing is said, and those with which nothing is.
        self.needs = frozenset(needed)
        self.bars = frozenset(
            names for names, wanted in when.items() if wanted == "absent" and is_about_presence(names, wanted)
        )

    def check(self, kind: Any, holder: Value, path: Path, out: Out) -> None:
        """Add what is said of a struct for which `when` holds."""
        value: Any = holder
        for step in self.place:
            value = value.get(step) if isinstance(value, dict) else None
        value = self.unset if value is None else value
        if value is None:
            return
        at, before = path[: self.kept] + self.named, len(out)
        for say, detail in self.says:
            shown = write_json(value) if self.shown == "json" else self.shown or spell_any(value)
            out.append(say(at, _fill_in(detail, holder), shown))
        if self.required is not None and not value:
            out.append(required(at, self.required))
        else:
            for check in self.checks:
                if causes := check(kind, value, at):
                    out.extend(causes)
        if self.rule and len(out) > before:
            note_rule(out, before, self.rule)


class Cases:
    """The cases of a struct, in the order in which the server asks."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._cases = tuple(cases)
        # Objects have few sets of fields, and each of them leaves few cases: saves a few percent of stage server.
        self._select = lru_cache(256)(self._choose)

    def check(self, kind: Any, holder: Value, path: Path, out: Out, old: Stored = None) -> None:
        """Add what the cases say whose `when` holds. `old` is the stored struct in an update."""
        for case in self._select(tuple(holder) if isinstance(holder, dict) else ()):
            if case.when is None or case.when(kind, holder, old):
                case.check(kind, holder, path, out)

    def _choose(self, fields: Names) -> list[Case]:
        return [case for case in self._cases if case.needs.issubset(fields) and case.bars.isdisjoint(fields)]


def check_part(kind: Any, name: str, part: Any, at: Path, rule: str = "", old: Stored = None) -> Out:
    """What the rows of a part say of one at a path. `kind` is what knows the gates: a Kind, or the setting of a pod.
    Causes without a rule get `rule`, where that is given. `old` is the stored part in an update."""
    out: Out = []
    _read_part(name).check(kind, part, at, out, old)
    if rule and out:
        note_rule(out, 0, rule)
    return out


def fill_part(kind: Any, name: str, holder: Fields) -> None:
    """Fill in the defaults of a part: the rows of `schemas/kubernetes/defaults.json`, in their order."""
    for when, above, field, each, default in _read_defaults(name):
        if when is not None and not when(kind, holder, None):
            continue
        if each:
            for item in dig(holder, *above, field, default=()):
                fill_part(kind, each, item)
            continue
        inner = holder
        for step in above:
            inner = inner.setdefault(step, {})
        if field not in inner:
            inner[field] = copy_value(default)


@cache
def _read_defaults(name: str) -> list[tuple[Condition | None, list[str], str, str, Any]]:
    found = []
    for row in schemastore.load("kubernetes/defaults.json")[name]:
        *above, field = row["at"].split(".")
        found.append((read_conditions(row), above, field, row.get("each", ""), row.get("default")))
    return found


def check_each(kind: Any, name: str, parts: Iterable[Any], at: Path, rule: str = "") -> Out:
    """What the rows of a part say of each item of a list."""
    return [cause for index, part in enumerate(parts) for cause in check_part(kind, name, part, (*at, index), rule)]


@cache
def _read_part(name: str) -> Cases:
    return Cases(map(Case, schemastore.load("kubernetes/parts.json")[name]))


def _make_enum(values: list[str]) -> Check:
    known = tuple(values)

    def check(kind: Any, value: Any, path: Path) -> Iterable[Cause]:
        if value in known:
            return ()
        values = value if isinstance(value, list) else [value]
        return [cause for each in values for cause in check_choice(each, path, known)]

    return check


def _make_format(name: str) -> Check:
    find_faults = find_format(name)
    return lambda kind, value, path: refuse_text(path, value, wrong) if (wrong := find_faults(value)) else ()


def _make_joined(wanted: list[str]) -> Check:
    """As _make_format, with all that is wrong in one cause."""
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
    """No two texts are equal, or no two objects in their fields `by`. Those without the `form`, and empty ones if only
    the `filled` count, may be. The server names the object, or its field, and `says` a text, or that it is twice."""
    asked = wanted if isinstance(wanted, dict) else {"by": wanted}
    by, form, shown, filled, says = (asked.get(word, "") for word in ("by", "form", "shown", "filled", "says"))
    below = (by,) if isinstance(by, str) and "shown" not in asked else ()
    find_faults: Form = find_format(form) if form else lambda text: ()

    def read(value: Any) -> Any:
        if isinstance(by, list):
            return tuple(value.get(name, "") for name in by)
        return value.get(by, "") if isinstance(by, str) else value

    def check(kind: Kind, values: list[Any], path: Path) -> Out:
        texts = [read(value) for value in values]
        return [
            invalid((*path, index, *below), texts[index], says)
            if says
            else duplicate((*path, index, *below), shown or quote(texts[index]))
            for index in sorted(find_repeated(texts))
            if not find_faults(texts[index]) and (texts[index] or not filled)
        ]

    return check


#: The keywords that refuse a field without looking at it: what they say, with the text of the row.
_SAYINGS: Mapping[str, Callable[[Path, Any, str], Cause]] = {
    "required": lambda path, detail, shown: required(path, detail),
    "forbidden": lambda path, detail, shown: forbidden(path, detail),
    "invalid": lambda path, detail, shown: invalid_text(path, shown, detail),
    "unsupported": lambda path, values, shown: not_supported(path, shown, tuple(values)),
}

#: The keywords that look at a value, in the order in which the server does.
_KEYWORDS: Mapping[str, Callable[[Any], Check]] = {
    "enum": _make_enum,
    "format": _make_format,
    "minimum": lambda least: lambda kind, value, path: check_least(value, least, path) if value < least else (),
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


#: What a field that is no pointer has where nothing is written, by its kind. Of lists and maps only `required` asks.
_UNSET: Value = {"struct": {}, "string": "", "int32": 0, "int64": 0}


def check_fields(kind: Kind, new: Value, old: Stored) -> Out:
    """What the rows of the types of a kind refuse in an object."""
    out: Out = []
    _check_struct(kind, kind.root, new, old, (), out)
    return out


def check_change(kind: Kind, new: Value, old: Stored, argument: str) -> Out:
    """What the rows of the part `argument` refuse in an update, after everything else."""
    return check_part(kind, argument, new, (), old=old)


def find_missing(root: Type, new: Value) -> Out:
    """What an object of a kind without other rules lacks."""
    out: Out = []
    _check_struct(None, root, new, None, (), out)
    return out


class _Row:
    """What a row says of a field, or of the items of one, whose type is `of`."""

    def __init__(self, row: Value, of: Type, pointer: bool, name: str = "") -> None:
        self.of = of
        self.required: str | None = row.get("required")
        self.optional: bool = row.get("optional", False)
        self.stored: str = row.get("stored", "")
        self.when = read_conditions(row)
        self.max_items: int | None = row.get("maxItems")
        self.checks = list_checks(row)
        unset = None if pointer else _UNSET.get(of.kind)
        cases = [Case(each, name, unset) for each in row.get("cases", ())]
        self.cases = Cases(cases) if cases else None
        item = of.item
        self.items = _Row(row.get("items", {}), item, False) if item and ("items" in row or _reaches(item)) else None
        #: Whether there is something to say of what is not written: of the fields of a struct, or of an empty value.
        says = self.required is None and _list_fields(of) if of.kind == "struct" else self.checks and not self.optional
        self.unset: Any = unset if says else None


def _list_fields(of: Type) -> list[tuple[str, _Row]]:
    """The fields of a struct that have a row, and those below which some do."""
    found: list[tuple[str, _Row]] | None = of.cache.get("rows")
    if found is None:
        found = of.cache["rows"] = []  # a type that is below itself has no rows there
        for field in of.fields.values():
            if field.row or _reaches(field.type):
                found.append((field.name, _Row(field.row, field.type, field.pointer, field.name)))
    return found


def _reaches(of: Type) -> bool:
    """Whether there are rows below a type."""
    while of.kind in ("list", "map") and of.item:
        of = of.item
    return of.kind == "struct" and bool(_list_fields(of))


def _check_struct(kind: Kind | None, of: Type, new: Value, old: Stored, path: Path, out: Out) -> None:
    for name, row in _list_fields(of):
        if row.cases:
            row.cases.check(kind, new, path, out, old)
        value = new.get(name, row.unset)
        if (value is not None or row.required is not None) and (row.when is None or row.when(kind, new, None)):
            _check_value(kind, row, value, (old or {}).get(name), (*path, name), out)


def _check_value(kind: Kind | None, row: _Row, value: Any, old: Any, path: Path, out: Out) -> None:
    """A field, or an item of one."""
    of = row.of
    if old is not None and row.stored and (value == old or row.stored == "fixed"):
        return
    if not value and (value is None or of.kind != "struct"):
        if row.required is not None:
            out.append(required(path, row.required))
            return
        if row.optional:
            return
    if row.max_items is not None and len(value) > row.max_items:
        out.append(too_many(path, len(value), row.max_items))
        return
    for check in row.checks:
        out.extend(check(kind, value, path) or ())
    if of.kind == "struct":
        _check_struct(kind, of, value, old, path, out)
    elif row.items:
        for key, item in value.items() if of.kind == "map" else enumerate(value):
            _check_value(kind, row.items, item, None, (*path, key), out)
