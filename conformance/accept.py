"""Sends streams of manifests to a real server with strict field validation and reports what it refuses.

A stream is what one apply would send. Kinds that the server does not have are counted, not sent. Nothing stays on the
server but Workloads while their stream is sent: in 1.36 admission looks them up.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from conformance.address import namespace_of
from conformance.client import Answer, Client
from conformance.versions import Profile, read_profiles

STRICT = {"fieldValidation": "Strict"}


class Refusal(NamedTuple):
    """`stream` is the name of the input, `object` is `Kind namespace/name`, `text` the server's words."""

    stream: str
    object: str
    text: str


class Outcome(NamedTuple):
    """`accepted` counts objects by kind, `skipped` those of kinds that the server does not have."""

    accepted: dict[str, int]
    skipped: dict[str, int]
    refusals: list[Refusal]


def widest_profile(release: str) -> Profile:
    """The profile of a release with the most gates on: what the newest form of an object needs."""
    profiles = [profile for profile in read_profiles().values() if profile.release.name == release]
    return max(profiles, key=lambda profile: len(profile.gates))


def send_streams(client: Client, streams: Iterable[tuple[str, str]]) -> Outcome:
    """Sends (name, YAML or JSON text) pairs. Priority classes that a stream names are made up with value 7."""
    outcome = Outcome({}, {}, [])
    resources = read_resources(client)
    known_classes: set[str] = set()
    for name, text in streams:
        objects = list(read_objects(text))
        for priority_class in sorted(set(find_classes(objects)) - known_classes):
            known_classes.add(priority_class)
            client.post("/apis/scheduling.k8s.io/v1/priorityclasses", class_body(priority_class))
        send_stream(client, resources, name, objects, outcome)
    return outcome


def send_stream(
    client: Client, resources: dict[tuple[str, str], str], name: str, objects: list[Any], outcome: Outcome
) -> None:
    created: list[str] = []
    # A Workload before whatever refers to it, wherever it stands in the stream.
    for body in sorted(objects, key=lambda body: body.get("kind") != "Workload"):
        kind = str(body.get("kind"))
        place = resources.get((str(body.get("apiVersion")), kind))
        if place is None:
            outcome.skipped[kind] = outcome.skipped.get(kind, 0) + 1
            continue
        path = place.replace("{namespace}", namespace_of(body))
        answer = client.post(path, body, **STRICT, dryRun="All")
        if answer.accepted and kind == "Workload":
            answer = client.post(path, body, **STRICT)
            if answer.accepted:
                created.append(f"{path}/{answer.body['metadata']['name']}")
        if answer.accepted:
            outcome.accepted[kind] = outcome.accepted.get(kind, 0) + 1
        else:
            outcome.refusals.append(Refusal(name, describe(body), read_text(answer)))
    for path in created:
        client.delete(path)


def read_resources(client: Client) -> dict[tuple[str, str], str]:
    """(apiVersion, kind) to the path of its collection, from discovery."""
    found = {}
    roots = {"v1": "/api/v1"}
    for group in client.get("/apis").body["groups"]:
        for version in group["versions"]:
            roots[version["groupVersion"]] = f"/apis/{version['groupVersion']}"
    for api_version, root in roots.items():
        for resource in client.get(root).body.get("resources", ()):
            if "/" not in resource["name"]:
                middle = "/namespaces/{namespace}" if resource["namespaced"] else ""
                found[api_version, resource["kind"]] = f"{root}{middle}/{resource['name']}"
    return found


def read_objects(text: str) -> Iterator[Any]:
    """Every object of a stream; lists (v1/List, ResourceList) are unpacked."""
    for document in yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if not isinstance(document, dict):
            continue
        items = document.get("items")
        if str(document.get("kind", "")).endswith("List") and isinstance(items, list):
            yield from (item for item in items if isinstance(item, dict))
        else:
            yield document


def find_classes(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, content in value.items():
            if (
                name == "priorityClassName"
                and isinstance(content, str)
                and content
                and not content.startswith("system-")
            ):
                yield content
            else:
                yield from find_classes(content)
    elif isinstance(value, list):
        for content in value:
            yield from find_classes(content)


def class_body(name: str) -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 7}


def describe(body: Any) -> str:
    metadata = body.get("metadata") or {}
    return f"{body.get('kind')} {metadata.get('namespace', 'default')}/{metadata.get('name')}"


def read_text(answer: Answer) -> str:
    text = answer.body.get("message") if isinstance(answer.body, dict) else answer.body
    return f"{answer.status} {text}"


def read_streams(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(name, text) of files, of all YAML and JSON files below folders, or of stdin for `-`."""
    for name in paths:
        if name == "-":
            yield "stdin", sys.stdin.read()
            continue
        path = Path(name)
        files = (
            sorted(each for each in path.rglob("*") if each.suffix in (".yaml", ".yml", ".json"))
            if path.is_dir()
            else [path]
        )
        for each in files:
            yield str(each), each.read_text()


def report(outcome: Outcome) -> Iterator[str]:
    for refusal in outcome.refusals:
        yield f"{refusal.stream}: {refusal.object}: {refusal.text}"
    total = sum(outcome.accepted.values())
    accepted, skipped = json.dumps(outcome.accepted), json.dumps(outcome.skipped)
    yield f"{total} accepted {accepted}, {len(outcome.refusals)} refused, skipped {skipped}"
