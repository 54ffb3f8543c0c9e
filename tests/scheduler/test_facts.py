"""`krmfn facts` loses nothing that decides: of recorded clusters, shrunk, the same is said."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.scheduler import replay
from conformance.scheduler.storage import DATA, read
from krmfn.survey.condensing import condense

EVERY = 15


@pytest.mark.parametrize("release", ["1.35", "1.36", "1.37"])
def test_shrunk_facts_decide_the_same(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = replay.configuration

    def shrunk(scenario: dict[str, Any]) -> dict[str, Any]:
        given = whole(scenario)
        return {**given, "spec": {**given["spec"], "cluster": condense(given["spec"]["cluster"])}}

    said = 0
    for number, scenario in enumerate(read(DATA, release)):
        if number % EVERY == 0:
            monkeypatch.setattr(replay, "configuration", whole)
            expected = [(found.rule, found.path, found.message) for _, found in replay.predict(scenario)]
            monkeypatch.setattr(replay, "configuration", shrunk)
            assert [(found.rule, found.path, found.message) for _, found in replay.predict(scenario)] == expected
            said += len(expected)
    assert said > 10
