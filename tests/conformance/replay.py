"""Recorded answers, our answers to the same requests, and where they differ.

Differences are texts, empty when there is none. Not compared, because it is not ours to know: the value that the server
prints of a whole pod template (it holds a uid), and the diff of pod specs behind rule P6.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from conformance.offline import create_from_text
from krmfn.checks.server.admission import Facts
from krmfn.checks.server.apply import apply, apply_server_side
from krmfn.checks.server.requests import STORED_VERSION, create, mark_stored, update, update_status
from krmfn.checks.server.schema import Kind, find_kind
from krmfn.checks.server.strategy import STORED_UID
from krmfn.checks.server.verdict import Verdict
from krmfn.krm.paths import format_path

Record = dict[str, Any]

DATA = Path(__file__).parents[2] / "conformance" / "data"
SETS = ("verdicts", "recorded")
ALL = "GenericWorkload TopologyAwareWorkloadScheduling DRAWorkloadResourceClaims WorkloadWithJob"
PROFILES = {
    "1.35-was": "GenericWorkload GangScheduling",
    "1.36-was": "GenericWorkload GangScheduling",
    "1.36-was-all": f"{ALL} GangScheduling WorkloadAwarePreemption",
    "1.37-was": "GenericWorkload",
    "1.37-was-all": f"{ALL} CompositePodGroup PodGroupPreemptionPolicy",
}
GROUPS = {"Job": "batch", "CronJob": "batch", "Pod": ""}
REASONS = {
    "Required": "FieldValueRequired",
    "Invalid": "FieldValueInvalid",
    "NotSupported": "FieldValueNotSupported",
    "Duplicate": "FieldValueDuplicate",
    "TooMany": "FieldValueTooMany",
    "TooLong": "FieldValueTooLong",
    "Forbidden": "FieldValueForbidden",
}


class PriorityClass(NamedTuple):
    """A class of the recorded servers."""

    value: int
    preemption_policy: str
    default: bool = False


CLASSES = {
    "high": PriorityClass(1000, "PreemptLowerPriority"),
    "normal": PriorityClass(100, "PreemptLowerPriority"),
    "low": PriorityClass(-10, "Never"),
}
FACTS = Facts(
    CLASSES,
    frozenset(),
    {(namespace, "train"): frozenset(("workers", "driver")) for namespace in ("default", "ml")},
    frozenset((namespace, "gang-pg") for namespace in ("default", "ml")),
    True,
)


@cache
def read_records(which: str, profile: str) -> tuple[Record, ...]:
    """All records of a file."""
    with gzip.open(DATA / which / f"{profile}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines)


def list_updates(which: str, profile: str) -> Iterator[Record]:
    """The records that change something."""
    return (record for record in read_records(which, profile) if record["operation"] == "update")


def kind_of(record: Record) -> Kind:
    """The kind that the request was sent to."""
    gates = dict.fromkeys(PROFILES[record["profile"]].split(), True)
    kind = find_kind(GROUPS.get(record["kind"], "scheduling.k8s.io"), record["kind"], record["release"], gates)
    assert kind is not None
    return kind


def store(record: Record) -> dict[str, Any]:
    """The old object as the server held it."""
    kind = kind_of(record)
    created = create(kind, record["old"], FACTS)
    assert created.accepted, created.message
    return mark_stored(kind, created.stored)


def fill_body(record: Record) -> Any:
    """The body that was sent: with what was carried over and the resourceVersion."""
    body = copy.deepcopy(record["object"])
    sent = record["update"]
    for path, value in sent.get("carried", {}).items():
        *parents, last = path.split(".")
        place = body
        for name in parents:
            place = place.setdefault(name, {})
        place[last] = json.loads(json.dumps(value).replace("<uid>", STORED_UID))
    if sent["resourceVersion"] and isinstance(body, dict) and isinstance(body.setdefault("metadata", {}), dict):
        body["metadata"]["resourceVersion"] = STORED_VERSION
    return body


def answer(record: Record) -> Verdict:
    """Our answer to the main request."""
    kind = kind_of(record)
    if record["operation"] == "create":
        if "raw" in record:
            return create_from_text(kind, record["raw"].encode(), FACTS)
        return create(kind, record["object"], FACTS)
    if record["operation"] == "update":
        return update(kind, fill_body(record), store(record), FACTS)
    return update_status(kind, fill_body(record), store(record))


def answer_apply(record: Record, server_side: bool) -> Verdict:
    """Our answer to the same change as an apply."""
    way = apply_server_side if server_side else apply
    return way(kind_of(record), record["object"], record["old"], store(record), FACTS)


def compare(verdict: Verdict, expected: dict[str, Any]) -> str:
    """What differs: the code, the set of (type, path), a text, a warning."""
    if verdict.code != expected["code"]:
        return f"code {verdict.code} ({verdict.message}), expected {expected['code']} ({expected.get('message')})"
    if "causes" in expected and verdict.code == 422:
        ours = {(REASONS[cause.type], format_path(cause.path), _shorten(cause.message)) for cause in verdict.causes}
        theirs = {(cause["reason"], cause["field"], _shorten(cause["message"])) for cause in expected["causes"]}
        if ours != theirs:
            return f"only ours: {sorted(ours - theirs)}, only theirs: {sorted(theirs - ours)}"
    elif verdict.code >= 300 and _shorten(verdict.message) != _shorten(expected["message"]):
        return f"text {verdict.message!r}, expected {expected['message']!r}"
    warnings = tuple(expected.get("warnings", ()))
    return "" if verdict.warnings == warnings else f"warnings {verdict.warnings}, expected {warnings}"


def _shorten(message: str) -> str:
    """Without what cannot be told offline, and no longer than texts are recorded."""
    if message.startswith(('Invalid value: {"', "Invalid value: {…}")) and ("Containers" in message or "…" in message):
        return "Invalid value: {…}: field is immutable"
    if message.startswith("failed to create typed patch object"):
        return _shorten_patch(message)
    return message.split("\n@@", maxsplit=1)[0].replace("<random>", "")[:2900]


def _shorten_patch(message: str) -> str:
    """The first problem, without Go's view of a wrong value. Several problems come in the order of a Go map."""
    if "errors:\n" in message:
        head, _, rest = message.partition("errors:\n")
        return head + min(line.strip().split(", got")[0] for line in rest.split("\n  "))
    return message.split(", got", maxsplit=1)[0]
