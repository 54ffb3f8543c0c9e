"""Which fields of two states differ."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.krm.paths import format_path
from krmfn.krm.results import ABSENT
from krmfn.plan.changes import clean, list_changes


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": True}, {"a": 1}, ["a"]),
        ({"a": {"b": 1}}, {"a": {}}, ["a.b"]),
        ({"a": None}, {}, ["a"]),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}, ["a[2]"]),
        ({"a": [{"name": "x"}, {"name": "y"}]}, {"a": [{"name": "y"}, {"name": "x"}]}, []),
        (
            {"a": [{"groupName": "x", "n": 1}]},
            {"a": [{"groupName": "w"}, {"groupName": "x", "n": 2}]},
            ["a[0]", "a[1].n"],
        ),
        ({"a": [{"name": "x"}]}, {"a": []}, ["a[0]"]),
        ({"a": [{"name": "x", "n": 1}] * 2}, {"a": [{"name": "x", "n": 2}] * 2}, ["a[0].n", "a[1].n"]),
        ({"a": {}}, {"a": []}, ["a"]),
    ],
)
def test_the_smallest_fields_are_named(old: Any, new: Any, paths: list[str]) -> None:
    assert [format_path(change.path) for change in list_changes(old, new)] == paths


def test_an_absent_field_is_not_null() -> None:
    (change,) = list_changes({"a": None}, {})
    assert (change.old, change.new) == (None, ABSENT)


def test_cleaning_keeps_what_people_write() -> None:
    value = {
        "metadata": {
            "name": "a",
            "uid": "1",
            "annotations": {"config.kubernetes.io/path": "x", "team": "ml", "argocd.argoproj.io/tracking-id": "y"},
        },
        "status": {},
        "spec": {},
    }
    assert clean(value) == {"metadata": {"name": "a", "annotations": {"team": "ml"}}, "spec": {}}
    assert clean({"metadata": {"annotations": {"config.kubernetes.io/index": "0"}}}) == {"metadata": {}}
