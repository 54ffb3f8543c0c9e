"""Kinds that no rules here speak of: whether an object has the shape of its kind.

A built-in kind is decoded as the server decodes it (unknown fields, types), and its labels, annotations and owners are
judged; what its validation says beyond that is not known here. The shapes are read from the Go types; they are data
that is read when such an object is met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from krmfn.checks.server.decode import Unclean, decode
from krmfn.checks.server.formats import check_long_name
from krmfn.checks.server.metadata import check_shared_metadata
from krmfn.checks.server.schema import Schemas, Type, compile_schemas
from krmfn.checks.server.spell import spell
from krmfn.checks.server.strategy import drop_repeated_owners, forget_unreadable_managers, wipe_system_fields
from krmfn.checks.server.verdict import Cause, invalid, required
from krmfn.krm.paths import Path, dig
from krmfn.krm.types import Any, NamedTuple
from krmfn.releases import schemastore
from krmfn.releases.served import read_kinds

#: What kinds require; below `metadata.name` are those whose names are DNS subdomains.
_REQUIRED = "kubernetes/required.json"


def find_shape(api_version: str, kind: str, release: str) -> Type | None:
    """The type of a built-in kind; None for those that are not known here."""
    known = read_kinds(release)  # what the input calls a version may be no name of a file
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
        Cause("Invalid", path, row.detail.replace("null", spell(dig(value, *path))), "required")
        if row.detail.startswith("Invalid value")
        else required(path, "required", row.detail)
        for row in _read_required().get(f"{api_version} {value['kind']}", ())
        if not any((found := dig(read, *place)) == word or (found and word == "*") for place, word in row.unless)
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
        if value in (None, "", []):
            yield path
    elif place[0] == "*":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from _find_missing(item, place[1:], (*path, index))
    elif value is None and path and not place[0].startswith("?"):
        yield from _find_missing({}, place, path)
    elif isinstance(value, dict):
        name = place[0].removeprefix("?")
        yield from _find_missing(value.get(name), place[1:], (*path, name))
