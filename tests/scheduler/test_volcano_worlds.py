"""Gangs of made-up clusters: none that Volcano's scheduler ran is refused, and most of those that it never runs are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from conformance.storage import Record, read_records
from conformance.volcano import RECORDED, list_objects
from krmfn.config import read_settings
from krmfn.krm import Item
from krmfn.pipeline import find_all, to_results


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
