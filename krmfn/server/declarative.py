"""The declarative rules: one walk over the new object, in step with the old one on an update.

The walk follows the server's generated code: unchanged fields are not looked at again; stage 1 of a field (required,
forbidden, immutable, no-set, no-unset, added and removed items, maxItems) ends it when it finds something; stage 2
looks at the value; list items are paired by key. Knows keywords, no kinds. Values are normal (see decode).

Source: k8s.io/apimachinery/pkg/api/validate and the generated validation of k8s.io/kubernetes; reference, 2.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from krmfn.krm.paths import Path
from krmfn.model.values import Fields, Value
from krmfn.server.formats import FORMATS
from krmfn.server.schema import Field, Type
from krmfn.server.spell import to_api, write_json
from krmfn.server.verdict import Cause, duplicate, forbidden, invalid, not_supported, required, too_long, too_many

Out = list[Cause]
Check: TypeAlias = "Callable[[Any, Any, Path, Out], None]"

_EMPTY: Fields = {}


def check_create(of: Type, new: Fields, path: Path, out: Out) -> None:
    """Append what the declarative rules refuse in a new object."""
    _walker(of, False)(new, None, path, out)


def check_update(of: Type, new: Value, old: Value, out: Out) -> None:
    """Append what the declarative rules refuse in a change from `old` to `new`."""
    _walker(of, True)(new, old, (), out)


def _walker(of: Type, update: bool) -> Check:
    key = "update" if update else "create"
    made: Check | None = of.cache.get(key)
    if made is None:
        made = of.cache[key] = _make_struct(of, update)
    return made


def _make_struct(of: Type, update: bool, step: Path = ()) -> Check:
    """The check of one struct, `step` below the path that it gets. `old` is None when there is nothing to compare with,
    also in an update (a new item)."""
    checks: list[tuple[str, Check, Check | None, bool, bool]] = []
    prepared = False

    union = of.union
    members = frozenset(union)

    def check_struct(new: Any, old: Any, path: Path, out: Out) -> None:
        nonlocal prepared
        if not prepared:
            checks.extend(_field_checks(of, update))
            prepared = True
        path += step
        if union and len(members & new.keys()) != 1:
            _check_union(union, new, old, path, out)
        if old is None:
            for name, check, check_set, is_struct, when_unset in checks:
                if name in new:
                    if check_set:
                        check_set(new[name], None, path, out)
                elif when_unset:
                    check(_EMPTY if is_struct else None, None, path, out)
        else:
            for name, check, _, is_struct, _ in checks:
                value = new.get(name)
                before = old.get(name)
                if value != before:
                    if is_struct:
                        value = _EMPTY if value is None else value
                        before = _EMPTY if before is None else before
                    check(value, before, path, out)

    return check_struct


def _field_checks(of: Type, update: bool) -> list[tuple[str, Check, Check | None, bool, bool]]:
    """The fields with rules: name, check, what of it concerns a value that is set and was not, whether it is a plain
    struct, whether an unset one is checked."""
    out = []
    for field in of.fields.values():
        check, check_set = _make_field(field, update)
        if check:
            plain = field.type.kind == "struct" and not field.pointer
            speaks = plain or field.required or field.default is not None
            speaks = speaks or (update and (field.immutable or bool(field.update)))
            out.append((field.name, check, check_set, plain, speaks))
    return out


def _check_union(members: tuple[str, ...], new: Any, old: Any, path: Path, out: Out) -> None:
    present = [member for member in members if member in new]
    if old is not None and all((member in new) == (member in old) for member in members):
        return
    names = ", ".join(f"`{member}`" for member in members)
    if present:
        several = "{" + ", ".join(present) + "}"
        out.append(invalid(path, several, f"must specify exactly one of: {names}", "union"))
    else:
        out.append(invalid(path, "", f"must specify one of: {names}", "union"))


def _has_rules(of: Type, update: bool, seen: frozenset[int] = frozenset()) -> bool:
    """Whether a walk below this type can find anything; spares the walk over metadata and the like."""
    if of.kind in ("list", "map"):
        return of.item is not None and _has_rules(of.item, update, seen)
    if of.kind != "struct":
        return of.enum is not None
    if of.union:
        return True
    if id(of) in seen:
        return False
    seen |= {id(of)}
    return any(
        _has_own_rules(field, update) or (not field.opaque and _has_rules(field.type, update, seen))
        for field in of.fields.values()
    )


def _has_own_rules(field: Field, update: bool) -> bool:
    if update and (field.immutable or field.update):
        return True
    return bool(
        (field.required and not (field.type.kind == "struct" and not field.pointer))
        or field.forbidden
        or field.format in FORMATS
        or field.minimum is not None
        or field.maximum is not None
        or field.max_items is not None
        or field.lengths
        or field.unique
    )


def _make_field(field: Field, update: bool) -> tuple[Check | None, Check | None]:
    if not _has_own_rules(field, update) and (field.opaque or not _has_rules(field.type, update)):
        return None, None
    kind = field.type.kind
    name = field.name
    inner = _make_value(field, update)
    plain_struct = kind == "struct" and not field.pointer
    # "Optional fields with default values are effectively required": they are nil only when their gate dropped them.
    needed = (field.required or (field.default is not None and field.pointer and not field.gate)) and not plain_struct
    limit = field.max_items
    immutable = update and field.immutable
    no_set = update and "NoSet" in field.update
    no_unset = update and "NoUnset" in field.update
    no_add = update and "NoAddItem" in field.update
    no_remove = update and "NoRemoveItem" in field.update
    barred = field.forbidden
    keys = field.list_keys
    simple = not (immutable or no_set or no_unset or no_add or no_remove or barred or limit is not None)

    def check_simple(value: Any, old: Any, path: Path, out: Out) -> None:
        if value is None:
            if needed:
                out.append(required((*path, name)))
        elif inner:
            inner(value, old, path, out)

    if simple:
        asked = plain_struct or not (field.required or field.default is not None)
        # A create asks about what is set only.
        return inner if inner and asked and not update else check_simple, inner

    def check_field(value: Any, old: Any, path: Path, out: Out) -> None:
        before = len(out)
        unset = value is None
        if needed and unset:
            out.append(required((*path, name)))
        if barred and not unset:
            out.append(forbidden((*path, name), rule="feature-gate"))
        if immutable:
            out.append(invalid((*path, name), None, "field is immutable", "immutable"))
        if no_set and old is None and not unset:
            out.append(invalid((*path, name), None, "field cannot be set once created", "no-set"))
        if no_unset and old is not None and unset:
            out.append(invalid((*path, name), None, "field cannot be cleared once set", "no-unset"))
        if no_add and value:
            _check_added(value, old or (), keys, (*path, name), out)
        if no_remove and old:
            _check_removed(value or (), old, keys, (*path, name), out)
        if limit is not None and value is not None and len(value) > limit:
            out.append(too_many((*path, name), len(value), limit))
        if len(out) == before and not unset and inner:
            inner(value, old, path, out)

    return check_field, check_field


def _key(item: Any, keys: tuple[str, ...]) -> Any:
    return item.get(keys[0], "") if len(keys) == 1 else tuple(item.get(key, "") for key in keys)


def _check_added(value: Any, old: Any, keys: tuple[str, ...], path: Path, out: Out) -> None:
    known = {_key(item, keys) for item in old}
    for index, item in enumerate(value):
        if _key(item, keys) not in known:
            out.append(forbidden((*path, index), "item may not be added", "no-add-item"))


def _check_removed(value: Any, old: Any, keys: tuple[str, ...], path: Path, out: Out) -> None:
    kept = {_key(item, keys) for item in value}
    for item in old:
        if _key(item, keys) not in kept:
            out.append(forbidden(path, "item may not be removed", "no-remove-item"))


def _make_value(field: Field, update: bool) -> Check | None:
    """Stage 2: what is said about a value that is set. None when nothing can be."""
    of = field.type
    if field.opaque:
        return None
    if of.kind == "struct":
        return _make_struct(of, update, (field.name,)) if _has_rules(of, update) else None
    if of.kind == "list":
        return _make_items(field, update)
    if of.kind == "string" and (of.enum or field.lengths or field.format in FORMATS):
        return _make_string(field)
    if field.minimum is not None or field.maximum is not None:
        return _make_number(field)
    return None


def _make_string(field: Field) -> Check:
    name = field.name
    enum = field.type.enum
    format_name = field.format or ""
    find = FORMATS.get(format_name)
    rule = "format-" + format_name.removeprefix("k8s-")
    lengths = field.lengths

    def check_string(value: Any, old: Any, path: Path, out: Out) -> None:
        if enum is not None and value not in enum:
            out.append(not_supported((*path, name), write_json(value), tuple(sorted(enum))))
        if find:
            wrong = find(value)
            if wrong:
                out.extend(invalid((*path, name), value, message, rule) for message in wrong)
        for unit, limit in lengths:
            if len(value if unit == "characters" else value.encode()) > limit:
                out.append(too_long((*path, name), limit, unit if limit != 1 else unit[:-1], "max-items"))

    return check_string


def _make_number(field: Field) -> Check:
    name, least, most = field.name, field.minimum, field.maximum

    def check_number(value: Any, old: Any, path: Path, out: Out) -> None:
        if least is not None and value < least:
            out.append(invalid((*path, name), value, f"must be greater than or equal to {least}", "minimum"))
        if most is not None and value > most:
            out.append(invalid((*path, name), value, f"must be less than or equal to {most}", "maximum"))

    return check_number


def _make_items(field: Field, update: bool) -> Check | None:
    item = field.type.item
    assert item is not None
    name, unique, keys = field.name, field.unique, field.list_keys
    walks = item.kind == "struct" and _has_rules(item, update)
    if not walks and not unique:
        return None

    def check_items(value: Any, old: Any, path: Path, out: Out) -> None:
        if unique and len(value) > 1:
            _check_unique(item, value, keys, (*path, name), out)
        if not walks:
            return
        walk = _walker(item, update)
        paired: dict[Any, Any] = {}
        if old and unique:
            for before in reversed(old):
                paired[_key(before, keys)] = before
        for index, entry in enumerate(value):
            before = paired.get(_key(entry, keys)) if paired else None
            if before is None or before != entry:
                walk(entry, before, (*path, name, index), out)

    return check_items


def _check_unique(item: Type, value: Any, keys: tuple[str, ...], path: Path, out: Out) -> None:
    seen = set()
    for index, entry in enumerate(value):
        key = _key(entry, keys)
        if key in seen:
            out.append(duplicate((*path, index), write_json(to_api(item, entry))))
        seen.add(key)
