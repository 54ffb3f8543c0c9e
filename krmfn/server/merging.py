"""Server-side apply as sigs.k8s.io/structured-merge-diff does it: whether a manifest fits the types, what it adds to
the stored object, and what goes because its manager names it no longer. Values are JSON as written."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.values import Fields, Value
from krmfn.server.schema import Field, Type, field_of
from krmfn.server.spell import write_json
from krmfn.server.threeway import is_atomic
from krmfn.server.verdict import Cause, Causes, Out


class BadPatch(ValueError):
    """The server cannot type the applied manifest (HTTP 500). `converting`: its numbers, not its shape."""

    def __init__(self, problems: tuple[Cause, ...], converting: bool = False) -> None:
        super().__init__(problems[0].message)
        self.problems, self.converting = problems, converting


def merge_applied(root: Type, live: Any, old: Any, new: Any, others: Sequence[Any] = ()) -> Any:
    """The object after a manager has applied `new` over `live`, and `old` before. What `others` own stays.

    Raises BadPatch when the manifest does not fit the types.
    """
    problems = tuple(_check(root, None, new, (), ""))
    if problems:
        raise BadPatch(problems)
    merged = _merge(root, None, live, new)
    pruned = _prune(root, None, merged, old, new, others)
    numbers: Out = []
    body = _as_integers(root, pruned, (), numbers)
    if numbers:
        raise BadPatch(tuple(numbers), converting=True)
    return body


def _check(of: Type, field: Field | None, value: Any, path: Path, label: str) -> Causes:
    """What structured-merge-diff refuses. Of a wrong value the text ends at `got`: the rest is Go's inner view."""
    if value is None or of.kind == "any":
        return
    if of.kind in ("struct", "map"):
        if not isinstance(value, dict):
            yield _misfit(path, label, "expected map, got")
            return
        if of.kind == "struct" and not of.fields:
            return  # a type without fields is taken for one that may hold anything
        is_open = of.keywords.get("x-kubernetes-preserve-unknown-fields")
        for key, item in value.items():
            inner, inner_field = field_of(of, key)
            if inner:
                yield from _check(inner, inner_field, item, (*path, key), f"{label}.{key}")
            elif not is_open:
                yield _misfit((*path, key), f"{label}.{key}", "field not declared in schema", "unknown-field")
    elif of.kind == "list" and of.item:
        if not isinstance(value, list):
            yield _misfit(path, label, "expected list, got")
            return
        yield from _check_items(of.item, _list_keys(field), value, path, label)
    else:
        expected = _find_expected(of, value)
        if expected:
            yield _misfit(path, label, f"expected {expected}, got")


def _check_items(item: Type, keys: Value | None, value: list[Any], path: Path, label: str) -> Causes:
    seen = set()
    for index, entry in enumerate(value):
        where = (*path, index)
        if keys is None:
            yield from _check(item, None, entry, where, f"{label}[{index}]")
        elif wrong := _find_misplaced(item, keys, entry):
            yield _misfit(where, label, f"element {index}: {wrong}")
        else:
            name, spelled = _identify(keys, entry), _spell_item(keys, entry)
            if name in seen:
                yield _misfit(where, label, f"duplicate entries for key {spelled}", "unique-key")
            seen.add(name)
            yield from _check(item, None, entry, where, label + spelled)


def _find_misplaced(item: Type, keys: Value, entry: Any) -> str:
    """Why something cannot be an item of a list that is merged; "" where it can.

    Of built-in kinds all items have a key, at least by default, but for references to objects.
    """
    if not keys:
        if isinstance(entry, list):
            return "not supported: associative list with lists as elements"
        what = "an explicit null" if entry is None else "a map type" if isinstance(entry, dict) else ""
        return f"associative list without keys has an element that's {what}" if what else ""
    if not isinstance(entry, dict):
        what = "a null element" if entry is None else "non-map elements"
        return f"associative list with keys may not have {what}"
    is_known = item.go not in ("", "v1.ObjectReference")
    if is_known or any(key in entry or item.fields[key].default is not None for key in keys):
        return ""
    listed = " ".join(f'"{key}"' for key in keys)
    return (
        f"associative list with keys has an element that omits all key fields [{listed}]"
        " (and doesn't have default values for any key fields)"
    )


def _find_expected(of: Type, value: Any) -> str:
    """The scalar that is expected instead of this value, "" when the value is one."""
    if of.kind in ("int32", "int64", "float64"):
        return "" if type(value) in (int, float) else "numeric (int or float)"
    if of.kind == "bool":
        return "" if isinstance(value, bool) else "boolean"
    if of.kind == "intorstring":
        return ""  # it fits whatever it is, and is refused when it is decoded
    if of.kind in ("quantity", "time", "microtime"):
        return "any scalar" if isinstance(value, (dict, list)) else ""
    return "" if isinstance(value, str) else "string"


def _misfit(path: Path, label: str, text: str, rule: str = "wrong-type") -> Cause:
    """`label` is the field as the server names it: items by their key."""
    return Cause("Decode", path, f"{label}: {text}", rule)


def _spell_item(keys: Value, entry: Any) -> str:
    """An item of a list in a path: `[name="a"]`, or `[="x"]` in a list of plain values."""
    if not keys:
        return f"[={write_json(entry)}]"
    return "[" + ",".join(f"{key}={_spell_key(entry.get(key, unset))}" for key, unset in keys.items()) + "]"


def _spell_key(value: Any) -> str:
    """A key's value, also one that is not a text: the server names it before it refuses it."""
    if isinstance(value, dict):
        return "".join(f"{key}={_spell_key(value[key])}" for key in sorted(value))
    if isinstance(value, list):
        return "[" + ",".join(map(_spell_key, value)) + "]"
    return write_json(value)


def _merge(of: Type, field: Field | None, live: Any, new: Any) -> Any:
    if new is None and live and _is_merged(of, field, live):
        return live  # a null container names nothing, so it takes nothing away by itself
    if not _is_merged(of, field, live, new):
        return new
    held, merged = dict(_list_parts(field, live)), {}
    for key, value in _list_parts(field, new):
        inner, inner_field = field_of(of, key)
        merged[key] = _merge(inner, inner_field, held[key], value) if inner and key in held else value
    return held | merged if isinstance(new, dict) else _interleave(_list_parts(field, live), merged)


def _interleave(live: list[tuple[Any, Any]], mine: Fields) -> list[Any]:
    """The items of both lists in the order that the server gives them: its own stay in front of what they stood in
    front of, as far as the order of the others allows."""
    waiting, out = deque(live), []
    known = {key for key, _ in live}
    shared = deque(key for key in mine if key in known)
    for key, item in mine.items():
        while waiting:
            next_key, theirs = waiting[0]
            if next_key not in mine:
                out.append(theirs)
            elif not shared or next_key == shared[0]:
                break
            waiting.popleft()
        if waiting and (not shared or waiting[0][0] == key):
            waiting.popleft()
        out.append(item)
        if shared and shared[0] == key:
            shared.popleft()
    return [*out, *(theirs for key, theirs in waiting if key not in mine)]


def _prune(of: Type, field: Field | None, merged: Any, old: Any, new: Any, others: Sequence[Any] = ()) -> Any:
    """Without what the manager owned before and neither names now nor shares with `others`; None where that is all."""
    if not _is_merged(of, field, merged, old):
        return merged
    before, wanted, *theirs = (dict(_list_parts(field, value)) for value in (old, new, *others))
    out = []
    changed = False
    for key, value in _list_parts(field, merged):
        inner, inner_field = field_of(of, key)
        owned = [parts[key] for parts in theirs if key in parts]
        kept = value
        if inner:
            was_mine = key in before and _owns(inner, inner_field, before[key])
            is_mine = key in wanted and _owns(inner, inner_field, wanted[key])
            if was_mine and not is_mine and _owns(inner, inner_field, value):
                changed = True
                kept = _unite(inner, inner_field, owned)
                if kept is None:
                    continue
            elif key in wanted:
                kept = _prune(inner, inner_field, value, before.get(key), wanted[key], owned)
        changed = changed or kept is not value
        out.append((key, kept))
    if not changed:
        return merged
    return (dict(out) if isinstance(merged, dict) else [kept for _, kept in out]) or None


def _owns(of: Type, field: Field | None, value: Any) -> bool:
    """Whether a manager that applies the value owns anything by it: not by an empty list that is merged by item."""
    if isinstance(value, list):
        return bool(value) or _list_keys(field) is None
    if of.kind != "struct" or not isinstance(value, dict) or not value or is_atomic(of, field):
        return True
    fields = ((*field_of(of, key), item) for key, item in value.items())
    return any(inner is None or _owns(inner, inner_field, item) for inner, inner_field, item in fields)


def _unite(of: Type, field: Field | None, parts: Sequence[Any]) -> Any:
    """What several managers own of a place; None where nobody owns anything."""
    found = None
    for part in parts:
        found = part if found is None else _merge(of, field, found, part)
    return found


def _is_merged(of: Type, field: Field | None, *values: Any) -> bool:
    """Whether values of a place are merged part by part."""
    if of.kind in ("struct", "map"):
        return not is_atomic(of, field) and all(isinstance(value, dict) for value in values)
    return _list_keys(field) is not None and all(isinstance(value, list) for value in values)


def _list_parts(field: Field | None, value: Any) -> list[tuple[Any, Any]]:
    """The parts of a value that is merged, each behind its key."""
    keys = _list_keys(field)
    if isinstance(value, list) and keys is not None:
        return [(_identify(keys, item), item) for item in value]
    return list(value.items()) if isinstance(value, dict) else []


def _list_keys(field: Field | None) -> Value | None:
    """The keys by which items of a list are told apart, with their defaults: none for a set, whose items are their own
    keys; None for a list that is replaced as a whole."""
    if field is None or field.list_type not in ("map", "set"):
        return None
    fields = field.type.item.fields if field.type.item and field.list_type == "map" else {}
    defaults = {key: fields[key].default for key in field.list_keys if key in fields}
    return {key: "" if default is None else default for key, default in defaults.items()}


def _identify(keys: Value, item: Any) -> Any:
    if not keys or not isinstance(item, dict):
        return repr(item)
    return tuple(repr(item.get(key, unset)) for key, unset in keys.items())


def _as_integers(of: Type | None, value: Any, path: Path, problems: Out) -> Any:
    """Numbers as the server converts them: a whole number is an integer however it is spelled, too large ones wrap."""
    if of is None:
        return value
    if of.kind in ("int32", "int64") and type(value) in (int, float):
        if isinstance(value, float):
            if not value.is_integer():
                problems.append(Cause("Decode", path, f"cannot convert float64 to {of.kind}", "wrong-type"))
                return value
            value = int(value)
        if not -(2**63) <= value < 2**63:
            value = -(2**63)
        half = 2**31 if of.kind == "int32" else 2**63
        return (value + half) % (2 * half) - half
    if of.kind == "list" and isinstance(value, list):
        return [_as_integers(of.item, item, (*path, index), problems) for index, item in enumerate(value)]
    if of.kind == "struct" and not of.fields and isinstance(value, dict):
        return {}
    if of.kind in ("struct", "map") and isinstance(value, dict):
        return {key: _as_integers(field_of(of, key)[0], item, (*path, key), problems) for key, item in value.items()}
    return value
