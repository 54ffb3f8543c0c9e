"""YAML that is written for programs says the same to another reader, whatever is in it."""

from __future__ import annotations

import random
from typing import Any

import pytest
import yaml

from krmfn.reports.document import write_yaml

TEXTS = (
    *(
        "",
        "a",
        "yes",
        "1e3",
        "a: b",
        "- a",
        "#",
        "##[group]",
        "a\nb\n",
        "\t",
        "\x1b[31m",
        "\x85",
        "\u2028",
        "é",
        "\ufeff",
    ),
    *("\U0001f600", "\U000e0001", "'\"\\", "=", "~", "null", "0x1f", "1:30", "2001-01-01", "x" * 300, "::set-output"),
)


def make_value(chance: random.Random, known: list[Any], depth: int) -> Any:
    sort = chance.randrange(9)
    if sort < 4 or not depth:
        return chance.choice((*TEXTS, None, True, 0, -5, 1.5, 10**20, 1e300))
    if sort == 4 and known:
        return chance.choice(known)
    count = chance.randrange(4)
    value: Any = [make_value(chance, known, depth - 1) for _ in range(count)]
    if sort > 6:
        value = {chance.choice(TEXTS): each for each in value}
    known.append(value)
    return value


@pytest.mark.parametrize("seed", range(40))
def test_another_reader_finds_the_same(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(10):
        value = {"a": make_value(chance, [], 5)}
        text = write_yaml(value)
        assert yaml.safe_load(text) == value
        assert not set(text) & {"\x1b", "\x85", "\u2028", "\ufeff", "\U000e0001"}
        assert "##[" not in text


def test_half_a_character_of_a_file_name() -> None:
    assert write_yaml({"a": "b\udcffc"}) == 'a: "b\\udcffc"\n'
