"""Proves that every declarative tag of the Go types stands in the schemas, and that the schemas say no more.

Both sides are turned into statements `(type, field, "immutable")` and compared as sets. Types match by their Go name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from conformance.tags import Types, read_extraction, write_extraction
from conformance.versions import read_releases

SCHEMAS = Path(__file__).resolve().parent.parent / "schemas" / "kubernetes"
GATED = re.compile(r'^(ifEnabled|ifDisabled)\("?(\w+)"?\)=\+k8s:(.*)$')
STAGED = re.compile(r'^(alpha|beta)\(since: "[\d.]+"\)=\+k8s:(.*)$')
# Says that a field may be absent, which every field without `required` may be; or nothing about values.
SILENT = ("optional",)
WORDS = {
    "x-kubernetes-immutable": "immutable",
    "x-kubernetes-forbidden": "forbidden",
    "x-kubernetes-opaque": "opaqueType",
}
NUMBERS = ("minimum", "maximum", "maxItems")


# What the schemas say on their own account, each with its reason.
OUR_OWN = {
    # A Job's pod template is checked by hand-written rules with their own ratcheting, never by tags.
    ("JobSpec", "template", "opaqueType"),
}


class Statement(NamedTuple):
    """One rule at one place; `field` is empty for a rule about the type itself."""

    type: str
    field: str
    rule: str


def compare_release(release: str, extraction: dict[str, Types] | None = None) -> tuple[set[Statement], set[Statement]]:
    """(tags that no schema carries, schema rules that no tag carries), of the types that some schema contains."""
    packages = extraction or read_extraction(release)
    schemas = read_schemas(release)
    said_by_tags: set[Statement] = set()
    said_by_schemas: set[Statement] = set()
    for package, types in packages.items():
        for name, content in types.items():
            schema = find_schema(schemas, package, name)
            if schema is not None and in_subject(package, name):
                said_by_tags |= set(read_tags(name, content, types))
                said_by_schemas |= set(read_schema(name, schema))
    return said_by_tags - said_by_schemas, said_by_schemas - said_by_tags - OUR_OWN


def find_schema(schemas: dict[str, Any], package: str, name: str) -> Any:
    """Schemas name a type of the kind's own package barely, any other as `version.Type`."""
    qualified = f"{package.rsplit('/', maxsplit=1)[-1]}.{name}"
    if package.startswith("scheduling/"):
        return schemas.get(name) or schemas.get(qualified)
    return schemas.get(qualified)


def in_subject(package: str, name: str) -> bool:
    """Of core/v1 only what links a pod to its group: everything else there is left to other validators."""
    return package != "core/v1" or name in ("PodSchedulingGroup", "WorkloadReference")


def unused_types(release: str) -> set[str]:
    """Tagged scheduling types that no schema contains, but for building blocks that no served kind embeds."""
    schemas = read_schemas(release)
    tagged = {
        name
        for package, types in read_extraction(release).items()
        if package.startswith("scheduling/")
        for name, content in types.items()
        if content["fields"]
    }
    known = {name.rsplit(".")[-1] for name in schemas}
    return {name for name in tagged - known if not name.startswith("WorkloadComposite")}


def read_schemas(release: str) -> dict[str, Any]:
    """Go type name to its schema, from every kind of the release."""
    found: dict[str, Any] = {}
    for path in sorted((SCHEMAS / release).glob("*.json")):
        schema = json.loads(path.read_text())
        for name, content in schema.get("$defs", {}).items():
            found.setdefault(content.get("x-kubernetes-go-type", name), content)
        if "x-kubernetes-kind" in schema:
            found.setdefault(schema["x-kubernetes-kind"], schema)
    return found


def read_tags(name: str, content: Any, types: Types) -> Iterator[Statement]:
    for field, row in content["fields"].items():
        for tag in row["tags"]:
            if tag.startswith("unionMember"):
                yield Statement(name, "", f"union {field}")
            elif tag not in SILENT:
                yield from (Statement(name, field, rule) for rule in normalize(tag))
        values = types.get(row["go"].lstrip("*"), {})
        if "enum" in values.get("tags", ()):
            yield Statement(name, field, f"enum {values['values']}")


def normalize(tag: str) -> list[str]:
    if gated := GATED.match(tag):
        return [f"{gated[1]} {gated[2]} {rule}" for rule in normalize(gated[3]) if rule not in SILENT]
    if staged := STAGED.match(tag):
        return [f"{staged[1]} {staged[2]}"]
    return [tag]


def read_schema(name: str, schema: Any) -> Iterator[Statement]:
    for member in schema.get("x-kubernetes-union", ()):
        yield Statement(name, "", f"union {member}")
    required = schema.get("required", ())
    for field, shape in schema.get("properties", {}).items():
        if field in required:
            yield Statement(name, field, "required")
        yield from (Statement(name, field, rule) for rule in read_rules(shape))
        for keyword, word in (("x-kubernetes-if-enabled", "ifEnabled"), ("x-kubernetes-if-disabled", "ifDisabled")):
            for gate, rules in shape.get(keyword, {}).items():
                yield from (Statement(name, field, f"{word} {gate} {rule}") for rule in read_rules(rules))
        if "enum" in shape:
            yield Statement(name, field, f"enum {sorted(shape['enum'])}")


def read_rules(shape: Any) -> Iterator[str]:
    for keyword, word in WORDS.items():
        if shape.get(keyword):
            yield word
    for keyword in NUMBERS:
        if keyword in shape:
            yield f"{keyword}={shape[keyword]}"
    if shape.get("format", "").startswith("k8s-"):
        yield f"format={shape['format']}"
    if "x-kubernetes-declarative-list-type" in shape:
        yield f"listType={shape['x-kubernetes-declarative-list-type']}"
        yield from (f"listMapKey={key}" for key in shape.get("x-kubernetes-list-map-keys", ()))
    yield from (f"update={rule}" for rule in shape.get("x-kubernetes-update", ()))
    for stage in ("alpha", "beta"):
        yield from (f"{stage} {rule}" for rule in shape.get(f"x-kubernetes-{stage}", ()))


def compare_all(extract: bool) -> int:
    """1 when a tag is in no schema, or a schema says more than the tags. `extract`: read the Go types anew."""
    wrong = 0
    for name, release in read_releases().items():
        if extract:
            print(f"{name}: {write_extraction(release)}")
        missing, extra = compare_release(name)
        lines = [f"{name}: type {each} is in no schema" for each in sorted(unused_types(name))]
        lines += [f"{name}: only a tag: {each.type}.{each.field} {each.rule}" for each in sorted(missing)]
        lines += [f"{name}: only in the schema: {each.type}.{each.field} {each.rule}" for each in sorted(extra)]
        wrong += len(lines)
        print("\n".join(lines or [f"{name}: schemas and tags agree"]))
    return 1 if wrong else 0
