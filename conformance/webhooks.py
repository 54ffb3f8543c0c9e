"""What webhooks refuse: those of JobSet and LeaderWorkerSet are asked about made-up objects, and the answers compared
with the rule `webhook-refuses`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import krmfn
from conformance.build import run_go
from conformance.storage import Record
from conformance.versions import HERE

RECORDED = HERE / "data" / "webhooks.jsonl.xz"
PROGRAM = HERE / "go" / "webhooks"
RULE = "webhook-refuses"
_POD = {"spec": {"containers": [{"name": "a", "image": "b"}]}}


def make_objects(seed: int, count: int) -> Iterator[Record]:
    """JobSets and LeaderWorkerSets that the definitions allow."""
    chance = Random(f"webhooks/{seed}")
    for _ in range(count):
        yield chance.choice((_make_job_set, _make_worker_set))(chance)


def _make_job_set(chance: Random) -> Record:
    every = ["a", "workers", "driver", "a-longer-name-of-workers", "x" * chance.randint(1, 50)]
    names = chance.sample(every, chance.randint(1, 3))
    jobs = []
    for name in names:
        spec: Record = {"template": _POD}
        for field, values in (
            ("parallelism", (1, 2, 11)),
            ("completions", (1, 2, 11, 1001)),
            ("completionMode", ("Indexed", "NonIndexed")),
        ):
            if chance.random() < 0.6:
                spec[field] = chance.choice(values)
        job: Record = {"name": name, "groupName": "default", "replicas": chance.choice((0, 1, 2, 10, 11, 101))}
        job["template"] = {"spec": spec}
        if chance.random() < 0.3:
            waited = [
                {"name": chance.choice([*names, "b"]), "status": "Ready"} for _ in range(chance.choice((0, 1, 1)))
            ]
            job["dependsOn"] = waited
        jobs.append(job)
    spec = {"replicatedJobs": jobs}
    targets = {"targetReplicatedJobs": [chance.choice([*names, "b"])]}
    if chance.random() < 0.3:
        spec["successPolicy"] = {"operator": "All", **targets}
    if chance.random() < 0.3:
        spec["failurePolicy"] = {"maxRestarts": 1, "rules": [{"name": "r", "action": "FailJobSet", **targets}]}
    name = chance.choice(("t", "a-train", "n" * chance.randint(1, 63)))
    return _make("jobset.x-k8s.io/v1alpha2", "JobSet", name, spec)


def _make_worker_set(chance: Random) -> Record:
    template: Record = {"workerTemplate": _POD, "size": chance.randint(1, 9), "restartPolicy": "Default"}
    if chance.random() < 0.6:
        template["subGroupPolicy"] = {"subGroupSize": chance.randint(1, 6)}
        if chance.random() < 0.5:
            kinds = ("LeaderWorker", "LeaderExcluded")
            template["subGroupPolicy"]["subGroupPolicyType"] = chance.choice(kinds)
    update: Record = {"partition": 0, "maxUnavailable": 1, "maxSurge": 0}
    if chance.random() < 0.6:
        update["maxUnavailable"] = chance.choice((0, 1, 2, "0%", "20%", "100%"))
        update["maxSurge"] = chance.choice((0, 1, "0%", "25%"))
    rollout = {"type": "RollingUpdate", "rollingUpdateConfiguration": update}
    spec: Record = {"replicas": chance.choice((0, 1, 3)), "startupPolicy": "LeaderCreated", "rolloutStrategy": rollout}
    name = chance.choice(("t", "serve", "a.b", "1a", "n" * chance.randint(1, 70)))
    return _make("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", name, {**spec, "leaderWorkerTemplate": template})


def _make(api_version: str, kind: str, name: str, spec: Record) -> Record:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "ml"}, "spec": spec}


def ask_webhooks(objects: Iterable[Record]) -> list[Record]:
    """The objects with what the webhooks say of them, empty where they are taken. Builds the program (needs Go)."""
    listed = list(objects)
    lines = "".join(json.dumps(each) + "\n" for each in listed)
    answers = run_go(["run", "-mod=mod", "."], PROGRAM, lines).splitlines()
    return [{"object": each, "told": json.loads(line)} for each, line in zip(listed, answers, strict=True)]


def differ(record: Record) -> str:
    """What is wrong about our answer; empty when it is right."""
    config: Any = {"metadata": {"name": "gangs"}, "spec": {"kubernetes": {"version": "1.37"}}}
    found = krmfn.validate(json.dumps(record["object"]).encode(), config=config).of(RULE)
    if bool(found) is bool(record["told"]):
        return ""
    return f"said {[each.message for each in found]}, not {record['told']!r}"
