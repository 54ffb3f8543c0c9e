"""Kinds of the user: objects of kind WorkloadKind, by the same schema as the files of those that are shipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from krmfn.config.karta import translate
from krmfn.config.problems import ConfigError, Mistake, suggest
from krmfn.config.schema import find_problems
from krmfn.krm.item import Item, list_holding
from krmfn.krm.paths import Path, dig
from krmfn.model.kinds import KINDS, read_row, split_kind
from krmfn.model.marks import KIND_KIND, KIND_WORDS, PREFIX
from krmfn.model.values import as_list, as_mapping, as_text, without_nulls
from krmfn.model.wording import find_nearest
from krmfn.releases import schemastore

SCHEMA_PATH: Final = "krmfn/v1alpha1/workloadkind.json"
LINK: Final = "schedulingGroup"
#: The keys below which there is the path of a field, wherever they stand.
_FIELDS: Final = ("field", "atLeast", "atMost", "dividedBy", "where", "oneLessWith", "naming", "first")


def find_mistakes(value: Any, definitions: Iterable[Item] = ()) -> Iterator[Mistake]:
    """What is wrong with a WorkloadKind of a user, among the CustomResourceDefinitions that are at hand."""
    found = list(find_problems(value, schemastore.load(SCHEMA_PATH)))
    yield from found
    if found:
        return
    spec = without_nulls(value["spec"])
    group, name = spec["group"], spec["kind"]
    if (group, name) in KINDS.shipped and KINDS[group, name].has_gangs:
        yield Mistake(("spec", "kind"), f"krmfn knows {name} of {group or 'v1'} itself", "Remove this WorkloadKind.")
    if "like" in spec and not (split_kind(spec["like"]) in KINDS.shipped and KINDS[split_kind(spec["like"])].has_gangs):
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
    for number, role in enumerate(spec.get("roles", ())):
        for mistake in _find_in_role(role, spec):
            yield mistake._replace(path=("spec", "roles", number, *mistake.path))
    yield from _find_absent(spec, definitions)


def _find_in_role(role: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[Mistake]:
    """What is wrong with a role, by its place in it."""
    template = role["template"]
    if role.get("count") == "Unknown" and spec.get("gang") != "Never":
        hint = "Name the field that counts them, or write gang: Never."
        yield Mistake(("count",), "a gang needs the number of its pods", hint)
    if "podSpec" in role and spec.get("link", {}).get("kept") != "Never":
        hint = "Write link: {kept: Never}: without pod templates only the bridge can link the pods."
        yield Mistake(("podSpec",), "needs the link bridge", hint)
    if next(other for other in spec["roles"] if other["template"] == template) is not role:
        message = f"{template} is the template of an earlier role, too: its pods would be counted twice"
        yield Mistake(("template",), message, "Remove one of the two roles.")
    if role.get("name") and next(other for other in spec["roles"] if other.get("name") == role["name"]) is not role:
        message = f"{role['name']} is the name of an earlier role, too: their groups could not be told apart"
        yield Mistake(("name",), message, "Give each role its own name.")
    for key in ("count", "minimum", "podSpec"):
        written = role.get(key)
        for factor in written if isinstance(written, list) else [written]:
            naming = as_text(as_mapping(factor).get("naming"))
            for path in _list_fields(factor, "default"):
                stars = path[: path.rfind("*") + 1]
                if naming and (not stars or stars != naming[: naming.rfind("*") + 1] or "*" in stars[:-1]):
                    message = f"{path} does not have one * in the place where the list of roles is"
                    yield Mistake((key,), message, "Write both as spec.sets.*.replicas and spec.sets.*.roles.")
                elif not naming and not template.startswith(stars):
                    whole = template or "the object itself, which is the template"
                    message = f"{path} has a * that is not one of {whole}: it is not known which entry is meant"
                    yield Mistake((key,), message, "Write the path up to its last * as the template has it.")


def _list_fields(written: Any, *more: str) -> Iterator[str]:
    """The paths in a product, a condition or several."""
    for each in written if isinstance(written, list) else [written]:
        if isinstance(each, str):
            yield each
        elif isinstance(each, Mapping):
            yield from (each[key] for key in (*_FIELDS, *more) if isinstance(each.get(key), str))


def _list_places(spec: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Every path of a field in the `spec` of a WorkloadKind, and where it is."""
    for number, role in enumerate(spec.get("roles", ())):
        for key in ("template", "podSpec", "count", "minimum", "late"):
            for path in _list_fields(role.get(key), *(("default",) if key in ("count", "minimum") else ())):
                yield ("spec", "roles", number, key), path
    for key in ("order", "except", "managedBy", "rival", "ownScheduling"):
        yield from ((("spec", key), path) for path in _list_fields(spec.get(key)))
    if spec.get("link", {}).get("kept") == "Always":
        yield from ((("spec", "link", "kept"), f"{role['template']}.spec.{LINK}") for role in spec.get("roles", ()))
    for key in ("immutable", "immutableRunning"):
        yield from ((("spec", key), f"spec.{name}") for name in spec.get(key, ()))


def _find_absent(spec: Mapping[str, Any], definitions: Iterable[Item]) -> Iterator[Mistake]:
    """The paths that no version of the kind's CustomResourceDefinition has; where that is not at hand, those that lead
    neither to the spec nor to the metadata."""
    said = [item for item in definitions if _names_kind(item, "group", spec) and _names_kind(item, "kind", spec)]
    if not said:
        yield from _find_misspelled(spec, definitions)
    schemas = [
        as_mapping(dig(version, "schema", "openAPIV3Schema"))
        for definition in said
        for version in as_list(dig(definition.value, "spec", "versions"))
    ]
    absent = set[Path]()
    for place, path in _list_places(spec):
        first, *_ = steps = path.split(".")
        if path in ("", "Unknown", "Optional") or first == "metadata":
            continue
        if place[-1] == "kept" and absent:
            continue  # which says it already
        found = [each for schema in schemas if (each := _follow(schema, steps)) is not None]
        number = found[0].get("default") if place[-1] == "count" and found else None
        if isinstance(number, int) and _find_default(dig(spec, *place[1:]), path) not in (number, ""):
            message = f"{path} is {number} where it is absent, by the CustomResourceDefinition {said[0].name}"
            yield Mistake(place, message, f"Write {{field: {path}, default: {number}}}.")
        elif found and (what := _find_wrong_type(found, place, spec, path)):
            absent.add(place)
            message = f"{path} is {what} in the CustomResourceDefinition {said[0].name}"
            yield Mistake(place, message, "krmfn kinds --from lists the pod templates, and what counts their pods.")
        elif said and not found:
            absent.add(place)
            message = f"{path} is not in the CustomResourceDefinition {said[0].name}"
            bridge = "Write link: {kept: Never}; krmfn bridge links the pods."
            yield Mistake(place, message, bridge if place[-1] == "kept" else _suggest_field(schemas, steps))
        elif not said and first != "spec":
            yield Mistake(place, f"{path} does not begin at the object", f"Write spec.{path}.")


def _names_kind(definition: Item, word: str, spec: Mapping[str, Any]) -> bool:
    """Whether a CustomResourceDefinition has the group, or the kind, of a WorkloadKind."""
    path = ("spec", "group") if word == "group" else ("spec", "names", "kind")
    return bool(dig(definition.value, *path) == spec[word])


def _find_misspelled(spec: Mapping[str, Any], definitions: Iterable[Item]) -> Iterator[Mistake]:
    """The group, or the kind, where a CustomResourceDefinition has the other one and a similar word."""
    for item in definitions:
        for word, other, path in (("group", "kind", ("group",)), ("kind", "group", ("names", "kind"))):
            its = as_text(dig(item.value, "spec", *path))
            if _names_kind(item, other, spec) and find_nearest(spec[word], [its]):
                message = f"no CustomResourceDefinition of the input has the {word} {spec[word]}"
                yield Mistake(("spec", word), message, f"Did you mean {its}?")


def _suggest_field(schemas: Iterable[Mapping[str, Any]], steps: list[str]) -> str:
    """A field that is meant instead of one that no schema has."""
    for schema in schemas:
        for number, step in enumerate(steps):
            above = as_mapping(_follow(schema, steps[:number]))
            known = as_mapping(above.get("properties"))
            if step not in known and (nearest := find_nearest(step, known)):
                return f"Did you mean {'.'.join((*steps[:number], nearest))}?"
    return "krmfn kinds --from lists the pod templates that it has, and what counts their pods."


def _find_default(product: Any, path: str) -> Any:
    """The number that a product takes for a field that is absent; "" where another field says it, or none is asked."""
    factors = product if isinstance(product, list) else [product]
    if path in factors:
        return 1
    factor = next((each for each in factors if isinstance(each, Mapping) and each["field"] == path), {"default": ""})
    default = factor.get("default", 1)
    return "" if isinstance(default, str) else default


def _find_wrong_type(found: Sequence[Mapping[str, Any]], place: Path, spec: Mapping[str, Any], path: str) -> str:
    """What the field for a number or for a pod template is instead, in every version that has it."""
    types = {as_text(schema.get("type")) for schema in found}
    key, role = place[-1], as_mapping(dig(spec, *place[1:-1]))
    if key == "template":
        if types <= {"string", "boolean", "array", "integer"}:
            return f"of the type {min(types)}"
        apart = "podSpec" in role or not all(as_mapping(schema.get("properties")) for schema in found)
        lacks = not apart and not any("spec" in schema["properties"] for schema in found)
        return "no pod template, because it has no spec," if lacks else ""
    if key not in ("count", "minimum"):
        return ""
    factors = [each for each in as_list(role[key]) or [role[key]] if isinstance(each, Mapping)]
    if path in [each.get("naming") for each in factors]:
        return ""
    lists = path in [each["field"] for each in factors if each.get("entries")]
    wrong = types <= {"string", "boolean", *(("integer", "number") if lists else ("array", "object"))}
    return f"of the type {min(types)}" if wrong else ""


def _follow(schema: Mapping[str, Any], path: list[str]) -> Mapping[str, Any] | None:
    """The schema of a field that a schema has, empty where it may have it: `*` is every entry of a list or a map."""
    for step in path:
        if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-embedded-resource"):
            return {}
        entries = schema.get("items") or schema.get("additionalProperties")
        below = entries if step == "*" else as_mapping(schema.get("properties")).get(step, entries)
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
        raise ConfigError(mistakes)
    _use_kartas(items)
    KINDS.add_own(read_row(item.value["spec"]) for item in found)


def _find_twice(item: Item) -> Iterator[Mistake]:
    """Keys that the file has twice: readers do not agree which one counts."""
    for problem in item.problems:
        if problem.code == "duplicate-key":
            yield Mistake(problem.path, f"the key {problem.path[-1]} is there twice", "Remove one of them.")


def _find_others(item: Item, found: Iterable[Item]) -> Iterator[Mistake]:
    """A WorkloadKind before this one that says something else of the same kind."""
    for other in found:
        if other is item:
            return
        mine, its = as_mapping(item.value.get("spec")), as_mapping(other.value.get("spec"))
        if mine != its and (mine.get("group"), mine.get("kind")) == (its.get("group"), its.get("kind")):
            message = f"{mine.get('kind')} is described differently at {other.locate(('spec', 'kind')).spell()}"
            yield Mistake(("spec", "kind"), message, "Remove one of the two files.")


def _use_kartas(items: Iterable[Item]) -> None:
    """Know the kinds that Kartas describe, unless krmfn knows them itself."""
    specs = [translate(item.value) for item in list_holding(list(items), KIND_WORDS[1]) if is_karta(item)]
    KINDS.add_own(read_row(spec) for spec in specs if spec and (spec["group"], spec["kind"]) not in KINDS.shipped)


def is_workload_kind(item: Item) -> bool:
    """Whether an object is a WorkloadKind."""
    return item.kind == KIND_KIND and item.api_version.startswith(PREFIX)


def is_karta(item: Item) -> bool:
    """Whether an object is a Karta, by this name or by the one that it had before."""
    return (item.ref.group, item.kind) in (("run.ai", "Karta"), ("optimization.nvidia.com", "ResourceInterface"))


def describes_kind(item: Item) -> bool:
    """Whether an object describes a kind."""
    return is_workload_kind(item) or is_karta(item)


def use_inline(entries: Iterable[Any], path: Path) -> list[Mistake]:
    """Know the kinds whose `spec` stands in a configuration at `path`; nothing where one has a mistake."""
    mistakes: list[Mistake] = []
    rows = []
    for number, entry in enumerate(entries):
        if isinstance(entry, Mapping):
            whole = entry.get("kind") == KIND_KIND  # the file itself, or its spec
            value: Mapping[str, Any] = (
                entry if whole else {"apiVersion": f"{PREFIX}v1alpha1", "kind": KIND_KIND, "spec": entry}
            )
            found = list(find_mistakes(value))
            mistakes += [each._replace(path=(*path, number, *each.path[0 if whole else 1 :])) for each in found]
            rows += [] if found else [read_row(value["spec"])]
    if not mistakes:
        KINDS.add_own(rows)
    return mistakes
