"""JSON and YAML: the shape of the specification, read back by several readers."""

from __future__ import annotations

import json

import yaml
from ruamel.yaml import YAML

from krmfn.krm.results import Result
from krmfn.reports import order, render


def test_json_holds_the_specifications_shape(minimum: Result) -> None:
    assert json.loads(render([minimum], "json")) == {
        "results": [
            {
                "message": "Invalid value: -1: must be greater than or equal to 1",
                "severity": "error",
                "resourceRef": {
                    "apiVersion": "scheduling.k8s.io/v1beta1",
                    "kind": "PodGroup",
                    "name": "train",
                    "namespace": "ml",
                },
                "field": {"path": "spec.schedulingPolicy.gang.minCount", "currentValue": -1, "proposedValue": 4},
                "file": {"path": "base/podgroup.yaml", "index": 0, "line": 12, "column": 17},
                "tags": {
                    "rule": "minimum",
                    "stage": "server",
                    "type": "Invalid",
                    "hint": "Write the number of pods, 4.",
                },
            }
        ],
        "summary": {"error": 1, "warning": 0, "info": 0},
    }


def test_json_and_yaml_hold_every_result(results: list[Result]) -> None:
    wanted = {
        "results": [result.to_json() for result in order(results)],
        "summary": {"error": 2, "warning": 4, "info": 1},
    }
    assert json.loads(render(results, "json")) == wanted
    text = render(results, "yaml")
    assert yaml.safe_load(text) == wanted
    assert YAML(typ="safe").load(text) == wanted


def test_yaml_quotes_what_readers_disagree_on() -> None:
    odd = [
        "y",
        "Yes",
        "off",
        "1e3",
        "0o17",
        "12:30",
        "2020-01-02",
        "=",
        "<<",
        "~",
        "null",
        "",
        " a",
        "a: b",
        "#",
        "x\n",
    ]
    text = render([Result(word) for word in odd], "yaml")
    for word in odd:
        assert f"message: {json.dumps(word)}\n" in text


def test_yaml_has_no_aliases() -> None:
    shared = {"a": ["b"]}
    text = render([Result("m", path="p", current=shared, proposed=shared)], "yaml")
    assert "&" not in text
    assert "*" not in text


def test_empty() -> None:
    assert json.loads(render([], "json")) == {"results": [], "summary": {"error": 0, "warning": 0, "info": 0}}
    assert yaml.safe_load(render([], "yaml"))["results"] == []
