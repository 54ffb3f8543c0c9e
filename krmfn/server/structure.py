"""Custom resources as the API server judges them: unknown fields, defaults, and the schema of their definition.

Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema (pruning, defaulting, listtype) and
k8s.io/kube-openapi/pkg/validation/validate, whose words these are.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from operator import gt, lt
from typing import Any, TypeAlias

from krmfn.krm.item import HEAD
from krmfn.krm.paths import Path, format_path, walk_values
from krmfn.model.values import Fields, Names, Value
from krmfn.server.patterns import compile_pattern, is_quick
from krmfn.server.spell import spell, write_json
from krmfn.server.verdict import Cause, Causes, Out, duplicate, invalid, not_supported, required, too_long, too_many

Schema: TypeAlias = "Value"
_LIMITS = {"int32": 2**31, "int64": 2**63}
#: What a schema calls the types of values; all others are objects.
_KINDS = {type(None): "null", bool: "boolean", str: "string", int: "integer", float: "number", list: "array"}
_KEEPS = "x-kubernetes-preserve-unknown-fields"
#: Steps for an object, and for each value in it: many times what any schema takes that somebody wrote in good faith.
_STEPS, _STEPS_OF_VALUE = 5_000, 500


class Endless(Exception):
    """A schema takes too long: a few lines of it can take as long as a book."""


class Structure:
    """A schema with the parts that it shares. Does not change it."""

    __slots__ = ("entries", "integers", "left", "nulls", "root", "separate", "shared", "trusted", "unread")

    def __init__(
        self,
        root: Schema,
        shared: Mapping[str, Schema],
        integers: bool = False,
        trusted: bool = False,
        separate: bool = False,
    ) -> None:
        """`trusted`: it comes with krmfn. What others wrote may be made to take for ever, so that its CEL rules and
        patterns that could are not evaluated. `separate`: the status is written on its own, and passed over here."""
        self.nulls = False
        self.trusted = trusted
        self.left = 0
        self.separate = separate
        self.root = root
        self.shared = shared
        #: Whether the server knows the formats int32 and int64.
        self.integers = integers
        #: By the `id` of a list: itself, and its entries by their keys. An object's lists are paired once.
        self.entries: dict[int, tuple[list[Any], dict[Any, Any]]] = {}
        #: The places of values whose patterns were not evaluated, with words for these.
        self.unread: list[tuple[Path, str]] = []

    def resolve(self, schema: Schema) -> Schema:
        """The schema, or the shared one that it refers to."""
        while "$ref" in schema:
            schema = self.shared[schema["$ref"]]
        return schema

    def list_fields(self, path: Path) -> Names:
        """The names of the fields that the schema has at a place."""
        schema = self.resolve(self.root)
        for part in path:
            schema = self.find_below(schema, part)
        return tuple(schema.get("properties", ()))

    def find_below(self, schema: Schema, part: str | int) -> Schema:
        """The schema of a field or an entry; empty where there is none."""
        if isinstance(part, int):
            below = schema.get("items")
        else:
            below = schema.get("properties", {}).get(part, schema.get("additionalProperties"))
        return self.resolve(below) if isinstance(below, dict) else {}

    def complete(self, value: Fields, unknown: list[Path], nulls: bool = False) -> Fields:
        """The object with its defaults, without a status of its own and nulls that stand for nothing, unless these
        `nulls` stay; `unknown` gets the fields that the definition does not have. Raises Endless."""
        self.nulls = nulls
        if not self.trusted:
            self.left += _STEPS + _STEPS_OF_VALUE * _count(value)
        found = self._resource(self.resolve(self.root), value, (), unknown)
        if self.separate:
            found.pop("status", None)
        return found

    def _resource(self, schema: Schema, value: Fields, path: Path, unknown: list[Path]) -> Fields:
        """An object that has metadata, whatever its schema says of it."""
        head = {name: item for name, item in value.items() if name in HEAD}
        rest = {name: item for name, item in value.items() if name not in HEAD}
        return head | self._object(schema, rest, path, unknown)

    def _complete(self, schema: Schema, value: Any, path: Path, unknown: list[Path]) -> Any:
        schema = self.resolve(schema)
        if isinstance(value, dict):
            read = self._resource if schema.get("x-kubernetes-embedded-resource") else self._object
            return read(schema, value, path, unknown)
        items = schema.get("items")
        if isinstance(value, list) and isinstance(items, dict):
            if schema.get(_KEEPS):  # what a list keeps, its items keep
                items = {**self.resolve(items), _KEEPS: True}
            return [self._complete(items, item, (*path, index), unknown) for index, item in enumerate(value)]
        return value

    def _object(self, schema: Schema, value: Fields, path: Path, unknown: list[Path]) -> Fields:
        fields = schema.get("properties", {})
        self._spend(1 + len(fields))
        others = schema.get("additionalProperties")
        keeps = schema.get(_KEEPS) or others is True
        out = {}
        for name, item in value.items():
            field = fields.get(name, others)
            if isinstance(field, dict):
                field = self.resolve(field)
                if item is not None or field.get("nullable") or (self.nulls and "default" not in field):
                    out[name] = self._complete(field, item, (*path, name), unknown)
            elif keeps:
                out[name] = item
            else:
                unknown.append((*path, name))
        for name, referring in fields.items():
            field = self.resolve(referring)
            if "default" in field and name not in out:
                self._spend(0 if self.trusted else _count(field["default"]))
                out[name] = self._complete(field, copy.deepcopy(field["default"]), (*path, name), unknown)
        return out

    def check(self, value: Value) -> Out:
        """What the schema says against a completed object. Raises Endless."""
        out: Out = []
        # A schema can need metadata, and limit its name; what else is in it is judged for itself.
        head = value.get("metadata")
        name = {"name": head["name"]} if isinstance(head, dict) and isinstance(head.get("name"), str) else {}
        self._check(self.root, {**value, "metadata": name}, (), out)
        return out

    def check_default(self, value: Any) -> tuple[list[Path], Out]:
        """The fields of a default that its own schema does not have, and what that says of it. Raises Endless."""
        self.left += _STEPS + _STEPS_OF_VALUE * _count(value)
        unknown: list[Path] = []
        self._complete(self.root, value, (), unknown)
        out: Out = []
        self._check(self.root, value, (), out)
        return unknown, out

    def _spend(self, steps: int) -> None:
        if not self.trusted:
            self.left -= steps
            if self.left < 0:
                raise Endless

    def _check(self, schema: Schema, value: Any, path: Path, out: Out) -> None:
        schema = self.resolve(schema)
        kind = _KINDS.get(type(value), "object")
        if len(schema) == 1 and schema.get("type") == kind and kind != "object":  # most of what definitions say
            self._spend(1)
            return
        self._spend(1 + len(schema.get("enum", ())) + len(schema.get("required", ())))
        if not self.integers and schema.get("format") in _LIMITS:
            schema = _without(schema, "format")
        self._check_type(schema, value, kind, path, out)
        for keyword, one in (("allOf", "all the schemas (allOf)"), ("anyOf", "at least one schema (anyOf)"),
                             ("oneOf", "one and only one schema (oneOf)")):  # fmt: skip
            if keyword in schema:
                self._check_several(schema[keyword], keyword, one, value, path, out)
        unread = len(self.unread)
        if "not" in schema and not self._try(schema["not"], value, path) and unread == len(self.unread):
            out.append(invalid(path, "", f'"{format_path(path)}" must not validate the schema (not)', "custom-schema"))
        if "enum" in schema and value not in schema["enum"] and value is not None:
            texts = tuple(text if isinstance(text, str) else write_json(text) for text in schema["enum"])
            shown = spell(value) if isinstance(value, (str, int, float, bool)) else write_json(value)
            out.append(not_supported(path, shown, texts))
        pattern = schema.get("pattern") if kind == "string" else None
        if pattern and not ((self.trusted or is_quick(pattern, value)) and compile_pattern(pattern)):
            self.unread.append((path, f"the pattern `{pattern}` of the CustomResourceDefinition"))
            schema = _without(schema, "pattern")
        check = _CHECKS.get(kind)
        if check:
            out.extend(check(schema, value, path))
        if kind == "object":
            self._check_object(schema, value, path, out)
        elif kind == "array" and isinstance(schema.get("items"), dict):
            for index, item in enumerate(value):
                self._check(schema["items"], item, (*path, index), out)
            out.extend(_check_keys(schema, value, path))

    def _check_type(self, schema: Schema, value: Any, kind: str, path: Path, out: Out) -> None:
        wanted = schema.get("type")
        if schema.get("x-kubernetes-int-or-string"):
            if kind not in ("string", "integer") and not (kind == "null" and schema.get("nullable")):
                text = f'"{format_path(path)}" must validate at least one schema (anyOf)'
                out.append(invalid(path, "", text, "wrong-type"))
                wanted = "integer"
            else:
                return
        if not wanted or (value is None and schema.get("nullable")):
            return
        whole = kind == "number" and float(value).is_integer()
        if kind == wanted or (wanted == "number" and kind == "integer") or (wanted == "integer" and whole):
            return
        form = schema.get("format")
        if form and wanted not in ("integer", "number") and kind in ("string", "array"):
            return  # the server looks at the format alone
        shown = kind
        if form and kind not in ("string", "array", "null"):
            wanted, shown = form, {"number": "float64", "integer": "int64"}.get(kind, "")
        text = f'{format_path(path)} in body must be of type {wanted}: "{shown}"'
        out.append(Cause("FieldValueTypeInvalid", path, f'Invalid value: "{shown}": {text}', "wrong-type"))

    def _check_several(self, schemas: list[Schema], keyword: str, words: str, value: Any, path: Path, out: Out) -> None:
        unread = len(self.unread)
        fitting = sum(not self._try(schema, value, path) for schema in schemas)
        one = fitting == 1 or (fitting > 1 and unread < len(self.unread))
        right = {"allOf": fitting == len(schemas), "anyOf": fitting > 0, "oneOf": one}[keyword]
        if not right:
            out.append(invalid(path, "", f'"{format_path(path)}" must validate {words}', "custom-schema"))
            if keyword == "allOf":
                out.extend(cause for schema in schemas for cause in self._try(schema, value, path))

    def _try(self, schema: Schema, value: Any, path: Path) -> Out:
        out: Out = []
        self._check(schema, value, path, out)
        return out

    def _check_object(self, schema: Schema, value: Fields, path: Path, out: Out) -> None:
        for name in schema.get("required", ()):
            if name not in value:
                out.append(required((*path, name)))
        fields = schema.get("properties", {})
        others = schema.get("additionalProperties")
        for name, item in value.items():
            if name in fields:
                self._check(fields[name], item, (*path, name), out)
            elif isinstance(others, dict):
                self._check(others, item, (*path, name), out)
        most, least = schema.get("maxProperties"), schema.get("minProperties")
        if most is not None and len(value) > most:
            out.append(too_many(path, len(value), most))
        if least is not None and len(value) < least:
            out.append(_should(path, len(value), f"have at least {least} properties"))


def _count(value: Any) -> int:
    """The values in a value, itself and the names of its fields included."""
    return sum(1 + (len(each) if isinstance(each, dict) else 0) for each in walk_values(value))


def _should(path: Path, value: Any, words: str, rule: str = "custom-schema") -> Cause:
    return invalid(path, value, f"{format_path(path)} in body should {words}", rule)


def _without(schema: Schema, keyword: str) -> Schema:
    return {name: value for name, value in schema.items() if name != keyword}


def _check_text(schema: Schema, value: str, path: Path) -> Causes:
    most, least = schema.get("maxLength"), schema.get("minLength")
    pattern = schema.get("pattern", "")
    # One of the three is told.
    if most is not None and len(value) > most:
        yield too_long(path, most, rule="custom-schema")
    elif least is not None and len(value) < least:
        yield _should(path, value, f"be at least {least} chars long")
    elif (compiled := compile_pattern(pattern)) and not compiled.search(value):
        yield _should(path, value, f"match '{pattern}'")
    form = schema.get("format", "")
    if form == "date-time" and not re.fullmatch(_DATE_TIME, value, re.ASCII):
        text = f'{format_path(path)} in body must be of type {form}: "{value}"'
        yield invalid(path, value, text, "custom-schema")


_DATE_TIME = r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)"
_BOUNDS = (("maximum", "exclusiveMaximum", "less", gt), ("minimum", "exclusiveMinimum", "greater", lt))


def _check_number(schema: Schema, value: float, path: Path) -> Causes:
    limit = _LIMITS.get(schema.get("format", "")) if schema.get("type") == "integer" else None
    if limit and not (-limit <= value < limit and float(value).is_integer()):
        text = f"Checked value must be of type integer with format {schema['format']} in {format_path(path)}"
        yield invalid(path, "", text, "wrong-type")
    for keyword, exclusive, word, exceeds in _BOUNDS:
        bound, strict = schema.get(keyword), schema.get(exclusive)
        if bound is not None and (exceeds(value, bound) or (strict and value == bound)):
            than = f"{word} than" if strict else f"{word} than or equal to"
            yield _should(path, value, f"be {than} {write_json(bound)}", keyword)
    factor = schema.get("multipleOf")
    if factor and value % factor:
        yield _should(path, value, f"be a multiple of {write_json(factor)}")


def _check_list(schema: Schema, value: list[Any], path: Path) -> Causes:
    most, least = schema.get("maxItems"), schema.get("minItems")
    if least is not None and len(value) < least:
        yield _should(path, len(value), f"have at least {least} items")
    if most is not None and len(value) > most:
        yield too_many(path, len(value), most)


def _check_keys(schema: Schema, value: list[Any], path: Path) -> Causes:
    """Lists that are sets or maps have no item twice."""
    kind = schema.get("x-kubernetes-list-type")
    seen: set[str] = set()
    if kind not in ("set", "map"):
        return
    for index, item in enumerate(value):
        shown = item
        if kind == "map":
            if not isinstance(item, dict):
                continue
            shown = {name: item[name] for name in schema.get("x-kubernetes-list-map-keys", ()) if name in item}
        text = json.dumps(shown, sort_keys=True)
        if text in seen:
            yield duplicate((*path, index), write_json(shown))
        seen.add(text)


_CHECKS: Mapping[str, Callable[[Schema, Any, Path], Causes]] = {
    "string": _check_text,
    "integer": _check_number,
    "number": _check_number,
    "array": _check_list,
}
