"""Our own answer to a recorded request: the offline checker, asked the way the server was asked.

The only module of the rig that knows the checker.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any

from conformance.address import BUILT_IN, GROUP, PLURALS, namespace_of
from conformance.envelope import check_envelope, refuse_body
from conformance.fixtures import NAMESPACES, PRIORITY_CLASSES
from conformance.jsonreader import BadJson, list_repeated, read_json
from conformance.status import update_status
from conformance.storage import Record
from conformance.versions import Profile
from krmfn import server
from krmfn.krm.paths import Path
from krmfn.server import Mode, PriorityClass
from krmfn.server.admission import NO_FACTS, AdmissionFacts
from krmfn.server.requests import (
    STORED_VERSION,
    address_of,
    create,
    mark_stored,
    update,
)
from krmfn.server.schema import Kind, find_kind
from krmfn.server.strategy import STORED_UID
from krmfn.server.verdict import Verdict


class Unanswered(LookupError):
    """The checker has no way to be asked this."""


def facts_of(profile: Profile) -> AdmissionFacts:
    """What every recorded server holds."""
    classes = {
        row["metadata"]["name"]: PriorityClass(row["value"], row.get("preemptionPolicy", "PreemptLowerPriority"), False)
        for row in PRIORITY_CLASSES
    }
    workloads = {(namespace, "train"): frozenset(("workers", "driver")) for namespace in NAMESPACES}
    gangs = frozenset((namespace, "gang-pg") for namespace in NAMESPACES)
    if profile.release.name == "1.36":
        return AdmissionFacts(classes, frozenset(), workloads, gangs, True, False)
    return AdmissionFacts(classes, frozenset(), complete=True, accounts=False)


def kind_of(profile: Profile, name: str) -> Kind:
    gates = dict.fromkeys(profile.gates, True)
    group = BUILT_IN[name].rpartition("/")[0] if name in BUILT_IN else GROUP
    kind = find_kind(group, name, profile.release.name, gates)
    if kind is None:
        raise Unanswered(f"no schema of {PLURALS[name]} in {profile.release.name}")
    return kind


def create_from_text(kind: Kind, body: bytes, facts: AdmissionFacts = NO_FACTS) -> Verdict:
    """POST of an exact body."""
    try:
        value = read_json(body)
    except BadJson as error:
        return refuse_body(kind, body, (), f"couldn't get version/kind; json parse error: {error}")
    return create_from_value(kind, value, facts, list_repeated(value))


def create_from_value(
    kind: Kind, value: Any, facts: AdmissionFacts = NO_FACTS, repeated: Iterable[Path] = ()
) -> Verdict:
    """POST of a value, which may say that it is of another kind."""
    refused = check_envelope(kind, value, address_of(kind, value)) if kind.versions else None
    return refused or create(kind, value, facts, repeated)


def answer(profile: Profile, record: Record) -> Verdict:
    """The checker's answer to the main request of a record. Raises Unanswered."""
    kind, facts = kind_of(profile, record["kind"]), facts_of(profile)
    if record["operation"] == "create":
        if "raw" in record:
            return create_from_text(kind, record["raw"].encode("utf-8", "surrogatepass"), facts)
        return create_from_value(kind, record["object"], facts)
    created = create(kind, record["old"], facts)
    if not created.accepted:
        return created
    stored = mark_stored(kind, created.stored)
    body = fill_carried(record)
    # An update goes to where the old object is, whatever the new body says.
    where = address_of(kind, record["old"])._replace(name=stored["metadata"]["name"])
    refused = check_envelope(kind, body, where)
    if refused:
        return refused
    if record["operation"] == "status":
        return update_status(kind, body, stored, where)
    return update(kind, body, stored, facts, where)


def answer_apply(profile: Profile, record: Record, mode: Mode) -> Verdict:
    """The checker's answer to the same change by an apply. Raises Unanswered."""
    gates = dict.fromkeys(profile.gates, True)
    verdict = server.answer(record["object"], profile.release.name, gates, record["old"], mode, facts_of(profile))
    if verdict is None:
        raise Unanswered("kind")
    return verdict


def answer_living(profile: Profile, record: Record, way: str) -> Verdict:
    """The checker's answer to the change of an object that lives: `live.threeWay`, `live.replace`, `managed.apply`."""
    state, _, manner = way.partition(".")
    old = record[state]["object"]
    new = copy.deepcopy(record["object"])
    new["metadata"]["name"] = old["metadata"]["name"]
    modes: dict[str, Mode] = {"threeWay": "apply", "replace": "replace", "apply": "server-side-apply"}
    gates = dict.fromkeys(profile.gates, True)
    verdict = server.answer(new, profile.release.name, gates, old, modes[manner], facts_of(profile))
    if verdict is None:
        raise Unanswered("kind")
    return verdict


def fill_carried(record: Record) -> Any:
    """The body that was sent: what the server had filled in and the resourceVersion are added as recorded."""
    body = copy.deepcopy(record["object"])
    for path, value in record["update"].get("carried", {}).items():
        *parents, last = path.split(".")
        place = body
        for name in parents:
            place = place[name]
        place[last] = json.loads(json.dumps(value).replace("<uid>", STORED_UID))
    if record["update"]["resourceVersion"] and isinstance(body, dict) and isinstance(body.get("metadata"), dict):
        body["metadata"]["resourceVersion"] = STORED_VERSION
    return body


def namespace(record: Record) -> str:
    """Where the request went."""
    return namespace_of(record.get("old") or record.get("object"))
