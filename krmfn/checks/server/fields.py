"""What hand-written validation says of one field by itself, as data: the rows of `schemas/kubernetes/fields.json`.

A row belongs to a field of a Go type, wherever an object has that type. Unlike a declarative rule, a row holds on every
write, whether or not the field changed. Knows keywords, no kinds; the README beside the rows says what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from krmfn.checks.server.plain.values import RULE, check_choice, check_immutable, check_least, refuse
from krmfn.checks.server.pods.setting import Object
from krmfn.checks.server.schema import Field, Kind, Type, find_function
from krmfn.checks.server.verdict import Cause, duplicate, find_repeated, invalid, invalid_text, required, too_many
from krmfn.krm.paths import Path
from krmfn.krm.types import Any
from krmfn.model.gotext import quote

_UNSET: Mapping[str, Any] = {"struct": {}, "map": {}, "list": [], "string": "", "int32": 0, "int64": 0}


def check_fields(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    """What the rows of all types of a kind refuse in an object."""
    return _check_struct(kind, kind.root, new, old or {}, (), bool(old))


def find_missing(root: Type, new: Object) -> Iterator[Cause]:
    """What an object of a kind without other rules lacks."""
    return _check_struct(None, root, new, {}, (), False)


def _check_struct(kind: Kind | None, of: Type, new: Object, old: Object, path: Path, changed: bool) -> Iterator[Cause]:
    """`changed`: the object was there before, as `old`. Without a kind only what is missing is told."""
    for field in _list_fields(of):
        value, at, row = new.get(field.name), (*path, field.name), field.row
        if changed and "immutable" in row:
            yield from check_immutable(new, old, field.name, path)
        if value is None and not field.pointer and not (field.type.kind == "struct" and "required" in row):
            value = _UNSET.get(field.type.kind)
        if row.get("unless") not in new:
            yield from _check_value(kind, field.type, row, value, old.get(field.name), at, changed)


def _check_value(
    kind: Kind | None, of: Type, row: Mapping[str, Any], value: Any, old: Any, path: Path, changed: bool
) -> Iterator[Cause]:
    """A field, or an item of one."""
    is_missing = value is None or (of.kind != "struct" and not (value.strip() if "blank" in row else value))
    if is_missing and "required" in row:
        yield required(path, "required", row["required"])
    if value is None or (is_missing and ("required" in row or "optional" in row)):
        return
    if changed and "stored" in row and (value == old or row["stored"] == "fixed"):
        return
    if "maxItems" in row and len(value) > row["maxItems"]:
        yield too_many(path, "max-items", len(value), row["maxItems"])
        return
    if kind is not None:
        yield from _check_alone(kind, row, value, path)
    if of.kind == "struct":
        yield from _check_struct(kind, of, value, old or {}, path, changed and old is not None)
    elif of.item and (_list_fields(of.item) or "items" in row):
        for key, item in value.items() if of.kind == "map" else enumerate(value):
            yield from _check_value(kind, of.item, row.get("items", {}), item, None, (*path, key), False)


def _check_alone(kind: Kind, row: Mapping[str, Any], value: Any, path: Path) -> Iterator[Cause]:
    """A value that is there, without what is below it."""
    if "enum" in row:
        yield from check_choice(value, path, tuple(row["enum"]))
    if "format" in row:
        yield from refuse(path, value, find_function(f"formats.check_{row['format']}")(value))
    if "minimum" in row:
        yield from check_least(value, row["minimum"], path)
    for least, most, detail in row.get("limits", ()):
        if not (least is None or least <= value) or not (most is None or value <= most):
            yield invalid(path, RULE, value, detail)
    if "alone" in row and "*" in value and len(value) > 1:
        yield invalid_text(path, RULE, "{…}", f"if '*' is present, must not specify other {row['alone']}")
    if "unique" in row:
        yield from _check_unique(value, row["unique"], path)
    if "check" in row:
        yield from find_function(row["check"])(kind, value, path)


def _check_unique(values: list[Any], key: str | bool, path: Path) -> Iterator[Cause]:
    """Texts, or objects by one of their fields."""
    texts = [value.get(key, "") for value in values] if isinstance(key, str) else values
    for index in sorted(find_repeated(texts)):
        at = (*path, index, key) if isinstance(key, str) else (*path, index)
        yield duplicate(at, "unique-key", quote(texts[index]))


def _list_fields(of: Type) -> list[Field]:
    """The fields of a struct that have a row, and those below which some do; none of other types."""
    found: list[Field] | None = of.cache.get("rows")
    if found is None:
        found = of.cache["rows"] = []  # a type that is below itself has no rows there
        found += (field for field in (of.fields.values() if of.kind == "struct" else ()) if _has_rows(field))
    return found


def _has_rows(field: Field) -> bool:
    of = field.type
    while of.kind in ("list", "map") and of.item:
        of = of.item
    return bool(field.row or _list_fields(of))
