"""Every rule of the stages scheduler, operator and gitops: an input that triggers it, and a near miss that does not."""

from __future__ import annotations

import difflib

import pytest

from krmfn.reports.pages import read_page
from tests.checks.cases import CHECKED, PROBLEMS, find_all, read_case


@pytest.mark.parametrize("rule", [*CHECKED, *PROBLEMS])
def test_the_rule_is_found_in_the_bad_case_and_not_in_the_good_one(rule: str) -> None:
    found = [finding for finding in find_all(read_case(rule, "bad")) if finding.rule == rule]
    assert found, "nothing found in bad.yaml"
    for finding in found:
        assert finding.hint
        assert finding.item.locate(finding.path).line > 0
    assert [finding for finding in find_all(read_case(rule, "good")) if finding.rule == rule] == []


@pytest.mark.parametrize("rule", [*CHECKED, *PROBLEMS])
def test_the_good_case_is_a_near_miss(rule: str) -> None:
    texts = []
    for name in ("bad", "good"):
        examples = read_page(rule).examples
        parts = [examples[f"{name}.yaml"], examples.get(f"{name}.old.yaml", "")]
        texts.append([line for part in parts for line in part.splitlines()])
    changed = [line for line in difflib.ndiff(texts[0], texts[1]) if line[:1] in "+-"]
    assert 0 < len(changed) <= 4
