"""How many of what: an endless stream of cases for one profile, fixed by its seed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from conformance.address import BUILT_IN, GROUP, PLAIN
from conformance.generate.breakage import break_once
from conformance.generate.changes import change_once
from conformance.generate.kinds import STATUS, shape_of
from conformance.generate.metadata import odd_metadata
from conformance.generate.oddities import odd_cases
from conformance.generate.rawtext import raw_body
from conformance.generate.settle import settle
from conformance.generate.shapes import Struct, make
from conformance.generate.sweep import storable, sweep
from conformance.generate.tables import tables_in_turn, tables_together
from conformance.generate.walks import walk
from conformance.record import Case
from conformance.versions import Profile

# The kinds that rules speak of, and those that hold nothing but a pod template with a link.
CORE = {"Workload": 10, "PodGroup": 8, "CompositePodGroup": 4, "Job": 4, "CronJob": 1.5, "Pod": 2.5}
OTHERS = dict.fromkeys(
    ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "PodTemplate"), 1.0
)
# Every kind that makes pods, with all that pods hold.
TABLES = {
    "Pod": 5.0,
    "Job": 4.0,
    "CronJob": 2.0,
    "Deployment": 2.0,
    "StatefulSet": 2.0,
    **dict.fromkeys(("DaemonSet", "ReplicaSet", "ReplicationController", "PodTemplate"), 1.0),
}
# Kinds that make none: those that manage the cluster, and the others. The tables would rename an APIService, whose name
# says what it is; people thought of requests for it (byhand).
_NAMES = """
    ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
    FlowSchema PriorityLevelConfiguration CSIDriver Node
"""
GOVERNING = dict.fromkeys(_NAMES.split(), 1.0)
WITHOUT_PODS = {kind: 1.0 for kind in PLAIN if kind not in {*GOVERNING, "APIService"}}
CREATE, UPDATE = 0.4, 0.96
BY_HAND = 0.5
WALKS = 0.5
STATUS_ALONE = Struct({"status": STATUS}, ("status",))


def cases(profile: Profile, seed: int, wanted: Mapping[str, float] = CORE) -> Iterator[Case]:
    """Made-up cases without end, with all hand-made and systematic ones strewn in, in another order for each seed."""
    rng = Random(f"{seed}/{profile.name}")
    by_hand = [case for case in (*odd_cases(profile), *sweep(profile)) if case.kind in wanted]
    by_tables = wanted in (TABLES, WITHOUT_PODS, GOVERNING)
    if by_tables:
        by_hand = [case for kind in wanted for case in tables_in_turn(profile, kind)]
    rng.shuffle(by_hand)
    kinds = [kind for kind in wanted if kind in profile.served or kind in BUILT_IN]
    weights = [wanted[kind] for kind in kinds]
    number = 0
    while True:
        number += 1
        if by_hand and rng.random() < BY_HAND:
            yield by_hand.pop()
            continue
        kind = rng.choices(kinds, weights)[0]
        if by_tables:
            if rng.random() < WALKS:
                yield walk(profile.release.name, kind, f"w{seed}-{number}", rng)
            else:
                yield tables_together(kind, f"p{seed}-{number}", rng)
            continue
        chance = rng.random()
        if chance < CREATE:
            yield make_create(profile, kind, rng)
        elif chance < UPDATE or kind not in ("PodGroup", "CompositePodGroup"):
            yield make_update(profile, kind, f"m{seed}-{number}", rng)
        else:
            yield make_status(profile, kind, f"t{seed}-{number}", rng)


def versions(profile: Profile, kind: str) -> tuple[str, ...]:
    if kind in BUILT_IN:
        return (BUILT_IN[kind],)
    return tuple(f"{GROUP}/{version}" for version in profile.served[kind])


def make_object(profile: Profile, kind: str, rng: Random) -> dict[str, Any]:
    """A valid object, as far as several fields and admission can be known here."""
    body = make(shape_of(kind, profile.release.name), rng)
    while not storable(profile, body) and rng.random() < 0.9:
        body = make(shape_of(kind, profile.release.name), rng)
    # Shapes share constants: what follows edits in place.
    body = copy.deepcopy(body)
    settle(kind, profile.release.name, body, rng)
    return {"apiVersion": rng.choice(versions(profile, kind)), "kind": kind, **body}


def make_create(profile: Profile, kind: str, rng: Random) -> Case:
    shape = shape_of(kind, profile.release.name)
    body, labels = make_object(profile, kind, rng), []
    chance = rng.random()
    if chance < 0.03:
        body["metadata"].pop("namespace", None)
        body["apiVersion"] = versions(profile, kind)[0]
        text, label = raw_body(body, shape, rng)
        return Case(f"{kind}.create.raw.{label}", kind, "create", body, raw=text)
    if chance > 0.22:
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
            body, label = break_once(body, shape, rng)
            labels.append(label)
    if rng.random() < 0.06 and isinstance(body.get("metadata"), dict):
        label, name, value = odd_metadata(rng)
        body["metadata"][name] = copy.deepcopy(value)
        labels.append(label)
    if rng.random() < 0.015:
        labels.append(retype(body, rng))
    return Case(f"{kind}.create.{'+'.join(labels) or 'valid'}", kind, "create", body)


def retype(body: dict[str, Any], rng: Random) -> str:
    name = rng.choice(("apiVersion", "kind"))
    value = rng.choice(
        (
            None,
            "",
            "v1",
            f"{GROUP}/v1",
            f"{GROUP}/v1alpha1",
            f"{GROUP}/v1alpha3",
            f"{GROUP}/v1beta1",
            "batch/v1",
            "a/b/c",
            1,
            "Workload",
            "Job",
            "podgroup",
        )
    )
    if rng.random() < 0.3:
        body.pop(name, None)
    else:
        body[name] = value
    return "type"


def make_update(profile: Profile, kind: str, name: str, rng: Random) -> Case:
    shape = shape_of(kind, profile.release.name)
    old = make_object(profile, kind, rng)
    old["metadata"] |= {"name": name, "namespace": "ml"}
    new, labels = copy.deepcopy(old), []
    if rng.random() < 0.06:
        home = "template" if kind == "PodTemplate" else "spec"
        new[home] = make_object(profile, kind, rng)[home]
        labels.append("other")
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        step = break_once if rng.random() < 0.2 else change_once
        new, label = step(new, shape, rng)
        labels.append(label)
    if rng.random() < 0.02:
        labels.append(retype(new, rng))
    return Case(
        f"{kind}.update.{'+'.join(labels)}",
        kind,
        "update",
        new,
        old=old,
        carry=rng.choice(("none", "stored")),
        resource_version=rng.random() < 0.85,
        also=rng.random() < 0.5,
    )


def make_status(profile: Profile, kind: str, name: str, rng: Random) -> Case:
    old = make_object(profile, kind, rng)
    old["metadata"] |= {"name": name, "namespace": "ml"}
    new, labels = copy.deepcopy(old), []
    status = make(STATUS, rng)
    if kind == "CompositePodGroup":
        status.pop("resourceClaimStatuses", None)
    elif rng.random() < 0.8:
        claims = old["spec"].get("resourceClaims", [])
        status["resourceClaimStatuses"] = [{"name": claim["name"], "resourceClaimName": "c"} for claim in claims]
    for _ in range(rng.choice((0, 1, 1, 2))):
        broken, label = break_once({"status": status}, STATUS_ALONE, rng)
        status = broken.get("status")
        labels.append(label)
    new["status"] = json.loads(json.dumps(status))
    if rng.random() < 0.15:
        new["spec"] = make_object(profile, kind, rng)["spec"]
        labels.append("spec")
    return Case(f"{kind}.status.{'+'.join(labels) or 'valid'}", kind, "status", new, old=old, carry="stored")
