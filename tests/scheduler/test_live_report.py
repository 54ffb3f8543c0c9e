"""The page of `./dev live`: the report of a real run of the newest release, in which every claim was kept."""

from __future__ import annotations

import re

import pytest
import yaml

from conformance.live.__main__ import REPORT
from conformance.live.claims import Claim, write_report
from conformance.live.forecasts import CASES
from conformance.live.gangs import EXAMPLES
from conformance.live.updates import CHANGES
from conformance.scheduler.made.scenario import PROFILES
from conformance.scheduler.pods import expand
from conformance.versions import read_releases
from krmfn.plan.records import ACTIONS

TEXT = REPORT.read_text()
ROWS = [[cell.strip() for cell in line.split(" | ")] for line in TEXT.splitlines() if line.count(" | ") == 3]
SUBJECTS = {row[0].removeprefix("| ") for row in ROWS}


def test_the_report_is_of_the_newest_release_and_all_is_kept() -> None:
    release = next(iter(PROFILES))
    assert f"of\n{read_releases()[release].version} on" in TEXT
    claims = [row for row in ROWS if row[3] == "kept |"]
    assert "**failed**" not in TEXT
    kept = sum(int(number) for number in re.findall(r"^\| [^|]* \| (\d+) \| 0 \|$", TEXT, re.M))
    assert kept == len(claims) > 60


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_kind_is_in_the_report(path: object) -> None:
    stem = getattr(path, "stem", "")
    if stem == "mpijob":  # drops the link: conformance/bridge proves it
        return
    assert f"{stem}, Cluster" in SUBJECTS
    values = list(yaml.safe_load_all((EXAMPLES / f"{stem}.yaml").read_text()))
    assert [pod for value in values for pod in expand({**value, "metadata": {**value["metadata"], "namespace": "ml"}})]


def test_every_case_and_every_class_of_change_is_in_the_report() -> None:
    assert {case.title for case in CASES} <= SUBJECTS
    changes = [row for row in ROWS if "`" in row[0] and row[1] in ACTIONS]
    assert len(changes) == len(CHANGES)
    assert {row[1] for row in changes} == {"update", "replace", "refuse"}


def test_a_claim_that_failed_stands_out() -> None:
    claims = [Claim("a topic", "one", "x | y", "y", True), Claim("a topic", "two", "x", "<y>\nz", False)]
    text = write_report(["# Head"], claims)
    assert "| a topic | 1 | 1 |" in text
    assert "| one | x &#124; y | y | kept |" in text
    assert "| two | x | &lt;y> z | **failed** |" in text
