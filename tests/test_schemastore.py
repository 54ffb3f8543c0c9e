"""The shipped schemas are found, are JSON Schema, and refer to what exists; a folder that is missing is said."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from krmfn.releases import schemastore
from krmfn.releases.release import find_release, list_releases

PATHS = schemastore.list_paths()


def references(schema: Any) -> Iterator[str]:
    """Every `$ref` in a schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for part in schema.values():
            yield from references(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from references(part)


def test_every_release_and_the_configuration_have_schemas() -> None:
    assert {"krmfn/v1alpha1/gangscheduling.json", "volcano/podgroup.json"} <= set(PATHS)
    for release in list_releases():
        kinds = {*find_release(release).kinds, "Job", "Pod", "meta"}
        own = schemastore.list_paths(f"kubernetes/{release}")
        assert own == [path for path in PATHS if path.startswith(f"kubernetes/{release}/")]
        assert {f"kubernetes/{release}/{kind.lower()}.json" for kind in kinds} <= set(own)


@pytest.mark.parametrize("path", [path for path in PATHS if path.startswith("kubernetes/1.")])
def test_a_schema_is_written_for_its_release(path: str) -> None:
    """A folder that was copied for a new release is written again, by conformance/schemas."""
    schema, release = schemastore.load(path), path.split("/")[1]
    assert schema["$id"] == path.rpartition("/")[2]  # relative: what it refers to lies beside it
    assert schema["title"].endswith(f" of Kubernetes {release}")


@pytest.mark.parametrize("path", PATHS)
def test_a_schema_is_one_and_what_it_refers_to_exists(path: str) -> None:
    schema = schemastore.load(path)
    jsonschema.Draft202012Validator.check_schema(schema)
    for reference in references(schema):
        file, _, pointer = reference.partition("#")
        target: Any = schemastore.load(f"{path.rpartition('/')[0]}/{file}" if file else path)
        for step in pointer.split("/")[1:]:
            assert step in target, reference
            target = target[step]


def test_a_schema_is_read_once() -> None:
    assert schemastore.load(PATHS[0]) is schemastore.load(PATHS[0])


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(schemastore.SchemaMissing, match=r"no schema kubernetes/9\.99/job\.json"):
        schemastore.load("kubernetes/9.99/job.json")
    assert schemastore.list_paths("nowhere") == []
    monkeypatch.setattr(schemastore, "__file__", str(tmp_path / "krmfn" / "releases" / "schemastore.py"))
    with pytest.raises(schemastore.SchemaMissing, match="reinstall"):
        schemastore.root()


def test_the_schemas_of_a_wheel_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "krmfn" / "schemas"
    inside.mkdir(parents=True)
    (tmp_path / "schemas").mkdir()
    (inside / "a.json").write_text(json.dumps({"title": "inside"}))
    monkeypatch.setattr(schemastore, "__file__", str(tmp_path / "krmfn" / "releases" / "schemastore.py"))
    monkeypatch.setattr(schemastore, "_READ", {})
    assert schemastore.root() == str(inside)
    assert schemastore.load("a.json") == {"title": "inside"}
