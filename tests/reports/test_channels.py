"""A slice of the fuzzer of hostile names, and that what is harmless stays as it is."""

from __future__ import annotations

import random

import pytest

from krmfn.reports import channels
from tests.fuzz.hostile import check_once


@pytest.mark.parametrize("seed", range(8))
def test_hostile_texts_steer_nothing(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(25):
        check_once(chance)


def test_harmless_text_is_not_touched() -> None:
    text = 'PodGroup ml/träin-日本 spec.a[0]: Invalid value: "x"'
    assert channels.line(text) == channels.lines(text) == channels.github(text) == channels.dot(text).replace("\\", "")
    assert channels.code(text) == f"`{text}`"


def test_what_is_escaped_stays_visible() -> None:
    assert channels.line("a\x1bb\udcffc\u202ed\U000e0041") == "a\\x1bb\\xffc\\u202ed\\U000e0041"
    assert channels.line("::set-output") == "\\x3a:set-output"
    assert channels.line("##[group]") == "#\\x23[group]"
