"""Every rule has fired somewhere other than in its own example, or somebody says that users meet what it finds."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.evidence import COUNTS, PAGE, Evidence, count_files, read_evidence, write_counts, write_page
from krmfn.model.rules import RULES


def test_every_rule_has_evidence() -> None:
    evidence = read_evidence()
    bare = [rule for rule in RULES if not evidence.of(rule)]
    assert not bare, f"{bare}: no source or test tells of it, or `python -m conformance evidence` has not counted it"


def test_the_page_is_what_the_counts_say() -> None:
    evidence = read_evidence()
    assert PAGE.read_text() == write_page(evidence), "python -m conformance evidence"
    assert COUNTS.read_text() == write_counts(evidence), "python -m conformance evidence"


def test_what_files_of_the_repository_no_longer_say_is_not_counted() -> None:
    """Numbers may lag behind new tests; that there is evidence may not."""
    now, kept = count_files(), read_evidence()
    for column, rules in now.items():
        gone = set(kept.counts[column]) - {rule for rule, number in rules.items() if number}
        assert not gone, f"python -m conformance evidence: {column}: {gone}"


def test_a_rule_without_anything_has_no_evidence() -> None:
    counts: Mapping[str, Mapping[str, int]] = {"tests": {"union": 2}}
    evidence = Evidence({"shop": {"union": 3}, "lab": {}}, 0, counts)
    assert evidence.of("union") == {"repositories": 1, "tests": 2}
    assert evidence.of("required") == {}
