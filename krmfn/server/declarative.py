"""The declarative rules: one walk over the new object, in step with the old one on an update.

The walk follows the server's generated code: unchanged fields are not looked at again; stage 1 of a field (required,
forbidden, immutable, no-set, no-unset, added and removed items, maxItems) ends it when it finds something; stage 2
looks at the value; list items are paired by key. Knows keywords, no kinds. Values are normal (see decode).

Source: k8s.io/apimachinery/pkg/api/validate and the generated validation of k8s.io/kubernetes.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.values import Fields, Names, Value
from krmfn.server.formats import FORMATS
from krmfn.server.schema import Field, Stored, Type
from krmfn.server.spell import to_api, write_json
from krmfn.server.strategy import plan_fields
from krmfn.server.verdict import (
    Out,
    duplicate,
    find_repeated,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)

_EMPTY: Fields = {}


def check_declared(of: Type, new: Value, old: Stored, path: Path, out: Out, update: bool) -> None:
    """Append to `out` the causes with which the declarative rules refuse a struct at `path`. `old` is None where the
    stored object has no such struct: in a create, and for a new item in an `update`."""
    if of.union and len(new.keys() & of.union) != 1:
        _check_union(of.union, new, old, path, out)
    for field in _list_ruled(of, update):
        value, before = new.get(field.name), old.get(field.name) if old else None
        if old is not None and value == before:
            continue
        if old is None and value is None and not (field.is_plain_struct or field.is_needed or update):
            continue
        if field.is_plain_struct:
            value = value or _EMPTY
            before = None if old is None else before or _EMPTY
        start, at = len(out), (*path, field.name)
        if value is None and field.is_needed:
            out.append(required(at))
        _check_field(field, value, before, at, out, update)
        if len(out) == start and value is not None and not field.opaque:
            _check_value(field, value, before, at, out, update)


def _list_ruled(of: Type, update: bool) -> tuple[Field, ...]:
    """The fields of a struct with rules, of their own or below them: spares the walk over metadata and the like."""
    key = "ruled update" if update else "ruled"
    found: tuple[Field, ...] | None = of.cache.get(key)
    if found is None:
        ruled = {*chain(*plan_fields(of, lambda field: _has_rules(field, update)))}
        found = of.cache[key] = tuple(field for field in of.fields.values() if field in ruled)
    return found


def _has_rules(field: Field, update: bool) -> bool:
    """Whether there is a rule about the field itself, or about its value as a whole."""
    of = field.type.item or field.type
    return bool(
        (field.required and not field.is_plain_struct)
        or (update and (field.immutable or field.update))
        or (field.forbidden or field.unique or field.lengths or field.format in FORMATS)
        or (field.minimum, field.maximum, field.max_items) != (None, None, None)
        or (not field.opaque and (of.enum is not None or of.union))
    )


def _check_union(members: Names, new: Value, old: Stored, path: Path, out: Out) -> None:
    if old is not None and all((member in new) == (member in old) for member in members):
        return
    names = ", ".join(f"`{member}`" for member in members)
    present = [member for member in members if member in new]
    if present:
        several = "{" + ", ".join(present) + "}"
        out.append(invalid(path, several, f"must specify exactly one of: {names}", "union"))
    else:
        out.append(invalid(path, "", f"must specify one of: {names}", "union"))


def _check_field(field: Field, value: Any, old: Any, path: Path, out: Out, update: bool) -> None:
    """Stage 1 of a field that is new or changed."""
    if value is not None and field.forbidden:
        out.append(forbidden(path, rule="feature-gate"))
    if update:
        _check_change(field, value, old, path, out)
    if value is not None and field.max_items is not None and len(value) > field.max_items:
        out.append(too_many(path, len(value), field.max_items))


def _check_change(field: Field, value: Any, old: Any, path: Path, out: Out) -> None:
    if field.immutable:
        out.append(invalid(path, None, "field is immutable", "immutable"))
    if "NoSet" in field.update and old is None and value is not None:
        out.append(invalid(path, None, "field cannot be set once created", "no-set"))
    if "NoUnset" in field.update and old is not None and value is None:
        out.append(invalid(path, None, "field cannot be cleared once set", "no-unset"))
    if "NoAddItem" in field.update:
        known = [_key(item, field) for item in old or ()]
        added = (index for index, item in enumerate(value or ()) if _key(item, field) not in known)
        out += (forbidden((*path, index), "item may not be added", "no-add-item") for index in added)
    if "NoRemoveItem" in field.update:
        kept = [_key(item, field) for item in value or ()]
        gone = (item for item in old or () if _key(item, field) not in kept)
        out += (forbidden(path, "item may not be removed", "no-remove-item") for _ in gone)


def _key(item: Any, field: Field) -> Any:
    """The values of the keys by which items of a list are told apart."""
    keys = field.list_keys
    return item.get(keys[0], "") if len(keys) == 1 else tuple(item.get(key, "") for key in keys)


def _check_value(field: Field, value: Any, old: Any, path: Path, out: Out, update: bool) -> None:
    """Stage 2 of a field: the rules about a value that is set."""
    of = field.type
    if of.kind == "struct":
        check_declared(of, value, old, path, out, update)
    elif of.kind == "list" and of.item:
        _check_items(field, of.item, value, old, path, out, update)
    elif of.kind == "string":
        if of.enum is not None and value not in of.enum:
            out.append(not_supported(path, write_json(value), tuple(sorted(of.enum))))
        if find := FORMATS.get(field.format or ""):
            rule = "format-" + (field.format or "").removeprefix("k8s-")
            out += (invalid(path, value, message, rule) for message in find(value))
        for unit, limit in field.lengths:
            if len(value if unit == "characters" else value.encode()) > limit:
                out.append(too_long(path, limit, unit if limit != 1 else unit[:-1], "max-items"))
    else:
        if field.minimum is not None and value < field.minimum:
            out.append(invalid(path, value, f"must be greater than or equal to {field.minimum}", "minimum"))
        if field.maximum is not None and value > field.maximum:
            out.append(invalid(path, value, f"must be less than or equal to {field.maximum}", "maximum"))


def _check_items(field: Field, item: Type, value: Any, old: Any, path: Path, out: Out, update: bool) -> None:
    stored = {}
    if field.unique:
        for index in sorted(find_repeated(_key(entry, field) for entry in value)):
            out.append(duplicate((*path, index), write_json(to_api(item, value[index]))))
        stored = {_key(entry, field): entry for entry in reversed(old or ())}  # of twins the first counts
    if item.kind != "struct":
        return
    for index, entry in enumerate(value):
        before = stored.get(_key(entry, field)) if stored else None
        if before is None or before != entry:
            check_declared(item, entry, before, (*path, index), out, update)
