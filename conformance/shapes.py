"""Built-in kinds that no rules speak of: real servers are asked about made-up objects, and the shapes are compared.

What a server says before a kind's own validation (HTTP 400) must be said in the same words. Of what it says later only
metadata is known here: nothing else may be said, and nothing of an object that it takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from conformance.client import Client
from conformance.generate.walks import walk_shape
from conformance.server import serve
from conformance.storage import Record
from conformance.versions import HERE, Profile, Release
from krmfn.server.others import find_misfits, find_shape
from krmfn.server.spell import spell_path

SERVED = HERE / "data" / "served.json"
RECORDED = HERE / "data" / "shapes.jsonl.xz"
#: Admission fills in or looks up what these are about, or they are answers instead of objects.
LEFT_OUT = ("Binding", "TokenReview", "SubjectAccessReview", "LocalSubjectAccessReview", "SelfSubjectAccessReview",
            "SelfSubjectRulesReview", "SelfSubjectReview")  # fmt: skip


def list_kinds(release: str) -> Iterator[tuple[str, str, str]]:
    """apiVersion, kind and path of each kind that a server has by default and that has a shape."""
    served: dict[str, dict[str, list[Any]]] = json.loads(SERVED.read_text())[f"{release} default"]
    for version, kinds in served.items():
        for kind, (resource, namespaced) in kinds.items():
            if find_shape(version, kind, release) is not None and kind not in LEFT_OUT:
                root = f"/apis/{version}" if "/" in version else f"/api/{version}"
                yield version, kind, f"{root}/namespaces/default/{resource}" if namespaced else f"{root}/{resource}"


def record_release(release: Release, seed: int, count: int) -> list[Record]:
    """Asks about `count` objects of each kind."""
    with serve(Profile(f"{release.name}-shapes", release, ()), "api/legacy=true") as running:
        return [
            ask(running.client, release.name, path, body)
            for version, kind, path in list_kinds(release.name)
            for body in make_bodies(release.name, version, kind, seed, count)
        ]


def make_bodies(release: str, version: str, kind: str, seed: int, count: int) -> Iterator[dict[str, Any]]:
    root = find_shape(version, kind, release)
    assert root is not None
    rng = Random(f"{seed}/{release}/{version}/{kind}")
    for _ in range(count):
        yield walk_shape(root, version, kind, rng)


def ask(client: Client, release: str, path: str, body: dict[str, Any]) -> Record:
    answer = client.post(path, body, dryRun="All", fieldValidation="Strict")
    message = "" if answer.accepted else str(answer.body.get("message", ""))[:9000]
    return {"release": release, "object": body, "code": answer.status, "message": message}


def differ(record: Record) -> str:
    """What is wrong about our answer; empty when it is right."""
    body = record["object"]
    root = find_shape(body["apiVersion"], body["kind"], record["release"])
    assert root is not None
    causes = find_misfits(root, body, body["apiVersion"])
    texts = [
        f"{spell_path(cause.path)}: {cause.message}" if cause.type == "Required" else cause.message for cause in causes
    ]
    if record["code"] == 400 and "cannot be handled as" in record["message"]:
        strict = "strict decoding error: " if "strict decoding error: " in record["message"] else ""
        wanted = record["message"].partition(f"cannot be handled as a {body['kind']}: {strict}")[2]
        return "" if ", ".join(texts) == wanted else f"said {texts}"
    answer = record["message"] if record["code"] >= 400 else ""
    # A server names what the only version of a definition has as v1beta1 did, which had it outside of the versions.
    said = [text for text in texts if text not in answer and text.replace("spec.versions[0].", "spec.") not in answer]
    return "".join(f"said {text}" for text in said)
