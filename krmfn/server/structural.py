"""Whether the schema of a CustomResourceDefinition is structural: what a server asks of it beyond its fields and types.

Whether CEL rules compile and what they cost, and defaults inside of metadata, are not checked. Source:
k8s.io/apiextensions-apiserver/pkg/apiserver/schema (validation.go, complete.go) and
pkg/apis/apiextensions/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from krmfn.krm.item import HEAD
from krmfn.krm.paths import Path
from krmfn.server.cases import check_part
from krmfn.server.spell import Key
from krmfn.server.structure import Endless, Structure
from krmfn.server.verdict import (
    Cause,
    find_repeated,
    forbidden,
    invalid,
    invalid_text,
    of_rule,
    required,
)

Schema: TypeAlias = "Mapping[str, Any]"
_RULE = "custom-schema"
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_EMBEDDED, _EITHER = "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"
_LIST, _KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
#: What Go's patterns do not have: looking around, and what a group has matched.
_NOT_OF_GO = re.compile(r"(?<!\\)(?:\\\\)*(?:\(\?(?:[=!]|<[=!])|\\[1-9])")


#: The schema of values of which a server does not ask whether they have one.
_ANY: Schema = {}


def check_structural(root: Schema, at: Path, integers: bool) -> Iterator[Cause]:
    """What is wrong about the schema of a version. `integers`: see Structure."""
    if root.get("nullable"):
        yield forbidden((*at, "nullable"), "nullable cannot be true at the root", _RULE)
    found = of_rule(_RULE, _check(root, at, "rootSchema"))
    yield from found or _check_defaults(root, at, integers)


def _check(schema: Schema, at: Path, level: str) -> Iterator[Cause]:
    """A schema with those in it, by the rows of its `level`, which are a part."""
    yield from check_part(None, "schema", schema, at)
    yield from check_part(None, level, schema, at)
    if isinstance(schema.get("items"), dict):
        yield from _check(schema["items"], (*at, "items"), "itemSchema")
    if isinstance(others := schema.get("additionalProperties"), dict):
        yield from _check(others, (*at, "additionalProperties"), "fieldSchema")
    for name, field in schema.get("properties", {}).items():
        yield from _check(field, (*at, "properties", Key(name)), "fieldSchema")
    for inner, path, skip in _list_nested(schema, at):
        yield from _check_nested(inner, schema if level == "rootSchema" else _ANY, path, at, skip)


def check_pattern(kind: None, pattern: str, path: Path) -> Iterator[Cause]:
    if wrong := _find_fault(pattern):
        yield invalid(path, pattern, f"must be a valid regular expression, but isn't: {wrong}")


def _find_fault(pattern: str) -> str:
    """Why Go does not read a pattern; empty also where that is not known."""
    if _NOT_OF_GO.search(pattern):
        return "Go has no lookaround and no backreferences"
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error) if str(error).startswith(("missing )", "unbalanced", "unterminated")) else ""
    return ""


def check_metadata(kind: None, field: Schema, path: Path) -> Iterator[Cause]:
    """metadata at the root."""
    kept = {key for key, value in field.items() if value not in (None, {}, [], "", False)}
    others = set(field.get("properties", ())) - {"name", "generateName"}
    if others or kept - {"type", "default", "properties"}:
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(path, detail)


def check_list_keys(kind: None, schema: Schema, at: Path) -> Iterator[Cause]:
    """The keys of the items of a list, which are objects."""
    keys, item = schema.get(_KEYS, ()), schema["items"]
    fields = item.get("properties", {})
    told = f"this property is in {_KEYS}, so it"
    for key in keys:
        field, path = fields.get(key), (*at, "items", "properties", Key(key))
        if field is None:
            yield invalid_text((*at, _KEYS), "{…}", "entries must all be names of item properties")
            continue
        if field.get("type") in ("array", "object"):
            detail = f"must be a scalar type if parent array's {_LIST} is map"
            yield invalid((*path, "type"), "object", detail)
        if key not in item.get("required", ()) and field.get("default") is None:
            yield required((*path, "default"), f"{told} must have a default or be a required property")
        if field.get("nullable"):
            yield forbidden((*path, "nullable"), f"{told} cannot be nullable")
    if find_repeated(keys):
        yield invalid_text((*at, _KEYS), "{…}", "must not contain duplicate entries")


def _list_nested(schema: Schema, at: Path) -> Iterator[tuple[Schema, Path, bool]]:
    """The schemas under anyOf, allOf, oneOf and not; and whether the types in them say that a value is an integer or a
    text, which they may."""
    for name in ("anyOf", "allOf", "oneOf"):
        several = schema.get(name, ())
        for index, inner in enumerate(several):
            first = name == "allOf" and index == 0 and inner.get("anyOf") == _INT_OR_STRING
            if not (name == "anyOf" and several == _INT_OR_STRING):
                yield inner, (*at, name, index), first
    if "not" in schema:
        yield schema["not"], (*at, "not"), False


def _check_nested(inner: Schema, of: Schema | None, at: Path, place: Path, skip: bool) -> Iterator[Cause]:
    """A schema that limits the values at `place`, whose own schema is `of`: what the root limits has to have one."""
    if of is None:
        yield required(place, "because it is defined in anyOf, allOf, oneOf or not")
        return
    yield from check_part(None, "nestedSchema", inner, at)
    for name, field in inner.get("properties", {}).items():
        step: Path = ("properties", Key(name))
        schema = _ANY if of is _ANY else of.get("properties", {}).get(name)
        yield from _check_nested(field, schema, (*at, *step), (*place, *step), False)
    if isinstance(inner.get("items"), dict):
        schema = _ANY if of is _ANY else of.get("items")
        yield from _check_nested(inner["items"], schema, (*at, "items"), (*place, "items"), False)
    for each, path, first in _list_nested(inner, at):
        if not (skip and path[len(at)] == "anyOf"):
            yield from _check_nested(each, of, path, place, first)


def _check_defaults(schema: Schema, at: Path, integers: bool) -> Iterator[Cause]:
    """Defaults that the schema itself refuses, or would prune."""
    default = schema.get("default")
    if default is not None and not schema.get(_EITHER):  # a server lets those be anything
        try:
            unknown, causes = Structure(schema, {}, integers).check_default(default)
        except Endless:
            return
        if unknown:
            yield invalid_text((*at, "default"), "{…}", "must not have unknown fields", _RULE)
        yield from (cause._replace(path=(*at, "default", *cause.path)) for cause in causes)
    if isinstance(schema.get("items"), dict):
        yield from _check_defaults(schema["items"], (*at, "items"), integers)
    for name, field in schema.get("properties", {}).items():
        if not (schema.get(_EMBEDDED) and name in HEAD):
            yield from _check_defaults(field, (*at, "properties", Key(name)), integers)
