"""Patterns of Go, as CustomResourceDefinitions have them, find the same texts here."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance import patterns
from conformance.definitions import list_projects, read_definitions
from conformance.storage import read_records
from krmfn.checks.server.patterns import compile_pattern


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
    found: set[str] = set()

    def visit(value: object) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("pattern"), str):
                found.add(value["pattern"])
            for item in value.values():
                visit(item)
        elif isinstance(value, list):
            for item in value:
                visit(item)

    for project, row in list_projects().items():
        for version in row["versions"]:
            visit(list(read_definitions(project, version)))
    assert len(found) > 5
    assert [pattern for pattern in sorted(found) if compile_pattern(pattern) is None] == []
