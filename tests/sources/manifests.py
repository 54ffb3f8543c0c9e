"""Manifests for the tests of sources, written as short as a table row, and the reading of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from krmfn.config import GangOptions, Settings, read_settings
from krmfn.krm.results import ResourceRef
from krmfn.model.tree import Group, Leaf, leaves
from krmfn.releases.release import find_release
from krmfn.sources import read_tree
from krmfn.sources.manifest import SourceReading

if TYPE_CHECKING:
    from krmfn.sources.manifest import Find

Manifest = dict[str, Any]
TEMPLATE: Manifest = {"spec": {"containers": [{"name": "main", "image": "example"}]}}


def template(**spec: Any) -> Manifest:
    """A pod template with these fields in its spec."""
    return {"spec": {**TEMPLATE["spec"], **spec}}


def manifest(api_version: str, kind: str, spec: Manifest, name: str = "demo", **metadata: Any) -> Manifest:
    """An object. `metadata` holds labels, annotations and the like."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def workers(name: str = "workers", shape: str = "", **fields: Any) -> Manifest:
    """A worker group. `shape` is replicas/minReplicas/maxReplicas, each of which may be - (left out)."""
    counts = dict(zip(("replicas", "minReplicas", "maxReplicas"), shape.split("/") if shape else (), strict=False))
    given = {key: int(value) for key, value in counts.items() if value != "-"}
    return {"groupName": name, "template": TEMPLATE, **given, **fields}


def cluster_spec(*groups: Manifest, **fields: Any) -> Manifest:
    """A RayClusterSpec."""
    return {"headGroupSpec": {"template": TEMPLATE}, "workerGroupSpecs": list(groups), **fields}


def raycluster(*groups: Manifest, api_version: str = "ray.io/v1", **fields: Any) -> Manifest:
    """A RayCluster called demo."""
    return manifest(api_version, "RayCluster", cluster_spec(*groups, **fields))


def job(**spec: Any) -> Manifest:
    """A Job called demo."""
    return manifest("batch/v1", "Job", {"template": TEMPLATE, **spec})


def make_options(**fields: Any) -> GangOptions:
    """The default options of a resource that asked for its gang, with these changes."""
    return read_settings(None).gang._replace(requested=True)._replace(**fields)


def make_settings(**fields: Any) -> Settings:
    """The default settings with these changes."""
    if "release" in fields:
        fields["release"] = find_release(fields["release"])
    return read_settings(None)._replace(**fields)


def read(
    value: Mapping[str, Any], settings: Settings | None = None, others: Sequence[Manifest] = (), **options: Any
) -> SourceReading:
    """What the source of its kind makes of `value`; `options` are changes to GangOptions, `others` can be found."""
    metadata = value.get("metadata", {})
    ref = ResourceRef(value["apiVersion"], value["kind"], metadata.get("name", ""), metadata.get("namespace", ""))
    return read_tree(value, ref, make_options(**options), settings or make_settings(), find_among(others))


def find_among(others: Sequence[Manifest]) -> Find:
    """A lookup of these objects, by kind and name."""
    known = {(other["kind"], other["metadata"]["name"]): other for other in others}
    return lambda _, kind, __, name: known.get((kind, name))


def pods_of(group: Group | None) -> dict[str, int]:
    """The pods of every leaf, by name."""
    return {leaf.name: leaf.pods for leaf in leaves(group)} if group else {}


def quorums_of(group: Group | None) -> dict[str, int | None]:
    """The quorum of every leaf, by name."""
    return {leaf.name: leaf.min_count for leaf in leaves(group)} if group else {}


def paths_of(group: Group | None) -> list[tuple[str | int, ...]]:
    """The paths of the pod templates, in order."""
    return [pod.path for leaf in leaves(group) for pod in leaf.templates] if group else []


def only_leaf(group: Group | None) -> Leaf:
    """The tree, which must be one leaf."""
    assert isinstance(group, Leaf)
    return group


def rules_of(reading: SourceReading) -> list[str]:
    """The rules of the notes, in order."""
    return [note.rule for note in reading.notes]
