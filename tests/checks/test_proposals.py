"""A proposed value is an edit that `krmfn validate --fix` makes: it must end the finding and cause no other error."""

from __future__ import annotations

import pytest

from krmfn.krm.results import ABSENT
from krmfn.model.rules import RULES
from krmfn.reconcile.fixes import apply_fixes
from tests.checks.cases import CHECKED, PROBLEMS, find_all, read_case

PROPOSING = {
    "min-count-above-pods",
    "min-group-count-above-children",
    "min-group-count-above-ready",
    "renamed-reference",
    "scheduler-members-above-pods",
    "wave-after-pods",
}


@pytest.mark.parametrize("rule", [*CHECKED, *PROBLEMS])
def test_only_values_that_are_certain_are_proposed(rule: str) -> None:
    proposing = {finding.rule for finding in find_all(read_case(rule, "bad")) if finding.proposed is not ABSENT}
    assert proposing <= PROPOSING


@pytest.mark.parametrize("rule", sorted(PROPOSING))
def test_a_fix_ends_the_finding(rule: str) -> None:
    case = read_case(rule, "bad")
    errors = {finding.rule for finding in find_all(case) if is_error(finding.severity, finding.rule)}
    fixed = apply_fixes(finding for finding in find_all(case) if finding.rule == rule)
    assert fixed.made
    after = find_all(case)
    assert rule not in {finding.rule for finding in after}
    assert {finding.rule for finding in after if is_error(finding.severity, finding.rule)} <= errors


def is_error(severity: str | None, rule: str) -> bool:
    return (severity or RULES[rule].severity) == "error"
