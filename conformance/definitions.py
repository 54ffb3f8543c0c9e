"""CustomResourceDefinitions of other projects, packed: without descriptions, and what stands several times stands once.

`schemas/crds/projects.json` says of each project which versions are packed, and where they stand (`files`): in its Go
module, or in `commits` of its repository.
`python -m conformance definitions [PROJECT…]` packs them.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from conformance.build import cache_folder, run_go
from conformance.versions import HERE
from krmfn.releases import schemastore

#: Shorter schemas are written out.
_LEAST = 60


def list_projects() -> Mapping[str, Any]:
    return schemastore.load("crds/projects.json")


def pack_project(project: str, again: bool = False) -> Path:
    """Writes the definitions of all versions of a project. What is packed already is not downloaded unless `again`.
    Raises BuildFailed."""
    row = list_projects()[project]
    target = Path(schemastore.root()) / "crds" / f"{project}.json"
    packed = json.loads(target.read_text()) if target.exists() and not again else {"releases": {}}
    kinds: dict[str, list[str]] = {}
    releases: dict[str, dict[str, dict[str, Any]]] = {}
    for version, number in row["versions"].items():
        if version in packed["releases"]:
            kinds |= {kind: packed["kinds"][kind] for kind in packed["releases"][version]}
            releases[version] = {
                kind: {name: unpack(schema, packed["$defs"]) for name, schema in versions.items()}
                for kind, versions in packed["releases"][version].items()
            }
            continue
        releases[version] = {}
        read = _check_out if number in row.get("commits", ()) else _download
        for spec in _read_specs(read(row, number), row["files"]):
            names = spec["names"]
            kinds[names["kind"]] = [spec["group"], names["plural"], spec["scope"]]
            releases[version][names["kind"]] = {
                each["name"]: strip(each["schema"]["openAPIV3Schema"]) for each in spec["versions"] if each["served"]
            }
    packer = Packer(
        schema for found in releases.values() for versions in found.values() for schema in versions.values()
    )
    table = {
        version: {
            kind: {name: packer.write(schema) for name, schema in versions.items()} for kind, versions in found.items()
        }
        for version, found in releases.items()
    }
    written = {"kinds": dict(sorted(kinds.items())), "releases": table, "$defs": packer.shared}
    target.write_text(json.dumps(written, separators=(",", ":")) + "\n")
    return target


def _download(row: Mapping[str, Any], version: str) -> Path:
    described = json.loads(run_go(["mod", "download", "-json", f"{row['module']}@v{version}"], HERE))
    return Path(described["Dir"])


def _check_out(row: Mapping[str, Any], version: str) -> Path:
    """The work tree of a version, by its commit: tags can be moved."""
    commit: str = row["commits"][version]
    folder = cache_folder() / "definitions" / commit
    folder.mkdir(parents=True, exist_ok=True)
    fetch = ["fetch", "--quiet", "--depth=1", row["repository"], commit]
    for command in (["init", "--quiet"], fetch, ["checkout", "--quiet", commit]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def _read_specs(folder: Path, files: str) -> Iterator[Mapping[str, Any]]:
    """The specs of the definitions in a folder, by the names of their files."""
    for file in sorted(folder.glob(files)):
        for document in yaml.load_all(file.read_text(), Loader=yaml.CSafeLoader):
            if document and document.get("kind") == "CustomResourceDefinition":
                yield document["spec"]


def read_definitions(project: str, version: str) -> Iterator[dict[str, Any]]:
    """The packed definitions of a version of a project as objects for a server."""
    table = schemastore.load(f"crds/{project}.json")
    for kind, versions in table["releases"][version].items():
        group, plural, scope = table["kinds"][kind]
        stored = next(iter(versions))
        yield {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            # servers ask it of groups below k8s.io
            "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved"}},
            "spec": {
                "group": group,
                "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
                "scope": scope,
                "versions": [
                    {
                        "name": name,
                        "served": True,
                        "storage": name == stored,
                        "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": unpack(schema, table["$defs"])},
                    }
                    for name, schema in versions.items()
                ],
            },
        }


def strip(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without descriptions."""
    return rewrite({key: value for key, value in schema.items() if key != "description"}, strip)


def unpack(schema: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with everything that it refers to in place."""
    while "$ref" in schema:
        schema = shared[schema["$ref"]]
    return rewrite(schema, lambda inner: unpack(inner, shared))


def rewrite(schema: Mapping[str, Any], change: Any) -> dict[str, Any]:
    """A schema with each schema inside changed."""
    out = dict(schema)
    for key, value in schema.items():
        if key == "properties":
            out[key] = {name: change(inner) for name, inner in value.items()}
        elif key in ("items", "additionalProperties", "not") and isinstance(value, dict):
            out[key] = change(value)
        elif key in ("allOf", "anyOf", "oneOf"):
            out[key] = [change(inner) for inner in value]
    return out


class Packer:
    """Writes schemas so that those that stand several times are shared."""

    def __init__(self, schemas: Iterator[Mapping[str, Any]]) -> None:
        self.counts: Counter[str] = Counter()
        self.names: dict[str, str] = {}
        self.shared: dict[str, Any] = {}
        for schema in schemas:
            self._count(schema)

    def _count(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        text = json.dumps(schema, sort_keys=True)
        self.counts[text] += 1
        return rewrite(schema, self._count) if self.counts[text] == 1 else {}

    def write(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        text = json.dumps(schema, sort_keys=True)
        if self.counts[text] == 1 or len(text) < _LEAST:
            return rewrite(schema, self.write)
        if text not in self.names:
            name = self.names[text] = str(len(self.names))
            self.shared[name] = None
            self.shared[name] = rewrite(schema, self.write)
        return {"$ref": self.names[text]}
