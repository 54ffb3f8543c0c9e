"""A file for a kind that nobody has described yet, from its CustomResourceDefinition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from krmfn.krm.paths import dig
from krmfn.model.values import as_list, as_mapping, as_text

#: The fields at a template, or above it, that count its pods.
_COUNTS: Final = re.compile(
    r"(num(ber)?(of)?)?(replicas|parallelism|size|instances|workers|hosts|nodes|pods|count)"
    r"|(worker|node|host|pod|group|podgroup|replica|gang)(replicas|size|count)|(hosts|nodes|pods|workers)per\w+",
    re.IGNORECASE,
)
_LEAST: Final = re.compile(r"min(imum)?(available|member|replicas|workers|pods|size)", re.IGNORECASE)
#: Entries that are opaque, and are pod templates by their names.
_TEMPLATE: Final = re.compile(
    r"(?!.*(claim|volume|service|patch|deployment|set|job))(.*template|podtemplatespec)", re.IGNORECASE
)
#: What says nothing in the name of a field on the way to a template.
_WORDLESS: Final = re.compile(r"^(spec|template|pod)$|([Pp]od)?(Template|Group)?(Spec)?$")
_DEEPEST: Final = 12


class _Level(NamedTuple):
    """An object of a schema on the way to a pod template: the fields that count it, and the least of them."""

    path: str
    properties: Mapping[str, Any]
    counts: tuple[str, ...]
    least: str


def draft(definition: Mapping[str, Any]) -> dict[str, Any]:
    """The `spec` of a WorkloadKind for a CustomResourceDefinition: pod templates by the schemas of its versions,
    the fields at and above them that may count the pods, and whether a schema drops the link."""
    spec = as_mapping(definition.get("spec"))
    found: dict[str, tuple[dict[str, Any], bool]] = {}
    served = [each for each in as_list(spec.get("versions")) if dig(each, "served") is not False]
    for version in sorted(served, key=lambda each: dig(each, "storage") is True):
        schema = as_mapping(dig(version, "schema", "openAPIV3Schema", "properties", "spec"))
        found.update((role["template"], (role, keeps)) for role, keeps in _find_roles(schema, [], "spec"))
    names = _name([path for path in found if "*" not in path]) if len(found) > 1 else {}
    roles = [({"name": names[path]} if path in names else {}) | role for path, (role, _) in found.items()]
    kept = "Always" if all(keeps for _, keeps in found.values()) else "Never"
    kind = as_text(dig(spec, "names", "kind"))
    return {"group": as_text(spec.get("group")), "kind": kind, "roles": roles, "link": {"kept": kept}}


def _name(templates: list[str]) -> dict[str, str]:
    """What the groups of several templates are called: by the last steps of their paths, as many as differ."""
    steps = {path: [name for step in path.split(".") if (name := _WORDLESS.sub("", step))] for path in templates}
    for last in range(1, _DEEPEST):
        names = {path: "-".join(found[-last:]) for path, found in steps.items()}
        if len(set(names.values())) == len(names):
            break
    return {path: re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower() for path, name in names.items() if name}


def _find_roles(schema: Mapping[str, Any], above: list[_Level], path: str) -> Iterator[tuple[dict[str, Any], bool]]:
    """The role of each pod template in a schema, and whether the link is kept."""
    level = _read_level(schema, path)
    levels = [*above, level]
    pod = as_mapping(level.properties.get("spec"))
    if _is_template(schema, path) or (_is_pod(pod) and above):
        yield _write_role({"template": path}, levels), _keeps(schema, pod)
        return
    if _is_pod(schema) and "schedulerName" in level.properties:
        if holder := next((each for each in reversed(above) if "annotations" in each.properties), None):
            yield _write_role({"template": holder.path, "podSpec": path}, above), False
        return
    if len(levels) > _DEEPEST:
        return
    for name, inner in level.properties.items():
        yield from _find_roles(as_mapping(inner), levels, f"{path}.{name}")
    for entries in (schema.get("items"), schema.get("additionalProperties")):
        yield from _find_roles(as_mapping(entries), levels, f"{path}.*") if entries else ()


def _read_level(schema: Mapping[str, Any], path: str) -> _Level:
    properties = as_mapping(schema.get("properties"))
    numbers = [name for name, each in properties.items() if _is_number(as_mapping(each))]
    counts = tuple(f"{path}.{name}" for name in numbers if _COUNTS.fullmatch(name))
    return _Level(path, properties, counts, next((f"{path}.{name}" for name in numbers if _LEAST.fullmatch(name)), ""))


def _is_number(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") in ("integer", "number") or schema.get("x-kubernetes-int-or-string") is True


def _is_pod(schema: Mapping[str, Any]) -> bool:
    """Whether a schema is that of a pod's spec, or as much of it as a project has written down."""
    return bool(dig(schema, "properties", "containers", "type") == "array")


def _is_template(schema: Mapping[str, Any], path: str) -> bool:
    """Whether a schema says no more than that something is there, whose name is that of a pod template."""
    inner = as_mapping(dig(schema, "properties", "spec")) or (schema if not schema.get("properties") else {})
    return _is_opaque(inner) and _TEMPLATE.fullmatch(path.rpartition(".")[2]) is not None


def _is_opaque(schema: Mapping[str, Any]) -> bool:
    return schema.get("x-kubernetes-preserve-unknown-fields") is True and not schema.get("properties")


def _keeps(template: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Whether a template keeps the link of the pods."""
    opaque = any(each.get("x-kubernetes-preserve-unknown-fields") is True for each in (pod or template, pod))
    return opaque or dig(pod, "properties", "schedulingGroup") is not None


def _write_role(role: dict[str, Any], levels: list[_Level]) -> dict[str, Any]:
    """A role with the product of what counts it on its way."""
    counts = [count for level in levels for count in level.counts]
    least = [factor for level in levels for factor in (_lower(level) if level.least else level.counts)]
    if len(least) == 1:
        least = [level.least for level in levels if level.least]
    found = {"count": counts, "minimum": least if any(level.least for level in levels) else []}
    return {**role, **{key: factors[0] if len(factors) == 1 else factors for key, factors in found.items() if factors}}


def _lower(level: _Level) -> list[Any]:
    """The numbers of a level with the least in place of the replicas, which it is where nobody writes it."""
    replicas = [count for count in level.counts if count.lower().endswith("replicas")] or level.counts[-1:]
    others = [count for count in level.counts if count not in replicas]
    return [*others, {"field": level.least, "default": replicas[0]} if replicas else level.least]
