"""Definitions of other projects that come with krmfn as data, and what they say together where it is not known which
version is installed.

A refusal is certain where all versions agree. A field that none of them has may be in a newer one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from krmfn.krm.paths import Path
from krmfn.model.values import Names, Value
from krmfn.model.wording import find_nearest
from krmfn.releases import schemastore
from krmfn.releases.served import read_projects
from krmfn.server.custom import Judgement, find_unknown, judge, tell_strict
from krmfn.server.schema import Schemas
from krmfn.server.structure import Endless, Structure
from krmfn.server.verdict import Cause, Mode


class Shipped(NamedTuple):
    """The definitions of a kind: that of the version that is installed, or of all versions, oldest first. Where several
    are given in the input, it is not known which of them is applied."""

    project: str
    name: str
    structures: Mapping[str, Structure]
    #: Whether it was said which version is installed.
    said: bool
    #: Required fields that a webhook of the project fills in, as `spec.rules.*.name`.
    filled: Names = ()


class Unserved(NamedTuple):
    """The version of a project that is installed does not have a kind in this version of its group, but in others. Or
    no version has it: `meant` is spelled otherwise."""

    name: str
    installed: str
    versions: Names
    meant: str = ""


def find_shipped(
    group: str, kind: str, api_version: str, installed: Mapping[str, tuple[int, int]]
) -> Shipped | Unserved | None:
    """The definitions of a kind in the newest version up to the installed one; None where there are none."""
    unserved = None
    for project, row in read_projects().get(group, ()):
        table = schemastore.load(f"crds/{project}.json")
        releases = table["releases"]
        if table["kinds"].get(kind, ("",))[0] != group:
            unserved = unserved or _find_meant(row["name"], table, group, kind)
            continue
        said = project in installed
        if said:
            fitting = [version for version in releases if _number(version) <= installed[project]]
            releases = {version: releases[version] for version in fitting[-1:]}
        having = {version: kinds[kind] for version, kinds in releases.items() if kind in kinds}
        roots = {version: versions[api_version] for version, versions in having.items() if api_version in versions}
        if roots:
            structures = {
                version: Structure(root, table["$defs"], trusted=True, separate=True) for version, root in roots.items()
            }
            return Shipped(project, row["name"], structures, said, tuple(row.get("fills", {}).get(kind, ())))
        if said and having:
            ((version, versions),) = having.items()
            unserved = Unserved(row["name"], version, tuple(versions))
    return unserved


def _find_meant(project: str, table: Value, group: str, kind: str) -> Unserved | None:
    """A kind that is written in other letters, or as the name of its resource."""
    for meant, (its, plural, _) in table["kinds"].items():
        if its == group and kind.lower() in (meant.lower(), plural):
            newest = list(table["releases"])[-1]
            return Unserved(project, newest, tuple(table["releases"][newest].get(meant, ())), meant)
    return None


def _number(version: str) -> tuple[int, int]:
    major, minor = map(int, version.split("."))
    return major, minor


def judge_all(
    shipped: Shipped,
    schemas: Schemas,
    value: Value,
    old: Any = None,
    duplicates: Iterable[Path] = (),
    update: Mode = "replace",
) -> tuple[Judgement, tuple[Cause, ...]]:
    """What every version of the definition refuses, in the words of the newest; and the fields that none has, where a
    version that is not known here may have them."""
    try:
        *older, newest = shipped.structures.values()
        if shipped.said and not older:
            return _forgive(shipped, judge(newest, schemas, value, old, duplicates, (), update)), ()
        unknown = find_unknown(newest, value)
        answer = judge(newest, schemas, value, old, duplicates, unknown, update)
        for structure in older:
            if not unknown and not answer.causes:
                break  # most objects: what the newest takes is not refused
            missing = find_unknown(structure, value)
            unknown = [path for path in unknown if path in missing]
            others = judge(structure, schemas, value, old, duplicates, missing, update).causes
            said = {(cause.rule, cause.path) for cause in others}
            # A version without a field does not take what is in it either.
            kept = (
                each
                for each in answer.causes
                if (each.rule, each.path) in said or any(each.path[: len(field)] == field for field in missing)
            )
            answer = answer._replace(causes=tuple(kept))
        told = tuple(map(tell_strict, unknown))
        if shipped.said:
            return answer._replace(causes=(*answer.causes, *told)), ()
        return _forgive(shipped, answer), told
    except Endless:
        return Judgement((), (((), "the schema of the CustomResourceDefinition takes too long"),)), ()


def _forgive(shipped: Shipped, answer: Judgement) -> Judgement:
    """The answer without what the project's webhook fills in before the server looks."""
    if not shipped.filled or not answer.causes:
        return answer
    kept = []
    for cause in answer.causes:
        place = ".".join("*" if isinstance(part, int) else part for part in cause.path)
        if cause.rule != "required" or place not in shipped.filled:
            kept.append(cause)
    return answer._replace(causes=tuple(kept))


def tell_versions(shipped: Shipped, path: Path) -> str:
    """What to do about a field that no version has."""
    *_, structure = shipped.structures.values()
    name = path[-1]
    near = find_nearest(name, structure.list_fields(path[:-1]), 0.8) if isinstance(name, str) else ""
    versions = list(shipped.structures)
    oldest, newest = versions[0], versions[-1]
    asked = f"{oldest} to {newest}" if oldest != newest else newest
    meant = f"Did you mean {near}? " if near else ""
    return (
        f"{meant}The definitions of {shipped.name} {asked} do not have it. If yours does, pass it with --crds, or set "
        f"operators.{shipped.project} of the configuration to your version."
    )
