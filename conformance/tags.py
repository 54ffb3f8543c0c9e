"""Reads the declarative validation tags (`// +k8s:...`) out of the released Go types in k8s.io/api.

The source is read as text: comment lines above a type or a field. The result is plain data, kept under data/tags so
that the check against the schemas runs without Go. Must not know the schemas.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.build import run_go
from conformance.versions import HERE, Release

EXTRACTED = HERE / "data" / "tags"
# Instructions for code generators; they say nothing about a value.
GENERATORS = (
    "deepcopy-gen",
    "prerelease-lifecycle-gen",
    "openapi-gen",
    "supportsSubresource",
    "deprecated",
    "conversion-gen",
    "defaulter-gen",
    "protobuf",
)
TAG = re.compile(r"^\s*//\s*\+k8s:(.*?)(?:\s+#.*)?\s*$")
STRUCT = re.compile(r"^type (\w+) struct \{(\})?")
SCALAR = re.compile(r"^type (\w+) (string|int32|int64|bool)\b")
FIELD = re.compile(r'^\s+(?:\w+\s+)?(\S+)\s+`.*?json:"([^",]+)')
CONSTANT = re.compile(r'^\s+\w+\s+(\w+)\s+=\s+"([^"]*)"')

Types = dict[str, Any]


def extract(release: Release) -> dict[str, Types]:
    """Package path ("scheduling/v1beta1") to types that have tags, by name.

    A type is {"tags": [...], "fields": {name: {"go", "tags"}}} and has "values" when it is an enumeration.
    """
    version = f"v0.{release.version.split('.', 1)[1]}"
    folder = Path(json.loads(run_go(["mod", "download", "-json", f"k8s.io/api@{version}"], HERE))["Dir"])
    versions = sorted({each for served in release.served.values() for each in served})
    packages = [*(f"scheduling/{each}" for each in versions), "batch/v1", "core/v1"]
    return {package: read_types((folder / package / "types.go").read_text()) for package in packages}


def read_types(source: str) -> Types:
    """The tagged types of one file, by name."""
    found: Types = {}
    values: dict[str, list[str]] = {}
    pending: list[str] = []
    struct = ""
    for line in source.splitlines():
        tag = TAG.match(line)
        constant = CONSTANT.match(line)
        if tag:
            if not tag[1].startswith(GENERATORS):
                pending.append(tag[1])
            continue
        if line.lstrip().startswith("//"):
            continue
        if begun := STRUCT.match(line):
            struct = "" if begun[2] else begun[1]
            found[begun[1]] = {"tags": pending, "fields": {}}
        elif scalar := SCALAR.match(line):
            found[scalar[1]] = {"tags": pending, "fields": {}}
        elif struct and (field := FIELD.match(line)):
            found[struct]["fields"][field[2]] = {"go": field[1], "tags": pending}
        elif constant:
            values.setdefault(constant[1], []).append(constant[2])
        elif line.startswith("}"):
            struct = ""
        pending = []
    for name, content in found.items():
        if name in values:
            content["values"] = sorted(values[name])
    return {name: content for name, content in found.items() if is_tagged(content)}


def is_tagged(content: Any) -> bool:
    return bool(content["tags"] or any(field["tags"] for field in content["fields"].values()))


def write_extraction(release: Release) -> Path:
    """Stores what extract() finds; only tagged fields, sorted, so that a new patch release shows as a small diff."""
    packages = {
        package: {
            name: {**content, "fields": {field: row for field, row in content["fields"].items() if row["tags"]}}
            for name, content in sorted(types.items())
        }
        for package, types in extract(release).items()
    }
    target = EXTRACTED / f"{release.name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(
        "\n".join(layout({"version": f"k8s.io/api v0.{release.version.split('.', 1)[1]}", "packages": packages})) + "\n"
    )
    return target


def layout(extraction: dict[str, Any]) -> Iterator[str]:
    """JSON with one line per type: readable, and short in a diff."""
    yield f'{{"version": {json.dumps(extraction["version"])}, "packages": {{'
    packages = list(extraction["packages"].items())
    for index, (package, types) in enumerate(packages):
        yield f"{json.dumps(package)}: {{"
        rows = [f"  {json.dumps(name)}: {json.dumps(content)}" for name, content in types.items()]
        yield ",\n".join(rows)
        yield "}" + ("," if index < len(packages) - 1 else "")
    yield "}}"


def read_extraction(release_name: str) -> dict[str, Types]:
    """What write_extraction stored, by package."""
    stored: dict[str, Types] = json.loads((EXTRACTED / f"{release_name}.json").read_text())["packages"]
    return stored
