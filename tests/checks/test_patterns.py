"""Patterns of Go, as CustomResourceDefinitions have them, find the same texts here."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from conformance import patterns
from conformance.storage import read_records
from krmfn.server.patterns import compile_pattern, is_quick
from tests.checks.definitions import visit_shipped


@pytest.mark.parametrize(
    ("pattern", "found", "missed"),
    [
        (r"^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$", "aB-c", "a_b"),
        (r"^([a-z]+$|x)", "ab", "ab\n"),
        ("(a(?i)b)c", "aBc", "aBC"),
        ("^(x(?i)a|b)$", "B", "Xa"),
        ("^(?:x(?i:a)|b)$", "xA", "B"),
        (r"^[[:alpha:]\d]+\z", "a1", "a1\n"),
        (r"^\s$", " ", "\v"),
        (r"^[\s]$", "\t", "\v"),
        ("^(?P<x>a|b)(?<y>c)$", "ac", "c"),
        (r"^\d\w\b", "1a", "٣a"),
        ("^[^]a]$", "b", "]"),
        ("^[[&~|]$", "[", "x"),
        (r"(?m)^a$", "b\na\nc", "ab"),
        (r"^\Qa.b\E+$", "a.bb", "axb"),
        (r"^\x{41}$", "A", "a"),
        ("^(?is)A.b$", "a\nB", "ab"),
    ],
)
def test_patterns(pattern: str, found: str, missed: str) -> None:
    compiled = compile_pattern(pattern)
    assert compiled
    assert compiled.search(found)
    assert not compiled.search(missed)


def test_recorded_answers() -> None:
    records = list(read_records(patterns.RECORDED))
    assert [(record, found) for record in records if (found := patterns.differ(record))] == []
    judged = Counter(record["found"] for record in records if compile_pattern(record["pattern"]))
    assert min(judged[True], judged[False]) > 1000


@pytest.mark.parametrize("pattern", [r"\p{Greek}", "(?=a)", "a)", "(a", "[a", "[[:foo:]]", r"(a)\1", "a**", "(?U)a+"])
def test_patterns_that_are_not_judged(pattern: str) -> None:
    assert compile_pattern(pattern) is None


def test_all_shipped_patterns_are_judged() -> None:
    found = {pattern for value in visit_shipped() if isinstance(pattern := value.get("pattern"), str)}
    assert len(found) > 5
    assert [pattern for pattern in sorted(found) if compile_pattern(pattern) is None] == []


def test_the_pattern_of_a_quantity_is_quick() -> None:
    """It is the one that most definitions have."""
    shipped = {pattern for value in visit_shipped() if isinstance(pattern := value.get("pattern"), str)}
    pattern = max((each for each in shipped if "[KMGTPE]i" in each), key=len)
    assert is_quick(pattern, "1Gi" * 1_000)
    compiled = compile_pattern(pattern)
    assert compiled
    start = time.process_time()
    for text in (
        "1" * 100_000 + "x",
        "." + "1" * 100_000 + "x",
        "1e" + "1" * 100_000 + "x",
        "1" * 99_999 + "e" * 99_999,
    ):
        assert not compiled.search(text)
    assert time.process_time() - start < 1
