"""What becomes of a live object when kubectl or Argo CD apply a manifest: a strategic merge patch, made and merged.

Values here are JSON as written, not normal. Source: k8s.io/apimachinery/pkg/util/strategicpatch, which
`python -m conformance patches` asks. Must not know whether the result is allowed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from krmfn.checks.server.ownership import field_of
from krmfn.checks.server.schema import Field, Type
from krmfn.krm.types import Any


def keep_filled(of: Type, new: Any, old: Any, stored: Any, field: Field | None = None) -> Any:
    """`new` with what `stored` has and neither manifest mentions, as a strategic merge patch leaves it."""
    if of.kind in ("struct", "map") and isinstance(new, dict) and isinstance(stored, dict):
        return _keep_keys(of, new, old if isinstance(old, dict) else {}, stored, field)
    if field is not None and "merge" in field.patch and isinstance(new, list) and isinstance(stored, list):
        return _keep_items(of, field, new, old if isinstance(old, list) else [], stored)
    return new


def _keep_keys(of: Type, new: dict[str, Any], old: dict[str, Any], stored: dict[str, Any], field: Field | None) -> Any:
    out = {}
    for key, value in new.items():
        inner, inner_field = field_of(of, key)
        if value is None and inner:
            continue
        merged = inner_field is not None and inner_field.patch and isinstance(value, list)
        if inner and (key in stored or merged):
            out[key] = keep_filled(inner, value, old.get(key), stored.get(key, []), inner_field)
        else:
            out[key] = _without_nulls(value)
    for key, value in stored.items():
        if key not in new and key not in old:
            out[key] = value
    named = {key for key, value in new.items() if value is not None}
    if named and field is not None and "retainKeys" in field.patch:
        return {key: value for key, value in out.items() if key in named}  # one member instead of another
    return out


def _without_nulls(value: Any) -> Any:
    """A patch takes a null for something that goes, so that a new part has none."""
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(item) for key, item in value.items() if item is not None}


def _keep_items(of: Type, field: Field, new: list[Any], old: list[Any], stored: list[Any]) -> list[Any]:
    """A list that is merged item by item: those of the server stay, those that the old manifest had go."""
    item = of.item
    if item is None or not (field.patch_key or item.kind == "string"):
        return new
    if not field.patch_key and all(isinstance(one, str) for one in (*new, *old)):
        return _keep_names(new, old, stored)
    if not stored:
        return new

    def identify(one: Any) -> Any:
        return repr(one.get(field.patch_key)) if isinstance(one, dict) else repr(one)

    repeated = {key for items in (new, stored) for key, count in Counter(map(identify, items)).items() if count > 1}
    if repeated:
        # Items that are named alike are taken for one another. Those that stay as they were change nothing.
        alike = [[one for one in items if identify(one) in repeated] for items in (new, old, stored)]
        single = [[one for one in items if identify(one) not in repeated] for items in (new, old, stored)]
        if alike[0] == alike[1]:
            merged = _keep_items(of, field, *single)
            return stored if merged == single[2] else [*alike[2], *merged]
    was, held = {identify(one): one for one in old}, {identify(one): one for one in stored}
    wanted = {identify(one): one for one in new}
    out = dict(held)
    for key, one in wanted.items():
        out[key] = keep_filled(item, one, was.get(key), held[key], field) if key in held else one
    kept = [key for key in held if key in wanted or key not in was]
    # The server merges within the array of the live list: what is new takes the places of what is gone, and so has a
    # place in the order of the live list.
    order = [*kept, *(key for key in wanted if key not in held)][: len(held)]
    return [out[key] for key in _place([key for key in kept if key not in wanted], list(wanted), order)]


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
