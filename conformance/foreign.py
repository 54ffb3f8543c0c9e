"""Groups for other schedulers: what krmfn generates for them is sent to a real server that has their definitions.

The definitions are files, as the projects publish them; the answers are kept with the objects, so that the tests need
neither. Each object is also sent spoiled, which proves that the server judged it by a definition.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from conformance.client import Client
from conformance.server import serve
from conformance.versions import HERE, Profile, Release
from krmfn import pipeline
from krmfn.config import read_settings
from krmfn.krm import Stream
from krmfn.model.schedulers import SCHEDULERS

RECORDED = HERE / "data" / "foreign.json"
EXAMPLES = HERE.parent / "examples"
#: What the examples do not ask for: keys of a topology, and queues.
TOPOLOGY = {"krmfn.dev/topology-key": "example.com/rack", "kai.scheduler/topology": "network"}
QUEUES = {"kai.scheduler/queue": "research", "volcano.sh/queue-name": "research"}


def make_groups() -> Iterator[tuple[str, dict[str, Any]]]:
    """The PodGroups for every kind of the examples, for each scheduler and granularity, by a name of the case."""
    for choice, row in SCHEDULERS.items():
        for path in sorted(EXAMPLES.glob("kinds/*.yaml")):
            for granularity in ("Cluster", "Group"):
                spec = {
                    "scheduler": choice,
                    "select": "All",
                    "gang": {"granularity": granularity, "autoscaling": "MinReplicas"},
                }
                config = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec}
                items = Stream.parse(_decorate(path), path.name).items
                for made in pipeline.generate(items, read_settings(config)).added:
                    value: dict[str, Any] = dict(made.value)
                    if value["apiVersion"] == row.api_version:
                        yield f"{choice} {path.stem} {granularity} {value['metadata']['name']}", value


def _decorate(path: Path) -> bytes:
    """The manifests of an example with a topology and a queue."""
    values = list(yaml.load_all(path.read_bytes(), yaml.CSafeLoader))
    for value in values:
        metadata = value["metadata"]
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **TOPOLOGY, "krmfn.dev/gang": "true"}
        metadata["labels"] = {**(metadata.get("labels") or {}), **QUEUES}
    return yaml.safe_dump_all(values).encode()


def record_answers(release: Release, definitions: Iterable[Path]) -> list[dict[str, Any]]:
    """The answers of a server with these definitions to every group, and to the same group with a negative minimum."""
    with serve(Profile(f"{release.name}-foreign", release, ()), "api/legacy=true") as running:
        for path in definitions:
            install(running.client, yaml.load(path.read_bytes(), yaml.CSafeLoader))
        return [
            {
                "case": name,
                "object": value,
                "code": ask(running.client, value),
                "spoiled": ask(running.client, spoil(value)),
            }
            for name, value in make_groups()
        ]


def install(client: Client, definition: dict[str, Any]) -> None:
    """Creates a definition and waits until it is served."""
    definition.get("metadata", {}).setdefault("annotations", {})["api-approved.kubernetes.io"] = (
        "unapproved, testing-only"
    )
    answer = client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    assert answer.accepted, answer.body
    spec = definition["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/namespaces/default/{spec['names']['plural']}"
    deadline = time.monotonic() + 30
    while client.get(path).status != 200 and time.monotonic() < deadline:
        time.sleep(0.2)


def ask(client: Client, value: dict[str, Any]) -> int:
    """The status of the answer to a dry run with strict field validation."""
    space = value["metadata"].get("namespace", "default")
    path = f"/apis/{value['apiVersion']}/namespaces/{space}/podgroups"
    return client.post(path, value, dryRun="All", fieldValidation="Strict").status


def spoil(value: dict[str, Any]) -> dict[str, Any]:
    """The same group with a field that no definition has."""
    spoiled = copy.deepcopy(value)
    spoiled["spec"]["minMembers"] = 1
    return spoiled


def write_recorded(records: list[dict[str, Any]]) -> None:
    """One line a record: readable in a diff."""
    lines = ",\n".join(json.dumps(record, sort_keys=True) for record in records)
    RECORDED.write_text(f"[\n{lines}\n]\n")


def read_recorded() -> list[dict[str, Any]]:
    """What write_recorded() stored."""
    found: list[dict[str, Any]] = json.loads(RECORDED.read_text())
    return found
