"""The catalogue: ids are unique, rows are complete, pages are whole, and a lookup loads no more than it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from krmfn.checks.rule import OF_PODS, list_checks, list_topics
from krmfn.model.rules import PARTS, RULES
from krmfn.releases.release import find_release, list_releases
from krmfn.reports.pages import read_page
from krmfn.survey.census import take_census
from krmfn.survey.members import from_item
from tests.checks.cases import CHECKED, read_case

PAGES = Path(__file__).parents[2] / "docs" / "rules"


def test_no_id_stands_twice() -> None:
    ids = [id for part in PARTS.values() for id in part]
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize("stage", ["scheduler", "operator", "gitops"])
def test_each_row_of_a_stage_has_its_function_in_the_package_of_the_stage(stage: str) -> None:
    found = [check.rule for topic in list_topics(stage) for check in list_checks(topic)]
    package = f"krmfn/checks/{stage}"
    unfound = PARTS[stage].keys() - {rule.id for rule in found}
    assert unfound == set(), f"no function has @rule(id), or its file is not named in TOPICS of {package}/__init__.py"
    elsewhere = {rule.id for rule in found} - PARTS[stage].keys()
    assert elsewhere == set(), f'found in {package}: their rows in schemas/rules.json belong below "{stage}"'
    assert [rule.id for rule in found if rule.stage != stage] == [], f'"stage" of these rows is not {stage}'


@pytest.mark.parametrize("rule_id", list(RULES))
def test_a_row_says_what_is_wrong_in_one_sentence(rule_id: str) -> None:
    rule = RULES[rule_id]
    assert rule.id == rule_id == rule_id.lower().replace("_", "-")
    assert rule.stage in ("server", "scheduler", "operator", "gitops")
    assert rule.severity in ("error", "warning", "info")
    assert rule.sentence.endswith(".")
    assert "\n" not in rule.sentence
    assert any(rule.holds(find_release(name)) for name in list_releases())


@pytest.mark.parametrize("rule_id", list(RULES))
def test_a_page_is_whole(rule_id: str) -> None:
    """The sections stand in this order, and are written; `docs/generate.py` begins a page with all of them."""
    page = read_page(rule_id)
    assert [*page.sections][:2] == ["What goes wrong", "Example"]
    assert [*page.sections][2:] in (["How to fix it", "Sources"], ["How to fix it"], ["Sources"], [])
    assert all(page.sections.values())
    assert "How to fix it" in page.sections or RULES[rule_id].severity == "info"


def test_every_page_has_its_rule() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == {*RULES, "index"}


@pytest.mark.parametrize("rule_id", CHECKED)
def test_rules_of_pods_find_nothing_in_groups(rule_id: str) -> None:
    """What is not run where there are no pods: the example with its pods taken out."""
    case = read_case(rule_id, "bad")
    items, old = ([item for item in some if not list(from_item(item))] for some in (case.items, case.old or ()))
    census = take_census(items, (), old, case.settings.cluster, items)
    assert not census.templates
    checks = [check for topic in OF_PODS for check in list_checks(topic)]
    assert checks
    assert not [finding for check in checks for finding in check.find(census, case.settings)]


def test_an_unknown_id_is_not_found() -> None:
    assert "no-such-rule" not in RULES
    with pytest.raises(KeyError):
        RULES["no-such-rule"]


def test_a_finding_of_a_source_loads_no_checks() -> None:
    program = (
        "import sys\n"
        "from krmfn.model.rules import RULES\n"
        "assert RULES['group-without-pods'].stage == 'operator'\n"
        "assert not [name for name in sys.modules if name.startswith('krmfn.checks')]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
