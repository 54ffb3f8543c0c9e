"""Fields of made-up definitions: kubectl is asked to explain each, at a real server, and what `krmfn explain` says of
the same definition is compared: which fields there are, of which type, what is required, values, descriptions.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from conformance.ending import Unable
from conformance.server import serve
from conformance.storage import Record
from conformance.versions import HERE, list_profiles, read_releases
from krmfn.fields.lines import FieldLine, list_described, walk

RECORDED = HERE / "data" / "explained.jsonl.xz"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NAMES = ("replicas", "mode", "template", "workers", "env", "size", "policy", "queue", "roles", "limits")
_SCALARS = (
    {"type": "string"},
    {"type": "string", "enum": ["Always", "Never"]},
    {"type": "string", "pattern": "^[a-z]+$", "maxLength": 9},
    {"type": "integer", "format": "int32", "minimum": 0},
    {"type": "integer", "format": "int64", "default": 3},
    {"type": "integer"},
    {"type": "number"},
    {"type": "boolean"},
    {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
)
_DESCRIPTIONS = ("How many.", "What is run, and how:\nas it comes.", "Deprecated: see mode.")
#: The words of kubectl for those of krmfn; numbers have no format there.
_TYPES = {"bool": "boolean", "object": "Object", "int32": "integer", "int64": "integer", "intorstring": "Object"}


def make_definitions(seed: int, count: int) -> Iterator[Record]:
    """Definitions of kinds that nobody has."""
    chance = Random(f"explained/{seed}")
    for number in range(count):
        kind, group = f"Swarm{number}", f"e{number}.example.com"
        plural = f"{kind.lower()}s"
        root = {"type": "object", "description": f"A {kind}.", "properties": {"spec": _make_object(chance, 3)}}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
        spec = {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural}, "versions": [version]}
        head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        yield {**head, "metadata": {"name": f"{plural}.{group}"}, "spec": spec}


def _make_object(chance: Random, depth: int) -> Record:
    names = chance.sample(_NAMES, chance.randrange(1, 6))
    made = {"type": "object", "properties": {name: _make_field(chance, depth - 1) for name in names}}
    needed = [name for name in names if chance.random() < 0.3]
    return {**made, **({"required": needed} if needed else {})}


def _make_field(chance: Random, depth: int) -> Record:
    shape = chance.random()
    if depth and shape < 0.3:
        made = _make_object(chance, depth)
    elif depth and shape < 0.5:
        made = {"type": "array", "items": _make_field(chance, depth - 1)}
    elif depth and shape < 0.6:
        made = {"type": "object", "additionalProperties": _make_field(chance, depth - 1)}
    else:
        made = dict(chance.choice(_SCALARS))
    if chance.random() < 0.5:
        made["description"] = chance.choice(
            ("How many.", "What is run, and how:\nas it comes.", "Deprecated: see mode.")
        )
    return made


def ask_kubectl(definitions: Sequence[Record]) -> list[Record]:
    """The definitions, each with what kubectl says of all fields of its kind, and of each alone. Raises Unable."""
    profile = list_profiles(read_releases()["1.37"])[0]
    with serve(profile) as running, tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config")
        config.write_text(running.kubeconfig())

        def explain(*words: str) -> str:
            command = ["kubectl", f"--kubeconfig={config}", "explain", *words]
            for _ in range(60):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode == 0:
                    return done.stdout
                time.sleep(0.5)  # a new kind is published a moment later
            raise Unable(f"{' '.join(words)}: {done.stderr}")

        found = []
        for value in definitions:
            answer = running.client.post(_DEFINITIONS, value)
            if not answer.accepted:
                raise Unable(f"{value['metadata']['name']}: {answer.body}")
            name = value["metadata"]["name"]
            paths = [each.path for each in _walk(value)]
            alone = {path: explain(_name(path, name)) for path in paths[1:6]}
            found.append({"object": value, "recursive": explain(name, "--recursive"), "alone": alone})
        return found


def _name(path: str, name: str) -> str:
    return ".".join([name, *path.replace("[]", "").split(".")[1:]])


def _walk(value: Mapping[str, Any]) -> list[FieldLine]:
    (described,) = list_described(value["spec"]["names"]["kind"], "1.37", {}, "", [value])
    return list(walk(described.root))


def differ(record: Record) -> str:
    """What krmfn says otherwise; empty where it says the same."""
    lines = _walk(record["object"])
    said = sorted(map(_spell, lines[1:]))  # a server sorts them
    told = sorted(_read(record["recursive"]))
    if said != told:
        return f"said {[each for each in said if each not in told]}, not {[each for each in told if each not in said]}"
    about = {line.path: line.description.split() for line in lines}
    for path, text in record["alone"].items():
        words = text.partition("\nDESCRIPTION:\n")[2].partition("\nFIELDS:\n")[0].split()
        if about[path] != [word for word in words if word != "<empty>"]:
            return f"{path}: said {about[path]}, not {words}"
    return ""


def _spell(line: FieldLine) -> tuple[str, str, bool, tuple[str, ...]]:
    """Path, type, whether it is required, and its values, as `_read`."""
    whole, *words = line.words
    prefix = "".join("[]" if each == "list of" else "map[string]" for each in re.findall("list of|map of", whole))
    last = whole.rpartition(" of ")[2]
    values = next((word.removeprefix("enum ").split() for word in words if word.startswith("enum ")), [])
    path = line.path.replace("[]", "").partition(".")[2]
    return path, prefix + _TYPES.get(last, last), "required" in words, tuple(values)


def _read(text: str) -> Iterator[tuple[str, str, bool, tuple[str, ...]]]:
    """The rows of kubectl explain --recursive, without those that every kind has."""
    above: list[str] = []
    rows: list[tuple[str, str, bool, tuple[str, ...]]] = []
    for line in text.partition("\nFIELDS:\n")[2].splitlines():
        if found := re.match(r"(?P<indent> *)(?P<name>\S+)\t<(?P<type>.*)>(?P<required> -required-)?$", line):
            del above[len(found["indent"]) // 2 - 1 :]
            above.append(found["name"])
            rows.append((".".join(above), found["type"], bool(found["required"]), ()))
        elif listed := re.match(r" *enum: (.*)$", line):
            rows[-1] = (*rows[-1][:3], tuple(listed[1].split(", ")))
    return (row for row in rows if row[0].split(".")[0] == "spec")
