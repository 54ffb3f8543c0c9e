"""Gangs of made-up clusters: none that Volcano's scheduler ran is refused, and most of those that it never runs are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.storage import Record, read_records
from conformance.volcano import RECORDED, list_objects
from krmfn.config import read_settings
from krmfn.krm import Item
from krmfn.pipeline import find_all, to_results
from tests.front_door import call


def list_errors(record: Record) -> dict[str, list[str]]:
    """What is proved, by the name of the group."""
    values = list_objects(record)
    facts = [value for value in values if value["kind"] in ("Node", "ConfigMap", "Queue")]
    spec = {"cluster": {"items": facts}}
    settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})
    items = [Item.new(value) for value in values if value["kind"] in ("PodGroup", "Pod")]
    found = list(find_all(items, settings, None, ("operator", "scheduler"), "apply"))
    errors: dict[str, list[str]] = {}
    for finding, result in zip(found, to_results(found), strict=True):
        if result.severity == "error" and finding.item is not None:
            item = finding.item
            name = item.name if item.kind == "PodGroup" else item.name.rpartition("-")[0]
            errors.setdefault(name, []).append(f"{result.tags['rule']}: {result.message}")
    return errors


def judge(records: list[Record]) -> Iterator[tuple[bool, list[str], str]]:
    """Of each group whether Volcano started it, with the others or alone, what is proved, and where it is."""
    for number, record in enumerate(records):
        errors = list_errors(record)
        for name, said in record["answer"]["groups"].items():
            yield bool(said["ran"] or said.get("alone")), errors.get(name, []), f"world {number}, {name}"


def test_what_volcano_runs_is_never_refused_and_most_of_the_rest_is() -> None:
    judged = list(judge(list(read_records(RECORDED))))
    assert [(where, errors) for runs, errors, where in judged if runs and errors] == []
    counts = Counter(bool(errors) for runs, errors, _ in judged if not runs)
    assert sum(runs for runs, _, _ in judged) >= 190
    assert counts[True] >= 0.82 * counts.total()


@pytest.mark.parametrize(
    ("world", "group", "cause"),
    [
        (4, "g0", "minSubGroups is 1, but the pods make only 0 sub-groups of 3 pods"),
        (7, "g0", "minMember is 3, but only 2 pods can exist"),
        (9, "g3", "request at least 6500m cpu, but the queue org has at most 3"),
        (12, "g0", "request at least 4 nvidia.com/gpu, but the queue org has at most 1"),
        (15, "g1", "the queue q0 is Closed"),
        (2, "g1", "didn't match Pod's node affinity/selector"),  # Volcano's own words: nothing is proved
    ],
)
def test_why_names_the_true_cause_first(world: int, group: str, cause: str, tmp_path: Path) -> None:
    record = list(read_records(RECORDED))[world]
    listed = {"apiVersion": "v1", "kind": "List", "items": list_objects(record)}
    (tmp_path / "dump.json").write_text(json.dumps(listed))
    words = ["why", f"podgroup/ml/{group}", "--cluster", "dump.json", "-o", "json"]
    answer = json.loads(call(words=words, folder=tmp_path).out)
    assert cause in answer["cause"]
