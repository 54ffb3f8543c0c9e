"""Custom resources: real servers with KubeRay's definitions are asked about made-up objects, and the answers compared.

The definitions are those that `python -m conformance.definitions` has packed into `schemas/crds`.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from conformance.client import Client
from conformance.generate.tables import put
from conformance.generate.walks import NUMBERS, QUANTITIES, TEXTS, WORDS
from conformance.generate.wrongvalues import STRANGERS, WRONG
from conformance.server import serve
from conformance.storage import Record
from conformance.versions import HERE, Profile, Release
from krmfn.checks.server.custom import find_shipped, judge
from krmfn.checks.server.schema import compile_schemas
from krmfn.checks.server.structure import Structure

RECORDED = HERE / "data" / "custom.jsonl.xz"
POD = {"containers": [{"name": "c", "image": "ray:1"}]}
CLUSTER: dict[str, Any] = {
    "rayVersion": "2.9.0",
    "headGroupSpec": {"rayStartParams": {}, "template": {"spec": POD}},
    "workerGroupSpecs": [{"groupName": "w", "rayStartParams": {}, "template": {"spec": POD}}],
}
SPECS: dict[str, dict[str, Any]] = {
    "RayCluster": CLUSTER,
    "RayJob": {"entrypoint": "python a.py", "rayClusterSpec": CLUSTER},
    "RayService": {"serveConfigV2": "applications: []", "rayClusterConfig": CLUSTER},
    "RayCronJob": {"schedule": "* * * * *", "jobTemplate": {"entrypoint": "python a.py", "rayClusterSpec": CLUSTER}},
}
#: The versions of KubeRay that are asked about, with the release of Kubernetes whose server is asked.
ASKED = {"1.6": "1.35", "1.7": "1.37"}

#: Where fields are put that no definition has.
PLACES: tuple[tuple[str | int, ...], ...] = (
    ("metadata",),
    ("spec", "headGroupSpec", "template", "spec", "affinity"),
    ("spec", "rayClusterSpec", "workerGroupSpecs", 0, "rayStartParams"),
)


def number(version: str) -> tuple[int, int]:
    major, minor = map(int, version.split("."))
    return major, minor


def record_version(version: str, release: Release, seed: int, count: int) -> list[Record]:
    """Asks about `count` objects of each kind and API version."""
    with serve(Profile(f"{release.name}-custom", release, ()), "api/legacy=true") as running:
        install(running.client, version)
        return [
            ask(running.client, version, body)
            for kind in SPECS
            for api_version in ("v1", "v1alpha1")
            if find_shipped("ray.io", kind, api_version, number(version))
            for body in make_bodies(version, kind, api_version, seed, count)
        ]


def install(client: Client, version: str) -> None:
    """Creates the definitions and waits until they are served."""
    from conformance.definitions import read_definitions

    for definition in read_definitions(version):
        answer = client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        assert answer.accepted, answer.body
    for definition in read_definitions(version):
        path = f"/apis/ray.io/v1/namespaces/default/{definition['spec']['names']['plural']}"
        deadline = time.monotonic() + 30
        while client.get(path).status != 200 and time.monotonic() < deadline:
            time.sleep(0.2)


def make_bodies(version: str, kind: str, api_version: str, seed: int, count: int) -> Iterator[dict[str, Any]]:
    structure = find_shipped("ray.io", kind, api_version, number(version))
    assert structure is not None
    rng = Random(f"{seed}/{version}/{kind}/{api_version}")
    for _ in range(count):
        body = {"apiVersion": f"ray.io/{api_version}", "kind": kind, "metadata": {"name": "t"}}
        body["spec"] = copy.deepcopy(SPECS[kind])
        for _ in range(rng.choice((1, 1, 2, 3))):
            where, value = make_edit(structure, rng)
            put(body, where, value)
        if rng.random() < 0.15:
            put(body, (*rng.choice(PLACES)[: rng.choice((1, 2, 3, 4, 5))], rng.choice(STRANGERS)), rng.choice(WRONG))
        yield body | {"apiVersion": f"ray.io/{api_version}", "kind": kind}


def make_edit(structure: Structure, rng: Random) -> tuple[tuple[str | int, ...], Any]:
    """A place that the definition has, and a value for it."""
    schema: Mapping[str, Any] = structure.resolve(structure.resolve(structure.root)["properties"]["spec"])
    where: list[str | int] = ["spec"]
    while True:
        if schema.get("properties") and (len(where) < 3 or rng.random() < 0.9):
            name = rng.choice(list(schema["properties"]))
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


def ask(client: Client, version: str, body: dict[str, Any]) -> Record:
    path = f"/apis/{body['apiVersion']}/namespaces/default/{body['kind'].lower()}s"
    answer = client.post(path, body, dryRun="All", fieldValidation="Strict")
    record: Record = {"version": version, "object": body, "code": answer.status}
    if answer.accepted:
        return record
    causes = (answer.body.get("details") or {}).get("causes") or []
    record["message"] = str(answer.body.get("message", ""))[:3000]
    record["causes"] = [[cause.get("field", ""), cause.get("message", "")] for cause in causes]
    return record


def differ(record: Record) -> str:
    """What is wrong about our answer; empty when it is right."""
    body = record["object"]
    group, _, version = body["apiVersion"].rpartition("/")
    structure = find_shipped(group, body["kind"], version, number(record["version"]))
    assert structure is not None
    answer = judge(structure, compile_schemas(ASKED[record["version"]], {}), body)
    texts = sorted({(cause.type, cause.message) for cause in answer.causes})
    if record["code"] < 400:
        return f"said {texts}" if texts else ""
    if not texts:
        return "" if answer.unchecked and record["code"] == 422 else "said nothing"
    return "" if all(message in record["message"] for _, message in texts) else f"said {texts}"
