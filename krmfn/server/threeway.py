"""What becomes of a live object when a manifest is applied: kubectl's and Argo CD's strategic merge patch, made and
merged; and what a field manager had applied before, by `metadata.managedFields`.

Values here are JSON as written, not normal. Must not know whether the result is allowed. Sources:
k8s.io/apimachinery/pkg/util/strategicpatch, which `python -m conformance patches` asks;
sigs.k8s.io/structured-merge-diff/fieldpath (serialize.go): `f:` is a field, `k:` an item by its keys, `v:` an item by
its value, `.` the place itself. What a list has at a place (`i:`) nobody owns: such lists are owned as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from krmfn.krm.json_reading import load_json
from krmfn.krm.paths import walk_values
from krmfn.model.values import Fields, Value, as_list, as_mapping, group_by
from krmfn.server.schema import Field, Type, field_of


def keep_filled(of: Type, new: Any, old: Any, stored: Any, field: Field | None = None) -> Any:
    """`new` with what `stored` has and neither manifest mentions, as a strategic merge patch leaves it."""
    if of.kind in ("struct", "map") and isinstance(new, dict) and isinstance(stored, dict):
        return _keep_keys(of, new, old if isinstance(old, dict) else {}, stored, field)
    if field is not None and "merge" in field.patch_strategy and isinstance(new, list) and isinstance(stored, list):
        return _keep_items(field, new, old if isinstance(old, list) else [], stored)
    return new


def _keep_keys(of: Type, new: Fields, old: Fields, stored: Fields, field: Field | None) -> Any:
    out = {}
    for key, value in new.items():
        inner, inner_field = field_of(of, key)
        if value is None and inner:
            continue
        merged = inner_field is not None and inner_field.patch_strategy and isinstance(value, list)
        if inner and (key in stored or merged):
            out[key] = keep_filled(inner, value, old.get(key), stored.get(key, []), inner_field)
        else:
            out[key] = _without_nulls(value)
    out |= {key: value for key, value in stored.items() if key not in new and key not in old}
    named = {key for key, value in new.items() if value is not None}
    if named and field is not None and "retainKeys" in field.patch_strategy:
        return {key: value for key, value in out.items() if key in named}  # one member instead of another
    return out


def _without_nulls(value: Any) -> Any:
    """A patch takes a null for something that goes, so that a new part has none."""
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(item) for key, item in value.items() if item is not None}


def _keep_items(field: Field, new: list[Any], old: list[Any], stored: list[Any]) -> list[Any]:
    """A list that is merged item by item: those of the server stay, those that the old manifest had go."""
    item = field.type.item
    assert item is not None
    if not field.patch_merge_key and all(isinstance(one, str) for one in (*new, *old)):
        return _keep_names(new, old, stored)
    if not stored and all(one in new for one in old):
        return new

    def identify(one: Any) -> str:
        return repr(one.get(field.patch_merge_key)) if isinstance(one, dict) else repr(one)

    wanted, was, held = (group_by(identify, items) for items in (new, old, stored))
    out = dict(held)
    for key, mine in wanted.items():
        before, there = was.get(key, []), held.get(key, [])
        if max(len(mine), len(before), len(there)) == 1:
            known = before[0] if before else None
            out[key] = [keep_filled(item, mine[0], known, there[0], field)] if there else mine
        elif all(isinstance(one, dict) and field.patch_merge_key in one for one in mine):
            # A list that is new as a whole is not sorted.
            out[key] = _merge_alike(item, field, mine if stored else mine[::-1], before, there)
        else:
            out[key] = mine  # kubectl cannot merge these
    if out == held and list(map(identify, new)) == list(map(identify, stored)):
        return stored
    kept = [key for key in held if key in wanted or key not in was]
    # The server merges within the array of the live list: what is new takes the places of what is gone, and so has a
    # place in the order of the live list.
    order = [*kept, *(key for key in wanted if key not in held)][: len(held)]
    placed = _place([key for key in kept if key not in wanted], list(wanted), order)
    return [one for key in placed for one in out[key]]


def _merge_alike(of: Type, field: Field, new: list[Any], old: list[Any], stored: list[Any]) -> list[Any]:
    """Items with one key, such as a port for TCP and for UDP. kubectl compares them one by one from the last to the
    first, but the server finds an item by its key: it deletes all, and merges every other change into the first."""
    wanted = new[::-1]
    gone = [patch for pair in zip(old[::-1], wanted, strict=False) if (patch := _compare(*pair, added=False))]
    changed = [patch for pair in zip(stored[::-1], wanted, strict=False) if (patch := _compare(*pair, added=True))]
    changed += wanted[len(stored) :]
    if len(old) > len(new):
        if not gone:
            return []  # what changed was merged into the order to delete
        stored = []
    out = list(stored)
    for patch in (*gone[:1], *changed, *gone[1:]):
        first = out[0] if out else {field.patch_merge_key: new[0][field.patch_merge_key]}
        out[:1] = [keep_filled(of, patch, {}, first, field)]
    return out


def _compare(before: Any, after: Any, added: bool) -> Fields:
    """The patch between two items: what was `added` or changed, else what is gone."""
    out: Fields = {}
    for key, value in after.items():
        was = before.get(key)
        if isinstance(was, dict) and isinstance(value, dict):
            inner = _compare(was, value, added)
            out |= {key: inner} if inner else {}
        elif added and (key not in before or was != value):
            out[key] = value
    return out if added else out | {key: None for key in before if key not in after}


def _keep_names(new: list[Any], old: list[Any], stored: list[Any]) -> list[Any]:
    """A list of names, which are counted: of two in the old manifest and one in the new, one goes; but then all of that
    name go."""
    gone = Counter(old) - Counter(new)
    added = Counter(new) - Counter(stored)
    if not gone and (not stored or sorted(stored) == new):
        return stored or new  # kubectl sorts what it compares: the order alone is no change here
    there = list(dict.fromkeys([*stored, *new])) if added and stored else stored or new
    theirs, mine = ([name for name in there if (name in new) == own] for own in (False, True))
    theirs.sort(key=stored.index)
    mine.sort(key=new.index)
    return [name for name in _place(theirs, mine, stored) if name not in gone]


def _place(theirs: list[Any], mine: list[Any], order: Sequence[Any]) -> list[Any]:
    """Both lists as one: the server's stay in front of what they stood in front of; what is new is before them."""
    out = []
    while theirs and mine:
        first = mine[0] in order and order.index(theirs[0]) < order.index(mine[0])
        out.append((theirs if first else mine).pop(0))
    return [*out, *theirs, *mine]


def is_atomic(of: Type, field: Field | None) -> bool:
    """Whether an object is replaced as a whole."""
    return (field is not None and field.map_type == "atomic") or of.keywords.get("x-kubernetes-map-type") == "atomic"


def list_managers(live: Value) -> list[Value]:
    """The entries of managedFields that say what their manager owns. What no server writes there counts for nothing."""
    entries = map(as_mapping, as_list(live, "metadata", "managedFields"))
    return [entry for entry in entries if isinstance(entry.get("fieldsV1"), dict)]


def read_applied(root: Type, live: Value, manifest: Any) -> tuple[Any, list[Any]]:
    """The part of a live object that the applier of a manifest owns, as if it was the manifest that it had applied
    before, and the parts that others own. {} where nobody has applied the object.

    Nobody knows who will apply the manifest: of several appliers that one is taken who owns most of what it says.
    """
    entries = list_managers(live)
    appliers = [entry for entry in entries if entry.get("operation") == "Apply" and not entry.get("subresource")]
    if not appliers:
        return {}, []
    mine = max(appliers, key=lambda entry: len([*walk_values(_take(root, None, manifest, entry["fieldsV1"]))]))
    parts = [_take(root, None, live, entry["fieldsV1"]) for entry in entries if entry is not mine]
    return _take(root, None, live, mine["fieldsV1"]) or {}, [part for part in parts if part]


def _take(of: Type | None, field: Field | None, value: Any, fields: object) -> Any:
    """The part of a value that the fields name; None where nothing of it is there. A place whose parts are not told
    apart is taken whole; one that is merged by its parts, of which none is named, was applied empty."""
    parts = {key: below for key, below in as_mapping(fields).items() if key != "."}
    if not parts or not isinstance(value, dict | list):
        merged = isinstance(value, dict) and of and of.kind in ("struct", "map") and not is_atomic(of, field)
        return {} if merged else value
    found = {}
    for key, below in parts.items():
        item = _find(value, key)
        inner, inner_field = field_of(of, key[2:])
        part = None if item is None else _take(inner, inner_field, item, below)
        if isinstance(value, list) and isinstance(part, dict) and key[:2] == "k:":
            part = {**load_json(key[2:]), **part}
        if part is not None:
            found[key[2:]] = part
    return (found if isinstance(value, dict) else list(found.values())) or None


def _find(value: Fields | list[Any], key: str) -> Any:
    """What a part of a path names in an object or a list; None where there is nothing."""
    if isinstance(value, dict):
        return value.get(key[2:])
    try:
        wanted = load_json(key[2:])
    except ValueError:
        return None
    if key[:2] == "v:":
        return wanted if wanted in value else None
    if key[:2] != "k:" or not isinstance(wanted, dict):
        return None
    return next((item for item in value if isinstance(item, dict) and wanted.items() <= item.items()), None)
