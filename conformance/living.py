"""Changes of objects that live: a webhook has put something into them, a controller has set their status.

The object is created with the manifest noted on it, as kubectl notes it, and once more by server-side apply, with what
the webhook adds owned by another manager. Read back, it is the old state of a change.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from conformance.address import BUILT_IN, collection
from conformance.client import Client
from conformance.generate.tables import PODS, TEMPLATE
from conformance.record import MANAGER, TIME, UID, Case, message_of, read_verdict
from conformance.threeway import ThreeWay
from conformance.versions import Profile

UIDS, TIMES = "00000000-0000-0000-0000-000000000000", "2026-01-01T00:00:00Z"
WEBHOOK = "webhook"
SIDECAR = {"name": "proxy", "image": "proxy:1"}
TOKEN = {"name": "token", "emptyDir": {}}
CONDITION = {"type": "Suspended", "status": "True", "lastTransitionTime": TIMES, "lastProbeTime": TIMES}
STATUSES: tuple[dict[str, Any], ...] = (
    {"startTime": TIMES},
    {"startTime": TIMES, "conditions": [CONDITION]},
    {"startTime": TIMES, "active": 1},
    {"conditions": [CONDITION], "active": 1},
    {"conditions": [CONDITION]},
)


def inject(kind: str, name: str, rng: Random) -> dict[str, Any]:
    """What a webhook adds, as a manifest that has nothing else."""
    pods: dict[str, Any] = {"containers": [{"name": "c"}]}
    container = pods["containers"][0]
    if rng.random() < 0.6:
        pods["volumes"] = [TOKEN]
        container["volumeMounts"] = [{"name": "token", "mountPath": "/var/run/token", "readOnly": True}]
    if rng.random() < 0.4:
        container["env"] = [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
    if rng.random() < 0.4:
        pods["containers"].append(SIDECAR)
    if rng.random() < 0.3:
        pods["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
    if rng.random() < 0.3:
        pods["nodeSelector"] = {"pool": "gpu"}
    if rng.random() < 0.3:
        container["resources"] = {"limits": {"cpu": "4"}, "requests": {"cpu": "2"}}
    if rng.random() < 0.3:
        container["imagePullPolicy"] = "Always"
    made: dict[str, Any] = {"apiVersion": BUILT_IN[kind], "kind": kind, "metadata": {"name": name, "namespace": "ml"}}
    if rng.random() < 0.4:
        made["metadata"]["labels"] = {"injected": "yes"}
    place = made
    path = PODS.get(kind, TEMPLATE)
    for step in path[:-1]:
        place = place.setdefault(str(step), {})
    place[str(path[-1])] = pods
    return made


def merge(manifest: Any, more: Any) -> Any:
    """Both in one: lists of objects with names item by item, other lists one behind the other."""
    if isinstance(manifest, dict) and isinstance(more, dict):
        out = dict(manifest)
        for key, value in more.items():
            out[key] = merge(out[key], value) if out.get(key) is not None else copy.deepcopy(value)
        return out
    if isinstance(manifest, list) and isinstance(more, list):
        named = {item["name"]: item for item in more if isinstance(item, dict) and "name" in item}
        out_items = [
            merge(item, named[item["name"]]) if isinstance(item, dict) and item.get("name") in named else item
            for item in manifest
        ]
        there = [item.get("name") for item in manifest if isinstance(item, dict)]
        rest = [item for item in more if not isinstance(item, dict) or item.get("name") not in there]
        return out_items + copy.deepcopy(rest)
    return more if manifest is None else manifest


class Living:
    """Asks one server about objects that live."""

    def __init__(self, client: Client, profile: Profile, threeway: ThreeWay) -> None:
        self.client, self.profile, self.threeway = client, profile, threeway

    def record(self, case: Case, rng: Random) -> dict[str, Any]:
        """`live` with the answers to kubectl apply and replace, `managed` with that to server-side apply; what the
        server does not take as an old state is left out."""
        place = collection(self.profile, case.kind, case.old)
        found: dict[str, Any] = {}
        for key, make in (("live", self.note), ("managed", self.manage)):
            old, new = rename(case, key[0])
            name = old["metadata"]["name"]
            injected = inject(case.kind, name, rng)
            if not make(place, old, injected):
                continue
            if case.kind == "Job" and rng.random() < 0.6:
                self.set_status(place, name, rng)
            live = self.client.get(f"{place}/{name}").body
            answers = self.ask_live(place, old, new, live) if key == "live" else self.ask_managed(place, new)
            found[key] = {"object": settle(live), **answers}
        return found

    def note(self, place: str, old: Any, injected: Any) -> bool:
        body = self.threeway.annotate(merge(old, injected), old)
        return self.client.post(place, body, fieldValidation="Strict").accepted

    def manage(self, place: str, old: Any, injected: Any) -> bool:
        target = f"{place}/{old['metadata']['name']}"
        kind = "application/apply-patch+yaml"
        first = self.client.patch(target, old, kind, fieldManager=MANAGER, fieldValidation="Strict")
        if not first.accepted:
            return False
        return self.client.patch(target, injected, kind, fieldManager=WEBHOOK, force="true").accepted

    def set_status(self, place: str, name: str, rng: Random) -> None:
        body = self.client.get(f"{place}/{name}").body
        body["status"] = copy.deepcopy(rng.choice(STATUSES))
        self.client.put(f"{place}/{name}/status", body)

    def ask_live(self, place: str, old: Any, new: Any, live: Any) -> dict[str, Any]:
        target = f"{place}/{old['metadata']['name']}"
        body = copy.deepcopy(new)
        if isinstance(body.get("metadata"), dict):
            body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        replaced = self.client.put(target, body, dryRun="All", fieldValidation="Strict")
        found = {"replace": read_verdict(replaced, {**new, "live": settle(live)})}
        patch = self.threeway.patch(old, new, live)
        if isinstance(patch, str):
            return {**found, "threeWay": {"accepted": False, "client": patch}}
        kind = "application/strategic-merge-patch+json"
        answer = self.client.patch(target, patch, kind, dryRun="All", fieldValidation="Strict")
        return {**found, "threeWay": read_verdict(answer, {**new, "live": settle(live)})}

    def ask_managed(self, place: str, new: Any) -> dict[str, Any]:
        query = {"fieldManager": MANAGER, "force": "true", "fieldValidation": "Strict", "dryRun": "All"}
        target = f"{place}/{new['metadata']['name']}"
        answer = self.client.patch(target, new, "application/apply-patch+yaml", **query)
        return {"apply": read_verdict(answer, new)} if message_of(answer) or answer.accepted else {}


def rename(case: Case, prefix: str) -> tuple[Any, Any]:
    old, new = copy.deepcopy(case.old), copy.deepcopy(case.object)
    old["metadata"]["name"] = new["metadata"]["name"] = f"{prefix}{case.old['metadata']['name']}"
    return old, new


def settle(value: Any) -> Any:
    """With the same uid and the same time everywhere."""
    if isinstance(value, dict):
        return {key: settle(item) for key, item in value.items()}
    if isinstance(value, list):
        return [settle(item) for item in value]
    return TIME.sub(TIMES, UID.sub(UIDS, value)) if isinstance(value, str) else value
