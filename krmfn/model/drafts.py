"""A file for a kind that nobody has described yet, from its CustomResourceDefinition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from krmfn.krm.paths import dig
from krmfn.model.values import as_list, as_mapping, as_text

#: What a schema has where a pod template is: its name or its fields say so.
_CONTAINERS: Final = ("properties", "spec", "properties", "containers")
#: The fields beside a template, or above it, that count its pods.
_COUNTS: Final = ("replicas", "parallelism", "size", "instances", "numWorkers", "count")
_DEEPEST: Final = 12


def draft(definition: Mapping[str, Any]) -> dict[str, Any]:
    """The `spec` of a WorkloadKind for a CustomResourceDefinition: pod templates by the schema of its newest version,
    the fields beside them that may count the pods, and whether the schema drops the link."""
    spec = as_mapping(definition.get("spec"))
    versions = [each for each in as_list(spec.get("versions")) if dig(each, "served") is not False]
    schema = as_mapping(dig(versions[-1], "schema", "openAPIV3Schema")) if versions else {}
    found = list(_find_templates(as_mapping(dig(schema, "properties", "spec")), "spec", 0))
    roles = [{"template": path, **({"count": count} if count else {})} for path, _, count in found]
    made: dict[str, Any] = {"group": as_text(spec.get("group")), "kind": as_text(dig(spec, "names", "kind"))}
    made["roles"] = roles
    made["link"] = {"kept": "Always" if all(keeps for _, keeps, _ in found) else "Never"}
    return made


def _find_templates(schema: Mapping[str, Any], path: str, depth: int) -> Iterator[tuple[str, bool, str]]:
    """Each pod template: its path, whether the link is kept, and the field that counts its pods."""
    if depth > _DEEPEST:
        return
    properties = as_mapping(schema.get("properties"))
    for name, each in properties.items():
        inner, place = as_mapping(each), f"{path}.{name}"
        if dig(inner, *_CONTAINERS) is not None:
            pod = as_mapping(dig(inner, "properties", "spec"))
            keeps = dig(pod, "properties", "schedulingGroup") is not None or bool(
                pod.get("x-kubernetes-preserve-unknown-fields")
            )
            yield place, keeps, next((f"{path}.{count}" for count in _COUNTS if count in properties), "")
            continue
        opaque = inner.get("x-kubernetes-preserve-unknown-fields") is True and not inner.get("properties")
        if opaque and name.lower().endswith("template"):
            yield place, True, next((f"{path}.{count}" for count in _COUNTS if count in properties), "")
            continue
        yield from _find_templates(inner, place, depth + 1)
        for entries in (inner.get("items"), inner.get("additionalProperties")):
            if isinstance(entries, Mapping):
                yield from _find_templates(entries, f"{place}.*", depth + 1)
