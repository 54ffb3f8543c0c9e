"""Bodies that no JSON value can express: repeated keys, spellings of numbers and strings, text that is no JSON."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

from conformance.generate.shapes import Number, Struct, look, make, put, spots

MARK = "@raw@"
NUMBERS = (
    "1e0",
    "1E0",
    "10e-1",
    "-0",
    "0e5",
    "1.00",
    "01",
    "1.",
    ".5",
    "+1",
    "0x1",
    "1_000",
    "NaN",
    "Infinity",
    "1e400",
    "1e9",
    "-0.0",
    "4e0",
    "2147483648.0",
)
STRINGS = (
    '"\\ud800"',
    '"a\\u0062"',
    '"\\/"',
    '"a\tb"',
    '"\\x41"',
    "'a'",
    "a",
    '"a',
    '"\\u0000"',
    '"\\ud83d\\ude80"',
    "True",
    "yes",
    '"\\u212a"',
)


def raw_body(root: Any, shape: Any, rng: Random) -> tuple[str, str]:
    """The text of a body and the label of what is odd in it."""
    return rng.choice((repeat, repeat, repeat, number, number, string, around, escape))(copy.deepcopy(root), shape, rng)


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def repeat(root: Any, shape: Any, rng: Random) -> tuple[str, str]:
    """A key twice in one object; which of the two counts is the reader's choice."""
    found = [
        spot
        for spot in spots(shape, root)
        if isinstance(spot.shape, Struct) and spot.present and look(root, spot.where)
    ]
    spot = rng.choice(found)
    value = look(root, spot.where)
    for name in rng.sample(list(value), min(len(value), rng.choice((1, 1, 2)))):
        again = copy.deepcopy(value[name]) if rng.random() < 0.4 else make_other(spot.shape, name, rng)
        value[f"{MARK}{name}"] = again
    return dump(root).replace(f'"{MARK}', '"'), "repeat"


def make_other(shape: Struct, name: str, rng: Random) -> Any:
    field = shape.fields.get(name)
    return None if field is None else make(field, rng)


def number(root: Any, shape: Any, rng: Random) -> tuple[str, str]:
    found = [spot for spot in spots(shape, root) if isinstance(spot.shape, Number)]
    where = rng.choice(found).where if found else ("metadata", "generation")
    put(root, where, MARK)
    return dump(root).replace(f'"{MARK}"', rng.choice(NUMBERS)), "spelling"


def string(root: Any, shape: Any, rng: Random) -> tuple[str, str]:
    found = [spot.where for spot in spots(shape, root) if spot.present and isinstance(look(root, spot.where), str)]
    put(root, rng.choice(found), MARK)
    return dump(root).replace(f'"{MARK}"', rng.choice(STRINGS)), "string"


def around(root: Any, shape: Any, rng: Random) -> tuple[str, str]:
    text = dump(root)
    return rng.choice(
        (
            text + text,
            text + "x",
            text[:-1],
            "\ufeff" + text,
            text + "\n\n",
            "// c\n" + text,
            text.replace("{", "{ ", 1),
            text.replace("}", ",}", 1),
            "",
            " ",
            "null",
            "[]",
            "1",
            '"x"',
            "{}",
            f"[{text}]",
            text.replace('"', "'"),
            f"{text}\n---\n{text}",
            text.replace(",", ",\n\t"),
        )
    ), "around"


def escape(root: Any, shape: Any, rng: Random) -> tuple[str, str]:
    """Keys written with escapes are the same keys."""
    text = dump(root)
    return rng.choice(
        (
            text.replace('"spec"', '"\\u0073pec"', 1),
            text.replace('"name"', '"n\\u0061me"', 1),
            text.replace('"metadata"', '"metadat\\u0061"', 1),
            text.replace('"spec":', '"\\u0073pec": {}, "spec":', 1),
            text.replace('"spec":', '"Spec": {}, "spec":', 1),
        )
    ), "escape"
