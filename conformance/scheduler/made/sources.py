"""Made-up workloads of every kind that becomes a gang, with groups as `krmfn generate` writes them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

from conformance.scheduler.made.clusters import HOST, RACK, ZONE
from conformance.scheduler.made.templates import fill, make_template
from krmfn.config import read_settings
from krmfn.krm import Item
from krmfn.pipeline import generate

Value = dict[str, Any]


def make_source(random: Random, nodes: list[Value], name: str, release: str, gates: dict[str, bool]) -> Value | None:
    """A gang `{kind, objects}` of a workload and the groups that are generated for it; None when there are none."""
    make = random.choice(KINDS)
    workload = make(random, nodes, name)
    kind = workload["kind"]
    notes = {"krmfn.dev/gang": "true"}
    if kind in ("RayCluster", "JobSet", "LeaderWorkerSet", "RayJob") and random.random() < 0.5:
        notes["krmfn.dev/granularity"] = "Group"
    elif random.random() < 0.35:
        notes["krmfn.dev/min-count"] = str(random.randint(1, 5))
    if random.random() < 0.3:
        notes["krmfn.dev/topology-key"] = random.choice((RACK, RACK, ZONE, HOST))
    if random.random() < 0.3:
        notes["krmfn.dev/disruption-mode"] = random.choice(("All", "Single"))
    workload["metadata"] |= {"namespace": "ml", "annotations": notes}
    objects = add_groups([workload], release, gates)
    return {"kind": kind, "objects": objects} if objects else None


def add_groups(workloads: list[Value], release: str, gates: dict[str, bool]) -> list[Value]:
    """`workloads` linked, with the groups that krmfn generates for them; empty when it refuses or links nothing."""
    spec: Value = {"kubernetes": {"version": release, "featureGates": dict(gates)}}
    spec["kuberay"] = {"version": "1.7"}
    settings = read_settings({**_meta("krmfn.dev/v1alpha1", "GangScheduling", "c"), "spec": spec})
    items = [Item.new(copy.deepcopy(workload)) for workload in workloads]
    outcome = generate(items, settings)
    if not outcome.added or any(result.severity == "error" for result in outcome.results):
        return []
    return [*(_plain(item.value) for item in items), *(_plain(addition.value) for addition in outcome.added)]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value


def _meta(api_version: str, kind: str, name: str) -> Value:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}


def _job_spec(random: Random, nodes: list[Value], name: str, template: Value | None = None) -> Value:
    template = template or make_template(random, nodes, name)
    pods = fill(random, nodes, template, random.choice((1, 2, 2, 3, 3, 4, 5, 6, 8, 12)))
    spec: Value = {"parallelism": pods, "completions": pods + random.choice((0, 0, 0, -1, 2)) or 1}
    if random.random() < 0.6:
        spec["completionMode"] = "Indexed"
    template["spec"]["restartPolicy"] = "Never"
    return {**spec, "backoffLimit": 3, "template": template}


def _job(random: Random, nodes: list[Value], name: str) -> Value:
    return {**_meta("batch/v1", "Job", name), "spec": _job_spec(random, nodes, name)}


def _ray_spec(random: Random, nodes: list[Value], name: str) -> Value:
    workers = []
    for number in range(random.choice((1, 1, 1, 2, 2, 3))):
        replicas = random.choice((1, 1, 2, 2, 3, 4, 6))
        group: Value = {"groupName": "wvu"[number], "replicas": replicas, "minReplicas": random.randint(0, replicas)}
        group |= {"maxReplicas": replicas, "rayStartParams": {}}
        if random.random() < 0.15:
            group["numOfHosts"] = 2
        workers.append({**group, "template": make_template(random, nodes, name)})
    head = make_template(random, nodes, name, 0.8)
    spec: Value = {"rayVersion": "2.52.0", "headGroupSpec": {"rayStartParams": {}, "template": head}}
    return {**spec, "workerGroupSpecs": workers}


def _ray_cluster(random: Random, nodes: list[Value], name: str) -> Value:
    return {**_meta("ray.io/v1", "RayCluster", name), "spec": _ray_spec(random, nodes, name)}


def _ray_job(random: Random, nodes: list[Value], name: str) -> Value:
    spec = {"entrypoint": "python main.py", "rayClusterSpec": _ray_spec(random, nodes, name)}
    return {**_meta("ray.io/v1", "RayJob", name), "spec": spec}


def _job_set(random: Random, nodes: list[Value], name: str) -> Value:
    jobs = []
    for number in range(random.choice((1, 2, 2, 3))):
        replicas = random.choice((1, 1, 2))
        jobs.append({"name": "abc"[number], "replicas": replicas, "template": {"spec": _job_spec(random, nodes, name)}})
    return {**_meta("jobset.x-k8s.io/v1alpha2", "JobSet", name), "spec": {"replicatedJobs": jobs}}


def _leader_worker_set(random: Random, nodes: list[Value], name: str) -> Value:
    template: Value = {"size": random.choice((2, 3, 4, 5)), "workerTemplate": make_template(random, nodes, name)}
    if random.random() < 0.6:
        template["leaderTemplate"] = make_template(random, nodes, name, 0.8)
    spec = {"replicas": 1, "leaderWorkerTemplate": template}
    return {**_meta("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", name), "spec": spec}


def _deployment(random: Random, nodes: list[Value], name: str) -> Value:
    template = make_template(random, nodes, name)
    spec: Value = {"replicas": random.randint(1, 6), "selector": {"matchLabels": {"app": name}}, "template": template}
    return {**_meta("apps/v1", random.choice(("Deployment", "ReplicaSet")), name), "spec": spec}


def _stateful_set(random: Random, nodes: list[Value], name: str) -> Value:
    template = make_template(random, nodes, name)
    spec: Value = {"replicas": random.randint(1, 5), "selector": {"matchLabels": {"app": name}}, "template": template}
    if random.random() < 0.8:
        spec["podManagementPolicy"] = "Parallel"
    return {**_meta("apps/v1", "StatefulSet", name), "spec": {**spec, "serviceName": name}}


KINDS: tuple[Callable[[Random, list[Value], str], Value], ...] = (
    *(_job, _job, _job, _ray_cluster, _ray_cluster, _ray_job, _job_set),
    *(_leader_worker_set, _deployment, _stateful_set),
)
