"""Definitions in the input may hold anything anywhere: they are read or passed over, and an object is judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from krmfn import validate
from krmfn.server import answer
from krmfn.server.custom import is_schema, judge, read_definition
from krmfn.server.schema import compile_schemas
from tests.checks.definitions import define

TEXT = {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "a", "format": "date", "nullable": True}
NUMBER = {"type": "integer", "minimum": 1, "maximum": 9, "exclusiveMinimum": False, "multipleOf": 1, "default": 3}
FIELDS = {
    "text": {**TEXT, "enum": ["a", "b"], "x-kubernetes-validations": [{"rule": "self == 'a'", "message": "m"}]},
    "number": NUMBER,
    "either": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    "list": {
        "type": "array",
        "maxItems": 3,
        "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    },
    "map": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2},
    "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "not": {"required": ["x"]}},
    "inner": {"type": "object", "x-kubernetes-embedded-resource": True, "allOf": [{"minProperties": 1}]},
}
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "required": ["text"], "properties": FIELDS}}}
SPEC = {
    "text": "a",
    "number": 3,
    "either": 1,
    "list": [{"name": "a"}],
    "map": {"a": 1},
    "open": {"b": 1},
    "inner": {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}},
}
SCHEMAS = compile_schemas("1.37", {})


def spoil(value: Any, wrong: Any) -> Iterator[Any]:
    """The value with one thing in it, at any depth, exchanged."""
    yield wrong
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: other} for other in spoil(inner, wrong))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in spoil(inner, wrong))


def ask(schema: Any) -> None:
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "example.com", "names": {"kind": "Foo"}, "versions": [version]}
    head = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}}
    for structure in read_definition({"spec": spec}).values():
        judge(structure, SCHEMAS, {**head, "spec": SPEC}, {**head, "spec": {**SPEC, "number": 4}})


def test_it_is_a_schema() -> None:
    assert is_schema(SCHEMA)


@pytest.mark.parametrize("wrong", ["x", -1, 1.5, None, True, [], ["x"], [None], {}, {"x": "x"}, {"$ref": "x"}], ids=str)
def test_a_schema_with_anything_in_it_breaks_nothing(wrong: Any) -> None:
    for schema in spoil(SCHEMA, wrong):
        ask(schema)


def test_definitions_of_one_kind_that_differ_have_to_agree() -> None:
    old, new = define("{spec: {type: object}}"), define("{spec: {type: object, properties: {size: {type: integer}}}}")
    resource = "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: a}\nspec: {size: 5, color: red}\n"
    both = "\n---\n".join((old, new))
    told = {text: paths(f"{text}\n---\n{resource}") for text in (old, new, both)}
    assert told == {old: ["spec.color", "spec.size"], new: ["spec.color"], both: ["spec.color"]}
    wrong = both + "\n---\n" + resource.replace("5", "x")
    assert paths(wrong) == ["spec.color", "spec.size"], "the other one does not have the field"


def paths(text: str) -> list[str]:
    return [result.path for result in validate(text.encode()).errors if result.ref and result.ref.kind == "Foo"]


def test_a_server_side_apply_keeps_what_others_own() -> None:
    stored = define("{spec: {type: object}}")
    head = stored[: stored.index("\nspec:")]
    mine = f"{head}\nspec: {{names: {{shortNames: [f]}}}}\n"
    wrong = mine.replace("[f]", "[F]")

    def find(text: str, update: str) -> list[str]:
        return [each.path for each in validate(text.encode(), against=stored.encode(), update=update).errors]

    assert find(mine, "server-side-apply") == []
    assert find(wrong, "server-side-apply") == ["spec.names.shortNames[0]"]
    assert "spec.versions" in find(mine, "replace")


DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "foos.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList", "shortNames": ["f"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
                "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec.a"}],
            }
        ],
        "conversion": {
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://a.b"}},
        },
    },
    "status": {"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]},
}


@pytest.mark.parametrize("wrong", [None, 5, "x", [], {}, [None], [5], True], ids=repr)
def test_a_definition_may_hold_anything_before_and_after_a_change(wrong: Any) -> None:
    for each in spoil(DEFINITION, wrong):
        for value, stored in ((each, None), (each, DEFINITION), (DEFINITION, each)):
            answer(value, "1.37", {}, stored)


def test_a_change_of_a_right_definition_is_compared() -> None:
    """It is not taken for a create, whose name would be refused."""
    moved = {**DEFINITION, "spec": {**DEFINITION["spec"], "scope": "Cluster"}}
    verdict = answer(moved, "1.37", {}, DEFINITION)
    assert verdict is not None
    assert [cause.path for cause in verdict.causes] == [("spec", "scope")]
