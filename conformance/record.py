"""Sends one case to a server and writes down what it answered, in the format of the recorded files (see README.md).

Nothing is decided here: what is right is what the server says. Must not know how cases are made.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any, NamedTuple

from conformance.address import PLAIN, collection
from conformance.client import Answer, Client
from conformance.difference import carry, compare, filled_in
from conformance.threeway import ThreeWay
from conformance.versions import Profile

LONGEST_TEXT = 3000
CUT = "…<cut>"
MANAGER = "conformance"
SCHEDULING = ("Workload", "PodGroup", "CompositePodGroup")

UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z\b")
RANDOM = "[bcdfghjklmnpqrstvwxz2456789]{5}"


class Case(NamedTuple):
    """A request to make. `raw` is the exact body of a create that is no plain JSON value.

    `old` is created for real before an update or status request; `also` says that the same change is
    asked for by server-side apply and by a client's three-way apply too, `live` that it is made of an object in use.
    """

    category: str
    kind: str
    operation: str
    object: Any
    raw: str | None = None
    old: Any = None
    carry: str = "none"
    resource_version: bool = True
    also: bool = False
    live: bool = False


class Recorder:
    """Asks one server. `skipped` counts updates whose old object the server did not take."""

    def __init__(self, client: Client, profile: Profile, threeway: ThreeWay | None = None) -> None:
        self.client, self.profile, self.threeway = client, profile, threeway
        self.skipped: dict[str, int] = {}

    def record(self, identity: str, case: Case) -> dict[str, Any] | None:
        """The record, or None when there could be no update because the server refuses the old object."""
        head: dict[str, Any] = {
            "id": identity,
            "category": case.category,
            "release": self.profile.release.name,
            "profile": self.profile.name,
            "operation": case.operation,
            "kind": case.kind,
            "rules": [],
        }
        if case.operation == "create":
            return head | self.create(case)
        answered = self.update(case)
        return None if answered is None else head | answered

    def create(self, case: Case) -> dict[str, Any]:
        body = case.object if case.raw is None else case.raw.encode("utf-8", "surrogatepass")
        answer = self.client.post(
            collection(self.profile, case.kind, case.object), body, dryRun="All", fieldValidation="Strict"
        )
        sent = {"object": case.object} if case.raw is None else {"raw": case.raw}
        verdict = read_verdict(answer, case.object)
        return sent | {"verdict": verdict} | self.read_result(case, answer, case.object)

    def read_result(self, case: Case, answer: Answer, sent: Any) -> dict[str, Any]:
        if not answer.accepted or case.kind in PLAIN or case.category.endswith((".table", ".tables")):
            return {}  # what a server makes of objects in general is not written down
        returned = answer.body
        if case.operation == "status":
            # Metadata stays as it is stored: not a thing of this request.
            returned = {**returned, "metadata": sent.get("metadata", {})}
        result = scrub(compare(case.kind, sent, returned), case.object)
        return {"result": result} if result else {}

    def update(self, case: Case) -> dict[str, Any] | None:
        place = collection(self.profile, case.kind, case.old)
        created = self.client.post(place, case.old, fieldValidation="Strict")
        if not created.accepted:
            reason = f"{case.kind}: {read_verdict(created, case.old).get('message', '')[:300]}"
            self.skipped[reason] = self.skipped.get(reason, 0) + 1
            return None
        filled = filled_in(case.old, created.body)
        update: dict[str, Any] = {"carry": case.carry, "resourceVersion": case.resource_version}
        body = copy.deepcopy(case.object)
        carried: dict[str, Any] = {}
        if case.carry == "stored":
            body, carried = carry(case.kind, body, filled)
        if case.resource_version and isinstance(body, dict) and isinstance(body.get("metadata"), dict):
            body["metadata"]["resourceVersion"] = created.body["metadata"]["resourceVersion"]
        if case.kind in SCHEDULING and filled:
            update["stored"] = scrub(filled, case.old)
        if carried:
            update["carried"] = scrub(carried, case.old)
        target = f"{place}/{created.body['metadata']['name']}"
        if case.operation == "status":
            target += "/status"
        answer = self.client.put(target, body, dryRun="All", fieldValidation="Strict")
        found: dict[str, Any] = {"old": case.old, "object": case.object, "update": update}
        found |= {"verdict": read_verdict(answer, case.object)} | self.read_result(case, answer, body)
        if case.operation == "status":
            if answer.accepted:
                found["returnedStatus"] = scrub(answer.body.get("status"), body)
        elif case.also and applicable(case):
            found["apply"] = self.server_side_apply(place, case)
            if self.threeway:
                found["threeWay"] = self.three_way(place, case, self.threeway)
        return found

    def server_side_apply(self, place: str, case: Case) -> dict[str, Any]:
        """The same change by one field manager with force, under a second name."""
        old, new, name = rename(case, "s")
        kind, query = (
            "application/apply-patch+yaml",
            {"fieldManager": MANAGER, "force": "true", "fieldValidation": "Strict"},
        )
        first = self.client.patch(f"{place}/{name}", old, kind, **query)
        if not first.accepted:
            return {"skipped": f"apply of the old object answered {first.status}: {message_of(first)[:LONGEST_TEXT]}"}
        answer = self.client.patch(f"{place}/{name}", new, kind, dryRun="All", **query)
        return restore_name(read_verdict(answer, new), name, case)

    def three_way(self, place: str, case: Case, threeway: ThreeWay) -> dict[str, Any]:
        """The same change as kubectl apply makes it: a patch from (last applied, manifest, live)."""
        old, new, name = rename(case, "c")
        first = self.client.post(place, threeway.annotate(old, old), fieldValidation="Strict")
        if not first.accepted:
            return {
                "skipped": f"creation of the old object answered {first.status}: {message_of(first)[:LONGEST_TEXT]}"
            }
        patch = threeway.patch(old, new, first.body)
        if isinstance(patch, str):
            return restore_name({"accepted": False, "client": patch}, name, case)
        answer = self.client.patch(
            f"{place}/{name}", patch, "application/strategic-merge-patch+json", dryRun="All", fieldValidation="Strict"
        )
        return restore_name(read_verdict(answer, new), name, case)


def applicable(case: Case) -> bool:
    """An apply needs an object with the same type and name; anything else fails before a rule is reached."""
    new, old = case.object, case.old
    if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
        return False
    return bool(
        new.get("kind") == old["kind"]
        and new.get("apiVersion") == old["apiVersion"]
        and new["metadata"].get("name") == old["metadata"]["name"]
        and new["metadata"].get("namespace") == old["metadata"].get("namespace")
    )


def rename(case: Case, prefix: str) -> tuple[Any, Any, str]:
    old, new = copy.deepcopy(case.old), copy.deepcopy(case.object)
    name = f"{prefix}{case.old['metadata']['name']}"
    old["metadata"]["name"] = new["metadata"]["name"] = name
    return old, new, name


def restore_name(verdict: dict[str, Any], name: str, case: Case) -> dict[str, Any]:
    text = json.dumps(verdict, ensure_ascii=False)
    restored: dict[str, Any] = json.loads(text.replace(name, case.old["metadata"]["name"]))
    return restored


def message_of(answer: Answer) -> str:
    body = answer.body
    return str(body.get("message", "")) if isinstance(body, dict) else str(body)


def read_verdict(answer: Answer, body: Any) -> dict[str, Any]:
    """Accepted or not, code, and for refusals reason, message and causes as the server gave them."""
    verdict: dict[str, Any] = {"accepted": answer.accepted, "code": answer.status}
    if not answer.accepted:
        status = answer.body if isinstance(answer.body, dict) else {}
        verdict["reason"] = status.get("reason", "")
        verdict["message"] = message_of(answer)
        causes = (status.get("details") or {}).get("causes")
        if causes:
            verdict["causes"] = [
                {
                    "reason": cause.get("reason", ""),
                    "field": cause.get("field", ""),
                    "message": cause.get("message", ""),
                }
                for cause in causes
            ]
    if answer.warnings:
        verdict["warnings"] = answer.warnings
    scrubbed: dict[str, Any] = scrub(verdict, body)
    return scrubbed


def scrub(value: Any, body: Any) -> Any:
    """Takes out what differs from run to run: uids, times and generated name ends that the request did not contain."""
    text = json.dumps(body, ensure_ascii=False)
    metadata = body.get("metadata") if isinstance(body, dict) else None
    generate = metadata.get("generateName") if isinstance(metadata, dict) else None
    ending = None
    if isinstance(generate, str) and generate:
        ending = re.compile(rf"(?<![\w.-])({re.escape(generate[:58])}){RANDOM}(?![\w.])")

    def clean(content: Any) -> Any:
        if isinstance(content, dict):
            return {name: clean(each) for name, each in content.items()}
        if isinstance(content, list):
            return [clean(each) for each in content]
        if not isinstance(content, str):
            return content
        content = UID.sub(lambda found: found[0] if found[0] in text else "<uid>", content)
        content = TIME.sub(lambda found: found[0] if found[0] in text else "<time>", content)
        if ending:
            content = ending.sub(lambda found: found[0] if found[0] == generate else f"{found[1]}<random>", content)
        return content if len(content) <= LONGEST_TEXT else content[:LONGEST_TEXT] + CUT

    return clean(value)
