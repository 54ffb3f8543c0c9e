"""The page of `./dev live`: reports of real runs of each release, in which every claim was kept."""

from __future__ import annotations

import re

import pytest
import yaml

from conformance.live.__main__ import HEAD, REPORT
from conformance.live.claims import Claim, insert, write_section
from conformance.live.forecasts import CASES
from conformance.live.gangs import EXAMPLES
from conformance.live.obstacles import CLEAR, OBSTACLES
from conformance.live.planting import select
from conformance.live.updates import CHANGES
from conformance.scheduler.made.scenario import RECORDED
from conformance.scheduler.pods import expand
from conformance.versions import read_releases
from krmfn.plan.records import ACTIONS

PAGE = REPORT.read_text()
#: Release -> the section about it.
SECTIONS = {".".join(text.split(".")[:2]): text.partition("\n")[2] for text in PAGE.split("\n## ")[1:]}


def list_rows(release: str) -> list[list[str]]:
    rows = [line.removeprefix("| ").split(" | ") for line in SECTIONS[release].splitlines()]
    return [row for row in rows if len(row) == 4]


def list_subjects(release: str) -> set[str]:
    return {row[0] for row in list_rows(release)}


@pytest.mark.parametrize("release", RECORDED)
def test_all_is_kept(release: str) -> None:
    assert f"\n## {read_releases()[release].version}\n" in PAGE
    claims = [row for row in list_rows(release) if row[3] == "kept |"]
    kept = sum(int(number) for number in re.findall(r"^\| [^|]* \| (\d+) \| 0 \|$", SECTIONS[release], re.M))
    assert kept == len(claims) > 60
    assert "**failed**" not in PAGE


@pytest.mark.parametrize("release", RECORDED)
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_kind_is_in_the_report(path: object, release: str) -> None:
    stem = getattr(path, "stem", "")
    if stem == "mpijob":  # drops the link: conformance/bridge proves it
        return
    assert f"{stem}, Cluster" in list_subjects(release)
    values = list(yaml.safe_load_all((EXAMPLES / f"{stem}.yaml").read_text()))
    assert [pod for value in values for pod in expand({**value, "metadata": {**value["metadata"], "namespace": "ml"}})]


@pytest.mark.parametrize("release", RECORDED)
def test_every_case_obstacle_and_class_of_change_is_in_the_report(release: str) -> None:
    obstacles = select((*CLEAR, *OBSTACLES), release)
    titles = [case.title for case in CASES] + [obstacle.title for obstacle in obstacles]
    assert set(titles) <= list_subjects(release)
    changes = [row for row in list_rows(release) if "`" in row[0] and row[1] in ACTIONS]
    assert len(changes) >= len(CHANGES) / 3
    assert {row[1] for row in changes} >= {"update", "replace", "refuse"}


def test_a_section_takes_the_place_of_the_one_before() -> None:
    page = insert(
        insert(insert(HEAD, "1.2.1", "## 1.2.1\n\nold\n"), "1.3.0", "## 1.3.0\n"), "1.2.1", "## 1.2.1\n\nnew\n"
    )
    assert page == HEAD + "\n## 1.3.0\n\n## 1.2.1\n\nnew\n"


def test_a_claim_that_failed_stands_out() -> None:
    claims = [Claim("a topic", "one", "x | y", "y", True), Claim("a topic", "two", "x", "<y>\nz", False)]
    text = write_section(["## Head"], claims)
    assert "| a topic | 1 | 1 |" in text
    assert "| one | x &#124; y | y | kept |" in text
    assert "| two | x | &lt;y> z | **failed** |" in text
