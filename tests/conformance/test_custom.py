"""Custom resources are judged as real servers with KubeRay's definitions judged recorded ones."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from conformance.custom import ASKED, RECORDED, SPECS, differ
from conformance.definitions import read_definitions
from conformance.storage import read_records
from krmfn.checks.server.custom import Judgement, find_shipped, judge, read_definition
from krmfn.checks.server.schema import compile_schemas

SCHEMAS = compile_schemas("1.37", {})


def definition(schema: dict[str, Any]) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {"spec": {"group": "example.com", "names": {"kind": "Foo", "plural": "foos"}, "versions": [version]}}


def answer(properties: dict[str, Any], spec: Any, old: Any = None) -> Judgement:
    """What is said of an object of a definition with these fields of its spec."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    (structure,) = read_definition(definition(schema)).values()
    head = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}}
    before = None if old is None else {**head, "spec": old}
    return judge(structure, SCHEMAS, {**head, "spec": spec}, before)


@pytest.mark.parametrize("version", ASKED)
def test_recorded_answers(version: str) -> None:
    mine = [record for record in read_records(RECORDED) if record["version"] == version]
    assert [(record, found) for record in mine if (found := differ(record))] == []
    codes = Counter(record["code"] for record in mine)
    assert min(codes[201], codes[400], codes[422]) > 30
    assert {record["object"]["kind"] for record in mine} == set(SPECS)


def test_definitions_are_those_of_the_version() -> None:
    for version in ASKED:
        assert {each["spec"]["names"]["kind"] for each in read_definitions(version)} == set(SPECS)
    assert find_shipped("ray.io", "RayCluster", "v1", (1, 5)) is None
    assert find_shipped("ray.io", "RayCluster", "v1", (1, 9)) is not None
    assert find_shipped("ray.io", "RayCluster", "v2", (1, 7)) is None
    assert find_shipped("example.com", "RayCluster", "v1", (1, 7)) is None


def test_defaults_and_nulls() -> None:
    fields = {"a": {"type": "integer", "default": 3, "minimum": 2}, "b": {"type": "string"}}
    assert answer(fields, {"b": None}) == Judgement(())
    assert answer(fields, {"a": None}) == Judgement(())
    (cause,) = answer(fields, {"a": 1}).causes
    assert (cause.path, cause.rule) == (("spec", "a"), "minimum")
    assert cause.message == "Invalid value: 1: spec.a in body should be greater than or equal to 2"


def test_what_stays_wrong_is_allowed() -> None:
    fields = {"a": {"type": "integer", "minimum": 2}, "b": {"type": "string"}}
    assert answer(fields, {"a": 1, "b": "x"}, {"a": 1}).causes == ()
    assert len(answer(fields, {"a": 0}, {"a": 1}).causes) == 1


def test_rules_are_named() -> None:
    rules = [{"rule": "self > 1"}, {"rule": "self == oldSelf"}]
    fields = {"a": {"type": "integer", "x-kubernetes-validations": rules}}
    assert answer(fields, {"a": 1}).unchecked == ((("spec", "a"), "self > 1"),)
    assert len(answer(fields, {"a": 1}, {"a": 2}).unchecked) == 2
    assert answer(fields, {}).unchecked == ()


@pytest.mark.parametrize("value", [{}, {"spec": None}, {"spec": {"versions": 1}}, {"spec": {"versions": [{}]}}])
def test_malformed_definitions(value: dict[str, Any]) -> None:
    assert read_definition(value) == {}
