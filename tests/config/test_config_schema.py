"""The published schema: a schema itself, and of one mind with the reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import pytest

from krmfn.config import ConfigError, read_settings
from krmfn.config.schema import load_schema
from tests.config.test_read_settings import make

SCHEMA = load_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def properties_in(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every property in `schema`, with a path for people."""
    for key, child in schema.get("properties", {}).items():
        yield f"{path}.{key}", child
        yield from properties_in(child, f"{path}.{key}")
        yield from properties_in(child.get("items", {}), f"{path}.{key}[]")
    for name, child in schema.get("$defs", {}).items():
        yield from properties_in(child, f"${name}")


def test_every_property_is_described() -> None:
    found = dict(properties_in(SCHEMA))
    assert len(found) > 40
    assert [path for path, schema in found.items() if not schema.get("description", "").endswith(".")] == []


@pytest.mark.parametrize(
    "value",
    [
        make(),
        make({}),
        make({"select": "All"}),
        make({"select": {"names": ["a"]}}),
        make({"gang": {"minCount": 3}}),
        make({"gang": {"minCount": "Replicas"}}),
        make({"cluster": {"schedulers": ["mine"]}}),
        make({"kuberay": {"version": "v1.6.1"}}),
        make({"gangs": {}}),
        make({"gang": {"minCount": 0}}),
        make({"gang": {"minCount": True}}),
        make({"gang": {"minCount": "all"}}),
        make({"gang": {"gangGroup": "A"}}),
        make({"gang": {"groupTopologyKeys": {"a": 1}}}),
        make({"select": "None"}),
        make({"select": {}}),
        make({"select": {"kinds": "Job"}}),
        make({"overrides": [{}]}),
        make({"overrides": [{"select": {"names": ["a"]}, "gang": {"x": 1}}]}),
        make({"kubernetes": {"version": 1.37}}),
        make({"kuberay": {"version": "new"}}),
        make({"cluster": {"node": []}}),
        make(kind="Other"),
        make(extra=1),
        make(7),
        make([]),
    ],
)
def test_the_reader_agrees_with_a_validator(value: Any) -> None:
    try:
        read_settings(value)
        accepted = True
    except ConfigError:
        accepted = False
    assert VALIDATOR.is_valid(value) is accepted
