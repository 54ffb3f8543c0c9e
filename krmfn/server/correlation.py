"""What a value was before a change, and whether it is the same: entries of lists are told apart by their keys.

A server lets through what was wrong before and stays as it was. Source: k8s.io/apiextensions-apiserver/pkg/apiserver,
validation/ratcheting.go and k8s.io/apiserver/pkg/cel/common.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT
from krmfn.server.structure import Structure

Schema: TypeAlias = "Mapping[str, Any]"


def stays(structure: Structure, new: Any, old: Any, path: Path) -> bool:
    """Whether what a path leads to, or something on the way, is the same in both objects."""
    schema = structure.resolve(structure.root)
    for part in path:
        below = find_schema(structure, schema, part)
        old = find_old(structure, schema, new, old, part)
        if isinstance(new, dict):
            new = new.get(part, ABSENT)
        else:
            new = new[part] if isinstance(new, list) and isinstance(part, int) and part < len(new) else ABSENT
        if new is ABSENT or old is ABSENT:
            return False
        if is_same(structure, below, new, old):
            return True
        schema = below
    return False


def find_schema(structure: Structure, schema: Schema, part: str | int) -> Schema:
    """The schema of a field or an entry; empty where there is none."""
    if isinstance(part, int):
        below = schema.get("items")
    else:
        below = schema.get("properties", {}).get(part, schema.get("additionalProperties"))
    return structure.resolve(below) if isinstance(below, dict) else {}


def find_old(structure: Structure, schema: Schema, new: Any, old: Any, part: str | int) -> Any:
    """What a field or an entry of `new` was in `old`; ABSENT where nothing says which one it was."""
    if isinstance(part, str):
        atomic = schema.get("x-kubernetes-map-type") == "atomic"
        return old.get(part, ABSENT) if isinstance(old, dict) and not atomic else ABSENT
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list) or not isinstance(new, list):
        return ABSENT
    key = _read_key(structure, schema, new[part]) if part < len(new) else None
    return ABSENT if key is None else _index(structure, schema, old).get(key, ABSENT)


def _index(structure: Structure, schema: Schema, entries: list[Any]) -> Mapping[Any, Any]:
    """The entries of a list by their keys; the first one where several have the same."""
    if id(entries) not in structure.entries:
        found: dict[Any, Any] = {}
        for entry in entries:
            found.setdefault(_read_key(structure, schema, entry), entry)
        structure.entries[id(entries)] = entries, found  # with the list, so that no other one gets its id
    return structure.entries[id(entries)][1]


def _read_key(structure: Structure, schema: Schema, entry: Any) -> tuple[Any, ...] | None:
    """What tells an entry from others; None where a part of it is missing."""
    if not isinstance(entry, dict):
        return None
    fields = find_schema(structure, schema, 0).get("properties", {})
    names = schema.get("x-kubernetes-list-map-keys", ())
    key = [entry.get(name, structure.resolve(fields.get(name, {})).get("default")) for name in names]
    return None if None in key else tuple(repr(part) if isinstance(part, dict | list) else part for part in key)


def is_same(structure: Structure, schema: Schema, new: Any, old: Any) -> bool:
    """Whether two values are the same, wherever the entries of lists stand that have keys."""
    if isinstance(new, bool) != isinstance(old, bool):
        return False  # to Python, 1 is True
    if isinstance(new, dict) and isinstance(old, dict):
        return new.keys() == old.keys() and all(
            is_same(structure, find_schema(structure, schema, name), item, old[name]) for name, item in new.items()
        )
    if not isinstance(new, list) or not isinstance(old, list):
        return bool(new == old)
    if len(new) != len(old):
        return False
    keyed = schema.get("x-kubernetes-list-type") == "map"
    entries = find_schema(structure, schema, 0) if keyed else {}
    for place, item in enumerate(new):
        before = find_old(structure, schema, new, old, place) if keyed else old[place]
        # An entry of such a list without its keys is not known to be the one that it was.
        if before is ABSENT or not is_same(structure, entries, item, before):
            return False
    return True
