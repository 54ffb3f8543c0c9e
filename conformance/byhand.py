"""Requests that people thought of: what is really written wrong, created, and changed in three ways where it lives.

`generate/byhand/*.yaml` holds an object of each kind and edits of it; the servers' answers are kept. What is
compared is the stage, from text to findings: an error exactly where the server refuses, about fields that it names.
"""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from conformance.accept import find_classes, read_resources, widest_profile
from conformance.address import namespace_of
from conformance.client import Answer, Client
from conformance.custom import find_path, install, list_kinds
from conformance.customchanges import merge_three_ways, write_whole
from conformance.definitions import list_projects
from conformance.fixtures import create_fixtures
from conformance.generate.tables import put, read_place
from conformance.living import merge, settle
from conformance.record import read_verdict
from conformance.server import serve
from conformance.storage import Record
from conformance.threeway import ThreeWay, run_threeway
from conformance.versions import HERE, Release
from krmfn.checks.server import check
from krmfn.config import read_settings
from krmfn.config.settings import Settings
from krmfn.krm import Stream
from krmfn.model.findings import Finding
from krmfn.model.rules import RULES
from krmfn.server.spell import spell_path

REQUESTS = HERE / "generate" / "byhand"
RECORDED = HERE / "data" / "byhand.jsonl.xz"
STRICT = {"dryRun": "All", "fieldValidation": "Strict"}
LONGEST = 300
#: How a disagreement begins of which the stage itself says that it may be one.
DOUBTED = "wrong acceptance (doubted)"
MANAGER, WEBHOOK = "kubectl", "webhook"
APPLY = "application/apply-patch+yaml"
#: The groups of servers whose types kubectl does not know.
NOT_OF_KUBECTL = ("apiextensions.k8s.io", "apiregistration.k8s.io")
#: The rules that say that an object was not judged, or not wholly.
DOUBTS = ("value-unknown", "custom-rule", "priority-class-unknown", "unknown-field")
#: Where a server says that something is (a CustomResourceDefinition has the fields of v1beta1), and where it is.
AS_WRITTEN = {
    "spec.validation.": "spec.versions[0].schema.",
    "spec.additionalPrinterColumns": "spec.versions[0].additionalPrinterColumns",
    "spec.subresources": "spec.versions[0].subresources",
    ".JSONPath": ".jsonPath",
    ".webhookClientConfig": ".webhook.clientConfig",
    "default.[": "default[",
    "metadata.taints": "spec.taints",
    "spec.attachedRequired": "spec.attachRequired",
    ".conversionReviewVersions": ".webhook.conversionReviewVersions",
}
#: What else the cluster has decides: classes, quotas, addresses.
OF_CLUSTERS = re.compile(
    "no PriorityClass with name|provided port is|provided IP is|failed to allocate|configured (on|for) (this|dual)"
    "|not found$|There is already|already (exists|allocated)|priority admission controller computed"
    "|label on the containing namespace"
)


class Request(NamedTuple):
    """`way` is create, replace, apply or server-side-apply; a change is made of `old`, after `injected` was applied to
    it by somebody else. `text` is the manifest where its spelling counts."""

    way: str
    object: Any
    old: Any = None
    injected: Any = None
    text: str = ""


def record_release(release: Release) -> list[Record]:
    """Asks a server of the release with all gates on and the newest kinds of other projects."""
    profile = widest_profile(release.name)
    requests = [request for file in sorted(REQUESTS.glob("*.yaml")) for request in read_requests(file)]
    installed = {project: list(row["versions"])[-1] for project, row in list_projects().items()}
    head = {"release": release.name, "gates": profile.gates, "operators": installed}
    with serve(profile) as running, run_threeway(release) as threeway:
        assert threeway is not None
        create_fixtures(running.client, profile)
        make_classes(running.client, requests)
        for project, version in installed.items():
            install(running.client, project, version)
        asker = Asker(running.client, _wait_for_kinds(running.client, installed), threeway, head)
        return [record for request in requests if (record := asker.ask(request)) is not None]


def _wait_for_kinds(client: Client, installed: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """What the server lists, once it lists all kinds that it serves: that takes it some seconds."""
    wanted = {
        (f"{group}/{api_version}", kind)
        for project, version in installed.items()
        for group, kind, api_version in list_kinds(project, version)
        if client.get(find_path(project, group, kind, api_version)).status == 200
    }
    deadline = time.monotonic() + 120
    while not wanted <= (found := read_resources(client)).keys():
        assert time.monotonic() < deadline, wanted - found.keys()
        time.sleep(1)
    return found


def read_requests(file: Path) -> Iterator[Request]:
    for name, row in yaml.load(file.read_text(), yaml.CSafeLoader).items():
        yield from _read_row(name, row)


def _read_row(name: str, row: Mapping[str, Any]) -> Iterator[Request]:
    base = write_whole(row["object"])
    yield Request("create", base)
    for edits in row.get("create", ()):
        yield Request("create", edit(base, edits))
    for text in row.get("text", ()):
        yield Request("create", None, text=text)
    for number, edits in enumerate(row.get("change", ())):
        before = edit(base, edits.get("OLD", {}))
        changes = {place: value for place, value in edits.items() if place != "OLD"}
        for way in ("replace", "apply", "server-side-apply"):
            word = f"{name.lower()}-{number}-{way[0]}"
            named = row.get("named", {"metadata.name": "{}"})
            old = edit(before, {place: text.format(word) for place, text in named.items()})
            yield Request(way, edit(old, changes), old, row.get("injected"))


def edit(body: Any, edits: Mapping[str, Any]) -> Any:
    """The object with other values at some places; a place with `-` in front of it goes."""
    new = copy.deepcopy(body)
    for place, value in edits.items():
        where = read_place(place.removeprefix("-"))
        if place.startswith("-"):
            *parents, last = where
            inner = new
            for step in parents:
                inner = inner[step]
            del inner[last]
        else:
            put(new, where, write_whole(value))
    return new


class Asker:
    """Asks one server; `head` is what its records begin with."""

    def __init__(self, client: Client, paths: Mapping[tuple[str, str], str], threeway: ThreeWay, head: Record) -> None:
        self.client, self.paths, self.threeway, self.head = client, paths, threeway, head

    def ask(self, request: Request) -> Record | None:
        """The answer; None where the server does not take the old object."""
        body = request.object if not request.text else yaml.load(request.text, yaml.CSafeLoader)
        shown = request.old or body
        place = self.paths.get((shown.get("apiVersion"), shown.get("kind")))
        if place is None:  # kubectl asks first which kinds there are
            message = f'no matches for kind "{shown.get("kind")}" in version "{shown.get("apiVersion")}"'
            known = {"text": request.text} if request.text else {"object": body}
            return {**self.head, "way": "create", **known, "code": 404, "message": message}
        path = place.replace("{namespace}", namespace_of(shown))
        if request.way == "create":
            sent = request.text.encode() if request.text else body
            kind = "application/yaml" if request.text else "application/json"
            answer = self.client.send("POST", path, sent, STRICT, kind)
            known = {"text": request.text} if request.text else {"object": body}
            return {**self.head, "way": "create", **known, **_read(answer, request.text or body)}
        return self.change(path, request)

    def change(self, place: str, request: Request) -> Record | None:
        """The answer to a change of the object as it lives."""
        old, new, way = request.old, request.object, request.way
        path = f"{place}/{old['metadata']['name']}"
        self.client.delete(path, gracePeriodSeconds="0")
        head = {"apiVersion": old["apiVersion"], "kind": old["kind"], "metadata": {"name": old["metadata"]["name"]}}
        more = edit(head, request.injected or {})
        if way == "server-side-apply":
            made = self.client.patch(path, old, APPLY, fieldManager=MANAGER)
            if made.accepted and request.injected and old["kind"] != "Pod":
                made = self.client.patch(path, more, APPLY, fieldManager=WEBHOOK, force="true")
        else:
            body = self.threeway.annotate(merge(old, more), old)
            made = self.client.post(place, body, fieldManager="kubectl-client-side-apply")
        if not made.accepted:
            return None
        live = self.client.get(path).body
        served = self.paths.get((new.get("apiVersion"), new.get("kind")), "").replace("{namespace}", namespace_of(old))
        answer = self.send(way, f"{served or place}/{old['metadata']['name']}", old, new, live)
        while answer is not None and "please apply your changes to the latest version" in str(answer.body):
            live = self.client.get(path).body  # a controller was faster
            answer = self.send(way, f"{served or place}/{old['metadata']['name']}", old, new, live)
        self.client.delete(path, gracePeriodSeconds="0")
        if answer is None:
            return None
        return {**self.head, "way": way, "old": settle(live), "object": new, **_read(answer, {**new, "live": live})}

    def send(self, way: str, path: str, old: Any, new: Any, live: Any) -> Answer | None:
        if way == "server-side-apply":
            return self.client.patch(path, new, APPLY, fieldManager=MANAGER, force="true", **STRICT)
        if way == "replace":
            body = copy.deepcopy(new)
            if isinstance(body.get("metadata"), dict):
                body["metadata"].setdefault("resourceVersion", live["metadata"]["resourceVersion"])
            return self.client.put(path, body, **STRICT)
        group = str(old["apiVersion"]).partition("/")[0]
        if group in NOT_OF_KUBECTL or ("." in group and not group.endswith(".k8s.io")):
            patch = merge_three_ways(old, self.threeway.annotate(new, new), live)
            return self.client.patch(path, patch, "application/merge-patch+json", **STRICT)
        patch = self.threeway.patch(old, new, live)
        if isinstance(patch, str):
            return None
        return self.client.patch(path, patch, "application/strategic-merge-patch+json", **STRICT)


def _read(answer: Answer, body: Any) -> Record:
    verdict = read_verdict(answer, body)
    record: Record = {"code": verdict["code"]}
    if not answer.accepted:
        record["message"] = verdict["message"][:LONGEST]
        record["fields"] = sorted({cause["field"] for cause in verdict.get("causes", ())})
    return record


@cache
def _read_settings(release: str, gates: tuple[str, ...], operators: str) -> Settings:
    kubernetes = {"version": release, "featureGates": dict.fromkeys(gates, True)}
    spec: dict[str, Any] = {"kubernetes": kubernetes, "select": "All", **json.loads(operators)}
    return read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})


def find(record: Record) -> list[Finding]:
    """What the stage says of a request."""
    operators = dict(record.get("operators", {}))
    kuberay = operators.pop("kubeRay", None)
    known: dict[str, Any] = {"operators": operators} if operators else {}
    known |= {"kuberay": {"version": kuberay}} if kuberay else {}
    settings = _read_settings(record["release"], tuple(record["gates"]), json.dumps(known))
    text = record.get("text") or json.dumps(record["object"])
    items = Stream.parse(text.encode("utf-8", "surrogatepass")).items
    old = Stream.parse(json.dumps(record["old"]).encode()).items if "old" in record else None
    way = "apply" if record["way"] == "create" else record["way"]
    return list(check(items, old, settings, way))


def differ(record: Record) -> str:
    """What is wrong about our answer; empty where it is right, or is not ours to give."""
    if OF_CLUSTERS.search(record.get("message", "")):
        return ""
    found = find(record)
    told = [each for each in found if (each.severity or RULES[each.rule].severity) == "error"]
    if record["code"] < 300:
        return "wrong refusal: " + "; ".join(f"{each.rule}: {each.message}" for each in told) if told else ""
    if not told:
        kind = DOUBTED if any(each.rule in DOUBTS for each in found) else "wrong acceptance"
        return f"{kind}: {record['code']} {record.get('message', '')}"
    theirs = set(map(_read_field, record.get("fields", ()))) - {"patch", "<nil>"}
    ours = {spell_path(each.path) for each in told}
    return f"other fields: {ours} {theirs}" if theirs and not ours & theirs else ""


def _read_field(name: str) -> str:
    for theirs, ours in AS_WRITTEN.items():
        name = name.replace(theirs, ours)
    return name


def make_classes(client: Client, requests: Iterable[Request]) -> None:
    """The PriorityClasses that requests name."""
    named = {name for request in requests for name in find_classes([request.object, request.old])}
    for name in sorted(named):
        body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 7}
        client.post("/apis/scheduling.k8s.io/v1/priorityclasses", body)
