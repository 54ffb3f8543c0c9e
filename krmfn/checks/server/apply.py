"""What an apply makes of a manifest: the body of the update that follows.

Two ways. `keep_filled` is the three-way apply of kubectl and Argo CD: what the server filled in stays, what the old
manifest said and the new one does not is gone. `merge_applied` is server-side apply by one forced field manager.

Values here are JSON as written, not normal. Sources: k8s.io/apimachinery/pkg/util/{jsonmergepatch,strategicpatch} and
sigs.k8s.io/structured-merge-diff; section 2.5 of the reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krmfn.checks.server.spell import write_json
from krmfn.checks.server.types import Field, Type
from krmfn.krm.paths import Path
from krmfn.krm.records import NamedTuple


def keep_filled(new: Any, old: Any, stored: Any) -> Any:
    """`new` with what `stored` has and neither manifest mentions."""
    if not isinstance(new, dict) or not isinstance(stored, dict):
        return new
    before = old if isinstance(old, dict) else {}
    out = dict(new)
    for key, value in stored.items():
        if key in out:
            out[key] = keep_filled(out[key], before.get(key), value)
        elif key not in before:
            out[key] = value
    return out


class Misfit(NamedTuple):
    """What the server cannot type: the field, the field as the server names it (items by key), the text."""

    path: Path
    label: str
    text: str


class BadPatch(ValueError):
    """The server cannot type the applied manifest (HTTP 500)."""

    def __init__(self, problems: tuple[Misfit, ...]) -> None:
        super().__init__(problems[0].text if problems else "")
        self.problems = problems


class _Keys(NamedTuple):
    """How items of a list are told apart: by the values of keys, or (`keys` empty) by themselves."""

    keys: tuple[str, ...]

    def of(self, item: Any) -> Any:
        if not self.keys:
            return repr(item)
        # A key that is left out has its zero value: every key of the API is a plain field.
        return tuple(repr(item.get(key, "")) for key in self.keys) if isinstance(item, Mapping) else repr(item)


def merge_applied(root: Type, live: Any, old: Any, new: Any) -> Any:
    """The object after `new` was applied over `live`, when `old` was what the same manager had applied before.

    Raises BadPatch when the manifest does not fit the schema.
    """
    problems = tuple(_check(root, None, new, (), ""))
    if problems:
        raise BadPatch(problems)
    merged = _merge(root, None, live, new)
    pruned = _prune(root, None, merged, old, new)
    numbers: list[Misfit] = []
    body = _as_integers(root, pruned, (), numbers)
    if numbers:
        raise BadPatch(tuple(numbers))
    return body


def _is_open(of: Type, field: Field | None) -> bool:
    """Whether the value is merged by its parts."""
    return of.kind in ("struct", "map") or _list_keys(field) is not None


def _list_keys(field: Field | None) -> _Keys | None:
    """None for a list that is replaced as a whole."""
    if field is None or field.list_type not in ("map", "set"):
        return None
    return _Keys(field.list_keys if field.list_type == "map" else ())


def _is_atomic(of: Type, field: Field | None) -> bool:
    return (field is not None and field.map_type == "atomic") or of.keywords.get("x-kubernetes-map-type") == "atomic"


def _field_of(of: Type, key: str) -> tuple[Type | None, Field | None]:
    if of.kind == "map":
        return of.item, None
    field = of.fields.get(key)
    return (field.type, field) if field else (None, None)


def _merge(of: Type, field: Field | None, live: Any, new: Any) -> Any:
    if new is None and live and isinstance(live, (dict, list)) and not _is_atomic(of, field) and _is_open(of, field):
        return live  # a null container names nothing, so it takes nothing away by itself
    if of.kind in ("struct", "map") and isinstance(live, dict) and isinstance(new, dict) and not _is_atomic(of, field):
        out = dict(live)
        for key, value in new.items():
            inner, inner_field = _field_of(of, key)
            out[key] = _merge(inner, inner_field, live[key], value) if inner and key in live else value
        return out
    keys = _list_keys(field)
    if of.kind == "list" and of.item and keys and isinstance(live, list) and isinstance(new, list):
        held = {keys.of(item): item for item in live}
        wanted = {keys.of(item) for item in new}
        merged = [_merge(of.item, None, held[keys.of(item)], item) if keys.of(item) in held else item for item in new]
        return [item for item in live if keys.of(item) not in wanted] + merged
    return new


def _prune(of: Type, field: Field | None, merged: Any, old: Any, new: Any) -> Any:
    """Without what the manager owned before and does not name now. What is emptied by that is gone altogether."""
    if of.kind in ("struct", "map") and isinstance(merged, dict) and not _is_atomic(of, field):
        return _prune_keys(of, merged, old, new)
    keys = _list_keys(field)
    if of.kind == "list" and of.item and keys and isinstance(merged, list) and isinstance(old, list):
        return _prune_items(of.item, keys, merged, old, new if isinstance(new, list) else [])
    return merged


def _prune_keys(of: Type, merged: dict[str, Any], old: Any, new: Any) -> Any:
    if not isinstance(old, dict):
        return merged
    if not isinstance(new, dict):
        new = {}
    out = {}
    changed = False
    for key, value in merged.items():
        inner, inner_field = _field_of(of, key)
        left = inner and key in old and not (key in new and _names(inner, inner_field, new[key]))
        if inner and left and _names(inner, inner_field, old[key]) and _names(inner, inner_field, value):
            changed = True
            continue
        kept = _prune(inner, inner_field, value, old.get(key), new.get(key)) if inner and key in new else value
        changed = changed or kept is not value
        out[key] = kept
    if not changed:
        return merged
    return out or None


def _names(of: Type, field: Field | None, value: Any) -> bool:
    """Whether a manager that applies the value owns anything by it: not by an empty list that is merged by item."""
    if isinstance(value, list):
        return bool(value) or _list_keys(field) is None
    if of.kind != "struct" or not isinstance(value, dict) or not value or _is_atomic(of, field):
        return True
    fields = ((*_field_of(of, key), item) for key, item in value.items())
    return any(inner is None or _names(inner, inner_field, item) for inner, inner_field, item in fields)


def _prune_items(item: Type, keys: _Keys, merged: list[Any], old: list[Any], new: list[Any]) -> Any:
    before = {keys.of(entry): entry for entry in old}
    wanted = {keys.of(entry): entry for entry in new}
    out = []
    for entry in merged:
        key = keys.of(entry)
        if key in before and key not in wanted:
            continue
        out.append(_prune(item, None, entry, before.get(key), wanted.get(key)) if key in wanted else entry)
    if len(out) == len(merged) and all(kept is entry for kept, entry in zip(out, merged, strict=True)):
        return merged
    return out or None


def _check(of: Type, field: Field | None, value: Any, path: Path, label: str) -> Iterator[Misfit]:
    """What structured-merge-diff refuses. Of a wrong value the text ends at `got`: the rest is Go's inner view."""
    if value is None or of.kind == "any":
        return
    if of.kind in ("struct", "map"):
        if not isinstance(value, dict):
            yield Misfit(path, label, "expected map, got")
            return
        if of.kind == "struct" and not of.fields:
            return  # a type without fields is taken for one that may hold anything
        for key, item in value.items():
            inner, inner_field = _field_of(of, key)
            if inner is None:
                yield Misfit((*path, key), f"{label}.{key}", "field not declared in schema")
            else:
                yield from _check(inner, inner_field, item, (*path, key), f"{label}.{key}")
    elif of.kind == "list" and of.item:
        if not isinstance(value, list):
            yield Misfit(path, label, "expected list, got")
            return
        yield from _check_items(of.item, _list_keys(field), value, path, label)
    else:
        wanted = _wanted(of, value)
        if wanted:
            yield Misfit(path, label, f"expected {wanted}, got")


def _wanted(of: Type, value: Any) -> str:
    """The scalar that should stand here, empty when it does."""
    if of.kind in ("int32", "int64", "float64"):
        return "" if isinstance(value, (int, float)) and not isinstance(value, bool) else "numeric (int or float)"
    if of.kind == "bool":
        return "" if isinstance(value, bool) else "boolean"
    if of.kind in ("quantity", "intorstring", "time", "microtime") or isinstance(value, str):
        return ""
    return "string"


def _check_items(item: Type, keys: _Keys | None, value: list[Any], path: Path, label: str) -> Iterator[Misfit]:
    seen = set()
    for index, entry in enumerate(value):
        where = (*path, index)
        if keys is None:
            yield from _check(item, None, entry, where, f"{label}[{index}]")
            continue
        if not keys.keys and entry is None:
            text = "associative list without keys has an element that's an explicit null"
            yield Misfit(where, label, f"element {index}: {text}")
            continue
        if keys.keys and not isinstance(entry, dict):
            what = "a null element" if entry is None else "non-map elements"
            yield Misfit(where, label, f"element {index}: associative list with keys may not have {what}")
            continue
        name = keys.of(entry)
        if name in seen:
            yield Misfit(where, label, f"duplicate entries for key {_spell_item(keys, entry)}")
        seen.add(name)
        yield from _check(item, None, entry, where, label + _spell_item(keys, entry))


def _spell_item(keys: _Keys, entry: Any) -> str:
    """An item of a list in a path: `[name="a"]`, or `[="x"]` in a list of plain values."""
    if not keys.keys:
        return f"[={write_json(entry)}]"
    return "[" + ",".join(f"{key}={_spell_key(entry.get(key, ''))}" for key in keys.keys) + "]"


def _spell_key(value: Any) -> str:
    """A key's value, also one that is no text: the server names it before it refuses it."""
    if isinstance(value, dict):
        return "".join(f"{key}={_spell_key(value[key])}" for key in sorted(value))
    if isinstance(value, list):
        return "[" + ",".join(map(_spell_key, value)) + "]"
    return write_json(value)


def _as_integers(of: Type, value: Any, path: Path, problems: list[Misfit]) -> Any:
    """Numbers as the server converts them: a whole number is an integer however it is spelled, too large ones wrap."""
    if of.kind in ("int32", "int64") and isinstance(value, (int, float)) and not isinstance(value, bool):
        if isinstance(value, float):
            if not value.is_integer():
                problems.append(Misfit(path, "", f"cannot convert float64 to {of.kind}"))
                return value
            value = int(value)
        if not -(2**63) <= value < 2**63:
            value = -(2**63)
        half = 2**31 if of.kind == "int32" else 2**63
        return (value + half) % (2 * half) - half
    if of.kind == "list" and of.item and isinstance(value, list):
        return [_as_integers(of.item, item, (*path, index), problems) for index, item in enumerate(value)]
    if of.kind == "struct" and not of.fields and isinstance(value, dict):
        return {}
    if of.kind in ("struct", "map") and isinstance(value, dict):
        out = {}
        for key, item in value.items():
            inner, _ = _field_of(of, key)
            out[key] = _as_integers(inner, item, (*path, key), problems) if inner else item
        return out
    return value
