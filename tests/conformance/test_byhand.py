"""Requests that people thought of are judged as real servers judged them."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance.byhand import DOUBTED, RECORDED, REQUESTS, differ, edit, read_requests
from conformance.storage import read_records
from conformance.versions import read_releases


@pytest.mark.parametrize("release", read_releases())
def test_recorded_answers(release: str) -> None:
    """Nothing is refused that a server takes. What it refuses is refused, or named as not checked."""
    mine = [record for record in read_records(RECORDED) if record["release"] == release]
    found = [(record, text) for record in mine if (text := differ(record))]
    assert [each for each in found if not each[1].startswith(DOUBTED)] == []
    assert len(found) < len(mine) / 100
    ways = Counter(record["way"] for record in mine)
    assert min(ways.values()) > 200
    assert Counter(record["code"] for record in mine)[201] > 200


def test_every_edit_changes_its_object() -> None:
    for file in REQUESTS.glob("*.yaml"):
        for request in read_requests(file):
            assert request.old != request.object or request.text, (file, request)


def test_edits() -> None:
    value = {"a": {"b": [1, 2]}}
    assert edit(value, {"a.b[2]": 3, "c": {}}) == {"a": {"b": [1, 2, 3]}, "c": {}}
    assert edit(value, {"-a.b[0]": None}) == {"a": {"b": [2]}}
    assert value == {"a": {"b": [1, 2]}}
