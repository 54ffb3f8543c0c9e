"""KubeRay's CustomResourceDefinitions, packed: without descriptions, and what stands several times stands once.

The definitions are read from a checkout of ray-project/kuberay; `python -m conformance definitions CHECKOUT`.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from krmfn.releases import schemastore

#: The tag that stands for each version.
TAGS = {"1.6": "v1.6.2", "1.7": "v1.7.0"}
KINDS = ("rayclusters", "raycronjobs", "rayjobs", "rayservices")
PACKED = "crds/kuberay.json"
#: Shorter schemas are written out.
_LEAST = 60


def pack_definitions(checkout: Path) -> Path:
    """Writes the definitions of all tags."""
    releases: dict[str, dict[str, dict[str, Any]]] = {}
    for version, tag in TAGS.items():
        for name in KINDS:
            file = f"{tag}:ray-operator/config/crd/bases/ray.io_{name}.yaml"
            text = subprocess.run(["git", "-C", checkout, "show", file], capture_output=True, check=True).stdout
            spec = yaml.load(text, Loader=yaml.CSafeLoader)["spec"]
            kinds = releases.setdefault(version, {}).setdefault(spec["names"]["kind"], {})
            for each in spec["versions"]:
                kinds[each["name"]] = strip(each["schema"]["openAPIV3Schema"])
    packer = Packer(
        schema for kinds in releases.values() for versions in kinds.values() for schema in versions.values()
    )
    packed = {
        version: {
            kind: {name: packer.write(schema) for name, schema in versions.items()} for kind, versions in kinds.items()
        }
        for version, kinds in releases.items()
    }
    target = Path(schemastore.root()) / PACKED
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({"releases": packed, "$defs": packer.shared}, separators=(",", ":")) + "\n")
    return target


def read_definitions(version: str) -> Iterator[dict[str, Any]]:
    """The packed definitions of a version of KubeRay as objects for a server."""
    table = schemastore.load(PACKED)
    for kind, versions in table["releases"][version].items():
        plural = f"{kind.lower()}s"
        yield {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.ray.io"},
            "spec": {
                "group": "ray.io",
                "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
                "scope": "Namespaced",
                "versions": [
                    {
                        "name": name,
                        "served": True,
                        "storage": name == "v1",
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
