"""Every rule of the stages scheduler, operator and gitops: an input that triggers it, and a near miss that does not."""

from __future__ import annotations

import difflib

import pytest

from krmfn.checks import gitops, operator, reading, scheduler
from tests.checks.cases import FOLDER, find_all, read_case

STAGES = {"scheduler": scheduler, "operator": operator, "gitops": gitops}
RULES = {
    **{check.rule.id: check.rule for stage in STAGES.values() for check in stage.list_checks()},
    **{rule.id: rule for rule in reading.RULES},
}


@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_rule_is_found_in_the_bad_case_and_not_in_the_good_one(rule: str) -> None:
    found = [finding for finding in find_all(read_case(rule, "bad")) if finding.note.rule == rule]
    assert found, f"nothing found in {FOLDER / rule / 'bad.yaml'}"
    for finding in found:
        assert finding.note.hint
        assert finding.item.locate(finding.note.path).line > 0
    assert [finding for finding in find_all(read_case(rule, "good")) if finding.note.rule == rule] == []


@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_good_case_is_a_near_miss(rule: str) -> None:
    texts = []
    for name in ("bad", "good"):
        files = [FOLDER / rule / f"{name}.yaml", FOLDER / rule / f"{name}.old.yaml"]
        texts.append([line for file in files if file.exists() for line in file.read_text().splitlines()])
    changed = [line for line in difflib.ndiff(texts[0], texts[1]) if line[:1] in "+-"]
    assert 0 < len(changed) <= 4


def test_every_case_belongs_to_a_rule() -> None:
    assert {folder.name for folder in FOLDER.iterdir()} == set(RULES)


def test_rules_are_complete_rows() -> None:
    for rule in RULES.values():
        assert rule.why, rule.id
        assert rule.fix, rule.id
        assert rule.sentence.endswith("."), rule.id


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_a_stage_holds_rules_of_its_own_only(stage: str) -> None:
    assert {check.rule.stage for check in STAGES[stage].list_checks()} == {stage}
