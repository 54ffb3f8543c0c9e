"""What a field manager had applied to a live object, read from `metadata.managedFields`.

The part that it alone owns is what a server-side apply takes away when the manifest does not name it any more.

Source: sigs.k8s.io/structured-merge-diff/fieldpath (serialize.go): `f:` is a field, `k:` an item by its keys, `v:` an
item by its value, `i:` an item by its place, `.` the place itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from krmfn.krm.json_reading import load_json
from krmfn.server.schema import Field, Type

Fields: TypeAlias = "Mapping[str, Any]"


def is_atomic(of: Type, field: Field | None) -> bool:
    """Whether an object is replaced as a whole."""
    return (field is not None and field.map_type == "atomic") or of.keywords.get("x-kubernetes-map-type") == "atomic"


def field_of(of: Type, key: str) -> tuple[Type | None, Field | None]:
    """What stands behind a key of an object."""
    if of.kind == "map":
        return of.item, None
    field = of.fields.get(key)
    return (field.type, field) if field else (None, None)


def read_applied(root: Type, live: Mapping[str, Any], manifest: Any) -> tuple[Any, list[Any]]:
    """The part of a live object that the applier of a manifest owns, as if it was the manifest that it had applied
    before, and the parts that others own. {} where nobody has applied the object.

    Nobody knows who will apply the manifest: of several appliers that one is taken who owns most of what it says.
    """
    entries = [entry for entry in live["metadata"].get("managedFields", ()) if isinstance(entry.get("fieldsV1"), dict)]
    appliers = [entry for entry in entries if entry.get("operation") == "Apply" and not entry.get("subresource")]
    if not appliers:
        return {}, []
    mine = max(appliers, key=lambda entry: _count(manifest, entry["fieldsV1"]))
    parts = [_take(root, None, live, entry["fieldsV1"]) for entry in entries if entry is not mine]
    return _take(root, None, live, mine["fieldsV1"]) or {}, [part for part in parts if part]


def _count(value: Any, fields: Fields) -> int:
    """How many of the places that have no places below them are there in a value."""
    parts = {key: below for key, below in fields.items() if key != "."}
    if not parts:
        return 1
    if isinstance(value, dict):
        return sum(_count(value[key[2:]], below) for key, below in parts.items() if key[2:] in value)
    if isinstance(value, list):
        found = ((_find(value, key), below) for key, below in parts.items())
        return sum(_count(item, below) for item, below in found if item is not None)
    return 0


def _take(of: Type | None, field: Field | None, value: Any, fields: Fields) -> Any:
    """The part of a value that the fields name; None where nothing of it is there. A place whose parts are not told
    apart is taken whole; one that is merged by its parts, of which none is named, was applied empty."""
    parts = {key: below for key, below in fields.items() if key != "."}
    if not parts:
        merged = isinstance(value, dict) and of and of.kind in ("struct", "map") and not is_atomic(of, field)
        return {} if merged else value
    if isinstance(value, dict):
        out = {}
        for key, below in parts.items():
            name = key[2:]
            if name in value:
                inner, inner_field = field_of(of, name) if of and of.kind in ("struct", "map") else (None, None)
                out[name] = _take(inner, inner_field, value[name], below)
        return {key: part for key, part in out.items() if part is not None} or None
    if not isinstance(value, list):
        return value
    items = []
    for key, below in parts.items():
        item = _find(value, key)
        part = None if item is None else _take(of.item if of else None, None, item, below)
        if isinstance(part, dict) and key[:2] == "k:":
            part = {**load_json(key[2:]), **part}
        if part is not None:
            items.append(part)
    return items or None


def _find(items: list[Any], key: str) -> Any:
    """The item of a list that a part of a path names; None when there is none."""
    try:
        wanted = load_json(key[2:])
    except ValueError:
        return None
    if key[:2] == "k:" and isinstance(wanted, dict):
        for item in items:
            if isinstance(item, dict) and all(item.get(name) == part for name, part in wanted.items()):
                return item
    elif key[:2] == "v:":
        return wanted if wanted in items else None
    elif key[:2] == "i:" and isinstance(wanted, int) and wanted < len(items):
        return items[wanted]
    return None
