"""A Ray manifest as KubeRay gets it: without the fields that the API server drops, and with a word on mistyped ones.

CRDs prune silently, and the version that was sent decides what is known: ray.io/v1alpha1 has no numOfHosts. The fields
are in schemas/kuberay; nothing else about them is known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from krmfn.krm.paths import Path, format_path
from krmfn.model.wording import find_nearest
from krmfn.releases import schemastore
from krmfn.sources.manifest import Manifest

Schema: TypeAlias = "Mapping[str, Any]"

#: A key is a slip of the pen when it is at least this like a known one (1 is equal).
_LIKENESS = 0.8


def prune(manifest: Manifest) -> None:
    """Make the manifest's `spec` the one that is stored, and leave a note on every field that gets lost and is read."""
    spec = manifest.get(("spec",))
    if not isinstance(spec, dict):
        return
    schema = _load(f"{manifest.ref.kind.lower()}.json")
    manifest.value = {**manifest.value, "spec": _prune(manifest, spec, schema, ("spec",))}


def find_defaults() -> dict[str, int]:
    """What the API server writes into a worker group that lacks a field, whichever version was sent."""
    fields = _load("raycluster.json")["properties"]["workerGroupSpecs"]["items"]["properties"]
    return {key: field["default"] for key, field in fields.items() if "default" in field}


def _load(name: str) -> Schema:
    return schemastore.load(f"kuberay/{name}")


def _prune(manifest: Manifest, value: Any, schema: Schema, path: Path) -> Any:
    """`value` without what the version does not have. Levels that the schema does not describe stay as they are."""
    if "$ref" in schema:
        schema = _load(schema["$ref"])
    if isinstance(value, list) and "items" in schema:
        return [_prune(manifest, element, schema["items"], (*path, index)) for index, element in enumerate(value)]
    fields: Mapping[str, Schema] = schema.get("properties", {})
    if not fields or not isinstance(value, dict):
        return value
    version = "v1alpha1" if manifest.ref.api_version == "ray.io/v1alpha1" else "v1"
    kept = {}
    for key, child in value.items():
        field = fields.get(key)
        if field is None:
            _note_unknown(manifest, str(key), fields, path)
        elif version in field.get("x-krmfn-versions", (version,)):
            deep = "properties" in field or "items" in field or "$ref" in field
            kept[key] = _prune(manifest, child, field, (*path, key)) if deep else child
        elif child is not None and _is_read(field):
            manifest.tell("field-pruned", (*path, key), key=key, version=manifest.ref.api_version)
    return kept


def _note_unknown(manifest: Manifest, key: str, fields: Mapping[str, Schema], path: Path) -> None:
    """Say so when `key` was probably meant to be a field that is read. Other unknown fields are no matter of ours."""
    meant = find_nearest(key, (name for name, field in fields.items() if _is_read(field)), _LIKENESS)
    if meant and meant not in (manifest.get(path) or ()):
        manifest.tell("field-unknown", (*path, key), key=key, place=format_path(path), meant=meant)


def _is_read(field: Schema) -> bool:
    """Whether krmfn reads the field: the schemas say more about it than that it exists."""
    return "type" in field or "$ref" in field
