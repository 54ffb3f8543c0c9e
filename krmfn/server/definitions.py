"""CustomResourceDefinitions: what a server refuses beyond their fields and types; whether schemas are structural.

Not checked: selectableFields, CA bundles, whether CEL rules compile and what they cost, defaults inside of metadata.
Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation and pkg/apiserver/schema (validation.go,
complete.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from krmfn.krm.item import HEAD
from krmfn.krm.paths import Path, dig
from krmfn.model.kept import check_once
from krmfn.model.values import Value, without_nulls
from krmfn.releases import schemastore
from krmfn.server.cases import check_each, check_part
from krmfn.server.custom import find_wrong_keywords
from krmfn.server.formats import Faults
from krmfn.server.plain.webhooks import check_versions
from krmfn.server.schema import Stored
from krmfn.server.spell import Key, spell
from krmfn.server.structure import Endless, Schema, Structure
from krmfn.server.verdict import (
    RULE,
    Cause,
    Causes,
    Out,
    find_repeated,
    forbidden,
    invalid,
    invalid_text,
    of_rule,
    required,
)

_SPEC: Path = ("spec",)
_APPROVED = "api-approved.kubernetes.io"


def check_definition(value: Value, old: Stored, integers: bool, update: str) -> tuple[Cause, ...]:
    """The refusals of a definition whose fields and types are right. What was wrong before may stay."""
    if old is None:
        return (*_check_name(value), *_check(value, integers))
    value = without_nulls(value) if update == "apply" else value
    found = tuple(_check(value, integers))
    were = set(_check(old, integers)) if found else set()
    return (*(cause for cause in found if cause not in were), *_check_change(value.get("spec") or {}, old))


def _check_name(value: Value) -> Causes:
    spec, name = value.get("spec") or {}, dig(value, "metadata", "name")
    wanted = f"{dig(spec, 'names', 'plural')}.{spec.get('group')}"
    if name and name != wanted:
        yield invalid(("metadata", "name"), name, 'must be spec.names.plural+"."+spec.group')
    group = spec.get("group") or ""
    if group.endswith((".k8s.io", ".kubernetes.io")):
        path: Path = ("metadata", "annotations", Key(_APPROVED))
        text = (dig(value, "metadata", "annotations") or {}).get(_APPROVED) or ""
        detail = f'protected groups must have approval annotation "{_APPROVED}"'
        if not text:
            yield required(path, detail)
        elif not text.startswith("unapproved") and "://" not in text:
            yield invalid(path, text, f'{detail} with either a URL or a reason starting with "unapproved"')


def _check(value: Value, integers: bool) -> Causes:
    spec = value.get("spec") or {}
    yield from check_part(None, "definition", spec, _SPEC)
    versions = [version or {} for version in spec.get("versions") or ()]
    path: Path = (*_SPEC, "versions")
    for index, version in enumerate(versions):
        yield from _check_version(version, (*path, index), integers)
    if find_repeated(version.get("name") for version in versions):
        yield invalid_text(path, "{…}", "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        shown, rule = ("{…}", RULE) if versions else (spell(spec.get("versions")), "required")
        yield invalid_text(path, shown, "must have exactly one version marked as storage version", rule)


def _check_version(version: Value, at: Path, integers: bool) -> Causes:
    written = {name: value for name, value in version.items() if value is not None}
    yield from check_part(None, "definedVersion", written, at)
    schema = _drop_nulls(dig(version, "schema", "openAPIV3Schema"))
    path: Path = (*at, "schema", "openAPIV3Schema")
    unread = find_wrong_keywords(schema) if isinstance(schema, dict) else []
    yield from _tell_wrong_keywords(unread, path)
    if schema is None:
        yield required(path)
    if isinstance(schema, dict) and not unread:
        yield from check_once("structural", check_structural, schema, path, integers)
        banned = schemastore.load("kubernetes/named.json")["notAtRoot"]
        if dig(version, "subresources", "status") is not None and any(schema.get(key) for key in banned):
            detail = f"{', '.join(banned)} are not allowed at the root if the status subresource is enabled"
            yield invalid_text(path, "{…}", detail)
    columns = [column or {} for column in version.get("additionalPrinterColumns") or ()]
    yield from check_each(None, "printerColumn", columns, (*at, "additionalPrinterColumns"))


def _drop_nulls(schema: Any) -> Any:
    """A schema without the keywords that have no value; values that it speaks of stay as they are."""
    if isinstance(schema, list):
        return [_drop_nulls(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {}
    for key, each in schema.items():
        if key == "properties" and isinstance(each, dict):
            found[key] = {name: _drop_nulls(field or {}) for name, field in each.items()}
        elif each is not None:
            found[key] = each if key in ("default", "enum", "example") else _drop_nulls(each)
    return found


def _tell_wrong_keywords(wrong: Out, at: Path) -> Causes:
    """What keeps a schema from being read. Passed over: nulls in lists, which are empty texts, and a wrong
    additionalProperties, which may be two things."""
    for cause in wrong:
        path = list(at)
        for part in cause.path:  # the names of fields are keys of a map
            keyed = path[-1] == "properties" and (path[-2] == "openAPIV3Schema" or path[-2] != "properties")
            path.append(Key(part) if keyed and isinstance(part, str) else part)
        if path[-1] == "$ref":
            yield forbidden(tuple(path), "$ref is not supported")
        elif cause.type in ("FieldValueTypeInvalid", "Required") and not cause.message.endswith('"null"'):
            yield cause._replace(path=tuple(path))


def check_reviews(kind: None, conversion: Value, at: Path) -> Causes:
    versions = [version or "" for version in dig(conversion, "webhook", "conversionReviewVersions") or ()]
    yield from check_versions(versions, (*at, "webhook", "conversionReviewVersions"), reviewed=True)


def _check_change(spec: Value, old: Value) -> Causes:
    """What cannot change, nor leave: a version in which objects may be stored."""
    before = old.get("spec") or {}
    yield from check_part(None, "keptDefinition", spec, _SPEC, old=before)
    standing = {dig(each, "type"): dig(each, "status") for each in dig(old, "status", "conditions") or ()}
    if standing.get("Established", "True") == "True":
        yield from check_part(None, "keptWhenEstablished", spec, _SPEC, old=before)
    named = {dig(version, "name") for version in spec.get("versions") or ()}
    stored = dig(old, "status", "storedVersions") or [
        version.get("name") for version in before.get("versions") or () if dig(version, "storage")
    ]
    for index, name in enumerate(stored):
        if named and name not in named:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions"
                f" until a storage migration ensures no data remains persisted in {name} and removes {name} from"
                " status.storedVersions"
            )
            yield invalid(("status", "storedVersions", index), name, detail)


_RULE = "custom-schema"
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_EMBEDDED, _EITHER = "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"
_LIST, _KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
#: What Go's patterns do not have: looking around, and what a group has matched.
_NOT_OF_GO = re.compile(r"(?<!\\)(?:\\\\)*(?:\(\?(?:[=!]|<[=!])|\\[1-9])")


#: The schema of values of which a server does not ask whether they have one.
_ANY: Schema = {}


def check_structural(root: Schema, at: Path, integers: bool) -> Causes:
    """What is wrong about the schema of a version. `integers`: see Structure."""
    if root.get("nullable"):
        yield forbidden((*at, "nullable"), "nullable cannot be true at the root", _RULE)
    found = of_rule(_RULE, _check_schema(root, at, "rootSchema"))
    yield from found or _check_defaults(root, at, integers)


def _check_schema(schema: Schema, at: Path, level: str) -> Causes:
    """A schema with those in it, by the rows of its `level`, which are a part."""
    yield from check_part(None, "schema", schema, at)
    yield from check_part(None, level, schema, at)
    if isinstance(schema.get("items"), dict):
        yield from _check_schema(schema["items"], (*at, "items"), "itemSchema")
    if isinstance(others := schema.get("additionalProperties"), dict):
        yield from _check_schema(others, (*at, "additionalProperties"), "fieldSchema")
    for name, field in schema.get("properties", {}).items():
        yield from _check_schema(field, (*at, "properties", Key(name)), "fieldSchema")
    for inner, path, skip in _list_nested(schema, at):
        yield from _check_nested(inner, schema if level == "rootSchema" else _ANY, path, at, skip)


def list_pattern_faults(pattern: str) -> Faults:
    """Why Go does not read a pattern; empty also where that is not known."""
    wrong = ""
    if _NOT_OF_GO.search(pattern):
        wrong = "Go has no lookaround and no backreferences"
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        if str(error).startswith(("missing )", "unbalanced", "unterminated")):
            wrong = wrong or str(error)
    return (f"must be a valid regular expression, but isn't: {wrong}",) if wrong else ()


def check_metadata(kind: None, field: Schema, path: Path) -> Causes:
    """metadata at the root."""
    kept = {key for key, value in field.items() if value not in (None, {}, [], "", False)}
    others = set(field.get("properties", ())) - {"name", "generateName"}
    if others or kept - {"type", "default", "properties"}:
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(path, detail)


def check_list_keys(kind: None, schema: Schema, at: Path) -> Causes:
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
    """The schemas under anyOf, allOf, oneOf and not; and whether they may have types: those of an int-or-string."""
    for name in ("anyOf", "allOf", "oneOf"):
        several = schema.get(name, ())
        for index, inner in enumerate(several):
            first = name == "allOf" and index == 0 and inner.get("anyOf") == _INT_OR_STRING
            if not (name == "anyOf" and several == _INT_OR_STRING):
                yield inner, (*at, name, index), first
    if "not" in schema:
        yield schema["not"], (*at, "not"), False


def _check_nested(inner: Schema, of: Schema | None, at: Path, place: Path, skip: bool) -> Causes:
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


def _check_defaults(schema: Schema, at: Path, integers: bool) -> Causes:
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
