"""What a change of a live custom resource leads to: a definition as types, merged as those of built-in kinds.

Source: k8s.io/kube-openapi/pkg/schemaconv, and kubectl's JSON merge patch for what is no Go type.
"""

from __future__ import annotations

from krmfn.krm.item import HEAD
from krmfn.model.values import Fields, Value
from krmfn.server.answers import Mode
from krmfn.server.apply import find_applied, merge_applied
from krmfn.server.requests import is_live
from krmfn.server.schema import Field, Type
from krmfn.server.structure import Structure
from krmfn.server.threeway import keep_filled, read_applied

_SCALARS = {"string": "string", "boolean": "bool", "integer": "float64", "number": "float64"}


def merge(structure: Structure, value: Value, old: Value, update: Mode) -> Value:
    """The object that the change leads to; metadata is the manifest's. The manifest itself where it is replaced.

    Raises BadPatch where a server-side apply does not fit the definition.
    """
    if update == "replace" or (update == "apply" and not is_live(old)):
        return value
    root = _make(structure, structure.root)
    head = {name: item for name, item in value.items() if name in HEAD}
    new, stored = _leave_head(value), _leave_head(old)
    if update == "apply":
        kept: Fields = keep_filled(root, new, _leave_head(find_applied(old)), stored)
        return head | kept
    managed = is_live(old) and any("fieldsV1" in entry for entry in old["metadata"].get("managedFields", ()))
    before, others = read_applied(root, old, value) if managed else (stored, [])
    merged = merge_applied(root, stored, _leave_head(before), new, list(map(_leave_head, others)))
    return head | (merged or {})


def _leave_head(value: Value) -> Fields:
    return {name: item for name, item in value.items() if name not in HEAD}


def _make(structure: Structure, schema: Value) -> Type:
    """The type of a schema; those below it are made when they are met."""
    schema = structure.resolve(schema)
    form = schema.get("type", "")
    values, fields = schema.get("additionalProperties"), schema.get("properties")
    if form == "array" and isinstance(schema.get("items"), dict):
        return Type("list", "", _make(structure, schema["items"]))
    if form == "object" and isinstance(values, dict):
        return Type("map", "", _make(structure, values))
    if form == "object" and fields:
        made = Type("struct", "")
        made.keywords = schema
        made._build = lambda: {name: _make_field(structure, name, below) for name, below in fields.items()}
        return made
    if form == "string" and schema.get("format", "byte") != "byte":
        return Type("time", "")  # any scalar, before its format is looked at
    return Type("any" if schema.get("x-kubernetes-int-or-string") else _SCALARS.get(form, "any"), "")


def _make_field(structure: Structure, name: str, schema: Value) -> Field:
    schema = structure.resolve(schema)
    return Field(name, _make(structure, schema), schema, False, {})
