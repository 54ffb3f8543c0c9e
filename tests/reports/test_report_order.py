"""The order of results, and what counts as the same result."""

from __future__ import annotations

import itertools

from krmfn.krm.results import FileRef, ResourceRef, Result
from krmfn.reports import count, order
from krmfn.reports.report import fingerprint


def test_file_document_path_rule() -> None:
    def at(path: str, file: str, index: int, rule: str) -> Result:
        return Result("m", "error", ResourceRef("v1", "Pod", "p"), path, file=FileRef(file, index), tags={"rule": rule})

    wanted = [
        at("spec.z", "a.yaml", 0, "z"),
        at("spec", "a.yaml", 1, "a"),
        at("spec.a[2]", "a.yaml", 1, "b"),
        at("spec.a[10]", "a.yaml", 1, "a"),
        at("spec.a[10]", "a.yaml", 1, "b"),
        at("spec", "b.yaml", 0, "a"),
        Result("no file", "error", ResourceRef("v1", "Pod", "p")),
        Result("no object"),
    ]
    for shuffled in itertools.islice(itertools.permutations(wanted), 0, None, 997):
        assert order(shuffled) == wanted


def test_duplicates_appear_once_even_with_values_that_cannot_be_hashed() -> None:
    twice = Result("m", current={"a": []})
    assert order([twice, Result("n"), twice]) == [twice, Result("n")]


def test_count_has_every_severity() -> None:
    assert count([Result("m", "info")]) == {"error": 0, "warning": 0, "info": 1}


def test_fingerprints_ignore_lines_and_values_and_are_unique(results: list[Result]) -> None:
    prints = fingerprint(results)
    assert len(set(prints)) == len(results)
    moved = [
        result._replace(file=result.file and result.file._replace(line=99, column=1), current="other")
        for result in results
    ]
    assert fingerprint(moved) == prints


def test_fingerprints_tell_rule_file_object_and_path_apart() -> None:
    base = Result("m", ref=ResourceRef("v1", "Pod", "p"), path="a", file=FileRef("f"), tags={"rule": "r"})
    others = [
        base._replace(tags={"rule": "s"}),
        base._replace(file=FileRef("g")),
        base._replace(ref=ResourceRef("v1", "Pod", "q")),
        base._replace(path="b"),
    ]
    alone = [fingerprint([result])[0] for result in [base, *others]]
    assert len(set(alone)) == 5
