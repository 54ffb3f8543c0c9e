"""Schema files compiled into types: what a field is in Go, which declarative rules it has, which gates are on.

A type is compiled when it is first met, so a PodGroup does not pay for the schema of a pod. Knows keywords, no kinds,
and neither reads nor checks a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krmfn.releases import schemastore

#: Go's word for the type of a scalar, by (`type`, `format`) of the schema.
_SCALARS = {
    ("string", ""): "string",
    ("boolean", ""): "bool",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("number", ""): "float64",
}
_SPECIAL = {
    "v1.Time": "time",
    "v1.MicroTime": "microtime",
    "v1.Duration": "duration",
    "v1.FieldsV1": "any",
    "runtime.RawExtension": "any",
    "resource.Quantity": "quantity",
    "intstr.IntOrString": "intorstring",
}


class Field:
    """A field of a struct with its declarative rules. Gated rules are resolved: only those in force are here."""

    __slots__ = (
        "always_written",
        "default",
        "drop_by",
        "forbidden",
        "format",
        "gate",
        "go_name",
        "immutable",
        "list_keys",
        "list_type",
        "map_type",
        "max_items",
        "maximum",
        "minimum",
        "name",
        "opaque",
        "pointer",
        "required",
        "type",
        "unique",
        "update",
    )

    def __init__(
        self, name: str, of: Type, schema: Mapping[str, Any], required: bool, gates: Mapping[str, bool]
    ) -> None:
        rules = dict(schema)
        for keyword, wanted in (("x-kubernetes-if-enabled", True), ("x-kubernetes-if-disabled", False)):
            for gate, gated in schema.get(keyword, {}).items():
                if gates.get(gate, False) is wanted:
                    rules.update(gated)
        get = rules.get
        self.name = name
        self.type = of
        self.required = required
        self.pointer: bool = get("x-kubernetes-pointer", False)
        self.always_written: bool = get("x-kubernetes-always-written", False)
        self.go_name: str = get("x-kubernetes-go-name") or name[:1].upper() + name[1:]
        self.format: str | None = get("format") if of.kind == "string" else None
        self.minimum: int | None = get("minimum")
        self.maximum: int | None = get("maximum")
        self.max_items: int | None = get("maxItems")
        self.immutable: bool = get("x-kubernetes-immutable", False)
        self.forbidden: bool = get("x-kubernetes-forbidden", False)
        self.update: tuple[str, ...] = tuple(get("x-kubernetes-update", ()))
        self.list_type: str = get("x-kubernetes-list-type", "")
        self.map_type: str = get("x-kubernetes-map-type", "")
        self.list_keys: tuple[str, ...] = tuple(get("x-kubernetes-list-map-keys", ()))
        self.unique = get("x-kubernetes-declarative-list-type") == "map"
        gate = get("x-kubernetes-feature-gate")
        #: Whether the declarative walk ends here: the field's own rules count, those below do not.
        self.opaque: bool = get("x-kubernetes-opaque", False)
        #: How items are matched with stored ones when gated fields are dropped: "index" or "name".
        self.drop_by: str = get("x-kubernetes-drop-correlation", "index")
        #: The gate that is off and makes the server drop the field; empty while it is on.
        self.gate: str = gate if gate and not gates.get(gate, False) else ""
        default = get("default")
        needs = get("x-kubernetes-default-gate")
        self.default: Any = default if needs is None or gates.get(needs, False) else None


class Type:
    """A Go type. `kind` is struct, list, map, string, bool, int32, int64, float64, bytes, time, quantity, any …"""

    __slots__ = ("_build", "_fields", "cache", "enum", "go", "item", "keywords", "kind", "union")

    def __init__(self, kind: str, go: str, item: Type | None = None) -> None:
        self.kind = kind
        self.go = go
        self.item = item
        self.enum: frozenset[str] | None = None
        self.union: tuple[str, ...] = ()
        self.keywords: Mapping[str, Any] = {}
        self._fields: dict[str, Field] | None = None
        self._build: Any = None
        #: Closures that other modules make of the type, by their own key.
        self.cache: dict[str, Any] = {}

    @property
    def fields(self) -> dict[str, Field]:
        """The fields of a struct in the order of the Go type. Compiled on first use."""
        if self._fields is None:
            self._fields = self._build()
        return self._fields


class Schemas:
    """The compiled types of one release under one set of gates."""

    def __init__(self, release: str, gates: Mapping[str, bool]) -> None:
        self.release = release
        self.gates = gates
        self._types: dict[str, Type] = {}

    def root(self, kind: str) -> Type:
        """The type of `kind` (in lower case). Raises schemastore.SchemaMissing when the release has no such kind."""
        return self._at(kind + ".json", schemastore.load(f"kubernetes/{self.release}/{kind}.json"))

    def definition(self, file: str, name: str) -> Type:
        """A shared definition, such as ("meta.json", "ObjectMeta")."""
        return self._reference(file, f"#/$defs/{name}")

    def _reference(self, file: str, pointer: str) -> Type:
        other, _, place = pointer.partition("#")
        file = other or file
        found = self._types.get(file + place)
        if found is None:
            schema: Any = schemastore.load(f"kubernetes/{self.release}/{file}")
            for key in place.split("/")[1:]:
                schema = schema[key]
            found = self._types[file + place] = self._struct(file, schema)
        return found

    def _at(self, file: str, schema: Mapping[str, Any]) -> Type:
        if "$ref" in schema:
            return self._reference(file, schema["$ref"])
        go = schema.get("x-kubernetes-go-type", "")
        if go in _SPECIAL:
            return Type(_SPECIAL[go], go)
        form = schema.get("type", "")
        if form == "array":
            item = self._at(file, schema["items"])
            return Type("list", "[]" + item.go, item)
        if form == "object":
            values = schema.get("additionalProperties")
            if values:
                item = self._at(file, values)
                return Type("map", "map[string]" + item.go, item)
            return self._struct(file, schema)
        if schema.get("format") == "byte":
            return Type("bytes", "[]uint8")
        width = schema.get("format", "") if form == "integer" else ""
        kind = _SCALARS[(form, width)]
        made = Type(kind, go or kind)
        if "enum" in schema:
            made.enum = frozenset(schema["enum"])
        return made

    def _struct(self, file: str, schema: Mapping[str, Any]) -> Type:
        made = Type("struct", schema.get("x-kubernetes-go-type", ""))
        made.union = tuple(schema.get("x-kubernetes-union", ()))
        made.keywords = schema
        made._build = lambda: self._fields(file, schema)
        return made

    def _fields(self, file: str, schema: Mapping[str, Any]) -> dict[str, Field]:
        required = frozenset(schema.get("required", ()))
        gates = self.gates
        return {
            name: Field(name, self._at(file, field), field, name in required, gates)
            for name, field in schema["properties"].items()
        }


_COMPILED: dict[tuple[str, frozenset[str]], Schemas] = {}


def compile_schemas(release: str, gates: Mapping[str, bool]) -> Schemas:
    """The types of `release` with the gates that map to True on and all others off. Compiled once per process."""
    key = (release, frozenset(gate for gate, on in gates.items() if on))
    found = _COMPILED.get(key)
    if found is None:
        found = _COMPILED[key] = Schemas(release, dict.fromkeys(key[1], True))
    return found
