"""A check that finds something is done again by every run; that it finds nothing is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from krmfn.model import kept


class MemoryKeeper:
    """Keeps what a folder would."""

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def load(self, name: str) -> Any:
        return self._kept.get(name)

    def save(self, name: str, value: object) -> None:
        self._kept[name] = value


@pytest.mark.parametrize(("value", "found", "runs"), [(3, [], 1), (-3, ["-3 is negative"], 3)])
def test_only_that_nothing_was_found_is_kept(value: int, found: list[str], runs: int) -> None:
    asked = []

    def check(given: int) -> Iterator[str]:
        asked.append(given)
        if given < 0:
            yield f"{given} is negative"

    with kept.use(MemoryKeeper()):
        assert [kept.check_once("sign", check, value) for _ in range(3)] == [found] * 3
    assert asked == [value] * runs
