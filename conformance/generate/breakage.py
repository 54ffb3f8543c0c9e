"""One mistake, put somewhere into an object; each function returns a label of what it did, None where it does not fit.

Works on shapes only; which rule a mistake meets is for the server to say.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any

from conformance.generate.shapes import (
    Choice,
    Fixed,
    Many,
    Number,
    Spot,
    Struct,
    Table,
    Text,
    look,
    make,
    put,
    spots,
    take,
)
from conformance.generate.texts import bad
from conformance.generate.wrongvalues import EMPTY, NUMBERS, STRANGERS, WRONG

# An earlier mistake may have put another type where an operation expects its own: it then looks for another place.
MISFIT = (TypeError, AttributeError, KeyError, IndexError, ValueError)

Operation = Callable[[Any, Spot, Random], str | None]


def break_once(root: Any, shape: Any, rng: Random) -> tuple[Any, str]:
    """A copy with one mistake more, and its label."""
    for _ in range(50):
        broken = copy.deepcopy(root)
        spot = pick(broken, shape, rng)
        try:
            label = rng.choice(fitting(spot))(broken, spot, rng)
        except MISFIT:
            continue
        if label:
            return broken, label
    return root, "none"


def pick(root: Any, shape: Any, rng: Random) -> Spot:
    """A place that is ours; those in metadata are taken seldom, or they would be most of all."""
    places = [spot for spot in spots(shape, root) if spot.where and not isinstance(spot.shape, Fixed)]
    weights = [weigh(spot) for spot in places]
    return rng.choices(places, weights)[0]


def weigh(spot: Spot) -> float:
    if spot.where[0] == "metadata":
        return 0.08
    return (2.0 if isinstance(spot.shape, Text | Number) else 1.0) if spot.present else 0.4


def fitting(spot: Spot) -> list[Operation]:
    if not spot.present:
        return [add, add, add, add_empty, add_empty, add_null, add_null, add_wrong]
    operations: list[Operation] = [delete, delete, nullify, nullify, mistype, transplant]
    match spot.shape:
        case Text():
            operations += [misspell] * 6
        case Number():
            operations += [miscount] * 7
        case Choice():
            operations += [mischoose] * 5
        case Struct(_, _, groups):
            operations += [stranger, recase, empty, empty] + [everything, nothing, everything] * len(groups)
        case Many():
            operations += [clear, twice, twice, flood, null_item, wrong_item, unwrap, key_empty]
        case Table():
            operations += [odd_entry] * 3
    return operations


def delete(root: Any, spot: Spot, rng: Random) -> str | None:
    if isinstance(spot.where[-1], int):
        return None
    take(root, spot.where)
    return "delete"


def nullify(root: Any, spot: Spot, rng: Random) -> str:
    put(root, spot.where, None)
    return "null"


def mistype(root: Any, spot: Spot, rng: Random) -> str:
    put(root, spot.where, copy.deepcopy(rng.choice(WRONG)))
    return "mistype"


def transplant(root: Any, spot: Spot, rng: Random) -> str:
    """The value of another place, with whatever is in it."""
    other = rng.choice([each for each in places_of(root) if each[: len(spot.where)] != spot.where])
    put(root, spot.where, copy.deepcopy(look(root, other)))
    return "transplant"


def places_of(value: Any, where: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place of a JSON value but the root."""
    names: Iterable[Any] = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for name in names:
        yield (*where, name)
        yield from places_of(value[name], (*where, name))


def misspell(root: Any, spot: Spot, rng: Random) -> str:
    put(root, spot.where, bad(spot.shape.form, rng))
    return "text"


def miscount(root: Any, spot: Spot, rng: Random) -> str:
    put(root, spot.where, copy.deepcopy(rng.choice(NUMBERS)))
    return "number"


def mischoose(root: Any, spot: Spot, rng: Random) -> str:
    value = rng.choice(spot.shape.values)
    put(
        root,
        spot.where,
        rng.choice(
            (
                value.lower(),
                value.upper(),
                value + " ",
                value[:-1],
                "",
                " ",
                "Always",
                "Pod",
                "all",
                "Nevér",
                "\n" + value,
            )
        ),
    )
    return "choice"


def stranger(root: Any, spot: Spot, rng: Random) -> str | None:
    names = [*STRANGERS, *(f"{name}s" for name in spot.shape.fields), *(f"{name} " for name in spot.shape.fields)]
    name = rng.choice(names)
    if name in spot.shape.fields:
        return None
    look(root, spot.where)[name] = rng.choice((None, 1, "x", {}, [], {"a": {"b": 1}}, True, [{"name": "a"}]))
    return "unknown"


def recase(root: Any, spot: Spot, rng: Random) -> str | None:
    """Go's own JSON reader ignores case, the API machinery's does not."""
    value = look(root, spot.where)
    if not value:
        return None
    name = rng.choice(list(value))
    changed = rng.choice(
        (
            name[:1].upper() + name[1:],
            name.upper(),
            name.lower(),
            name.swapcase(),
            name.replace("k", "\u212a").replace("s", "\u017f"),
        )
    )
    if changed in value:
        return None
    if rng.random() < 0.7:
        value[changed] = value.pop(name)
    else:
        value[changed] = copy.deepcopy(value[name])
    return "case"


def empty(root: Any, spot: Spot, rng: Random) -> str:
    put(root, spot.where, {})
    return "empty"


def everything(root: Any, spot: Spot, rng: Random) -> str | None:
    """All members of a union, some of them empty or null."""
    group = rng.choice(spot.shape.one_of)
    value = look(root, spot.where)
    for name in group:
        if name not in value:
            value[name] = make(spot.shape.fields[name], rng) if rng.random() < 0.7 else rng.choice((None, {}, [], ""))
    return "union"


def nothing(root: Any, spot: Spot, rng: Random) -> str:
    group = rng.choice(spot.shape.one_of)
    value = look(root, spot.where)
    for name in group:
        if name in value:
            if rng.random() < 0.3:
                value[name] = None
            else:
                del value[name]
    return "nomember"


def clear(root: Any, spot: Spot, rng: Random) -> str:
    put(root, spot.where, [])
    return "emptylist"


def twice(root: Any, spot: Spot, rng: Random) -> str | None:
    """An item once more, or another with its key."""
    items = look(root, spot.where)
    if not items:
        return None
    extra = copy.deepcopy(rng.choice(items))
    if rng.random() < 0.5 and spot.shape.key and isinstance(extra, dict):
        other = make(spot.shape.item, rng)
        extra = {**other, spot.shape.key: extra.get(spot.shape.key)}
    items.insert(rng.randrange(len(items) + 1), extra)
    return "twice"


def flood(root: Any, spot: Spot, rng: Random) -> str:
    """One more than the limit, or the limit itself, or many more."""
    items = look(root, spot.where)
    wanted = rng.choice((spot.shape.most, spot.shape.most + 1, spot.shape.most + 1, spot.shape.most + 7))
    while len(items) < wanted:
        item = make(spot.shape.item, rng)
        if spot.shape.key:
            item[spot.shape.key] = f"f{len(items)}-{rng.randrange(10000)}"
        items.append(item)
    return "flood"


def null_item(root: Any, spot: Spot, rng: Random) -> str:
    items = look(root, spot.where)
    items.insert(rng.randrange(len(items) + 1), None)
    return "nullitem"


def wrong_item(root: Any, spot: Spot, rng: Random) -> str:
    items = look(root, spot.where)
    items.insert(rng.randrange(len(items) + 1), copy.deepcopy(rng.choice(WRONG)))
    return "item"


def unwrap(root: Any, spot: Spot, rng: Random) -> str | None:
    items = look(root, spot.where)
    if not items:
        return None
    put(root, spot.where, items[0] if rng.random() < 0.6 else {str(index): item for index, item in enumerate(items)})
    return "unwrap"


def key_empty(root: Any, spot: Spot, rng: Random) -> str | None:
    """Two items without a name: both lack it, and one of them repeats the other."""
    items = look(root, spot.where)
    if not spot.shape.key or len(items) < 2 or not all(isinstance(item, dict) for item in items):
        return None
    for item in rng.sample(items, 2):
        item[spot.shape.key] = ""
    return "nonames"


def odd_entry(root: Any, spot: Spot, rng: Random) -> str:
    look(root, spot.where)[bad(spot.shape.keys, rng)] = rng.choice((bad(spot.shape.values, rng), "v", None, 1, {}))
    return "entry"


def add(root: Any, spot: Spot, rng: Random) -> str:
    put(root, spot.where, make(spot.shape, rng))
    return "add"


def add_empty(root: Any, spot: Spot, rng: Random) -> str:
    put(root, spot.where, copy.deepcopy(rng.choice(EMPTY)))
    return "addempty"


def add_null(root: Any, spot: Spot, rng: Random) -> str:
    put(root, spot.where, None)
    return "addnull"


def add_wrong(root: Any, spot: Spot, rng: Random) -> str:
    put(root, spot.where, copy.deepcopy(rng.choice(WRONG)))
    return "addwrong"
