"""Fields that the CRDs drop: those of another version, and those that are mistyped."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from krmfn.krm.paths import format_path
from krmfn.releases import schemastore
from tests.sources.manifests import cluster_spec, manifest, pods_of, raycluster, read, workers


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("numofHosts", "numOfHosts"),
        ("numOfHost", "numOfHosts"),
        ("minReplica", "minReplicas"),
        ("replica", "replicas"),
        ("suspended", "suspend"),
    ],
)
def test_mistyped_field_of_a_group(field: str, meant: str) -> None:
    reading = read(raycluster(workers("a", "-/-/4", **{"replicas": 2} if meant != "replicas" else {}, **{field: 3})))
    (note,) = [note for note in reading.notes if note.rule == "field-unknown"]
    assert format_path(note.path) == f"spec.workerGroupSpecs[0].{field}"
    assert (note.current, note.hint) == (3, f"Did you mean {meant}?")


@pytest.mark.parametrize("field", ["image", "maxSurge", "newField", "priority", "rayStartParams"])
def test_other_fields_are_no_matter_of_ours(field: str) -> None:
    assert read(raycluster(workers("a", "1", **{field: 3}))).notes == ()


def test_a_mistyped_twin_of_a_field_that_is_there_is_left_alone() -> None:
    assert read(raycluster(workers("a", "1", Replicas=3))).notes == ()


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (raycluster(enableInTreeAutoscalling=True), "spec.enableInTreeAutoscalling"),
        (
            manifest("ray.io/v1", "RayJob", {"rayClusterSpec": cluster_spec(headGroupSpecs={})}),
            None,  # headGroupSpec is there
        ),
        (manifest("ray.io/v1", "RayJob", {"rayclusterSpec": cluster_spec()}), "spec.rayclusterSpec"),
        (manifest("ray.io/v1", "RayService", {"rayClusterConfigs": cluster_spec()}), "spec.rayClusterConfigs"),
        (
            manifest("ray.io/v1", "RayCronJob", {"jobTemplate": {"rayClusterSpecs": cluster_spec()}}),
            "spec.jobTemplate.rayClusterSpecs",
        ),
    ],
)
def test_mistyped_field_above(value: Any, path: str | None) -> None:
    found = [format_path(note.path) for note in read(value).notes if note.rule == "field-unknown"]
    assert found == ([path] if path else [])


def test_versions_other_than_v1alpha1_lose_nothing() -> None:
    group = workers("a", "1", numOfHosts=2)
    assert pods_of(read(raycluster(group, api_version="ray.io/v2")).group) == {"head": 1, "a": 2}


def test_the_manifest_itself_is_not_changed() -> None:
    value = raycluster(workers("a", "1", numOfHosts=2), api_version="ray.io/v1alpha1")
    before = repr(value)
    read(value)
    assert repr(value) == before


@pytest.mark.parametrize("path", schemastore.list_paths("kuberay"))
def test_schemas_are_schemas(path: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schemastore.load(path))
