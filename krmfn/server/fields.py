"""What hand-written validation says of one field by itself, as data: the rows of `schemas/kubernetes/fields.json`.

A row belongs to a field of a Go type, wherever an object has that type. Unlike a declarative rule, a row holds on every
write, whether or not the field changed. Knows keywords, no kinds; the README beside the rows says what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from krmfn.krm.paths import Path, dig
from krmfn.model.gotext import quote
from krmfn.server.plain.values import RULE, check_choice, check_immutable, check_least, refuse, spell_any
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind, Type, find_function
from krmfn.server.verdict import (
    Cause,
    duplicate,
    find_repeated,
    forbidden,
    invalid,
    invalid_text,
    not_supported,
    required,
    too_many,
)

Check: TypeAlias = "Callable[[Kind, Any, Path], Iterable[Cause]]"
_Conditions: TypeAlias = "list[tuple[list[tuple[str, ...]], Any]]"

#: What a plain field has where nothing is written. Of lists and maps only `required` asks.
_UNSET: Mapping[str, Any] = {"struct": {}, "string": "", "int32": 0, "int64": 0}


def check_fields(kind: Kind, new: Object, old: Object | None, argument: Any) -> list[Cause]:
    """What the rows of all types of a kind refuse in an object."""
    out: list[Cause] = []
    _check_struct(kind, kind.root, new, old or {}, (), bool(old), out)
    return out


def find_missing(root: Type, new: Object) -> list[Cause]:
    """What an object of a kind without other rules lacks."""
    out: list[Cause] = []
    _check_struct(None, root, new, {}, (), False, out)
    return out


class _Row:
    """A row for values of a type, read once."""

    def __init__(self, row: Mapping[str, Any], of: Type, pointer: bool, name: str = "") -> None:
        self.required: str | None = row.get("required")
        self.blank: bool = row.get("blank", False)
        self.optional: bool = row.get("optional", False)
        self.immutable: bool = row.get("immutable", False)
        self.stored: str = row.get("stored", "")
        self.when = _read_conditions(row)
        self.max_items: int | None = row.get("maxItems")
        self.checks = [make(row[keyword]) for keyword, make in _KEYWORDS.items() if keyword in row]
        self.cases = [_Case(case, name) for case in row.get("cases", ())]
        self.within = [_Case(case) for case in row.get("within", ())]
        #: The fields of a struct of which there is something to say, or what is said of the items of a list.
        self.fields = _list_fields(of) if of.kind == "struct" else ()
        item = of.item
        self.items = _Row(row.get("items", {}), item, False) if item and ("items" in row or _reaches(item)) else None
        says = (
            self.checks and not self.optional
            if of.kind != "struct"
            else (self.fields or self.within) and self.required is None
        )
        self.unset: Any = _UNSET.get(of.kind) if says and not pointer else None


def _read_conditions(row: Mapping[str, Any]) -> _Conditions:
    """What `when` asks: fields that stand for each other, each with its path, and what one of them has to be."""
    return [
        ([tuple(each.split(".")) for each in names.split("|")], wanted) for names, wanted in row.get("when", {}).items()
    ]


def _holds(kind: Kind, conditions: _Conditions, holder: Object) -> bool:
    for paths, wanted in conditions:
        if paths == [("@cluster",)]:
            value: Any = kind.cluster
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


class _Case:
    """What is said of a field, or of a place below it, while other fields of the same struct are as `when` says."""

    def __init__(self, row: Mapping[str, Any], name: str = "") -> None:
        self.when = _read_conditions(row)
        self.place: Path = tuple(part for part in (name, *row.get("at", "").split(".")) if part)
        self.says = [(say, row[word]) for word, say in _SAYINGS.items() if word in row]
        self.shown: str | None = row.get("shown")
        self.checks = [make(row[keyword]) for keyword, make in _KEYWORDS.items() if keyword in row]

    def check(self, kind: Kind, holder: Object, path: Path) -> Iterator[Cause]:
        if not _holds(kind, self.when, holder):
            return
        at, value = (*path, *self.place), dig(holder, *self.place)
        for say, detail in self.says:
            yield say(at, detail, self.shown or spell_any("" if value is None else value))
        for check in self.checks if value is not None else ():
            yield from check(kind, value, at)


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
    while of.kind in ("list", "map") and of.item:
        of = of.item
    return of.kind == "struct" and bool(_list_fields(of))


def _check_struct(
    kind: Kind | None, of: Type, new: Object, old: Object, path: Path, changed: bool, out: list[Cause]
) -> None:
    """`changed`: the object was there before, as `old`. Without a kind only what is missing is told."""
    for name, row in _list_fields(of):
        value = new.get(name, row.unset)
        if changed and row.immutable:
            out.extend(check_immutable(new, old, name, path))
        if kind is not None:
            for case in row.cases:
                out.extend(case.check(kind, new, path))
        if (value is not None or row.required is not None) and (kind is None or _holds(kind, row.when, new)):
            _check_value(kind, of.fields[name].type, row, value, old.get(name), (*path, name), changed, out)


def _check_value(
    kind: Kind | None, of: Type, row: _Row, value: Any, old: Any, path: Path, changed: bool, out: list[Cause]
) -> None:
    """A field, or an item of one."""
    if value is None or (of.kind != "struct" and not (value.strip() if row.blank else value)):
        if row.required is not None:
            out.append(required(path, "required", row.required))
        if row.required is not None or row.optional:
            return
    if changed and row.stored and (value == old or row.stored == "fixed"):
        return
    if row.max_items is not None and len(value) > row.max_items:
        out.append(too_many(path, "max-items", len(value), row.max_items))
        return
    if kind is not None:
        for check in row.checks:
            out.extend(check(kind, value, path))
        for case in row.within:
            out.extend(case.check(kind, value, path))
    if of.kind == "struct":
        _check_struct(kind, of, value, old or {}, path, changed and old is not None, out)
    elif row.items and of.item:
        for key, item in value.items() if of.kind == "map" else enumerate(value):
            _check_value(kind, of.item, row.items, item, None, (*path, key), False, out)


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
