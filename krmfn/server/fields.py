"""What hand-written validation says of one field by itself, as data: the rows of `schemas/kubernetes/fields.json`.

A row belongs to a field of a Go type, wherever an object has that type. Unlike a declarative rule, a row holds on every
write, whether or not the field changed. Knows keywords, no kinds; the README beside the rows says what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.krm.paths import Path
from krmfn.server.cases import Case, Cases, list_checks, read_conditions
from krmfn.server.plain.values import check_kept
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind, Type
from krmfn.server.verdict import Cause, required, too_many

#: What a plain field has where nothing is written. Of lists and maps only `required` asks.
_UNSET: Mapping[str, Any] = {"struct": {}, "string": "", "int32": 0, "int64": 0}


def check_fields(kind: Kind, new: Object, old: Object | None) -> list[Cause]:
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
        self.when = read_conditions(row)
        self.max_items: int | None = row.get("maxItems")
        self.checks = list_checks(row)
        self.cases = _read_cases(row.get("cases", ()), name, None if pointer else _UNSET.get(of.kind))
        self.within = _read_cases(row.get("within", ()))
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


def _read_cases(rows: Sequence[Mapping[str, Any]], name: str = "", unset: Any = None) -> Cases | None:
    return Cases(Case(row, name, unset) for row in rows) if rows else None


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
            out.extend(check_kept(new, old, path, name))
        if row.cases and kind is not None:
            row.cases.check(kind, new, path, out, old if changed else None)
        if (value is not None or row.required is not None) and (
            kind is None or row.when is None or row.when(kind, new, None)
        ):
            _check_value(kind, of.fields[name].type, row, value, old.get(name), (*path, name), changed, out)


def _check_value(
    kind: Kind | None, of: Type, row: _Row, value: Any, old: Any, path: Path, changed: bool, out: list[Cause]
) -> None:
    """A field, or an item of one."""
    if changed and row.stored and (value == old or row.stored == "fixed"):
        return
    if value is None or (of.kind != "struct" and not (value.strip() if row.blank else value)):
        if row.required is not None:
            out.append(required(path, row.required))
        if row.required is not None or row.optional:
            return
    if row.max_items is not None and len(value) > row.max_items:
        out.append(too_many(path, len(value), row.max_items))
        return
    if kind is not None:
        for check in row.checks:
            out.extend(check(kind, value, path) or ())
        if row.within:
            row.within.check(kind, value, path, out)
    if of.kind == "struct":
        _check_struct(kind, of, value, old or {}, path, changed and old is not None, out)
    elif row.items and of.item:
        for key, item in value.items() if of.kind == "map" else enumerate(value):
            _check_value(kind, of.item, row.items, item, None, (*path, key), False, out)
