"""Reads plain values by the schema of the configuration: mistakes with their paths, and defaults filled in.

Understands the part of JSON Schema that this schema uses, because a validator library would cost more start-up time
than all the rest of a run. Holds no key of the configuration: they stand in schemas/krmfn/v1alpha1/gangscheduling.json.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from krmfn.config.problems import Mistake, Mistakes, suggest
from krmfn.krm.paths import Path
from krmfn.model.values import Fields, Value
from krmfn.model.wording import find_nearest, join
from krmfn.releases import schemastore
from krmfn.releases.release import UnknownRelease, find_release, list_gates

SCHEMA_PATH = "krmfn/v1alpha1/gangscheduling.json"

Schema: TypeAlias = "Mapping[str, Any]"

#: The types of JSON: of which types of Python their values are, and what messages call one.
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "object": ((dict,), "a mapping"),
    "array": ((list, tuple), "a list"),
    "string": ((str,), "a string"),
    "integer": ((int,), "a whole number"),
    "boolean": ((bool,), "true or false"),
}


def load_schema() -> Schema:
    """The published schema of the kind GangScheduling."""
    return schemastore.load(SCHEMA_PATH)


def resolve(schema: Schema) -> Schema:
    """`schema` itself, or what its `$ref` names in the same file, with the keywords beside the `$ref` on top."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    target: Schema = load_schema()["$defs"][reference.rpartition("/")[2]]
    return {**target, **schema}


def descend(schema: Schema, *keys: str) -> Schema:
    """The schema of the property at `keys` below `schema`. Raises KeyError when there is none."""
    for key in keys:
        schema = resolve(resolve(schema)["properties"][key])
    return resolve(schema)


def find_problems(value: Any, schema: Schema, path: Path = ()) -> Mistakes:
    """Every mistake in `value` by `schema`, in the order of the value."""
    schema = resolve(schema)
    branches = schema.get("oneOf") or schema.get("anyOf")
    if branches:
        yield from _check_branches(value, [resolve(branch) for branch in branches], path)
        return
    wanted = schema.get("type")
    if wanted and not is_type(value, wanted):
        yield Mistake(path, f"should be {_TYPES[wanted][1]}, not {_describe(value)}", _spell_otherwise(value, schema))
    elif isinstance(value, Mapping):
        yield from _check_object(value, schema, path)
    elif isinstance(value, list | tuple):
        for index, element in enumerate(value):
            yield from find_problems(element, schema.get("items", {}), (*path, index))
    elif "enum" in schema and value not in schema["enum"]:
        yield Mistake(path, f"unknown value {_describe(value)}", suggest(str(value), schema["enum"]))
    elif "minimum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        yield Mistake(path, f"{value} is out of range", f"Use {schema['minimum']} to {schema['maximum']}.")
    elif "pattern" in schema or "format" in schema:
        yield from _check_text(value, schema, path)


def is_type(value: Any, name: str) -> bool:
    """Whether `value` has the JSON type `name`; true and false are no integers."""
    return isinstance(value, _TYPES[name][0]) and (name == "boolean" or not isinstance(value, bool))


def fill_defaults(value: Value, schema: Schema) -> Fields:
    """The properties of `schema` with the values of `value`, else their defaults; objects within likewise.

    `value` must be free of problems. A null counts as absent.
    """
    filled: Fields = {}
    for key, unresolved in resolve(schema)["properties"].items():
        child = resolve(unresolved)
        given = value.get(key)
        if "properties" in child and "default" not in child:
            filled[key] = fill_defaults(given or {}, child)
        else:
            filled[key] = child.get("default") if given is None else given
    return filled


def _check_object(value: Value, schema: Schema, path: Path) -> Mistakes:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for key, child in value.items():
        if key in properties:
            if child is not None:
                yield from find_problems(child, properties[key], (*path, key))
        elif others is False:
            inside = next((name for name in properties if key in resolve(properties[name]).get("properties", {})), "")
            hint = f"Write it below {inside}." if inside else suggest(str(key), properties)
            yield Mistake((*path, str(key)), f"unknown key {key!r}", hint)
        elif "propertyNames" in schema and key not in list_gates():
            yield Mistake((*path, str(key)), f"unknown feature gate {key!r}", suggest(str(key), list_gates()))
        elif isinstance(others, dict):
            yield from find_problems(child, others, (*path, str(key)))
    for key in schema.get("required", ()):
        if value.get(key) is None:
            allowed = resolve(properties[key]).get("enum")
            yield Mistake((*path, key), "is missing", f"Write {key}: {join(allowed, 'or')}." if allowed else "")
    if len(value) < schema.get("minProperties", 0):
        yield Mistake(path, "is empty", f"Give one of {join(properties, 'or')}.")


def _check_branches(value: Any, branches: list[Schema], path: Path) -> Mistakes:
    """A value that may have several forms: the mistakes by the form whose type it has."""
    larger = any(branch["type"] == "object" for branch in branches)
    for branch in branches:
        if not is_type(value, branch["type"]):
            continue
        if larger and "enum" in branch and not find_nearest(value, branch["enum"]):
            break  # which tells what else may stand there
        yield from find_problems(value, branch, path)
        return
    forms = [join(branch["enum"], "or") if "enum" in branch else _spell_form(branch) for branch in branches]
    words = any("enum" in branch and is_type(value, branch["type"]) for branch in branches)
    message = f"{'unknown value' if words else 'should not be'} {_describe(value)}"
    yield Mistake(path, message, f"Use {' or '.join(forms)}.")


def _check_text(value: str, schema: Schema, path: Path) -> Mistakes:
    """Texts with a grammar: a pattern, a selector of labels, a version of Kubernetes."""
    if schema.get("format") == "label-selector":
        from krmfn.config.selectors import SelectorError, parse_requirements

        try:
            parse_requirements(value)
        except SelectorError as mistake:
            yield Mistake(path, str(mistake), "Use the syntax of kubectl: team=ml,tier in (gold,silver),!legacy.")
    elif schema.get("format") == "kubernetes-version":
        try:
            find_release(value)
        except UnknownRelease as mistake:
            yield Mistake(path, str(mistake))
    elif "pattern" in schema and not re.search(schema["pattern"], value):
        yield Mistake(path, f"{_describe(value)} has the wrong format", schema.get("description", ""))


def _spell_form(schema: Schema) -> str:
    needed = join(schema.get("required", ()), "or")
    return f"{_TYPES[schema['type']][1]}{needed and f' with {needed}'}"


def _spell_otherwise(value: Any, schema: Schema) -> str:
    """How to write what was meant; YAML reads 1.37 as a number and yes as a string."""
    wanted = schema["type"]
    if "enum" in schema:
        return f"Write {join(schema['enum'], 'or')}."
    if wanted == "array" and isinstance(value, str | int):
        return f"Write [{value}]."
    if wanted == "object" and "properties" in schema:
        return f"Write {join(schema['properties'], 'or')} below it."
    if wanted == "string" and isinstance(value, int | float):
        return f'Write it in quotes: "{str(value).lower() if isinstance(value, bool) else value}".'
    if wanted in ("boolean", "integer") and isinstance(value, str):
        return f"Write it without quotes, as {_TYPES[wanted][1]}."
    return ""


def _describe(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)
