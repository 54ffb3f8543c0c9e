"""What `krmfn validate` reports is what real servers answered: sets of (type, field), through files."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from conformance.commands import DATA
from conformance.frontdoor import Door, Told, compare_records, compare_told, spell
from conformance.storage import read_records
from conformance.versions import read_profiles
from tests.conformance.replay import NEWEST

#: `./dev test server` asks about the newest release with everything on.
FILES = [
    pytest.param(path, id=f"{path.parent.name}/{profile}", marks=[] if profile == NEWEST else pytest.mark.slow)
    for path in sorted(DATA.glob("*/*.jsonl.xz"))
    for profile in [path.name.removesuffix(".jsonl.xz")]
]
#: Each so many-th record; `python -m conformance compare` asks all.
EVERY = 40


@pytest.mark.parametrize("path", FILES)
def test_reports_are_the_answers_of_servers(path: Path, tmp_path: Path) -> None:
    reasons: Counter[str] = Counter()
    records = itertools.islice(read_records(path), 0, None, EVERY)
    answers = list(compare_records(records, read_profiles(), tmp_path, reasons))
    assert len(answers) > 5
    assert [(each.record["id"], each.group, each.ours) for each in answers if each] == []


def test_a_change_of_two_fields_that_cannot_change_is_two_errors(tmp_path: Path) -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "a"}}
    old = {**group, "spec": {**spec, "workloadRef": {"workloadName": "w", "templateName": "t"}}}
    record = {"object": {**group, "spec": {**spec, "parentCompositePodGroupName": "b"}}, "old": old}
    told = Door(tmp_path, read_profiles()["1.37-was-all"]).ask(record, "threeWay")
    fields = ("spec.parentCompositePodGroupName", "spec.workloadRef")
    assert told.causes == {("Invalid", field) for field in fields}


def test_a_comparison_can_fail() -> None:
    refusal = {"code": 422, "causes": [{"reason": "FieldValueInvalid", "field": "spec.a[b]", "message": ""}]}
    assert compare_told(refusal, Told(frozenset({("Invalid", "spec.a.b")}), ())) == ""
    assert compare_told(refusal, Told(frozenset({("Required", "spec.a.b")}), ())) == "1 missing and 1 more"
    assert compare_told(refusal, Told(frozenset(), ())) == "accepted, and the server says 422"
    assert compare_told({"code": 201}, Told(frozenset({("Invalid", "spec")}), ())) != ""
    assert spell("a[0].b[x.y/z].c") == "a[0].b.x.y/z.c"
