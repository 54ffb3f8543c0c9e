"""A kind as a release serves it: its schema's root with the facts about requests that the root carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.checks.server.types import Schemas, Type, compile_schemas
from krmfn.releases import schemastore


class Kind:
    """One kind of one release under one set of gates. Shared: do not change."""

    __slots__ = (
        "admission",
        "declarative",
        "default_functions",
        "gates",
        "group",
        "handwritten",
        "label_names",
        "meta",
        "name",
        "names_on_update",
        "pod_spec",
        "prepare",
        "release",
        "resource",
        "root",
        "status",
        "unconditional_update",
        "versions",
    )

    def __init__(self, file: str, schemas: Schemas) -> None:
        self.root: Type = schemas.root(file)
        self.release = schemas.release
        self.gates = schemas.gates
        keywords = self.root.keywords
        self.meta: Type = self.root.fields["metadata"].type
        self.name: str = keywords["x-kubernetes-kind"]
        self.group: str = keywords["x-kubernetes-group"]
        self.resource: str = keywords["x-kubernetes-resource"]
        served: Mapping[str, Any] = keywords["x-kubernetes-versions"]
        #: The versions that are served, the server's first one first.
        self.versions = tuple(
            version for version, gates in served.items() if all(self.gates.get(gate, False) for gate in gates)
        )
        self.unconditional_update: bool = keywords.get("x-kubernetes-unconditional-update", True)
        self.status: bool = keywords.get("x-kubernetes-status-subresource", False)
        #: Whether an update checks the names in metadata as a create does.
        self.names_on_update: bool = keywords.get("x-kubernetes-names-on-update", False)
        #: Whether names of objects are DNS labels.
        self.label_names: bool = keywords.get("x-kubernetes-label-names", False)
        self.declarative: bool = keywords.get("x-kubernetes-declarative", False)
        #: By operation: (rule, argument) in the order in which the server runs them.
        self.handwritten: Mapping[str, Sequence[tuple[str, Any]]] = keywords.get("x-kubernetes-handwritten", {})
        self.admission: Mapping[str, Mapping[str, Any]] = keywords.get("x-kubernetes-admission", {})
        self.default_functions: tuple[str, ...] = tuple(keywords.get("x-kubernetes-default-functions", ()))
        self.prepare: tuple[str, ...] = tuple(keywords.get("x-kubernetes-prepare", ()))
        self.pod_spec: tuple[str, ...] = tuple(keywords.get("x-kubernetes-pod-spec", ()))

    @property
    def qualified_resource(self) -> str:
        """`podgroups.scheduling.k8s.io`, or `pods` in the core group."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


_FOUND: dict[tuple[str, str, str, frozenset[str]], Kind | None] = {}


#: A kind is a DNS label in CamelCase; a longer one may be no name of a file.
_LONGEST = 63


def find_kind(group: str, kind: str, release: str, gates: Mapping[str, bool]) -> Kind | None:
    """The kind, or None when there is no schema for it in that release. Gates that are not True are off."""
    key = (group, kind, release, frozenset(gate for gate, on in gates.items() if on))
    if key not in _FOUND:
        _FOUND[key] = _load(group, kind, release, gates)
    return _FOUND[key]


def _load(group: str, kind: str, release: str, gates: Mapping[str, bool]) -> Kind | None:
    if not kind.isalpha() or not kind.isascii() or len(kind) > _LONGEST:
        return None
    try:
        found = Kind(kind.lower(), compile_schemas(release, gates))
    except (schemastore.SchemaMissing, KeyError):
        return None
    return found if (found.group, found.name) == (group, kind) else None
