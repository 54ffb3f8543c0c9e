"""Kinds that no rules here speak of: whether a release serves them, and whether an object has the shape of its kind.

A built-in kind is decoded as the server decodes it (unknown fields, types), and its labels, annotations and owners are
judged; what its validation says beyond that is not known here. Which kinds there are was asked of the servers'
discovery; the shapes are read from the Go types. Both are data that is read when such an object is met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from krmfn.checks.server.decode import Unclean, decode
from krmfn.checks.server.formats import check_long_name
from krmfn.checks.server.metadata import check_shared_metadata
from krmfn.checks.server.schema import Schemas, Type, compile_schemas
from krmfn.checks.server.shipped import is_group
from krmfn.checks.server.strategy import drop_repeated_owners, forget_unreadable_managers, wipe_system_fields
from krmfn.checks.server.verdict import Cause, invalid, required
from krmfn.krm.item import Item
from krmfn.krm.paths import Path, dig
from krmfn.krm.types import Any, Literal, NamedTuple
from krmfn.releases import schemastore

#: served: by default; off: with --runtime-config or a gate; missing: of a built-in group, but not there; foreign:
#: of a group that a CustomResourceDefinition or another server may bring.
Standing = Literal["served", "off", "missing", "foreign"]

#: Groups that Kubernetes itself had once.
_GONE = frozenset({"extensions", "settings.k8s.io", "auditregistration.k8s.io"})
#: What kinds require; below `metadata.name` are those whose names are DNS subdomains.
_REQUIRED = "kubernetes/required.json"


@cache
def _read_kinds(release: str) -> Mapping[str, Mapping[str, frozenset[str]]]:
    table = schemastore.load(f"kubernetes/{release}/others/kinds.json")
    return {
        standing: {version: frozenset(kinds.split()) for version, kinds in table[standing].items()}
        for standing in ("served", "off")
    }


@cache
def _list_groups(release: str) -> frozenset[str]:
    return _GONE | {version.rpartition("/")[0] for table in _read_kinds(release).values() for version in table}


def find_standing(api_version: str, kind: str, release: str) -> Standing:
    """What a server of the release does with the kind."""
    table = _read_kinds(release)
    if kind in table["served"].get(api_version, ()):
        return "served"
    if kind in table["off"].get(api_version, ()):
        return "off"
    group = api_version.rpartition("/")[0]
    # A group without a dot cannot be that of a CustomResourceDefinition.
    return "missing" if "." not in group or group in _list_groups(release) else "foreign"


def is_of_kubernetes(api_version: str, release: str) -> bool:
    """Whether Kubernetes has, or had, a group of this name; the core group has the version v1 alone."""
    group = api_version.rpartition("/")[0]
    return group in _list_groups(release) if group else api_version == "v1"


def is_of_program(item: Item, release: str) -> bool:
    """Whether a document is for a program and sent to no cluster: its kind is not known, and it has no name (a
    kubeconfig), or a group that no definition can have and Kubernetes never had (`skaffold/v4beta12` Config)."""
    standing = find_standing(item.api_version, item.kind, release)
    if standing in ("served", "off") or is_group(item.api_version):
        return False
    if not item.name and not isinstance(dig(item.value, ("metadata", "generateName")), str):
        return True
    known = standing == "foreign" or is_of_kubernetes(item.api_version, release)
    return not known and find_similar(item.kind, release)[0].lower() != item.kind.lower()


def find_similar(kind: str, release: str) -> tuple[str, tuple[str, ...]]:
    """The kind that a wrong one means, and the versions in which the release has it; empty when none is like it."""
    served: dict[str, list[str]] = {}
    for standing in ("served", "off"):
        for version, kinds in _read_kinds(release)[standing].items():
            for name in kinds:
                served.setdefault(name, []).append(version)
    names = {name.lower(): name for name in served}
    from difflib import get_close_matches

    close = get_close_matches(kind.lower(), names, 1, 0.8)
    found = names[close[0]] if close else ""
    return found, tuple(served.get(found, ()))


def find_shape(api_version: str, kind: str, release: str) -> Type | None:
    """The type of a built-in kind; None for those that are not known here (CustomResourceDefinition, APIService)."""
    known = _read_kinds(release)  # what the input calls a version may be no name of a file
    return _compile(release, api_version)[kind] if api_version in {**known["served"], **known["off"]} else None


class _Shapes(dict[str, "Type | None"]):
    """The kinds of one version of a group, compiled when they are first met."""

    def __init__(self, schemas: Schemas, file: str) -> None:
        super().__init__()
        self.schemas = schemas
        self.file = file

    def __missing__(self, kind: str) -> Type | None:
        try:
            found = self.schemas.definition(self.file, kind)
        except (schemastore.SchemaMissing, KeyError):
            found = None
        self[kind] = found
        return found


@cache
def _compile(release: str, api_version: str) -> _Shapes:
    return _Shapes(compile_schemas(release, {}), f"others/{api_version.replace('/', '.')}.json")


def find_misfits(root: Type, value: Any, api_version: str, duplicates: Iterable[Path] = ()) -> tuple[Cause, ...]:
    """What ends a request before the kind's own validation, or would be found there in any kind."""
    try:
        if duplicates:
            raise Unclean
        read = decode(root, value)
    except Unclean:
        from krmfn.checks.server.explain import explain  # rare

        found = explain(root, value, api_version.rpartition("/")[2], duplicates)
        if found.problems:
            return found.problems
        read = found.value
    causes: list[Cause] = []
    given = read.get("metadata", {})
    wipe_system_fields(given)
    forget_unreadable_managers(given)
    drop_repeated_owners(given)
    given.pop("generation", None)  # most kinds count by themselves
    check_shared_metadata(root.fields["metadata"].type, given, causes)
    if given.get("name") and value["kind"] in schemastore.load(_REQUIRED)["metadata.name"]:
        wrong = check_long_name(given["name"])
        causes += (invalid(("metadata", "name"), "metadata-name", given["name"], text) for text in wrong)
    causes += (
        required(path, "required", row.detail)
        for row in _read_required().get(f"{api_version} {value['kind']}", ())
        if not any((found := dig(read, place)) == word or (found and word == "*") for place, word in row.unless)
        for path in _find_missing(read, row.place, ())
    )
    return tuple(causes)


class _Required(NamedTuple):
    """A field that the validation of a kind wants, unless one of the places has this value (`*`: any)."""

    place: tuple[str, ...]
    detail: str
    unless: tuple[tuple[Path, str], ...]


@cache
def _read_required() -> Mapping[str, list[_Required]]:
    table: Mapping[str, list[str]] = schemastore.load(_REQUIRED)
    return {kind: list(map(_read_row, rows)) for kind, rows in table.items() if " " in kind}


def _read_row(row: str) -> _Required:
    """`spec.ports: words unless spec.type=ExternalName`."""
    told, _, exceptions = row.partition(" unless ")
    place, _, detail = told.partition(": ")
    unless = (pair.partition("=") for pair in exceptions.split())
    return _Required(tuple(place.split(".")), detail, tuple((tuple(name.split(".")), word) for name, _, word in unless))


def _find_missing(value: Any, place: tuple[str, ...], path: Path) -> Iterator[Path]:
    """Where nothing stands at a place. What a server takes for empty where it is missing is there; below `parent.?name`
    something is only missed where the parent is."""
    if not place:
        if value in (None, "", [], {}):
            yield path
    elif place[0] == "*":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from _find_missing(item, place[1:], (*path, index))
    elif value is None and path and not place[0].startswith("?"):
        yield from _find_missing({}, place, path)
    elif isinstance(value, dict):
        name = place[0].removeprefix("?")
        yield from _find_missing(value.get(name), place[1:], (*path, name))
