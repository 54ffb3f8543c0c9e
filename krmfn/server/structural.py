"""Whether the schema of a CustomResourceDefinition is structural: what a server asks of it beyond its fields and types.

Whether CEL rules compile and what they cost, and defaults inside of metadata, are not checked. Source:
k8s.io/apiextensions-apiserver/pkg/apiserver/schema (validation.go, complete.go) and
pkg/apis/apiextensions/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from krmfn.krm.item import HEAD
from krmfn.krm.paths import Path
from krmfn.server.spell import Key, write_json
from krmfn.server.structure import Endless, Structure
from krmfn.server.verdict import (
    Cause,
    find_repeated,
    forbidden,
    invalid,
    invalid_text,
    not_supported,
    of_rule,
    required,
)

Schema: TypeAlias = "Mapping[str, Any]"
_RULE = "custom-schema"
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_KEEPS, _EMBEDDED, _EITHER = (
    f"x-kubernetes-{name}" for name in ("preserve-unknown-fields", "embedded-resource", "int-or-string")
)
_LIST, _KEYS, _MAP = (f"x-kubernetes-{name}" for name in ("list-type", "list-map-keys", "map-type"))
_RULES = "x-kubernetes-validations"
#: What no schema may have, in the server's words.
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies")
#: What a schema under anyOf, allOf, oneOf or not may not have, with how it has to be.
_NOT_NESTED = {
    **dict.fromkeys(("type", "title", "description", _KEYS, _RULES), "empty"),
    **dict.fromkeys(("additionalProperties", "default", _LIST, _MAP), "undefined"),
    **dict.fromkeys(("nullable", _KEEPS, _EMBEDDED, _EITHER), "false"),
}
#: Where a schema has no type, by what it is of.
_UNTYPED = {"root": "at the root", "items": "for specified array items", "field": "for specified object fields"}
#: What Go's patterns do not have: looking around, and what a group has matched.
_NOT_OF_GO = re.compile(r"(?<!\\)(?:\\\\)*(?:\(\?(?:[=!]|<[=!])|\\[1-9])")


#: The schema of values of which a server does not ask whether they have one.
_ANY: Schema = {}


def check_structural(root: Schema, at: Path, integers: bool) -> Iterator[Cause]:
    """What is wrong about the schema of a version. `integers`: see Structure."""
    if root.get("nullable"):
        yield forbidden((*at, "nullable"), "nullable cannot be true at the root", _RULE)
    found = of_rule(_RULE, _check(root, at, "root"))
    yield from found or _check_defaults(root, at, integers)


def _check(schema: Schema, at: Path, level: str) -> Iterator[Cause]:
    kind, keeps, either = schema.get("type", ""), schema.get(_KEEPS), schema.get(_EITHER)
    fields, others, embedded = schema.get("properties", {}), schema.get("additionalProperties"), schema.get(_EMBEDDED)
    yield from _check_keywords(schema, at)
    if embedded and kind != "object":
        yield _must(kind, (*at, "type"), f"must be object if {_EMBEDDED} is true")
    elif not kind and not either and not keeps:
        yield required((*at, "type"), f"must not be empty {_UNTYPED[level]}")
    elif level == "root" and kind not in ("", "object"):
        yield invalid((*at, "type"), kind, "must be object at the root")
    if kind == "array" and "items" not in schema:
        yield required((*at, "items"), "must be specified")
    if others is not None and level == "root":
        yield forbidden((*at, "additionalProperties"), "must not be used at the root")
    if embedded and others is not None:
        yield forbidden((*at, "additionalProperties"), f"must not be used if {_EMBEDDED} is set")
    if embedded and not keeps and not fields:
        detail = f"must not be empty if {_EMBEDDED} is true without {_KEEPS}"
        yield required((*at, "properties"), detail)
    for name, given in ((_KEEPS, keeps), (_EMBEDDED, embedded)) if either else ():
        if given:
            yield invalid((*at, name), given, f"must be false if {_EITHER} is true")
    if level == "root" or embedded:
        yield from _check_head(fields, (*at, "properties"), level)
    yield from _check_list(schema, at)
    yield from _check_validations(schema.get(_RULES, ()), (*at, _RULES))
    if isinstance(schema.get("items"), dict):
        yield from _check(schema["items"], (*at, "items"), "items")
    if isinstance(others, dict):
        yield from _check(others, (*at, "additionalProperties"), "field")
    for name, field in fields.items():
        yield from _check(field, (*at, "properties", Key(name)), "field")
    for inner, path, skip in _list_nested(schema, at):
        yield from _check_nested(inner, schema if level == "root" else _ANY, path, at, skip)


def _check_keywords(schema: Schema, at: Path) -> Iterator[Cause]:
    """What holds for the schema of a value and for one under anyOf, allOf, oneOf or not."""
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield not_supported((*at, "type"), write_json(kind), _TYPES)
    for name in _UNSUPPORTED:
        if schema.get(name) not in (None, "", {}):
            yield forbidden((*at, name), f"{name} is not supported")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden((*at, "uniqueItems"), detail)
    if schema.get("properties") and schema.get("additionalProperties", True) is not True:
        detail = "additionalProperties and properties are mutual exclusive"
        yield forbidden((*at, "additionalProperties"), detail)
    if schema.get(_KEEPS) is False:
        yield invalid((*at, _KEEPS), False, "must be true or undefined")
    if wrong := _find_fault(schema.get("pattern", "")):
        detail = f"must be a valid regular expression, but isn't: {wrong}"
        yield invalid((*at, "pattern"), schema["pattern"], detail)


def _find_fault(pattern: str) -> str:
    """Why Go does not read a pattern; empty also where that is not known."""
    if _NOT_OF_GO.search(pattern):
        return "Go has no lookaround and no backreferences"
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error) if str(error).startswith(("missing )", "unbalanced", "unterminated")) else ""
    return ""


def _must(kind: str, path: Path, detail: str) -> Cause:
    return invalid(path, kind, detail) if kind else required(path, detail)


def _check_head(fields: Mapping[str, Schema], at: Path, level: str) -> Iterator[Cause]:
    """apiVersion, kind and metadata of a resource."""
    for name in HEAD:
        wanted = "object" if name == "metadata" else "string"
        field, path = fields.get(name), (*at, Key(name))
        if field is None:
            continue
        if field.get("type") != wanted:
            yield invalid((*path, "type"), field.get("type", ""), f"must be {wanted}")
        if level == "root" and field.get("default") is not None:
            yield forbidden((*path, "default"), f"must not be set in top-level {name}")
        kept = {key for key, value in field.items() if value not in (None, {}, [], "", False)}
        others = set(field.get("properties", ())) - {"name", "generateName"}
        if name == "metadata" and level == "root" and (others or kept - {"type", "default", "properties"}):
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(path, detail)


def _check_list(schema: Schema, at: Path) -> Iterator[Cause]:
    """The types of lists and maps, and the keys of their items."""
    kind, list_type, map_type = schema.get("type", ""), schema.get(_LIST), schema.get(_MAP)
    keys, items = schema.get(_KEYS, ()), schema.get("items")
    for name, value, wanted, values in (
        (_MAP, map_type, "object", ("atomic", "granular")),
        (_LIST, list_type, "array", ("atomic", "set", "map")),
    ):
        if value is not None and kind != wanted:
            yield _must(kind, (*at, "type"), f"must be {wanted} if {name} is specified")
        if value is not None and value not in values:
            yield not_supported((*at, name), write_json(value), values)
    if keys and list_type != "map":
        yield _must(list_type or "", (*at, _LIST), f"must be map if {_KEYS} is non-empty")
    item: Schema = items if isinstance(items, dict) else {}
    if list_type in ("set", "map") and item.get("nullable"):
        detail = f"cannot be nullable when {_LIST} is {list_type}"
        yield forbidden((*at, "items", "nullable"), detail)
    if list_type == "set":
        inner = {"array": _LIST, "object": _MAP}.get(item.get("type", ""))
        if inner and item.get(inner, "atomic" if inner == _LIST else "granular") != "atomic":
            detail = f"must be atomic as item of a list with {_LIST}=set"
            yield invalid_text((*at, "items", inner), "null", detail)
    if list_type != "map":
        return
    if not keys:
        yield required((*at, _KEYS), f"must not be empty if {_LIST} is map")
    if items is None:
        yield required((*at, "items"), f"must have a schema if {_LIST} is map")
    elif item.get("type") != "object":
        detail = f"must be object if parent array's {_LIST} is map"
        yield invalid((*at, "items", "type"), item.get("type", ""), detail)
    else:
        yield from _check_list_keys(keys, item, at)


def _check_list_keys(keys: list[str], item: Schema, at: Path) -> Iterator[Cause]:
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


def _check_validations(rules: Iterable[Schema], at: Path) -> Iterator[Cause]:
    for index, rule in enumerate(rules):
        path = (*at, index)
        text, message = rule.get("rule", "").strip(), rule.get("message", "")
        if not text:
            yield required((*path, "rule"), "rule is not specified")
        elif message and not message.strip():
            yield invalid((*path, "message"), message, "must be non-empty if specified")
        elif "\n" in message.strip():
            yield invalid((*path, "message"), message, "must not contain line breaks")
        elif "\n" in text and not message:
            detail = "message must be specified if rule contains line breaks"
            yield required((*path, "message"), detail)
        if rule.get("messageExpression") and not rule["messageExpression"].strip():
            detail = "messageExpression must be non-empty if specified"
            yield required((*path, "messageExpression"), detail)
        if rule.get("reason") is not None and rule["reason"] not in _REASONS:
            yield not_supported((*path, "reason"), write_json(rule["reason"]), _REASONS)


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
    yield from _check_keywords(inner, at)
    for name, wanted in _NOT_NESTED.items():
        empty: tuple[Any, ...] = (None,) if wanted == "undefined" else (None, "", [], False)
        if inner.get(name) not in empty and not (name == "additionalProperties" and inner[name] is False):
            yield forbidden((*at, name), f"must be {wanted} to be structural")
    if "metadata" in inner.get("properties", {}):
        path = (*at, "properties", Key("metadata"))
        yield forbidden(path, "must not be specified in a nested context")
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
