"""Installs what `krmfn bridge` prints on a real API server, sends pods, and writes down what became of them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import yaml

from conformance.bridge.pods import ASK, make_pod
from conformance.bridge.webhook import serve_webhook
from conformance.client import Client
from conformance.server import serve
from conformance.storage import Record
from conformance.versions import HERE, Profile, read_profiles

DATA = HERE / "bridge" / "recorded"
#: A file of records for each: the profile, and whether GenericWorkload is on.
FILES = {
    "1.36": ("1.36-was", True),
    "1.36-all": ("1.36-was-all", True),
    "1.37": ("1.37-was", True),
    "1.37-off": ("1.37-was", False),
}
#: Only pods of namespaces with this label are linked: the policies are printed for it.
SELECTOR = "gangs=on"
_LABELS = {"ml": {"gangs": "on"}, "plain": {}, "kube-system": {"gangs": "on"}}
_PLURALS = {"Policy": "policies", "Binding": "bindings", "Configuration": "configurations"}


def record(name: str, count: int, seed: int) -> list[Record]:
    """The answers of one server to `count` pods. Raises StartFailed, and RuntimeError where a policy is refused."""
    profile, on = FILES[name]
    asked = read_profiles()[profile]
    with serve(asked if on else asked._replace(gates=())) as running, serve_webhook(running.folder) as webhook:
        client = running.client
        for space, labels in _LABELS.items():
            client.post("/api/v1/namespaces", {"metadata": {"name": space, "labels": labels}})
            client.patch(
                f"/api/v1/namespaces/{space}", {"metadata": {"labels": labels}}, "application/merge-patch+json"
            )
        install(client, [*print_policies(asked), webhook])
        chance = Random(seed)
        return [_ask(client, make_pod(chance, number)) for number in range(count)]


def print_policies(profile: Profile) -> list[dict[str, Any]]:
    """What a user applies, through the process that prints it."""
    command = [sys.executable, "-m", "krmfn", "bridge", "--kubernetes", profile.release.name]
    done = subprocess.run([*command, "--namespace-selector", SELECTOR], check=True, capture_output=True)
    return list(yaml.safe_load_all(done.stdout))


def install(client: Client, objects: list[dict[str, Any]]) -> None:
    """Creates them, and waits until a pod that asks wrongly is refused: policies take a moment to act."""
    for value in objects:
        kind = value["kind"]
        ending = next(word for word in _PLURALS if kind.endswith(word))
        plural = kind.removesuffix(ending).lower() + _PLURALS[ending]
        answer = client.post(f"/apis/{value['apiVersion']}/{plural}", value, fieldValidation="Strict")
        if not answer.accepted or answer.warnings:
            raise RuntimeError(f"{kind}: {answer.status} {answer.warnings} {answer.body}")
    probe = make_pod(Random(0), 0)
    probe["metadata"] = {"name": "probe", "annotations": {ASK: ""}}
    end = time.monotonic() + 60
    while client.post("/api/v1/namespaces/ml/pods", probe, dryRun="All").accepted:
        if time.monotonic() > end:
            raise RuntimeError("the validating policy does not act")
        time.sleep(0.2)
    probe["metadata"] = {"name": "probe", "annotations": {ASK: "a"}}
    time.sleep(1)


def _ask(client: Client, pod: dict[str, Any]) -> Record:
    space = pod["metadata"]["namespace"]
    answer = client.post(f"/api/v1/namespaces/{space}/pods", pod, dryRun="All")
    found: Record = {"pod": pod, "code": answer.status}
    if not answer.accepted:
        return {**found, "message": answer.body["message"]}
    stored = answer.body
    group = stored["spec"].get("schedulingGroup") or {}
    return {**found, "labels": stored["metadata"].get("labels") or {}, "link": group.get("podGroupName", "")}


def path_of(name: str, folder: Path = DATA) -> Path:
    return folder / f"{name}.jsonl.xz"
