"""Checks look past values of a wrong type: those are findings of the server stage, and never a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from krmfn.krm import Item
from tests.checks.cases import CHECKED, PROBLEMS, Case, find_all, read_case

JUNK: tuple[Any, ...] = (None, 3, "x", True, [], {}, ["x"], [{"name": 3}], {"name": {"x": []}})


@pytest.mark.parametrize("rule", (*CHECKED, *PROBLEMS)[::3])
def test_a_field_of_another_type_breaks_no_check(rule: str) -> None:
    case = read_case(rule, "bad")
    for number, item in enumerate(case.items):
        for path in list(list_paths(item.value))[:: 3 if len(case.items) > 1 else 2]:
            junk = JUNK[(len(path) + number) % len(JUNK)]
            broken = Item.new(replace(item.value, path, junk))
            find_all(Case([*case.items[:number], broken, *case.items[number + 1 :]], case.old, case.settings))


def list_paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        if path or key not in ("apiVersion", "kind", "metadata"):
            yield (*path, key)
        yield from list_paths(child, (*path, key))


def replace(value: Any, path: tuple[str | int, ...], junk: Any) -> Any:
    key, rest = path[0], path[1:]
    child = replace(value[key], rest, junk) if rest else junk
    if isinstance(value, list):
        return [child if index == key else entry for index, entry in enumerate(value)]
    return {**value, key: child}
