"""When a row of `schemas/kubernetes/` holds: its `when`, as functions of what knows the gates, of the struct that has
the field, and of the stored struct, which is None in a create.

What is asked about is the path of a field from the struct (`a.b`), the first field of several (`a|b`), a stored field
(`<a`), whether a gate is on (`@Gate`), or whether the kind is of the cluster (`@cluster`). See the README there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import reduce
from operator import not_
from typing import Any, TypeAlias

from krmfn.krm.paths import Path, dig
from krmfn.model.values import Value
from krmfn.server.spell import Key, read_written

Condition: TypeAlias = "Callable[[Any, Value, Value | None], bool]"
_CHANGES = ("changed", "rewritten")
#: The words that compare a field with another one; an absent number is 0.
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "as": lambda one, other: one == other,
    "unlike": lambda one, other: one != other,
    "over": lambda one, other: one is not None and one > (other or 0),
    "within": lambda one, other: one is not None and one <= (other or 0),
}


def read_conditions(row: Value, chosen: bool = False) -> Condition | None:
    """The `when` of a row as one condition; None where there is none. `chosen`: the row is chosen by the fields that a
    struct has, which need not be looked at again."""
    asked = row.get("when", {}).items()
    conditions = [_read(names, wanted) for names, wanted in asked if not (chosen and is_about_presence(names, wanted))]
    return reduce(_both, conditions) if conditions else None


def _both(one: Condition, other: Condition) -> Condition:
    return lambda kind, holder, old: one(kind, holder, old) and other(kind, holder, old)


def is_about_presence(names: str, wanted: Any) -> bool:
    """Whether the names of the fields that a struct has answer a condition."""
    return wanted in ("present", "absent") and names.isalnum()


def is_needed(names: str, wanted: Any) -> bool:
    """Whether a condition is about one field alone, as it is now, and never holds without it."""
    if names[0] in "@.<" or "|" in names or wanted in _CHANGES:
        return False
    return not (isinstance(wanted, dict) and "unlike" in wanted) and not _read(names, wanted)(None, {}, None)


def read_place(text: str) -> Path:
    """The path in a text: `a.b`, or `a.[x.y/z]` where a key has dots."""
    return tuple(Key(part[1:-1]) if part[0] == "[" else part for part in re.findall(r"\[[^]]*\]|[^.]+", text))


def _read(names: str, wanted: Any) -> Condition:
    if wanted in _CHANGES:
        strict, place = wanted == "rewritten", read_place(names)
        return lambda kind, holder, old: old is not None and _is_changed(holder, old, place, strict)
    if isinstance(wanted, dict) and (compare := _COMPARISONS.get(next(iter(wanted)))):
        one, other = read_place(names), read_place(next(iter(wanted.values())))
        return lambda kind, holder, old: compare(dig(holder, *one), dig(holder, *other))
    test = _make_test(wanted)
    if names == "@cluster":
        return lambda kind, holder, old: test(kind.cluster)
    if names[0] == "@":
        return lambda kind, holder, old: test(kind.is_on(names[1:]))
    if names[0] == "<":
        before = read_place(names[1:])
        return lambda kind, holder, old: old is not None and test(dig(old, *before))
    if names.isalnum():
        return lambda kind, holder, old: test(holder.get(names))
    places = [read_place(each) for each in names.split("|")]
    if len(places) == 1:
        return lambda kind, holder, old: test(dig(holder, *places[0]))
    return lambda kind, holder, old: test(
        next((found for place in places if (found := dig(holder, *place)) is not None), None)
    )


def _is_changed(new: Value, old: Value, place: Path, strict: bool) -> bool:
    """Whether a field is not as it was. `strict`: an empty map is not the same as none."""
    before = dig(old, *place)
    return dig(new, *place) != before or (strict and before is None and read_written(new, *place) == {})


def _make_test(wanted: Any) -> Callable[[Any], bool]:
    """Whether a value is in a list, is there ("present", "absent"), is empty (false) or not, or is as a word asks."""
    if isinstance(wanted, dict):
        ((word, asked),) = wanted.items()
        return {
            "not": lambda value: value not in asked,
            "more": lambda value: len(value or ()) > asked,
            "fewer": lambda value: len(value or ()) < asked,
            "above": lambda value: value is not None and value > asked,
            "below": lambda value: value is not None and value < asked,
            "blank": lambda value: (not (value or "").strip()) is asked,
            "has": lambda value: not set(value or ()).isdisjoint(asked),
            "like": lambda value: re.match(asked, value or "", re.DOTALL) is not None,
            "lacks": lambda value: asked not in (value or ()),
            "beyond": lambda value: not set(value or ()) <= set(asked),
        }[word]
    if isinstance(wanted, list):
        return lambda value: value in wanted
    if isinstance(wanted, str):
        return lambda value: (value is None) is (wanted == "absent")
    return bool if wanted else not_
