"""The report of the live proof: what it says of each scenario is what the scenario expects."""

from __future__ import annotations

import re

import pytest

from conformance.bridge.live import GATES, REPORT, SCENARIOS, Outcome, Scenario, is_whole

_ROW = re.compile(r"\| (?P<title>.*) \| (?P<room>\d+) \| (?P<release>.*) \| (?P<policies>yes|no) \| (?P<groups>.*) \|")
ROWS = {(row["title"], row["release"], row["policies"]): row for row in _ROW.finditer(REPORT.read_text())}


def read_outcome(scenario: Scenario, release: str, policies: str) -> Outcome:
    """A row of the report as what it was written from."""
    groups = dict(group.split() for group in ROWS[scenario.title, release, policies]["groups"].split(", "))
    bound = {name: (int(parts[0]), int(parts[1])) for name, text in groups.items() if (parts := text.split("/"))}
    return Outcome(bound, 0)


@pytest.mark.parametrize("release", GATES)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.title)
def test_groups_started_whole_with_the_policies_only(scenario: Scenario, release: str) -> None:
    assert is_whole(scenario, read_outcome(scenario, release, "yes"))
    assert not is_whole(scenario, read_outcome(scenario, release, "no"))


def test_the_report_has_no_other_rows() -> None:
    assert len(ROWS) == len(SCENARIOS) * len(GATES) * 2
