"""The schemas are JSON Schema 2020-12, and the engine knows every keyword and name in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from krmfn.model.rules import PARTS
from krmfn.server import formats
from krmfn.server import schema as schemas
from krmfn.server.schema import find_kind

ROOT = Path(__file__).parents[2] / "schemas" / "kubernetes"
FILES = sorted(path for path in ROOT.glob("*/*.json") if path.stem != "release")
#: Said of upstream, and left alone by the engine: rules that a server only counts (alpha, beta).
UNUSED = {
    "x-kubernetes-alpha",
    "x-kubernetes-beta",
}


def read(file: Path) -> dict[str, Any]:
    schema = json.loads(file.read_text())
    assert isinstance(schema, dict)
    return schema


def walk(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and those in it."""
    yield schema
    for name in ("properties", "$defs"):
        for inner in schema.get(name, {}).values():
            yield from walk(inner)
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from walk(schema[name])


def parameters(files: list[Path]) -> list[Any]:
    return [pytest.param(file, id=f"{file.parent.name}-{file.stem}") for file in files]


@pytest.mark.parametrize("file", parameters(FILES))
def test_is_a_json_schema(file: Path) -> None:
    schema = read(file)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("file", parameters(FILES))
def test_references_resolve(file: Path) -> None:
    for schema in walk(read(file)):
        reference = schema.get("$ref")
        if reference:
            home, _, name = reference.partition("#/$defs/")
            assert name in read(file.parent / home if home else file)["$defs"], reference


@pytest.mark.parametrize("file", parameters(FILES))
def test_keywords_are_known(file: Path) -> None:
    code = "".join(path.read_text() for path in Path(schemas.__file__).parent.glob("*.py"))
    found = {name for schema in walk(read(file)) for name in schema if name.startswith("x-")} - UNUSED
    declared = (*schemas.Kind.__annotations__, *schemas.Field.__annotations__)
    found -= {f"x-kubernetes-{name.replace('_', '-')}" for name in declared}
    assert not {name for name in found if f'"{name}"' not in code}


def test_keywords_are_explained() -> None:
    told = (ROOT / "README.md").read_text().replace("`-", "`x-kubernetes-")
    found = {name for file in FILES for schema in walk(read(file)) for name in schema if name.startswith("x-")}
    assert not {name for name in found if f"`{name}`" not in told}


@pytest.mark.parametrize("file", parameters(FILES))
def test_named_rules_exist(file: Path) -> None:
    root = read(file)
    for used in root.get("x-kubernetes-handwritten", {}).values():
        assert all(schemas.find_function(name) for name, _ in used)
    for plugins in root.get("x-kubernetes-admission", {}).values():
        assert all(schemas.find_function(name) for name in plugins)
    for keyword in ("x-kubernetes-default-functions", "x-kubernetes-prepare"):
        assert all(schemas.find_function(name) for name in root.get(keyword, ()))
    for schema in walk(root):
        if str(schema.get("format", "")).startswith("k8s-"):
            assert schema["format"] in formats.FORMATS


@pytest.mark.parametrize("file", parameters([file for file in FILES if file.stem != "meta"]))
def test_compiles(file: Path) -> None:
    root = read(file)
    gates = {gate: True for needed in root["x-kubernetes-versions"].values() for gate in needed}
    kind = find_kind(root["x-kubernetes-group"], root["x-kubernetes-kind"], file.parent.name, gates)
    assert kind is not None
    assert kind.versions == tuple(root["x-kubernetes-versions"])
    off = find_kind(root["x-kubernetes-group"], root["x-kubernetes-kind"], file.parent.name, {})
    assert off is not None
    assert off.versions == tuple(version for version, needed in root["x-kubernetes-versions"].items() if not needed)


def test_a_plain_validator_agrees_about_types() -> None:
    """The schemas are of use without this engine."""
    registry = jsonschema.validators.validator_for({"$schema": "https://json-schema.org/draft/2020-12/schema"})
    schema = read(ROOT / "1.37" / "podgroup.json")
    plain = registry({"$defs": schema["$defs"], "$ref": "#/$defs/PodGroupSpec"})
    assert plain.is_valid({"schedulingPolicy": {"gang": {"minCount": 3}}})
    assert not plain.is_valid({"schedulingPolicy": {"gang": {"minCount": "3"}}})


def test_rows_are_complete() -> None:
    """Every rule that the code names has a row, and no row is there twice."""
    names = [rule.id for rule in PARTS["server"].values()]
    assert len(names) == len(set(names))
    for rule in PARTS["server"].values():
        assert all(character.isalnum() or character == "-" for character in rule.id)
