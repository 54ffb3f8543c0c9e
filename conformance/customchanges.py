"""Changes of custom resources: stored before their definition was as strict as it is, then changed in three ways.

An object that a definition refuses can be stored, where it was created under an older one. What is wrong in it and
stays as it was must be let through. A server-side apply has words and places of its own: only its verdict is compared.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from conformance.client import Answer, Client
from conformance.custom import ask_creates, find_one, find_path, install, make_edit, read_values
from conformance.definitions import read_definitions
from conformance.generate.tables import put
from conformance.server import serve
from conformance.storage import Record
from conformance.versions import HERE, Profile, Release
from krmfn.server import Mode
from krmfn.server.schema import compile_schemas
from krmfn.server.shipped import judge_all

RECORDED = HERE / "data" / "customchanges.jsonl.xz"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WAYS: tuple[Mode, ...] = ("replace", "apply", "server-side-apply")
#: What definitions say before they are strict.
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def record_version(
    project: str, version: str, release: Release, seed: int, count: int
) -> tuple[list[Record], list[Record]]:
    """Asks about `count` creates of each kind and API version, and a quarter as many changes of what is stored."""
    head = {"project": project, "version": version, "release": release.name}
    with serve(Profile(f"{release.name}-custom", release, ()), "api/legacy=true") as running:
        client = running.client
        install(client, project, version, OPEN)
        asked = [
            (old, new)
            for group, kind, api_version in _list_stored(project, version)
            for old, new in make_changes(project, version, group, kind, api_version, seed, count // 4)
        ]
        stored = [(old, new) for old, new in asked if _apply(client, project, old).accepted]
        for definition in read_definitions(project, version):
            _tighten(client, definition)
        changes = [head | ask(client, project, old, new) for old, new in stored]
        return [head | record for record in ask_creates(client, project, version, seed, count)], changes


def _list_stored(project: str, version: str) -> Iterator[tuple[str, str, str]]:
    for definition in read_definitions(project, version):
        spec = definition["spec"]
        (name,) = (each["name"] for each in spec["versions"] if each["storage"])
        yield spec["group"], spec["names"]["kind"], name


def make_changes(
    project: str, version: str, group: str, kind: str, api_version: str, seed: int, count: int
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Objects with up to two random fields, and what they are changed to: a label, or up to two other fields."""
    (structure,) = find_one(project, version, group, kind, api_version).structures.values()
    rng = Random(f"{seed}/changes/{version}/{kind}")
    values = read_values()
    for number in range(count):
        head = {"apiVersion": f"{group}/{api_version}", "kind": kind}
        old: dict[str, Any] = head | {"metadata": {"name": f"t{number}"}}
        old |= copy.deepcopy(values.get(f"{kind}/{api_version}", values[kind]))
        for _ in range(rng.choice((0, 1, 2))):
            put(old, *make_edit(structure, rng))
        old |= head
        new = copy.deepcopy(old)
        new["metadata"]["labels"] = {"a": str(number)}
        for _ in range(rng.choice((0, 1, 1, 2))):
            put(new, *make_edit(structure, rng))
        yield write_whole(old), write_whole(new | head)


def write_whole(value: Any) -> Any:
    """The value with whole numbers as kubectl sends them: 3 for 3.0."""
    return json.loads(
        json.dumps(value), parse_float=lambda text: int(float(text)) if float(text) % 1 == 0 else float(text)
    )


def _apply(client: Client, project: str, body: Mapping[str, Any], **query: str) -> Answer:
    query = {"fieldManager": "krmfn", "force": "true", **query}
    return client.patch(_path(project, body), body, "application/apply-patch+yaml", **query)


def _path(project: str, body: Mapping[str, Any]) -> str:
    group, _, api_version = body["apiVersion"].rpartition("/")
    return f"{find_path(project, group, body['kind'], api_version)}/{body['metadata']['name']}"


def _tighten(client: Client, definition: Mapping[str, Any]) -> None:
    """Gives a definition its schema, and waits until a field that it does not have is refused."""
    name = definition["metadata"]["name"]
    now = client.get(f"{DEFINITIONS}/{name}").body
    answer = client.put(f"{DEFINITIONS}/{name}", now | {"spec": definition["spec"]})
    assert answer.accepted, answer.body
    spec = definition["spec"]
    where = "namespaces/default/" if spec["scope"] == "Namespaced" else ""
    probe = {"kind": spec["names"]["kind"], "metadata": {"name": "probe"}, "notThere": 1}
    for version in spec["versions"]:
        path = f"/apis/{spec['group']}/{version['name']}/{where}{spec['names']['plural']}"
        body = probe | {"apiVersion": f"{spec['group']}/{version['name']}"}
        deadline = time.monotonic() + 60
        while client.post(path, body, dryRun="All", fieldValidation="Strict").status != 400:
            assert time.monotonic() < deadline
            time.sleep(0.2)


def ask(client: Client, project: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Record:
    """The answers to a change in each way; `old` is what the server has."""
    path = _path(project, new)
    strict = {"dryRun": "All", "fieldValidation": "Strict"}
    live = client.get(path).body
    # A server-side apply has left out some of what is empty.
    kept = live | {"metadata": {key: live["metadata"][key] for key in ("name", "namespace") if key in live["metadata"]}}
    replacing = copy.deepcopy(dict(new))
    replacing["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
    patch = merge_three_ways(old, new, live)
    return {
        "old": kept,
        "object": new,
        "replace": _read(client.put(path, replacing, **strict)),
        "apply": _read(client.patch(path, patch, "application/merge-patch+json", **strict)),
        "server-side-apply": _read(_apply(client, project, new, **strict)),
    }


def merge_three_ways(last: Any, new: Any, live: Any) -> dict[str, Any]:
    """The merge patch that kubectl apply sends for a custom resource: what is new or other than in the live object, and
    null for what was applied last and is not wanted any more."""
    patch: dict[str, Any] = {}
    for key, value in new.items():
        now = live.get(key)
        if isinstance(value, dict) and isinstance(now, dict):
            before = last.get(key)
            below = merge_three_ways(before if isinstance(before, dict) else {}, value, now)
            patch |= {key: below} if below else {}
        elif key not in live or now != value or isinstance(now, bool) != isinstance(value, bool):
            patch[key] = value
    return patch | {key: None for key in last if key not in new}


def _read(answer: Answer) -> Record:
    message = "" if answer.accepted else str(answer.body.get("message", ""))[:3000]
    return {"code": answer.status, "message": message}


def differ(record: Record) -> str:
    """What is wrong about our answer to a change in any of the ways; empty when all are right."""
    new = record["object"]
    group, _, api_version = new["apiVersion"].rpartition("/")
    known = find_one(record["project"], record["version"], group, new["kind"], api_version)
    for way in WAYS:
        answer, applied = record[way], way == "server-side-apply"
        if way == "apply" and ": null" in json.dumps(new):
            continue  # a merge patch drops nulls
        schemas = compile_schemas(record["release"], {})
        said, _ = judge_all(known, schemas, new, record["old"], update=way)
        texts = sorted({cause.message for cause in said.causes})
        if answer["code"] >= 400 and not texts and not said.unchecked:
            return f"{way}: said nothing"
        if answer["code"] < 400 and texts:
            return f"{way}: said {texts}"
        if texts and not applied and not all(text in answer["message"] for text in texts):
            return f"{way}: said {texts}"
    return ""
