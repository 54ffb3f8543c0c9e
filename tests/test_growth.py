"""How the work grows with the input, in calls of functions instead of seconds: the same number in every run.

What one call does is measured by `./dev bench growth`, whose shapes these are.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import pytest

from benchmarks.growth import BOUND, FACTOR, SHAPES, Shape
from tests.front_door import call

#: Units of the smaller input: a share of those that are timed.
SHARE, FEWEST = 20, 20


def count_calls(shape: Shape, n: int, folder: Path) -> int:
    """Calls of functions, those written in C included, that a run over input of `n` units makes."""
    words, stdin = shape.put(folder, n)
    data = stdin.read_bytes() if stdin else b""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        done = call(data, words, folder)
    finally:
        sys.setprofile(None)
    assert done.code in (0, 1), done.err
    return calls


@pytest.mark.parametrize("label", SHAPES)
def test_work_grows_as_the_input_does(label: str, tmp_path: Path) -> None:
    shape = SHAPES[label]
    units = max(FEWEST, shape.n // SHARE)
    count_calls(shape, 1, tmp_path)  # imports, and what is remembered of lines
    none, small, large = (count_calls(shape, n, tmp_path) for n in (1, units, FACTOR * units))
    assert large - none <= BOUND * FACTOR * max(small - none, none // 10), (none, small, large)
