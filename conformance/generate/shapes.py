"""What a field can hold, as small records, and a valid value of each.

A shape says what is *ordinary*; which mistakes are possible follows from it (breakage). Knows no kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, NamedTuple

from conformance.generate.texts import good

Where = tuple[str | int, ...]


class Text(NamedTuple):
    """`pointer`: an explicit empty string is a value of its own."""

    form: str
    among: tuple[str, ...] = ()


class Number(NamedTuple):
    low: int = 1
    high: int = 12


class Choice(NamedTuple):
    values: tuple[str, ...]


class Flag(NamedTuple):
    pass


class Fixed(NamedTuple):
    """A value that is not ours: it stays as it is and is not broken."""

    value: Any


class Struct(NamedTuple):
    """`needs` are always there, of each group in `one_of` exactly one is, everything else with `odds`."""

    fields: Mapping[str, Any]
    needs: tuple[str, ...] = ()
    one_of: tuple[tuple[str, ...], ...] = ()
    odds: float = 0.3


class Many(NamedTuple):
    """A list of up to `usual` items, which the server limits to `most`; `key` names the field that must differ."""

    item: Any
    usual: int = 3
    most: int = 8
    key: str = ""


class Table(NamedTuple):
    """A map of strings."""

    keys: str
    values: str


Shape = Text | Number | Choice | Flag | Fixed | Struct | Many | Table


class Spot(NamedTuple):
    """A place in a value: its shape, and whether something stands there."""

    where: Where
    shape: Any
    present: bool


def make(shape: Any, rng: Random) -> Any:
    """A value that is valid by itself; what must agree between fields is settled elsewhere."""
    match shape:
        case Text(form, among):
            return rng.choice(among) if among and rng.random() < 0.9 else good(form, rng)
        case Number(low, high):
            return rng.choice((low, low, high, rng.randint(low, high)))
        case Choice(values):
            return rng.choice(values)
        case Flag():
            return rng.random() < 0.5
        case Fixed(value):
            return value
        case Struct():
            return make_struct(shape, rng)
        case Many():
            return make_list(shape, rng)
        case Table(keys, values):
            return {good(keys, rng): good(values, rng) for _ in range(rng.randint(0, 2))}
    raise TypeError(shape)


def make_struct(shape: Struct, rng: Random) -> dict[str, Any]:
    grouped = {name for group in shape.one_of for name in group}
    chosen = {rng.choice(group) for group in shape.one_of}
    value = {}
    for name, field in shape.fields.items():
        wanted = name in shape.needs or name in chosen or (name not in grouped and rng.random() < shape.odds)
        if wanted:
            value[name] = make(field, rng)
    if rng.random() < 0.1:
        names = list(value)
        rng.shuffle(names)
        value = {name: value[name] for name in names}
    return value


def make_list(shape: Many, rng: Random) -> list[Any]:
    items = [make(shape.item, rng) for _ in range(min(shape.usual, rng.choice((1, 1, 2, rng.randint(1, shape.usual)))))]
    if shape.key:
        seen: set[Any] = set()
        for item in items:
            while item[shape.key] in seen:
                item[shape.key] = f"{item[shape.key][:50]}{rng.randrange(100)}"
            seen.add(item[shape.key])
    return items


def spots(shape: Any, value: Any, where: Where = ()) -> Iterator[Spot]:
    """Every place that the shape knows of in the value, also empty ones whose parent is there; parents first."""
    yield Spot(where, shape, True)
    match shape:
        case Struct(fields) if isinstance(value, dict):
            for name, field in fields.items():
                if name in value:
                    yield from spots(field, value[name], (*where, name))
                else:
                    yield Spot((*where, name), field, False)
        case Many(item) if isinstance(value, list):
            for index, each in enumerate(value):
                yield from spots(item, each, (*where, index))


def look(value: Any, where: Where) -> Any:
    for step in where:
        value = value[step]
    return value


def put(value: Any, where: Where, new: Any) -> Any:
    """Sets in place; returns the root, which is `new` for the empty path."""
    if not where:
        return new
    look(value, where[:-1])[where[-1]] = new
    return value


def take(value: Any, where: Where) -> None:
    """Removes in place."""
    del look(value, where[:-1])[where[-1]]
