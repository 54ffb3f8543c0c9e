"""Custom resources: real servers with the definitions of other projects are asked about made-up objects, and the
answers compared.

The definitions are those that `python -m conformance definitions` has packed into `schemas/crds`.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import yaml

from conformance.client import Client
from conformance.definitions import list_projects, read_definitions
from conformance.generate.tables import put
from conformance.generate.walks import NUMBERS, QUANTITIES, TEXTS, WORDS
from conformance.generate.wrongvalues import STRANGERS, WRONG
from conformance.storage import Record
from conformance.versions import HERE
from krmfn.releases import schemastore
from krmfn.server.schema import compile_schemas
from krmfn.server.shipped import Shipped, find_shipped, judge_all
from krmfn.server.structure import Structure

RECORDED = HERE / "data" / "custom.jsonl.xz"
VALUES = HERE / "generate" / "customvalues.yaml"
#: How often a kind of a project is asked about, where it is not once.
WEIGHTS = {"kueue": 0.3, "trainingOperator": 0.3}

HEAD = ("apiVersion", "kind", "metadata")
#: Where fields are put that no definition has.
PLACES: tuple[tuple[str | int, ...], ...] = (
    ("metadata",),
    ("spec", "headGroupSpec", "template", "spec", "affinity"),
    ("spec", "rayClusterSpec", "workerGroupSpecs", 0, "rayStartParams"),
    ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec"),
)


def list_questions(releases: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Project, its version and the release of Kubernetes whose server is asked: the newest version of each project on
    the newest release, the oldest on the oldest."""
    for project, row in list_projects().items():
        versions = list(row["versions"])
        yield project, versions[-1], releases[-1]
        yield project, versions[0], releases[0]


def list_kinds(project: str, version: str) -> list[tuple[str, str, str]]:
    """Group, kind and API version of what a version of a project has."""
    table = schemastore.load(f"crds/{project}.json")
    return [
        (table["kinds"][kind][0], kind, name)
        for kind, versions in table["releases"][version].items()
        for name in versions
    ]


def find_one(project: str, version: str, group: str, kind: str, api_version: str) -> Shipped:
    """What krmfn knows of a kind where this version of the project is installed."""
    major, minor = map(int, version.split("."))
    found = find_shipped(group, kind, api_version, {project: (major, minor)})
    assert isinstance(found, Shipped)
    return found._replace(filled=())  # no webhook of the project is there


def ask_creates(client: Client, project: str, version: str, seed: int, count: int) -> list[Record]:
    """Asks about `count` objects of each kind and API version."""
    return [
        ask(client, project, body)
        for group, kind, api_version in list_kinds(project, version)
        for body in make_bodies(project, version, group, kind, api_version, seed, count)
    ]


def install(client: Client, project: str, version: str, schema: Mapping[str, Any] | None = None) -> None:
    """Creates the definitions, or such with another schema, and waits until they are served."""
    for definition in read_definitions(project, version):
        for each in definition["spec"]["versions"] if schema else ():
            each["schema"] = {"openAPIV3Schema": schema}
        answer = client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        assert answer.accepted or answer.status == 409, answer.body  # another project has it, too
    for group, kind, api_version in list_kinds(project, version):
        path = find_path(project, group, kind, api_version)
        deadline = time.monotonic() + 30
        while client.get(path).status != 200 and time.monotonic() < deadline:
            time.sleep(0.2)


def find_path(project: str, group: str, kind: str, api_version: str) -> str:
    _, plural, scope = schemastore.load(f"crds/{project}.json")["kinds"][kind]
    return f"/apis/{group}/{api_version}/{'namespaces/default/' if scope == 'Namespaced' else ''}{plural}"


@cache
def read_values() -> Mapping[str, Any]:
    values: Mapping[str, Any] = yaml.safe_load(VALUES.read_text())
    return values


def make_bodies(
    project: str, version: str, group: str, kind: str, api_version: str, seed: int, count: int
) -> Iterator[dict[str, Any]]:
    (structure,) = find_one(project, version, group, kind, api_version).structures.values()
    rng = Random(f"{seed}/{version}/{kind}/{api_version}")
    head = {"apiVersion": f"{group}/{api_version}", "kind": kind}
    values = read_values()
    for number in range(max(1, round(count * WEIGHTS.get(project, 1)))):
        body = head | {"metadata": {"name": "t"}} | copy.deepcopy(values.get(f"{kind}/{api_version}", values[kind]))
        for _ in range(rng.choice((1, 1, 2, 3)) if number else 0):
            where, value = make_edit(structure, rng)
            put(body, where, value)
        if number and rng.random() < 0.15:
            put(body, (*rng.choice(PLACES)[: rng.choice((1, 2, 3, 4, 5))], rng.choice(STRANGERS)), rng.choice(WRONG))
        yield body | head


def make_edit(structure: Structure, rng: Random) -> tuple[tuple[str | int, ...], Any]:
    """A place that the definition has, and a value for it."""
    schema: Mapping[str, Any] = structure.resolve(structure.root)
    where: list[str | int] = []
    while True:
        if schema.get("properties") and (len(where) < 3 or rng.random() < 0.9):
            name = rng.choice([name for name in schema["properties"] if where or name not in HEAD])
            where.append(name)
            schema = structure.resolve(schema["properties"][name])
        elif isinstance(schema.get("items"), dict) and rng.random() < 0.8:
            where.append(0)
            schema = structure.resolve(schema["items"])
        else:
            return tuple(where), make_value(structure, schema, rng, len(where))


def make_value(structure: Structure, schema: Mapping[str, Any], rng: Random, depth: int) -> Any:
    schema = structure.resolve(schema)
    if rng.random() < 0.08:
        return copy.deepcopy(rng.choice(WRONG))
    if "enum" in schema and rng.random() < 0.8:
        return rng.choice(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return rng.choice((*QUANTITIES, *NUMBERS))
    kind = schema.get("type")
    if kind == "object":
        if "properties" in schema:
            names = rng.sample(list(schema["properties"]), min(len(schema["properties"]), rng.choice((0, 1, 2, 3))))
            names += [name for name in schema.get("required", ()) if name not in names and rng.random() < 0.9]
            if depth > 8:
                names = list(schema.get("required", ()))
            return {name: make_value(structure, schema["properties"][name], rng, depth + 1) for name in names}
        below = schema.get("additionalProperties")
        words = rng.sample(WORDS, rng.choice((0, 1, 2)))
        return {
            word: make_value(structure, below, rng, depth + 1) if isinstance(below, dict) else "x" for word in words
        }
    if kind == "array":
        return [make_value(structure, schema["items"], rng, depth + 1) for _ in range(rng.choice((0, 1, 1, 2)))]
    if kind in ("integer", "number"):
        return rng.choice((*NUMBERS, 2**31, 2**40, 1.5, 3.0))
    if kind == "boolean":
        return rng.random() < 0.5
    return rng.choice(TEXTS)


def ask(client: Client, project: str, body: dict[str, Any]) -> Record:
    group, _, api_version = body["apiVersion"].rpartition("/")
    path = find_path(project, group, body["kind"], api_version)
    answer = client.post(path, body, dryRun="All", fieldValidation="Strict")
    record: Record = {"object": body, "code": answer.status}
    if answer.accepted:
        return record
    causes = (answer.body.get("details") or {}).get("causes") or []
    record["message"] = str(answer.body.get("message", ""))[:3000]
    record["causes"] = [[cause.get("field", ""), cause.get("message", "")] for cause in causes]
    return record


def differ(record: Record) -> str:
    """What is wrong about our answer; empty when it is right."""
    body = record["object"]
    group, _, api_version = body["apiVersion"].rpartition("/")
    known = find_one(record["project"], record["version"], group, body["kind"], api_version)
    answer, _ = judge_all(known, compile_schemas(record["release"], {}), body)
    texts = sorted({(cause.type, cause.message) for cause in answer.causes})
    if record["code"] < 400:
        return f"said {texts}" if texts else ""
    if not texts:
        return "" if answer.unchecked and record["code"] == 422 else "said nothing"
    return "" if all(message in record["message"] for _, message in texts) else f"said {texts}"
