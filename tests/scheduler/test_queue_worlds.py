"""Gangs of made-up clusters: none that the scheduler of Volcano or KAI ran is refused, most that it never runs are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from conformance import kai, volcano
from conformance.storage import read_records
from krmfn.config import read_settings
from krmfn.krm import Item
from krmfn.pipeline import find_all, to_results
from tests.front_door import call


def list_errors(values: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """What is proved: of what, its name, and in which words."""
    facts = [value for value in values if value["kind"] not in ("PodGroup", "Pod")]
    spec = {"cluster": {"items": facts}}
    settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})
    items = [Item.new(value) for value in values if value["kind"] in ("PodGroup", "Pod")]
    found = list(find_all(items, settings, None, ("operator", "scheduler"), "apply"))
    for finding, result in zip(found, to_results(found), strict=True):
        if result.severity == "error" and finding.item is not None:
            yield finding.item.kind, finding.item.name, f"{result.tags['rule']}: {result.message}"


class Answered(NamedTuple):
    """A group: where it is, whether the scheduler started it, with the others or alone, and what is proved of it or of
    its pods; `wrong` is what is proved of what runs."""

    place: str
    runs: bool
    errors: list[str]
    wrong: list[str]


def answer(scheduler: ModuleType) -> Iterator[Answered]:
    """Every group of the recorded worlds."""
    for number, record in enumerate(read_records(scheduler.RECORDED)):
        values = scheduler.list_objects(record)
        pods = [value for value in values if value["kind"] == "Pod"]
        placed = {pod["metadata"]["name"] for pod in pods if pod["spec"].pop("nodeName", None)}
        errors = list(list_errors(values))
        for name, said in record["answer"]["groups"].items():
            runs = bool(said["ran"] or said.get("alone"))
            mine = [each for each in errors if each[1] == name or each[1].rpartition("-")[0] == name]
            wrong = [text for kind, what, text in mine if (runs if kind == "PodGroup" else what in placed)]
            yield Answered(f"world {number}, {name}", runs, [text for _, _, text in mine], wrong)


@pytest.mark.parametrize(("scheduler", "running", "share"), [(volcano, 190, 0.82), (kai, 235, 0.84)])
def test_what_a_scheduler_runs_is_never_refused_and_most_of_the_rest_is(
    scheduler: ModuleType, running: int, share: float
) -> None:
    groups = list(answer(scheduler))
    assert [(each.place, each.wrong) for each in groups if each.wrong] == []
    counts = Counter(bool(each.errors) for each in groups if not each.runs)
    assert sum(each.runs for each in groups) >= running
    assert counts[True] >= share * counts.total()


VOLCANO = [
    (4, "g0", "minSubGroups is 1, but the pods make only 0 sub-groups of 3 pods"),
    (7, "g0", "minMember is 3, but only 2 pods can exist"),
    (9, "g3", "request at least 6500m cpu, but the queue org has at most 3"),
    (12, "g0", "request at least 4 nvidia.com/gpu, but the queue org has at most 1"),
    (15, "g1", "the queue q0 is Closed"),
    (2, "g1", "didn't match Pod's node affinity/selector"),  # Volcano's own words: nothing is proved
]
KAI = [
    (11, "g0", "request at least 9500m cpu, and the queue q2 has a limit of 8"),
    (27, "g1", "minMember of the sub-group head is 2, but only 1 pod of it can exist"),
    (4, "g0", "the queue q1 has a quota of 0, which pods that cannot be preempted may not exceed"),
    (15, "g1", 'there is no queue "gone"'),
    (8, "g1", "minMember of the sub-group head is 5, but only 1 pod of it can exist"),
    (33, "g2", "Resources were found for 4 pods while 6 are required"),  # KAI's own words: nothing is proved
]


@pytest.mark.parametrize(
    ("scheduler", "world", "group", "cause"), [(volcano, *row) for row in VOLCANO] + [(kai, *row) for row in KAI]
)
def test_why_names_the_true_cause_first(
    scheduler: ModuleType, world: int, group: str, cause: str, tmp_path: Path
) -> None:
    record = list(read_records(scheduler.RECORDED))[world]
    listed = {"apiVersion": "v1", "kind": "List", "items": scheduler.list_objects(record)}
    (tmp_path / "dump.json").write_text(json.dumps(listed))
    words = ["why", f"podgroup/ml/{group}", "--cluster", "dump.json", "-o", "json"]
    answer = json.loads(call(words=words, folder=tmp_path).out)
    assert cause in answer["cause"]
