"""Kinds of the user: objects of kind WorkloadKind, by the same schema as the files of those that are shipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from krmfn.config.karta import translate
from krmfn.config.problems import ConfigError, Mistake
from krmfn.config.schema import find_problems
from krmfn.krm.item import Item, list_holding
from krmfn.krm.paths import Path, dig
from krmfn.model.kinds import KINDS, read_row
from krmfn.model.marks import KIND_KIND, KIND_WORDS, PREFIX
from krmfn.model.values import as_list, as_mapping
from krmfn.releases import schemastore

SCHEMA_PATH: Final = "krmfn/v1alpha1/workloadkind.json"


def find_mistakes(value: Any) -> Iterator[Mistake]:
    """What is wrong with a WorkloadKind of a user."""
    found = list(find_problems(value, schemastore.load(SCHEMA_PATH)))
    yield from found
    if found:
        return
    spec = value["spec"]
    group, name = spec["group"], spec["kind"]
    if (group, name) in KINDS.shipped and KINDS[group, name].has_gangs:
        yield Mistake(("spec", "kind"), f"krmfn knows {name} of {group or 'v1'} itself", "Remove this WorkloadKind.")
    if not spec.get("roles") and spec.get("gang") != "Never":
        yield Mistake(("spec", "roles"), "is missing", "Say where the pod templates are, or set gang: Never.")
    if {"kept", "since"} <= spec.get("link", {}).keys():
        yield Mistake(("spec", "link", "since"), "contradicts kept", "Write one of them.")
    for number, role in enumerate(spec.get("roles") or ()):
        if role.get("count") == "Unknown" and spec.get("gang") != "Never":
            hint = "Name the field that counts them, or write gang: Never."
            yield Mistake(("spec", "roles", number, "count"), "a gang needs the number of its pods", hint)
        if "podSpec" in role and spec.get("link", {}).get("kept") != "Never":
            hint = "Write link: {kept: Never}: without pod templates only the bridge can link the pods."
            yield Mistake(("spec", "roles", number, "podSpec"), "needs the link bridge", hint)
        for key in ("count", "minimum", "podSpec"):
            for path in _list_fields(role.get(key)):
                if not role["template"].startswith(path[: path.rfind("*") + 1]):
                    template = role["template"]
                    message = f"{path} has a * that is not one of {template}: it is not known which entry is meant"
                    yield Mistake(("spec", "roles", number, key), message)


def _list_fields(product: Any) -> Iterator[str]:
    """The paths in a product."""
    for factor in product if isinstance(product, list) else [product]:
        if isinstance(factor, str):
            yield factor
        elif isinstance(factor, Mapping):
            yield from (text for key, text in factor.items() if key != "default" and isinstance(text, str))


def _find_absent(value: Mapping[str, Any], definitions: Iterable[Item]) -> Iterator[Mistake]:
    """The paths of a WorkloadKind that no version of its CustomResourceDefinition has, where that is at hand."""
    spec = as_mapping(value.get("spec"))
    for definition in definitions:
        said = as_mapping(definition.value.get("spec"))
        if (said.get("group"), dig(said, "names", "kind")) != (spec.get("group"), spec.get("kind")):
            continue
        versions = map(as_mapping, as_list(said.get("versions")))
        schemas = [as_mapping(dig(version, "schema", "openAPIV3Schema")) for version in versions]
        for number, role in enumerate(map(as_mapping, as_list(spec.get("roles")))):
            for key in ("template", "podSpec", "count", "minimum"):
                for path in _list_fields(role.get(key)):
                    if "." in path and not any(_has(schema, path.split(".")) for schema in schemas):
                        message = f"{path} is not in the CustomResourceDefinition {definition.name}"
                        hint = "krmfn kinds --from lists the pod templates that it has."
                        yield Mistake(("spec", "roles", number, key), message, hint)


def _has(schema: Mapping[str, Any], path: list[str]) -> bool:
    """Whether a schema has, or may have, a field: `*` is every entry of a list or a map."""
    for step in path:
        if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-embedded-resource"):
            return True
        entries = schema.get("items") or schema.get("additionalProperties")
        below = entries if step == "*" else as_mapping(schema.get("properties")).get(step, entries)
        if not isinstance(below, Mapping):
            return below is True
        schema = below
    return True


def use_objects(items: Iterable[Item]) -> None:
    """Know the kinds that are among objects from now on. Raises ConfigError with the places of all mistakes."""
    items = list(items)
    found = [item for item in list_holding(items, KIND_KIND.encode()) if is_workload_kind(item)]
    definitions = list_holding(items, b"CustomResourceDefinition") if found else ()
    mistakes = [
        mistake._replace(place=item.locate(mistake.path).spell())
        for item in found
        for mistake in (*find_mistakes(item.value), *_find_absent(item.value, definitions))
    ]
    if mistakes:
        raise ConfigError(mistakes)
    _use_kartas(items)
    KINDS.add_own(read_row(item.value["spec"]) for item in found)


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
