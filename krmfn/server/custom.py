"""Custom resources by one definition: from the objects, from --crds, from the facts about the cluster, or one that
comes with krmfn (`shipped`).

A definition that is not known leaves its objects unjudged. CEL rules and patterns that cannot be evaluated here are
named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from krmfn.krm.paths import Path, dig, format_path
from krmfn.krm.results import ABSENT
from krmfn.model.gotext import quote
from krmfn.model.kept import check_once
from krmfn.model.showing import close
from krmfn.releases import schemastore
from krmfn.server.answers import Mode
from krmfn.server.correlation import stays
from krmfn.server.customrules import apply_rules
from krmfn.server.decode import Unclean, decode
from krmfn.server.metadata import check_new_metadata
from krmfn.server.schema import Schemas, Type
from krmfn.server.strategy import (
    drop_repeated_owners,
    forget_unreadable_managers,
    generate_name,
    wipe_system_fields,
)
from krmfn.server.structure import Endless, Structure
from krmfn.server.verdict import Cause

_NUMBERS = ("integer", "number", "int32", "int64", "float", "double", "float64")


class Judgement(NamedTuple):
    """What the server refuses, and what was not evaluated: the place of a value, and words for the rule or pattern."""

    causes: tuple[Cause, ...]
    unchecked: tuple[tuple[Path, str], ...] = ()


def find_unknown(structure: Structure, value: Mapping[str, Any]) -> list[Path]:
    """The fields that the definition does not have."""
    unknown: list[Path] = []
    structure.complete(dict(value), unknown)
    return unknown


Definitions = dict[tuple[str, str, str], Structure]


#: The definitions read last, with the values that they were read from: all worlds of a repository have them in common.
_READ: dict[int, tuple[Mapping[str, Any], Definitions]] = {}
_ROOM = 256


def find_wrong_keywords(value: Mapping[str, Any]) -> list[Cause]:
    """The keywords of a schema, and of the schemas in it, that have not the type that they have to have: who writes a
    definition may write anything, and a server refuses it. Source: the type JSONSchemaProps of apiextensions.k8s.io/v1.
    """
    known = schemastore.load("crds/schema.json")
    return check_once("keywords", Structure(known["schema"], known, trusted=True).check, value)


def is_schema(value: Any) -> bool:
    """Whether a server would read a value as a schema."""
    return isinstance(value, dict) and not find_wrong_keywords(value)


def read_definition(value: Mapping[str, Any]) -> Definitions:
    """What a CustomResourceDefinition says, by group, kind and version; nothing where it is malformed."""
    found: Definitions = {}
    spec = value.get("spec")
    try:
        assert isinstance(spec, dict)
        for version in spec["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            if version.get("served", True) and is_schema(schema) and not spec.get("preserveUnknownFields"):
                separate = "status" in (version.get("subresources") or ())
                structure = Structure(schema, {}, separate=separate)
                found[(spec["group"], spec["names"]["kind"], version["name"])] = structure
    except (AssertionError, KeyError, TypeError, AttributeError):
        return {}
    return found


def _recall(value: Mapping[str, Any]) -> Definitions:
    """As read_definition, of a value that nobody changes."""
    known = _READ.get(id(value))
    if known is None or known[0] is not value:
        if len(_READ) >= _ROOM:
            _READ.clear()
        known = _READ[id(value)] = value, read_definition(value)
    return known[1]


class Given:
    """The definitions that somebody gives, read when an object of their kind is met: most are of kinds that are not."""

    def __init__(self, *sources: Iterable[Mapping[str, Any]]) -> None:
        """CustomResourceDefinitions. A version that an earlier source defines is taken from there alone."""
        self._sources: list[dict[tuple[Any, Any], list[Mapping[str, Any]]]] = [{} for _ in sources]
        for known, values in zip(self._sources, sources, strict=True):
            for value in values:
                names = (dig(value, "spec", "group"), dig(value, "spec", "names", "kind"))
                if all(isinstance(name, str) for name in names):
                    known.setdefault(names, []).append(value)
        self._found: dict[tuple[str, str, str], list[Structure]] = {}

    def find(self, group: str, kind: str, version: str) -> list[Structure]:
        """The definitions of a kind that differ. A repository may have an older one of it somewhere."""
        key = (group, kind, version)
        if key not in self._found:
            found: list[Structure] = []
            self._found[key] = found
            for source in self._sources:
                for value in source.get((group, kind), ()) if not found else ():
                    structure = _recall(value).get(key)
                    if structure is not None and structure.root not in [each.root for each in found]:
                        found.append(structure)
        return self._found[key]


def judge(
    structure: Structure,
    schemas: Schemas,
    value: Mapping[str, Any],
    old: Any = None,
    duplicates: Iterable[Path] = (),
    passed: Collection[Path] = (),
    update: Mode = "replace",
) -> Judgement:
    """The answer of a server with these schemas to a create, or to a change of the object `old`.

    What is wrong in both and stays as it was is allowed, unless the server applies the change: it can merge only what
    has the types of the schema, and keeps nulls. Unknown fields at the places `passed` are left out.
    """
    integers = schemas.gates.get("integer-formats", False)
    structure = Structure(structure.root, structure.shared, integers, structure.trusted, structure.separate)
    try:
        return _judge(structure, schemas, value, old, duplicates, passed, update)
    except Endless:
        return Judgement((), (((), "the schema of the CustomResourceDefinition takes too long"),))


def _judge(
    structure: Structure,
    schemas: Schemas,
    value: Mapping[str, Any],
    old: Any,
    duplicates: Iterable[Path],
    passed: Collection[Path],
    update: Mode,
) -> Judgement:
    meta = schemas.definition("meta.json", "ObjectMeta")
    before = structure.complete(dict(old), []) if isinstance(old, Mapping) else None
    given, problems = _read_metadata(meta, value)
    if any(problem.rule in ("wrong-type", "bad-value") for problem in problems):
        return Judgement(problems)
    merged, misfits = (value, ()) if before is None else _merge(structure, value, old, update)
    applied = update == "server-side-apply" and before is not None
    unknown: list[Path] = []
    completed = structure.complete(dict(merged), unknown, applied)
    if applied:  # what has no type is pruned without a word
        unknown = [path for path in unknown if path in [problem.path for problem in misfits]]
    elif update == "apply" and before is not None:  # a merge patch has no nulls
        unknown = [path for path in unknown if dig(value, *path) is not None]
    strict = [_tell_strict(path, "duplicate-field", "duplicate field") for path in duplicates]
    strict += [tell_unknown(path) for path in unknown if path not in passed]
    if strict or problems:
        return Judgement((*problems, *strict))
    # The status is typed before it is left out.
    causes = [problem for problem in misfits if structure.separate and problem.path[0] == "status"]
    causes += check_new_metadata(meta, given, any_finalizer=True)
    structure.unread.clear()
    found = structure.check(completed)
    unread = list(dict.fromkeys(structure.unread))
    were = [] if before is None else structure.check(before)
    let = [] if before is None else _let_through(structure, found, were, completed, before)
    if applied:
        let = [cause for cause in let if not _is_unmergeable(cause)]
        causes += (cause for cause in were if _is_unmergeable(cause) and cause not in found)
    causes += (cause for cause in found if cause not in let)
    if causes:
        return Judgement(tuple(causes))
    # Rules speak of values that have the types of their schema. Those that anybody may have written are not evaluated.
    typed = structure.trusted and not (let or were)
    told = list(apply_rules(structure, completed, ABSENT if before is None else before, typed))
    broken = tuple(each for each in told if isinstance(each, Cause))
    rules = (("rule", *each) for each in told if not isinstance(each, Cause))
    unchecked = [*rules, *(("pattern", *each) for each in unread)]
    return Judgement(
        broken, tuple((path, f"the {what} `{text}` of the CustomResourceDefinition") for what, path, text in unchecked)
    )


def _merge(
    structure: Structure, value: Mapping[str, Any], old: Mapping[str, Any], update: Mode
) -> tuple[Mapping[str, Any], tuple[Cause, ...]]:
    """What a change leads to, or the manifest itself with what does not fit the definition."""
    from krmfn.server.apply import BadPatch
    from krmfn.server.typed import merge

    try:
        return merge(structure, value, old, update), ()
    except BadPatch as error:
        return value, error.problems


def _let_through(
    structure: Structure, found: list[Cause], were: list[Cause], new: Mapping[str, Any], old: Mapping[str, Any]
) -> list[Cause]:
    """What is wrong and stays as it was. Lists are not looked at where one had an entry twice."""
    repeated = [cause for cause in found if cause.rule == "unique-key"]
    let = [cause for cause in found if cause not in repeated and stays(structure, new, old, cause.path)]
    return [*let, *repeated] if any(cause.rule == "unique-key" for cause in were) else let


def _is_unmergeable(cause: Cause) -> bool:
    """Whether a value has another type than its schema says; all numbers are alike. Or an entry stands twice."""
    if cause.rule == "unique-key":
        return True
    wanted, _, shown = cause.message.rpartition("must be of type ")[2].partition(": ")
    return cause.type == "FieldValueTypeInvalid" and not (wanted in _NUMBERS and shown.strip('"') in _NUMBERS)


def tell_unknown(path: Path) -> Cause:
    return _tell_strict(path, "unknown-field", "unknown field")


def _tell_strict(path: Path, rule: str, words: str) -> Cause:
    path = close("", path)
    return Cause("Decode", path, f"{words} {quote(format_path(path))}", rule)


def _read_metadata(meta: Type, value: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Cause, ...]]:
    """Metadata as a create leaves it, or why it cannot be read."""
    written = value.get("metadata")
    try:
        given = decode(meta, written)
    except Unclean:
        from krmfn.server.explain import explain  # rare

        found = explain(meta, written, "v1")
        if found.problems:
            return {}, tuple(_place(problem) for problem in found.problems)
        given = found.value
    wipe_system_fields(given)
    forget_unreadable_managers(given)
    drop_repeated_owners(given)
    given.setdefault("namespace", "default")
    generate_name(given)
    return given, ()


def _place(problem: Cause) -> Cause:
    """A problem of metadata, in the object. A field that is not known is named with its place, others are not."""
    message = problem.message
    if problem.rule in ("unknown-field", "duplicate-field"):
        message = message.replace(' "', ' "metadata.', 1)
    return problem._replace(path=("metadata", *problem.path), message=message)
