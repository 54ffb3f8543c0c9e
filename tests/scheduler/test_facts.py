"""`krmfn facts` loses nothing that decides: of recorded clusters, shrunk, the same is said."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.scheduler import replay
from conformance.scheduler.storage import DATA, read
from krmfn.survey.condensing import condense
from tests.checks import cases as checks

EVERY = 15
#: The rules whose examples have objects of a cluster.
SHOWN = [name for name in checks.SHOWN if checks.read_case(name, "bad").settings.cluster]


@pytest.mark.parametrize("rule", SHOWN)
def test_shrunk_facts_of_every_page_decide_the_same(rule: str) -> None:
    for name in ("bad", "good"):
        case = checks.read_case(rule, name)
        shrunk = case.settings._replace(cluster=condense(case.settings.cluster))
        assert checks.run(case._replace(settings=shrunk)) == checks.run(case)


@pytest.mark.parametrize("release", ["1.35", "1.36", pytest.param("1.37", marks=pytest.mark.slow)])
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
