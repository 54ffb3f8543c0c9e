"""SARIF: valid against the OASIS schema, and complete enough for code scanning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from krmfn.krm.results import FileRef, ResourceRef, Result
from krmfn.model.findings import Rule
from krmfn.reports import order, render

SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-schema-2.1.0.json").read_text())


def read(results: list[Result], rules: Mapping[str, Rule] = {}) -> dict[str, Any]:
    """The only run of the rendered log, which is validated."""
    log = json.loads(render(results, "sarif", rules=rules))
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(log)
    run: dict[str, Any] = log["runs"][0]
    return run


def test_schema_refuses_the_level_info() -> None:
    """The schema is really asked."""
    log = json.loads(render([Result("m")], "sarif"))
    log["runs"][0]["results"][0]["level"] = "info"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, SCHEMA)


def test_every_result_is_valid_and_points_at_its_rule(results: list[Result], rules: dict[str, Rule]) -> None:
    run = read(results, rules)
    described = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in described] == ["facts", "minimum", "priority-class-unknown"]
    assert len(run["results"]) == len(order(results))
    for result in run["results"]:
        if "ruleId" in result:
            assert described[result["ruleIndex"]]["id"] == result["ruleId"]
    assert len({result["partialFingerprints"]["krmfnFinding/v1"] for result in run["results"]}) == len(run["results"])


def test_rule_carries_help(results: list[Result], rules: dict[str, Rule]) -> None:
    wrong = "The number is below the lower bound of the field, so the API server refuses the object (HTTP 422)."
    text = f"A number is below its bound.\n\n{wrong}\n\nRaise the number."
    minimum = read(results, rules)["tool"]["driver"]["rules"][1]
    assert minimum == {
        "id": "minimum",
        "shortDescription": {"text": "A number is below its bound."},
        "fullDescription": {"text": wrong},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["server"]},
    }


def test_place(minimum: Result) -> None:
    assert read([minimum])["results"][0]["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "base/podgroup.yaml"},
                "region": {"startLine": 12, "startColumn": 17},
            },
            "logicalLocations": [
                {
                    "name": "spec.schedulingPolicy.gang.minCount",
                    "fullyQualifiedName": ("PodGroup.scheduling.k8s.io/ml/train#spec.schedulingPolicy.gang.minCount"),
                    "kind": "member",
                }
            ],
        }
    ]


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("./a b/ü.yaml", "a%20b/%C3%BC.yaml"),
        ("/abs/a.yaml", "file:///abs/a.yaml"),
        ("c:d.yaml", "c%3Ad.yaml"),
    ],
)
def test_paths_become_uris(path: str, uri: str) -> None:
    (result,) = read([Result("m", file=FileRef(path))])["results"]
    assert result["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": uri}}


def test_object_of_the_core_group_without_namespace() -> None:
    (result,) = read([Result("m", "info", ResourceRef("v1", "Pod", "p"))])["results"]
    assert result["level"] == "note"
    assert result["locations"] == [
        {"logicalLocations": [{"name": "p", "fullyQualifiedName": "Pod/p", "kind": "object"}]}
    ]


def test_nothing_found_is_a_valid_run() -> None:
    assert read([])["results"] == []
