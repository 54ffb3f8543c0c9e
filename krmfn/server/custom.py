"""Custom resources by one definition: from the objects, from --crds, from the facts about the cluster, or one that
comes with krmfn (`shipped`).

A definition that is not known leaves its objects unjudged. CEL rules and patterns that cannot be evaluated here are
named. A server lets through what was wrong before and stays as it was: entries of lists are told apart by their keys.
Rules that speak of `oldSelf` hold for a change of a value that was there; a rule that cannot be evaluated fails.
Source: k8s.io/apiextensions-apiserver/pkg/apiserver, validation/ratcheting.go, and k8s.io/apiserver/pkg/cel/common.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from krmfn.krm.paths import Path, dig, format_path, walk_values
from krmfn.krm.results import ABSENT
from krmfn.model.gotext import quote
from krmfn.model.kept import check_once
from krmfn.model.showing import close
from krmfn.model.values import Fields, Value, as_mapping
from krmfn.releases import schemastore
from krmfn.server.decode import read
from krmfn.server.metadata import check_new_metadata
from krmfn.server.schema import Schemas, Type
from krmfn.server.spell import spell
from krmfn.server.strategy import clean_new_metadata, generate_name
from krmfn.server.structure import Schema, Structure
from krmfn.server.verdict import Cause, Mode, Out

_NUMBERS = ("integer", "number", "int32", "int64", "float", "double", "float64")


class Judgement(NamedTuple):
    """What the server refuses, and what was not evaluated: the place of a value, and words for the rule or pattern."""

    causes: tuple[Cause, ...]
    unchecked: tuple[tuple[Path, str], ...] = ()


def find_unknown(structure: Structure, value: Value) -> list[Path]:
    """The fields that the definition does not have. Raises Endless."""
    unknown: list[Path] = []
    structure.complete(dict(value), unknown)
    return unknown


Definitions = dict[tuple[str, str, str], Structure]


#: The definitions read last, with the values that they were read from: all worlds of a repository have them in common.
_READ: dict[int, tuple[Value, Definitions]] = {}


def find_wrong_keywords(value: Value) -> Out:
    """The keywords of a schema, and of the schemas in it, with a value of the wrong type: whoever writes a definition
    may write anything, and a server refuses it. Source: the type JSONSchemaProps of apiextensions.k8s.io/v1."""
    known = schemastore.load("crds/schema.json")
    return check_once("keywords", Structure(known["schema"], known, trusted=True).check, value)


def is_schema(value: Any) -> bool:
    """Whether a server would read a value as a schema."""
    return isinstance(value, dict) and not find_wrong_keywords(value)


def read_definition(value: Value) -> Definitions:
    """What a CustomResourceDefinition says, by group, kind and version; nothing where it is malformed."""
    found: Definitions = {}
    spec = as_mapping(value, "spec")
    try:
        for version in spec["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            if version.get("served", True) and is_schema(schema) and not spec.get("preserveUnknownFields"):
                separate = "status" in (version.get("subresources") or ())
                structure = Structure(schema, {}, separate=separate)
                found[(spec["group"], spec["names"]["kind"], version["name"])] = structure
    except (KeyError, TypeError, AttributeError):
        return {}
    return found


def _recall(value: Value) -> Definitions:
    """As read_definition, of a value that nobody changes."""
    if id(value) not in _READ:
        if len(_READ) >= 256:
            _READ.clear()
        _READ[id(value)] = value, read_definition(value)  # with the value, so that no other one gets its id
    return _READ[id(value)][1]


class Given:
    """The definitions that somebody gives, read when an object of their kind is met: most are of kinds that are not."""

    def __init__(self, *sources: Iterable[Value]) -> None:
        """CustomResourceDefinitions. A version that an earlier source defines is taken from there alone."""
        self._sources: list[dict[tuple[Any, Any], list[Value]]] = [{} for _ in sources]
        for known, values in zip(self._sources, sources, strict=True):
            for value in values:
                names = (dig(value, "spec", "group"), dig(value, "spec", "names", "kind"))
                if all(isinstance(name, str) for name in names):
                    known.setdefault(names, []).append(value)
        self._found: dict[tuple[str, str, str], dict[str, Structure]] = {}

    def find(self, group: str, kind: str, version: str) -> dict[str, Structure]:
        """The definitions of a kind that differ, numbered (`0.`): a repository may have an older one somewhere."""
        key = (group, kind, version)
        if key not in self._found:
            found: dict[str, Structure] = {}
            self._found[key] = found
            for source in self._sources:
                for value in source.get((group, kind), ()) if not found else ():
                    structure = _recall(value).get(key)
                    if structure is not None and structure.root not in [each.root for each in found.values()]:
                        found[f"{len(found)}."] = structure
        return self._found[key]


def judge(
    structure: Structure,
    schemas: Schemas,
    value: Value,
    old: Any = None,
    duplicates: Iterable[Path] = (),
    passed: Collection[Path] = (),
    update: Mode = "replace",
) -> Judgement:
    """The answer of a server with these schemas to a create, or to a change of the object `old`.

    What is wrong in both and stays as it was is allowed, unless the server applies the change: it can merge only what
    has the types of the schema, and keeps nulls. Unknown fields at the places `passed` are left out. Raises Endless.
    """
    integers = schemas.gates.get("integer-formats", False)
    structure = Structure(structure.root, structure.shared, integers, structure.trusted, structure.separate)
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
    strict = [tell_strict(path, "duplicate-field") for path in duplicates]
    strict += [tell_strict(path) for path in unknown if path not in passed]
    if strict or problems:
        return Judgement((*problems, *strict))
    # The status is typed before it is left out.
    causes = [problem for problem in misfits if structure.separate and problem.path[0] == "status"]
    causes += check_new_metadata(meta, given)
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
    return Judgement(broken, (*(each for each in told if not isinstance(each, Cause)), *unread))


def _merge(structure: Structure, value: Value, old: Value, update: Mode) -> tuple[Value, tuple[Cause, ...]]:
    """What a change leads to, or the manifest itself with what does not fit the definition."""
    from krmfn.server.apply import merge
    from krmfn.server.merging import BadPatch

    try:
        return merge(structure, value, old, update), ()
    except BadPatch as error:
        return value, error.problems


def _let_through(structure: Structure, found: Out, were: Out, new: Value, old: Value) -> Out:
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


def tell_strict(path: Path, rule: str = "unknown-field") -> Cause:
    path = close("", path)
    return Cause("Decode", path, f"{rule.replace('-', ' ')} {quote(format_path(path))}", rule)


def _read_metadata(meta: Type, value: Value) -> tuple[Fields, tuple[Cause, ...]]:
    """Metadata as a create leaves it, or why it cannot be read."""
    found = read(meta, value.get("metadata"), "v1")
    if found.problems:
        return {}, tuple(_place(problem) for problem in found.problems)
    given = found.value
    clean_new_metadata(given)
    given.setdefault("namespace", "default")
    generate_name(given)
    return given, ()


def _place(problem: Cause) -> Cause:
    """A problem of metadata, in the object. A field that is not known is named with its place, others are not."""
    message = problem.message
    if problem.rule in ("unknown-field", "duplicate-field"):
        message = message.replace(' "', ' "metadata.', 1)
    return problem._replace(path=("metadata", *problem.path), message=message)


#: What else a rule may say, and is not known here.
_UNKNOWN = ("fieldPath", "messageExpression", "optionalOldSelf")
_TYPES = {"FieldValueRequired": ("Required", "Required value"), "FieldValueForbidden": ("Forbidden", "Forbidden")}


def apply_rules(structure: Structure, value: Value, old: Any, typed: bool) -> Iterator[Cause | tuple[Path, str]]:
    """The causes of an object, and place and words for each rule that is not evaluated. `old` is ABSENT for a create.
    Unless all values are `typed` as the schema says, no rule is evaluated."""
    for schema, rule, path, item, before, same in find_rules(structure, structure.resolve(structure.root), value, old):
        if typed:
            yield from _judge_rule(rule, str(schema.get("type", "")), item, before, path, same)
        else:
            yield path, _name_rule(rule)


def _name_rule(rule: Value) -> str:
    return f"the rule `{rule['rule']}` of the CustomResourceDefinition"


def find_rules(
    structure: Structure, schema: Schema, value: Any, old: Any, path: Path = (), same: bool = False
) -> Iterator[tuple[Schema, Value, Path, Any, Any, bool]]:
    """The rules that a value meets: schema and rule, the place, the value and what it was, and whether the rule may be
    broken because nothing has changed."""
    same = same or (old is not ABSENT and is_same(structure, schema, value, old))
    for rule in schema.get("x-kubernetes-validations", ()):
        changing = "oldSelf" in rule["rule"]
        if not changing or old is not ABSENT:
            yield schema, rule, path, value, old, same and not changing
    parts = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
    for part in parts:
        below = structure.find_below(schema, part)
        if below:
            before = ABSENT if old is ABSENT else find_old(structure, schema, value, old, part)
            yield from find_rules(structure, below, value[part], before, (*path, part), same)


def _judge_rule(
    rule: Value, type_name: str, value: Any, old: Any, path: Path, passed: bool
) -> Iterator[Cause | tuple[Path, str]]:
    from krmfn.server.cel import EvaluationFailed, Unsupported, compile_rule  # most objects meet no rule

    text = rule["rule"]
    told = str(rule.get("message") or f"failed rule: {text}").strip()
    scope = {"self": value} if old is ABSENT else {"self": value, "oldSelf": old}
    try:
        if any(rule.get(name) for name in _UNKNOWN) or _has_whole_float(value):
            raise Unsupported(text)
        if compile_rule(text)(scope) is True or passed:
            return
        kind, words = _TYPES.get(rule.get("reason", ""), ("Invalid", "Invalid value: "))
        shown = _show(value) if kind == "Invalid" else ": "
        yield Cause(kind, path, f"{words}{shown}{told}", "custom-rule-broken")
    except EvaluationFailed as failure:
        words = f'Invalid value: "{type_name}": {failure}{rule.get("message") or text}'
        yield Cause("Invalid", path, words, "custom-rule-broken")
    except (Unsupported, RecursionError):
        yield path, _name_rule(rule)


def _has_whole_float(value: Any) -> bool:
    """Whether 3.0 stands somewhere: a schema takes it for an integer, a rule does not."""
    return any(isinstance(each, float) and each.is_integer() for each in walk_values(value))


def _show(value: Any) -> str:
    return "" if isinstance(value, (dict, list)) else f"{spell(value)}: "


def stays(structure: Structure, new: Any, old: Any, path: Path) -> bool:
    """Whether what a path leads to, or something on the way, is the same in both objects."""
    schema = structure.resolve(structure.root)
    for part in path:
        below = structure.find_below(schema, part)
        old = find_old(structure, schema, new, old, part)
        new = dig(new, part, default=ABSENT)
        if new is ABSENT or old is ABSENT:
            return False
        if is_same(structure, below, new, old):
            return True
        schema = below
    return False


def find_old(structure: Structure, schema: Schema, new: Any, old: Any, part: str | int) -> Any:
    """What a field or an entry of `new` was in `old`; ABSENT where nothing says which one it was."""
    if isinstance(part, str):
        return ABSENT if schema.get("x-kubernetes-map-type") == "atomic" else dig(old, part, default=ABSENT)
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list) or not isinstance(new, list):
        return ABSENT
    key = _read_key(structure, schema, new[part]) if part < len(new) else None
    return ABSENT if key is None else _index(structure, schema, old).get(key, ABSENT)


def _index(structure: Structure, schema: Schema, entries: list[Any]) -> Mapping[Any, Any]:
    """The entries of a list by their keys; the first one where several have the same."""
    if id(entries) not in structure.entries:
        found: dict[Any, Any] = {}
        for entry in entries:
            found.setdefault(_read_key(structure, schema, entry), entry)
        structure.entries[id(entries)] = entries, found  # with the list, so that no other one gets its id
    return structure.entries[id(entries)][1]


def _read_key(structure: Structure, schema: Schema, entry: Any) -> tuple[Any, ...] | None:
    """What tells an entry from others; None where a part of it is missing."""
    if not isinstance(entry, dict):
        return None
    fields = structure.find_below(schema, 0).get("properties", {})
    names = schema.get("x-kubernetes-list-map-keys", ())
    key = [entry.get(name, structure.resolve(fields.get(name, {})).get("default")) for name in names]
    return None if None in key else tuple(repr(part) if isinstance(part, dict | list) else part for part in key)


def is_same(structure: Structure, schema: Schema, new: Any, old: Any) -> bool:
    """Whether two values are the same, wherever the entries of lists stand that have keys."""
    if isinstance(new, bool) != isinstance(old, bool):
        return False  # to Python, 1 is True
    if isinstance(new, dict) and isinstance(old, dict):
        return new.keys() == old.keys() and all(
            is_same(structure, structure.find_below(schema, name), item, old[name]) for name, item in new.items()
        )
    if not isinstance(new, list) or not isinstance(old, list):
        return bool(new == old)
    if len(new) != len(old):
        return False
    keyed = schema.get("x-kubernetes-list-type") == "map"
    entries = structure.find_below(schema, 0) if keyed else {}
    for place, item in enumerate(new):
        before = find_old(structure, schema, new, old, place) if keyed else old[place]
        # An entry of such a list without its keys is not known to be the one that it was.
        if before is ABSENT or not is_same(structure, entries, item, before):
            return False
    return True
