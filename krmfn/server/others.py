"""Kinds that no rules here speak of: whether an object has the shape of its kind.

A built-in kind is decoded as the server decodes it (unknown fields, types), and its labels, annotations and owners are
judged; what its validation says beyond that is not known here. The shapes are read from the Go types; they are data
that is read when such an object is met.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from krmfn.krm.paths import Path
from krmfn.releases import schemastore
from krmfn.releases.served import read_kinds
from krmfn.server.cases import find_missing
from krmfn.server.decode import read
from krmfn.server.formats import check_long_name
from krmfn.server.metadata import check_shared_metadata
from krmfn.server.schema import DEFINITION, Type, compile_schemas
from krmfn.server.strategy import clean_new_metadata
from krmfn.server.verdict import Cause, Mode, Verdict, invalid, refused_by


@lru_cache(1024)
def find_shape(api_version: str, kind: str, release: str) -> Type | None:
    """The type of a built-in kind; None for those that are not known here."""
    if not any(api_version in versions for versions in read_kinds(release).values()):
        return None  # what the input calls a version may be no name of a file
    try:
        return compile_schemas(release, {}).definition(f"others/{api_version.replace('/', '.')}.json", kind)
    except (schemastore.SchemaMissing, KeyError):
        return None


def apply_over(root: Type, stored: Any, value: Any) -> Any:
    """What a server-side apply makes of an object of a kind without rules. All that is stored may belong to others."""
    from krmfn.server.merging import BadPatch, merge_applied

    try:
        return merge_applied(root, stored, {}, value)
    except BadPatch:
        return value  # the fields and types say what is wrong


def judge_shape(
    root: Type, value: Any, api_version: str, release: str, stored: Any, way: Mode, duplicates: Iterable[Path] = ()
) -> Verdict:
    """The answer about an object by the shape of its kind; of a CustomResourceDefinition also by its rules."""
    causes = find_misfits(root, value, api_version, duplicates)
    if value.get("kind") == DEFINITION and not any(cause.type == "Decode" for cause in causes):
        from krmfn.server.definitions import check_definition

        integers = compile_schemas(release, {}).gates.get("integer-formats", False)
        before = stored if read(root, stored, api_version).value else None  # else it is no state to change
        causes += check_definition(value, before, integers, way)
    return refused_by(causes)


def find_misfits(root: Type, value: Any, api_version: str, duplicates: Iterable[Path] = ()) -> tuple[Cause, ...]:
    """What ends a request before the kind's own validation, or would be found there in any kind."""
    found = read(root, value, api_version.rpartition("/")[2], duplicates)
    if found.problems:
        return found.problems
    given = found.value.get("metadata", {})
    clean_new_metadata(given)
    given.pop("generation", None)  # most kinds count by themselves
    causes = list(check_shared_metadata(root.fields["metadata"].type, given))
    if given.get("name") and value["kind"] in schemastore.load("kubernetes/named.json")["subdomains"]:
        wrong = check_long_name(given["name"])
        causes += (invalid(("metadata", "name"), given["name"], text, "metadata-name") for text in wrong)
    if f"{api_version.rpartition('/')[0]}/{value['kind']}" not in schemastore.load("kubernetes/plain.json"):
        causes += find_missing(root, found.value)  # of those, more is known
    return tuple(causes)
