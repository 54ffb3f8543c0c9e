"""Schema files compiled: what a field is in Go, which declarative rules it has, which gates are on; and a kind as a
release serves it: its root with the facts about requests that the root carries.

A type is compiled when it is first met, so a PodGroup does not pay for the schema of a pod. Knows keywords, no kinds,
and neither reads nor checks a value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from krmfn.model.values import Fields, Names, Value
from krmfn.releases import schemastore

#: The kind that defines others. Its rules stand in a module of their own (definitions).
DEFINITION = "CustomResourceDefinition"

#: Feature gates that are on or off; what is not in it is off.
Gates: TypeAlias = "Mapping[str, bool]"
#: What an update changes, an object or a part of it; None in a create, and where the part was not there.
Stored: TypeAlias = "Value | None"
Functions: TypeAlias = "tuple[Callable[..., Any], ...]"
Calls: TypeAlias = "Mapping[str, tuple[tuple[Callable[..., Any], Any], ...]]"

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
    """A field of a struct with its declarative rules. Gated rules are resolved: only those in force are here.

    What is declared here is what the keyword of its name says, behind `x-kubernetes-` and with dashes.
    """

    pointer: bool = False
    always_written: bool = False
    #: The struct that Go embeds in the field's own, as its decoder names it.
    embedded: str = ""
    immutable: bool = False
    forbidden: bool = False
    update: Collection[str] = ()
    list_type: str = ""
    map_type: str = ""
    #: How a strategic merge patch treats it: "merge" (by `patch_merge_key`), "retainKeys", both, or "".
    patch_strategy: str = ""
    patch_merge_key: str = ""
    #: Whether the declarative walk ends here: the field's own rules count, those below do not.
    opaque: bool = False
    #: How items are matched with stored ones when gated fields are dropped: "index" or "name".
    drop_correlation: str = "index"

    def __init__(self, name: str, of: Type, schema: Value, required: bool, gates: Gates) -> None:
        rules = dict(schema)
        for keyword, wanted in (("x-kubernetes-if-enabled", True), ("x-kubernetes-if-disabled", False)):
            for gate, gated in schema.get(keyword, {}).items():
                if gates.get(gate, False) is wanted:
                    rules.update(gated)
        get = rules.get
        self.name = name
        self.type = of
        self.required = required
        for keyword in rules.keys() & _OF_FIELD.keys():
            setattr(self, _OF_FIELD[keyword], rules[keyword])
        self.minimum: int | None = get("minimum")
        self.maximum: int | None = get("maximum")
        #: What a hand-written rule says of the field by itself (see krmfn.server.cases).
        self.row: Value = get("row", {})
        self.go_name: str = get("x-kubernetes-go-name") or name[:1].upper() + name[1:]
        self.format: str | None = get("format") if of.kind == "string" else None
        #: Of a list or a map.
        self.max_items: int | None = get("maxItems", get("maxProperties"))
        #: Of a text: characters and bytes, as a server names them, and how many.
        self.lengths: tuple[tuple[str, int], ...] = tuple(
            (unit, limit)
            for unit, limit in (("characters", get("maxLength")), ("bytes", get("x-kubernetes-max-bytes")))
            if limit is not None and of.kind == "string"
        )
        self.list_keys: Names = tuple(get("x-kubernetes-list-map-keys", ()))
        self.unique = get("x-kubernetes-declarative-list-type") == "map"
        gate, needs = get("x-kubernetes-feature-gate"), get("x-kubernetes-default-gate")
        #: The gate that is off and makes the server drop the field; empty while it is on.
        self.gate: str = gate if gate and not gates.get(gate, False) else ""
        self.default: Any = get("default") if needs is None or gates.get(needs, False) else None
        #: Whether the server sees the field even when nothing was written.
        self.is_plain_struct: bool = of.kind == "struct" and not self.pointer
        #: Whether an object without the field is refused. The server's generated code says that "optional fields with
        #: default values are effectively required": they are nil only when their gate dropped them.
        self.is_needed: bool = required or (self.default is not None and self.pointer and not self.gate)


#: The attributes that are declared above, by their keywords.
_OF_FIELD = {f"x-kubernetes-{attribute.replace('_', '-')}": attribute for attribute in Field.__annotations__}


class Type:
    """A Go type. `kind` is struct, list, map, string, bool, int32, int64, float64, bytes, time, quantity, any …"""

    __slots__ = ("_build", "_fields", "cache", "enum", "go", "item", "keywords", "kind", "union")

    def __init__(self, kind: str, go: str, item: Type | None = None) -> None:
        self.kind = kind
        self.go = go
        self.item = item
        self.enum: frozenset[str] | None = None
        self.union: Names = ()
        self.keywords: Value = {}
        self._fields: dict[str, Field] | None = None
        self._build: Any = None
        #: Closures that other modules make of the type, by their own key.
        self.cache: Fields = {}

    @property
    def fields(self) -> dict[str, Field]:
        """The fields of a struct in the order of the Go type. Compiled on first use."""
        if self._fields is None:
            self._fields = self._build()
        return self._fields


def field_of(of: Type | None, key: Any) -> tuple[Type | None, Field | None]:
    """What stands behind a key of an object, or at a place of a list."""
    if of is None or of.kind != "struct":
        return of and of.item, None
    field = of.fields.get(key)
    return (field.type, field) if field else (None, None)


class Schemas:
    """The compiled types of one release under one set of gates."""

    def __init__(self, release: str, gates: Gates) -> None:
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
        file = other.removeprefix("../") or file
        found = self._types.get(file + place)
        if found is None:
            schema: Any = schemastore.load(f"kubernetes/{self.release}/{file}")
            for key in place.split("/")[1:]:
                schema = schema[key]
            found = self._types[file + place] = self._struct(file, schema)
        return found

    def _at(self, file: str, schema: Value) -> Type:
        if "$ref" in schema:
            return self._reference(file, schema["$ref"])
        go = schema.get("x-kubernetes-go-type", "")
        if go in _SPECIAL:
            special = Type(_SPECIAL[go], go)
            special.keywords = {"exponents": self.gates.get("quantity-exponents", False)}
            return special
        form = schema.get("type", "")
        if form == "array":
            item = self._at(file, schema["items"])
            return Type("list", go or "[]" + item.go, item)
        if form == "object":
            values = schema.get("additionalProperties")
            if values:
                item = self._at(file, values)
                key = schema.get("x-kubernetes-key-type", "string")
                return Type("map", go or f"map[{key}]{item.go}", item)
            return self._struct(file, schema)
        if schema.get("format") == "byte":
            return Type("bytes", "[]uint8")
        width = schema.get("format", "") if form == "integer" else ""
        kind = _SCALARS[(form, width)]
        made = Type(kind, go or kind)
        if "enum" in schema:
            made.enum = frozenset(schema["enum"])
        return made

    def _struct(self, file: str, schema: Value) -> Type:
        made = Type("struct", schema.get("x-kubernetes-go-type", ""))
        made.union = tuple(schema.get("x-kubernetes-union", ()))
        made.keywords = schema
        made._build = lambda: self._fields(file, schema)
        return made

    def _fields(self, file: str, schema: Value) -> dict[str, Field]:
        required = frozenset(schema.get("required", ()))
        gates = self.gates
        rows = _find_rows(file, schema)
        return {
            name: Field(
                name,
                self._at(file, field),
                {**field, **row, "row": row} if (row := rows.get(name)) else field,
                name in required,
                gates,
            )
            for name, field in schema["properties"].items()
        }


def _find_rows(file: str, schema: Value) -> dict[str, Value]:
    """What `schemas/kubernetes/fields.json` says of the fields of a struct of a kind without pods."""
    if not file.startswith("others/"):
        return {}
    of = schema.get("x-kubernetes-go-type", "").rpartition(".")[2]
    types = schemastore.load("kubernetes/fields.json").get(file.removeprefix("others/").removesuffix(".json"), {})
    return {name: row for key, rows in types.items() if of in key.split() for name, row in rows.items()}


_COMPILED: dict[tuple[str, frozenset[tuple[str, bool]]], Schemas] = {}


def compile_schemas(release: str, gates: Gates) -> Schemas:
    """The types of `release` with these gates on or off, and all others as they are by default. Compiled once per
    process."""
    key = (release, frozenset(gates.items()))
    found = _COMPILED.get(key)
    if found is None:
        defaults = dict.fromkeys(schemastore.load(f"kubernetes/{release}/meta.json")["x-kubernetes-gates"], True)
        found = _COMPILED[key] = Schemas(release, {**defaults, **gates})
    return found


@cache
def find_function(name: str) -> Callable[..., Any]:
    """The function that a schema names as `module.function` of this package, imported when it is first needed."""
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(__import__(f"krmfn.server.{module}", fromlist=[function]), function)
    return found


class Kind:
    """One kind of one release under one set of gates. Shared: do not change.

    What is declared here is what the keyword of its name says, behind `x-kubernetes-` and with dashes.
    """

    resource: str
    unconditional_update: bool = True
    #: Whether the status is written on its own.
    status_subresource: bool = False
    #: Whether an update checks the names in metadata as a create does.
    names_on_update: bool = False
    #: Whether objects have no namespace.
    cluster: bool = False
    #: Whether finalizers without a domain may have any name.
    any_finalizer: bool = False
    #: Whether metadata is looked at when nothing else is wrong.
    late_metadata: bool = False
    #: Whether generateName may be anything.
    plain_prefix: bool = False
    declarative: bool = False
    #: The part of the defaults that depend on other fields; functions for the rest of them.
    defaults: str = ""
    default_functions: Functions = ()
    #: What a create adds; what an update takes over; what a server fills in when it stores an object.
    prepare: Functions = ()
    prepare_update: Functions = ()
    settle: Functions = ()
    #: What is refused before metadata and all else are looked at.
    first: Functions = ()
    #: Where expressions stand; whether they compile is not known here.
    expressions: Sequence[str] = ()
    pod_spec: Sequence[str] = ()

    def __init__(self, root: Type, keywords: Value, schemas: Schemas) -> None:
        self.root = root
        self.release = schemas.release
        self.gates = schemas.gates
        self.meta: Type = self.root.fields["metadata"].type
        self.name: str = keywords["x-kubernetes-kind"]
        self.group: str = keywords["x-kubernetes-group"]
        for attribute, form in Kind.__annotations__.items():
            value = keywords.get(f"x-kubernetes-{attribute.replace('_', '-')}")
            if value is not None:
                setattr(self, attribute, tuple(map(find_function, value)) if form == "Functions" else value)
        served: Value = keywords["x-kubernetes-versions"]
        #: The versions that are served, the server's first one first.
        self.versions = tuple(
            version for version, gates in served.items() if all(self.gates.get(gate, False) for gate in gates)
        )
        #: What the names of objects are.
        names = keywords.get("x-kubernetes-names", "formats.check_long_name")
        for gate, check in keywords.get("x-kubernetes-names-if-enabled", {}).items():
            names = check if self.gates.get(gate, False) else names
        self.check_name = find_function(names)
        #: By operation: (rule, argument) in the order in which the server runs them.
        self.handwritten: Calls = {
            operation: tuple((find_function(name), argument) for name, argument in rows)
            for operation, rows in keywords.get("x-kubernetes-handwritten", {}).items()
        }
        #: By phase: (plugin, argument).
        self.admission: Calls = {
            phase: tuple((find_function(name), argument) for name, argument in plugins.items())
            for phase, plugins in keywords.get("x-kubernetes-admission", {}).items()
        }
        self.pod_type = root
        for name in self.pod_spec:
            self.pod_type = self.pod_type.fields[name].type

    def is_on(self, gate: str) -> bool:
        return self.gates.get(gate, False)

    @property
    def qualified_resource(self) -> str:
        """`podgroups.scheduling.k8s.io`, or `pods` in the core group."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


_FOUND: dict[tuple[str, str, str, str, frozenset[tuple[str, bool]]], Kind | None] = {}


def find_kind(group: str, kind: str, release: str, gates: Gates, version: str = "") -> Kind | None:
    """The kind, or None when there is no schema for it in that release. Gates that are not given have their default.
    A few kinds have other fields in an older `version` of their group."""
    key = (group, kind, version, release, frozenset(gates.items()))
    if key not in _FOUND:
        _FOUND[key] = _load(group, kind, release, gates, version)
    return _FOUND[key]


def _load(group: str, kind: str, release: str, gates: Gates, version: str) -> Kind | None:
    if not kind.isalpha() or not kind.isascii() or len(kind) > 63:
        return None  # it is a DNS label in CamelCase, and a longer one may be no name of a file
    schemas = compile_schemas(release, gates)
    try:
        said = schemastore.load(f"kubernetes/{release}/{kind.lower()}.json")
    except schemastore.SchemaMissing:
        said = {}
    if (said.get("x-kubernetes-group"), said.get("x-kubernetes-kind")) != (group, kind):
        return _load_plain(group, kind, schemas, version)
    root = schemas.root(kind.lower())
    return Kind(root, root.keywords, schemas)


def _load_plain(group: str, kind: str, schemas: Schemas, version: str) -> Kind | None:
    """A kind that has nothing to do with pods: its type is among the shapes, what is checked is a row of a table."""
    rows = schemastore.load("kubernetes/plain.json")
    row = rows.get(f"{group}/{kind}/{version}") or rows.get(f"{group}/{kind}")
    if row is None:
        return None
    (version,) = row["versions"]
    try:
        root = schemas.definition(f"others/{group}{'.' if group else ''}{version}.json", kind)
    except (schemastore.SchemaMissing, KeyError):
        return None
    checks = [[name, None] for name in ("cases.check_fields", row.get("check")) if name]
    keywords = {f"x-kubernetes-{name}": value for name, value in row.items()}
    keywords |= {"x-kubernetes-kind": kind, "x-kubernetes-group": group}
    changes = [["cases.check_change", row["changes"]]] if "changes" in row else []
    keywords |= {"x-kubernetes-handwritten": {"create": checks, "update": [*checks, *changes]}}
    return Kind(root, keywords, schemas)
