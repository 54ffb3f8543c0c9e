"""A slice of every oracle: the same cases in every run, so that what fails once fails again."""

from __future__ import annotations

import pytest

from tests.fuzz.frame import Oracle, list_oracles, run


@pytest.mark.parametrize("oracle", list(list_oracles()), ids=lambda oracle: oracle.name)
def test_a_slice_of_the_oracle_finds_nothing(oracle: Oracle) -> None:
    if oracle.missing():
        return  # what it would ask is not here: the recorded answers have to do
    summary = run(oracle, 0, oracle.cases, None, most=1)
    assert not summary.failures, summary.failures[0].error


@pytest.mark.parametrize(
    "oracle", [oracle for oracle in list_oracles() if oracle.replay], ids=lambda oracle: oracle.name
)
def test_recorded_answers_are_ours(oracle: Oracle) -> None:
    assert oracle.replay is not None
    oracle.replay()
