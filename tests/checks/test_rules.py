"""Every rule: an input that triggers it, and a near miss that does not, through the pipeline."""

from __future__ import annotations

import difflib
import re
from typing import Final

import pytest

from krmfn.model.rules import RULES
from krmfn.reports.pages import read_page
from tests.checks.cases import FILES, REQUESTS, SHOWN, read_case, run


@pytest.mark.parametrize("rule", SHOWN)
def test_the_rule_is_found_in_the_bad_case_and_not_in_the_good_one(rule: str) -> None:
    case = read_case(rule, "bad")
    found = [result for result in run(case) if result.tags["rule"] == rule]
    release = case.settings.release
    assert found, f"nothing found in bad.yaml, read for Kubernetes {release} (`# settings:` may name another)"
    for result in found:
        assert result.file is not None
        assert result.file.line > 0
    assert [result for result in run(read_case(rule, "good")) if result.tags["rule"] == rule] == []


@pytest.mark.parametrize("rule", SHOWN)
def test_the_good_case_is_a_near_miss(rule: str) -> None:
    examples = read_page(rule).examples
    changed = []
    for end in ("yaml", "old.yaml"):
        bad, good = (examples.get(f"{name}.{end}", "").splitlines() for name in ("bad", "good"))
        changed += [line for line in difflib.ndiff(bad, good) if line[:1] in "+-"]
    assert 0 < len(changed) <= 4


@pytest.mark.parametrize("rule", SHOWN)
def test_the_bad_case_shows_one_mistake(rule: str) -> None:
    """An error that the good case does not have is the page's, or the page names it."""
    before, after = (
        {result.tags["rule"] for result in run(read_case(rule, name)) if result.severity == "error"}
        for name in ("bad", "good")
    )
    text = read_page(rule).text
    others = {other for other in before - after - {rule} if other not in text}
    assert not others, f"bad.yaml has other errors, which the page does not name: {others}"


#: A message begins with its subject: the object and the field before it are its place.
_BARE: Final = re.compile(r"(is|was|has|had|refers|cannot|needs|does|links|names|contains|comes|runs (?!may))\b")
#: An error that says by itself what is wanted.
_WANTED: Final = re.compile(r"\b(requires|must|should be|is required)\b")


@pytest.mark.parametrize("rule", [rule for rule in SHOWN if RULES[rule].stage != "server"])
def test_a_message_has_a_subject_does_not_repeat_its_path_and_an_error_has_a_way_out(rule: str) -> None:
    for result in run(read_case(rule, "bad")):
        if result.tags["rule"] == rule:
            assert not _BARE.match(result.message) or _WANTED.search(result.message)
            assert "." not in result.path or not result.message.startswith(f"{result.path} ")
            assert result.severity != "error" or "hint" in result.tags or _WANTED.search(result.message)


@pytest.mark.parametrize("rule", [rule for rule in SHOWN if RULES[rule].stage != "server"])
def test_what_is_not_in_the_files_checked_may_be_elsewhere(rule: str) -> None:
    """kai-queue-unusable says several things, and its hint what to add."""
    said = [result.message for result in run(read_case(rule, "bad")) if result.tags["rule"] == rule]
    elsewhere = "absence" in RULES[rule].traits or rule == "kai-queue-unusable"
    assert elsewhere or not any("in the files checked" in message for message in said)


@pytest.mark.parametrize("rule", sorted(FILES | REQUESTS))
def test_a_page_without_manifests_says_why(rule: str) -> None:
    page = read_page(rule)
    assert page.sections["Example"]
    assert page.examples == {}
