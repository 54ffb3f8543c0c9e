"""A file for a kind that nobody has described yet, from its CustomResourceDefinition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from krmfn.krm.paths import dig
from krmfn.model.values import Fields, Value, as_list, as_mapping, as_text

_SETS = "replica|instance|worker|host|node|pod|slice|shard|rank|partition|copie|copy|member|machine|group"
#: The fields at a template, or above it, that count its pods; and those that say how many of them are enough.
_COUNTS = re.compile(
    rf"(num(ber)?_?(of)?_?)?({_SETS})e?s|(num(ber)?_?(of)?_?)?(parallelism|size|count)"
    rf"|({_SETS}|podgroup|gang|world)_?(replicas|size|count)|({_SETS})e?s_?per_?\w+",
    re.IGNORECASE,
)
_LEAST = re.compile(rf"quorum|min(imum)?_?(available|member|count|size|({_SETS})e?s)s?", re.IGNORECASE)
#: Entries that are opaque, and are pod templates by their names.
_TEMPLATE = re.compile(
    r"(?!.*(claim|volume|service|patch|deployment|set|job))(.*template|podtemplatespec)", re.IGNORECASE
)
#: What says nothing in the name of a field on the way to a template.
_WORDLESS = re.compile(r"^(spec|template|pod)$|([Pp]od)?(Template|Group)?(Spec)?$")
_DEEPEST = 12


def draft(definition: Value) -> Fields:
    """The `spec` of a WorkloadKind for a CustomResourceDefinition: pod templates by the schemas of its versions,
    the fields at and above them that may count the pods, and whether a schema drops the link."""
    spec = as_mapping(definition, "spec")
    found: dict[str, tuple[Fields, bool]] = {}
    served = [each for each in as_list(spec, "versions") if dig(each, "served") is not False]
    for version in sorted(served, key=lambda each: dig(each, "storage") is True):
        schema = as_mapping(version, "schema", "openAPIV3Schema", "properties", "spec")
        found.update((role["template"], (role, keeps)) for role, keeps in _find_roles(schema, [], "spec"))
    names = _name([path for path in found if "*" not in path]) if len(found) > 1 else {}
    roles = [({"name": names[path]} if path in names else {}) | role for path, (role, _) in found.items()]
    kept = "Always" if all(keeps for _, keeps in found.values()) else "Never"
    kind = as_text(spec, "names", "kind")
    return {"group": as_text(spec, "group"), "kind": kind, "roles": roles, "link": {"kept": kept}}


def _name(templates: list[str]) -> dict[str, str]:
    """What the groups of several templates are called: by the last steps of their paths, as many as differ."""
    steps = {path: [name for step in path.split(".") if (name := _WORDLESS.sub("", step))] for path in templates}
    for last in range(1, _DEEPEST):
        names = {path: "-".join(found[-last:]) for path, found in steps.items()}
        if len(set(names.values())) == len(names):
            break
    return {path: re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower() for path, name in names.items() if name}


def _find_roles(schema: Value, above: list[tuple[str, Value]], path: str) -> Iterator[tuple[Fields, bool]]:
    """The role of each pod template in a schema, and whether it keeps the link. `above` are the fields on the way."""
    properties = as_mapping(schema, "properties")
    levels = [*above, (path, properties)]
    pod = as_mapping(properties, "spec")
    if _is_template(schema, path) or (_is_pod(pod) and above):
        yield {"template": path, **_count(levels)}, _keeps(schema, pod)
    elif _is_pod(schema) and "schedulerName" in properties:
        for place, _ in [level for level in above if "annotations" in level[1]][-1:]:
            yield {"template": place, "podSpec": path, **_count(above)}, False
    elif len(levels) <= _DEEPEST:
        for name, inner in properties.items():
            yield from _find_roles(as_mapping(inner), levels, f"{path}.{name}")
        for entries in (schema.get("items"), schema.get("additionalProperties")):
            yield from _find_roles(as_mapping(entries), levels, f"{path}.*") if entries else ()


def _count(levels: list[tuple[str, Value]]) -> Fields:
    """The product of what counts on the way to a template; and of what is enough, where the innermost says it."""
    fields = {
        f"{path}.{name}": (name, as_mapping(each)) for path, properties in levels for name, each in properties.items()
    }

    def find(word: re.Pattern[str]) -> list[str]:
        return [path for path, (name, each) in fields.items() if word.fullmatch(name) and _is_number(each)]

    found, least = find(_COUNTS), find(_LEAST)
    if not found:
        return {}
    minimum: list[str] = []
    for each in least[-1:]:
        level, _, name = each.rpartition(".")
        beside = [path for path in found if path.rpartition(".")[0] == level]
        alike = [path for path in beside if name.lower().endswith(path.rpartition(".")[2].lower())]
        if beside:
            minimum = [each, *(path for path in found if path != (alike or beside)[-1])]
    filled = {
        path: {"field": path, "default": number}
        for path, (_, each) in fields.items()
        if isinstance(number := each.get("default"), int) and number != 1
    }
    product = {key: [filled.get(path, path) for path in each] for key, each in (("count", found), ("minimum", minimum))}
    return {key: each[0] if len(each) == 1 else each for key, each in product.items() if each}


def list_strays(definition: Value, roles: list[Fields]) -> list[str]:
    """The other fields of a definition that look as if they counted pods, outside of the templates of its roles; and
    every number above a template for which none does."""
    used, found = str(roles), []
    templates = tuple(f"{role['template']}." for role in roles)
    alone = [f"{role['template']}." for role in roles if "count" not in role]
    waiting = [
        ("spec", as_mapping(version, "schema", "openAPIV3Schema", "properties", "spec"))
        for version in as_list(definition, "spec", "versions")
    ]
    for path, schema in waiting:  # which grows on the way
        entries = {"*": schema.get("items") or schema.get("additionalProperties")}
        for name, inner in {**as_mapping(schema, "properties"), **entries}.items():
            below = f"{path}.{name}"
            likely = _COUNTS.fullmatch(name) or any(template.startswith(f"{path}.") for template in alone)
            if likely and _is_number(as_mapping(inner)) and f"'{below}'" not in used:
                found.append(below)
            elif isinstance(inner, Mapping) and below.count(".") < _DEEPEST and not f"{below}.".startswith(templates):
                waiting.append((below, inner))
    return list(dict.fromkeys(found))


def _is_number(schema: Value) -> bool:
    return schema.get("type") in ("integer", "number") or schema.get("x-kubernetes-int-or-string") is True


def _is_pod(schema: Value) -> bool:
    """Whether a schema is that of a pod's spec, or as much of it as a project has written down."""
    return bool(dig(schema, "properties", "containers", "type") == "array")


def _is_template(schema: Value, path: str) -> bool:
    """Whether a schema says no more than that something is there, whose name is that of a pod template."""
    inner = as_mapping(schema, "properties", "spec") or (schema if not schema.get("properties") else {})
    opaque = inner.get("x-kubernetes-preserve-unknown-fields") is True and not inner.get("properties")
    return opaque and _TEMPLATE.fullmatch(path.rpartition(".")[2]) is not None


def _keeps(template: Value, pod: Value) -> bool:
    """Whether a template keeps the link of the pods."""
    opaque = any(each.get("x-kubernetes-preserve-unknown-fields") is True for each in (pod or template, pod))
    return opaque or dig(pod, "properties", "schedulingGroup") is not None
