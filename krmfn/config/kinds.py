"""Kinds of the user: objects of kind WorkloadKind, by the same schema as the files of those that are shipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from krmfn.config.karta import leave_out, translate
from krmfn.config.problems import ConfigError, Mistake, Mistakes, suggest
from krmfn.config.schema import find_problems
from krmfn.krm.item import Item, list_holding
from krmfn.krm.paths import Path, dig
from krmfn.model.kinds import KINDS, KindRow, complete_roles, list_conditions, read_manager, split_kind
from krmfn.model.marks import KIND_KIND, KIND_WORDS, PREFIX
from krmfn.model.values import Key, Value, as_list, as_mapping, as_text, without_nulls
from krmfn.model.wording import find_nearest
from krmfn.releases import schemastore

SCHEMA_PATH = "krmfn/v1alpha1/workloadkind.json"
LINK = "schedulingGroup"
#: What two roles must not have in common, what would follow, and what to do.
_ONCE = (
    ("template", "its pods would be counted twice", "Remove one of the two roles."),
    ("name", "their groups could not be told apart", "Give each role its own name."),
)
#: The keys below which there is the path of a field, wherever they stand.
_FIELDS = ("field", "atLeast", "atMost", "dividedBy", "where", "oneLessWith", "naming", "first")


def find_mistakes(value: Any, definitions: Iterable[Item] = ()) -> Mistakes:
    """What is wrong with a WorkloadKind of a user, among the CustomResourceDefinitions that are at hand."""
    found = list(find_problems(value, schemastore.load(SCHEMA_PATH)))
    yield from found
    if found:
        return
    spec = complete_roles(without_nulls(value["spec"]))
    yield from _find_contradictions(spec)
    yield from _find_absent(spec, definitions)


def _find_contradictions(spec: Value) -> Mistakes:
    """What is wrong with the `spec` of a WorkloadKind, whose values have the types of the schema."""
    group, name = spec["group"], spec["kind"]
    if _makes_gangs((group, name)):
        yield Mistake(("spec", "kind"), f"krmfn knows {name} of {group or 'v1'} itself", "Remove this WorkloadKind.")
    if "like" in spec and not _makes_gangs(split_kind(spec["like"])):
        known = (f"{kind}.{group}" for group, kind in KINDS.shipped)
        yield Mistake(("spec", "like"), f"krmfn knows no gangs of {spec['like']}", suggest(spec["like"], known))
    own = any(not role.get("aside") for role in spec.get("roles", ()))
    if spec.get("gang") != "Never" and "like" not in spec and not own:
        hint = "Say where the pod templates are, or set gang: Never."
        yield Mistake(("spec", "roles"), "has no role that is in a gang" if spec.get("roles") else "is missing", hint)
    if spec.get("gang") == "Never" and not spec.get("reason"):
        yield Mistake(("spec", "reason"), "is missing", "Say why no gang is possible: krmfn tells it.")
    if {"kept", "since"} <= spec.get("link", {}).keys():
        yield Mistake(("spec", "link", "since"), "contradicts kept", "Write one of them.")
    for number, each in enumerate(spec.get("except", ())):
        if "field" not in each and "when" not in each:
            yield Mistake(("spec", "except", number, "when"), "is missing", "Write it as when: spec.mode=External.")
    for number, role in enumerate(spec.get("roles", ())):
        for mistake in _find_in_role(role, spec):
            yield mistake._replace(path=("spec", "roles", number, *mistake.path))


def _makes_gangs(key: Key) -> bool:
    return key in KINDS.shipped and KINDS[key].has_gangs


def _find_in_role(role: Value, spec: Value) -> Mistakes:
    """What is wrong with a role, by its place in it."""
    template = role["template"]
    if "like" in role:
        yield Mistake(("like",), f"no earlier role is called {role['like']}", "Give the other role this name.")
    if role.get("count") == "Unknown" and spec.get("gang") != "Never":
        hint = "Name the field that counts them, or write gang: Never."
        yield Mistake(("count",), "a gang needs the number of its pods", hint)
    if "podSpec" in role and spec.get("link", {}).get("kept") != "Never":
        hint = "Write link: {kept: Never}: without pod templates only the bridge can link the pods."
        yield Mistake(("podSpec",), "needs the link bridge", hint)
    for key, follows, hint in _ONCE:
        word = role.get(key, "")
        first = next((other for other in spec["roles"] if other.get(key) == word), role)
        if first is not role and (word or key == "template"):
            yield Mistake((key,), f"{word} is the {key} of an earlier role, too: {follows}", hint)
    for key in ("count", "minimum", "podSpec"):
        for factor in _list_factors(role.get(key)):
            naming = factor.get("naming", "")
            for path in _list_fields(factor, "default"):
                stars = path[: path.rfind("*") + 1]
                if naming and (not stars or stars != naming[: naming.rfind("*") + 1] or "*" in stars[:-1]):
                    message = f"{path} does not have one * in the place where the list of roles is"
                    yield Mistake((key,), message, "Write both as spec.sets.*.replicas and spec.sets.*.roles.")
                elif not naming and not template.startswith(stars):
                    whole = template or "the object itself, which is the template"
                    message = f"{path} has a * that is not one of {whole}: it is not known which entry is meant"
                    yield Mistake((key,), message, "Write the path up to its last * as the template has it.")


def _list_factors(written: Any) -> list[Value]:
    """A product, a condition or several: each as a mapping."""
    every = written if isinstance(written, list) else [written]
    return [{"field": each} if isinstance(each, str) else each for each in every if isinstance(each, str | Mapping)]


def _list_fields(factor: Value, *more: str) -> list[str]:
    """The paths in a factor or a condition."""
    return [factor[key] for key in (*_FIELDS, *more) if isinstance(factor.get(key), str)]


class _NamedPath(NamedTuple):
    """The path of a field in a file, where it is, and the factor or the condition that has it."""

    place: Path
    path: str
    factor: Mapping[str, Any] = {}


def _list_places(spec: Value) -> Iterator[_NamedPath]:
    """Every path of a field in the `spec` of a WorkloadKind."""
    for number, role in enumerate(spec.get("roles", ())):
        for key in ("template", "podSpec", "count", "minimum", "late"):
            for factor in list_conditions(role.get(key)) if key == "late" else _list_factors(role.get(key)):
                for path in _list_fields(factor, *(("default",) if key in ("count", "minimum") else ())):
                    yield _NamedPath(("spec", "roles", number, key), path, factor)
    for key in ("order", "except", "autoscaled", "managedBy", "rival", "ownScheduling"):
        for factor in list_conditions(read_manager(spec) if key == "managedBy" else spec.get(key)):
            yield from (_NamedPath(("spec", key), path) for path in _list_fields(factor))
    if spec.get("link", {}).get("kept") == "Always":
        for role in spec.get("roles", ()):
            yield _NamedPath(("spec", "link", "kept"), f"{role['template']}.spec.{LINK}")
    for key in ("immutable", "immutableRunning"):
        yield from (_NamedPath(("spec", key), f"spec.{name}") for name in spec.get(key, ()))


def _find_absent(spec: Value, definitions: Iterable[Item]) -> Mistakes:
    """The paths that no version of the kind's CustomResourceDefinition has, or has as something else; where that is not
    at hand, those that lead neither to the spec nor to the metadata."""
    said = [item for item in definitions if _identify(item) == (spec["group"], spec["kind"])]
    schemas = [
        as_mapping(version, "schema", "openAPIV3Schema")
        for definition in said
        for version in as_list(definition.value, "spec", "versions")
    ]
    if not said:
        yield from _find_misspelled(spec, definitions)
    wrong = False
    for named in _list_places(spec):
        place, path, factor = named
        first, *_ = steps = path.split(".")
        if path in ("", "Unknown", "Optional") or first == "metadata" or (wrong and place[-1] == "kept"):
            continue
        found = [each for schema in schemas if (each := _follow(schema, steps)) is not None]
        number = found[0].get("default") if found and (place[-1], path) == ("count", factor.get("field")) else None
        where, hint = "in", "krmfn kinds --from lists the pod templates, and what counts their pods."
        if isinstance(number, int) and factor.get("default", 1) not in (number, str(factor.get("default"))):
            what, where, hint = f"{number} where it is absent,", "by", f"Write {{field: {path}, default: {number}}}."
        elif found:
            what = _find_wrong_type(found, named, "podSpec" in dig(spec, *place[1:-1]))
        elif said and place[-1] == "kept":
            what, hint = "not", "Write link: {kept: Never}; krmfn bridge links the pods."
        elif said:
            what, hint = "not", _suggest_field(schemas, steps) or hint
        elif first != "spec":
            yield Mistake(place, f"{path} does not begin at the object", f"Write spec.{path}.")
            continue
        else:
            continue
        if what:
            wrong = True
            yield Mistake(place, f"{path} is {what} {where} the CustomResourceDefinition {said[0].name}", hint)


def _identify(definition: Item) -> Key:
    """The group and the kind of a CustomResourceDefinition."""
    return as_text(definition.value, "spec", "group"), as_text(definition.value, "spec", "names", "kind")


def _find_misspelled(spec: Value, definitions: Iterable[Item]) -> Mistakes:
    """The group, or the kind, where a CustomResourceDefinition has the other one and a similar word."""
    for item in definitions:
        wrong = [(word, its) for word, its in zip(("group", "kind"), _identify(item), strict=True) if its != spec[word]]
        word, its = wrong[0]
        if len(wrong) == 1 and find_nearest(spec[word], [its]):
            message = f"no CustomResourceDefinition of the input has the {word} {spec[word]}"
            yield Mistake(("spec", word), message, f"Did you mean {its}?")


def _suggest_field(schemas: Iterable[Value], steps: list[str]) -> str:
    """A field that is meant instead of one that no schema has."""
    for schema in schemas:
        for number, step in enumerate(steps):
            known = as_mapping(_follow(schema, steps[:number]), "properties")
            if step not in known and (nearest := find_nearest(step, known)):
                return f"Did you mean {'.'.join((*steps[:number], nearest))}?"
    return ""


def _find_wrong_type(found: Sequence[Value], named: _NamedPath, apart: bool) -> str:
    """What the field for a number or for a pod template is instead, in every version that has it. A template may be
    `apart` from its spec."""
    types = {as_text(schema, "type") for schema in found}
    key, factor = named.place[-1], named.factor
    others = {"template": ("array", "integer"), "count": ("array", "object"), "minimum": ("array", "object")}
    wrong = ("integer", "number") if factor.get("entries") else others.get(str(key), ())
    if wrong and named.path != factor.get("naming") and types <= {"string", "boolean", *wrong}:
        return f"of the type {min(types)}"
    lacking = not apart and all(schema.get("properties") and "spec" not in schema["properties"] for schema in found)
    return "no pod template, because it has no spec," if lacking and key == "template" else ""


def _follow(schema: Value, path: list[str]) -> Value | None:
    """The schema of a field that a schema has, empty where it may have it: `*` is every entry of a list or a map."""
    for step in path:
        if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-embedded-resource"):
            return {}
        entries = schema.get("items") or schema.get("additionalProperties")
        below = entries if step == "*" else as_mapping(schema, "properties").get(step, entries)
        if not isinstance(below, Mapping):
            return {} if below is True else None
        schema = below
    return schema


def use_objects(items: Iterable[Item]) -> None:
    """Know the kinds that are among objects from now on. Raises ConfigError with the places of all mistakes."""
    items = list(items)
    found = [item for item in list_holding(items, KIND_KIND.encode()) if is_workload_kind(item)]
    definitions = list_holding(items, b"CustomResourceDefinition") if found else ()
    mistakes = [
        mistake._replace(place=item.locate(mistake.path).spell())
        for item in found
        for mistake in (*_find_twice(item), *find_mistakes(item.value, definitions), *_find_others(item, found))
    ]
    if mistakes:
        raise ConfigError(dict.fromkeys(mistakes))  # a file may be in several worlds
    KINDS.add_own(map(KindRow, _list_specs(items)))


def use_only(items: Iterable[Item]) -> None:
    """Know of the kinds of the user those alone that are among objects, and those that are used later."""
    KINDS.put_aside({(as_text(spec, "group"), as_text(spec, "kind")) for spec in _list_specs(items)})


def _list_specs(items: Iterable[Item]) -> list[Value]:
    """The `spec` of each kind that is among objects."""
    found = list_holding(items, *KIND_WORDS)
    kartas = [translate(item.value) for item in found if is_karta(item)]
    new = [_refuse_wrong(spec) for spec in kartas if spec and (spec["group"], spec["kind"]) not in KINDS.shipped]
    return [*new, *(as_mapping(item.value, "spec") for item in found if is_workload_kind(item))]


def _refuse_wrong(spec: Value) -> Value:
    """The `spec` for a Karta. It makes no gangs where a file of a user with it would be refused."""
    problems = find_problems(
        {"apiVersion": f"{PREFIX}v1alpha1", "kind": KIND_KIND, "spec": spec}, schemastore.load(SCHEMA_PATH)
    )
    mistake = next(iter(problems), None) or next(_find_contradictions(complete_roles(spec)), None)
    return leave_out(spec, f"is not a WorkloadKind: {mistake._replace(hint='')}") if mistake else spec


def _find_twice(item: Item) -> Mistakes:
    """Keys that the file has twice: readers do not agree which one counts."""
    for problem in item.problems:
        if problem.code == "duplicate-key":
            yield Mistake(problem.path, f"the key {problem.path[-1]} is there twice", "Remove one of them.")


def _find_others(item: Item, found: Iterable[Item]) -> Mistakes:
    """A WorkloadKind before this one that says something else of the same kind."""
    for other in found:
        if other is item:
            return
        mine, its = as_mapping(item.value, "spec"), as_mapping(other.value, "spec")
        if mine != its and (mine.get("group"), mine.get("kind")) == (its.get("group"), its.get("kind")):
            message = f"{mine.get('kind')} is described differently at {other.locate(('spec', 'kind')).spell()}"
            yield Mistake(("spec", "kind"), message, "Remove one of the two files.")


def is_workload_kind(item: Item) -> bool:
    """Whether an object is a WorkloadKind."""
    return item.kind == KIND_KIND and item.api_version.startswith(PREFIX)


def is_karta(item: Item) -> bool:
    """Whether an object is a Karta, by this name or by the one that it had before."""
    return item.group_kind in (("run.ai", "Karta"), ("optimization.nvidia.com", "ResourceInterface"))


def use_inline(entries: Iterable[Any], path: Path) -> list[Mistake]:
    """Know the kinds whose `spec` stands in a configuration at `path`; nothing where one has a mistake."""
    mistakes: list[Mistake] = []
    rows = []
    for number, entry in enumerate(entries):
        if isinstance(entry, Mapping):
            whole = entry.get("kind") == KIND_KIND  # the file itself, or its spec
            value: Value = entry if whole else {"apiVersion": f"{PREFIX}v1alpha1", "kind": KIND_KIND, "spec": entry}
            found = list(find_mistakes(value))
            mistakes += [each._replace(path=(*path, number, *each.path[0 if whole else 1 :])) for each in found]
            rows += [] if found else [KindRow(value["spec"])]
    if not mistakes:
        KINDS.add_own(rows)
    return mistakes
