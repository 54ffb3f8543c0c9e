"""Random slices and random minima of roles on a real control plane: placed as asked, or not at all.

Each case has nodes of its own, which its pods select, so that many are decided at once. `python -m conformance.bridge
slices` runs them. Whether a case can start follows from how its nodes are made; nothing of krmfn is asked for that.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from conformance.bridge.live import generate, post, remove, settle, wait_for_kinds
from conformance.bridge.operators import list_pods
from conformance.bridge.record import install, print_policies
from conformance.bridge.webhook import serve_webhook
from conformance.scheduler.plane import Plane, control
from conformance.versions import read_profiles, read_releases

Value = dict[str, Any]

BATCH = 20
#: Labels of nodes, from the largest domain to the smallest.
KEYS = ("example.com/zone", "example.com/block", "example.com/rack")


class Case(NamedTuple):
    """A resource with its nodes. `whole` is how many pods start: all, or those of so many replicas of each role; `sets`
    are the sizes of slices by the label of the nodes that they share."""

    name: str
    resource: Value
    nodes: tuple[Value, ...]
    whole: int
    sets: tuple[tuple[str, int], ...] = ()


def make_slices(chance: Random, number: int) -> Case:
    """A resource cut into one to three levels, and nodes: as many domains as it needs or more, or a rack too small."""
    name = f"s{number}"
    kind = chance.choice(("Job", "StatefulSet", "JobSet", "LeaderWorkerSet", "RayCluster"))
    depth = chance.randint(1, 2 if kind == "RayCluster" else 3)
    smallest = chance.choice((1, 2, 3))
    sizes = [smallest]
    for _ in range(depth - 1):
        sizes.insert(0, sizes[0] * chance.choice((1, 2, 3)) if len(sizes) < 2 else sizes[0] * chance.choice((1, 2)))
    if any(outer == inner for outer, inner in pairwise(sizes)):
        sizes = [smallest * 2**level for level in reversed(range(depth))]
    keys = KEYS[-depth:]
    slices = chance.randint(1, 3)
    pods = sizes[0] * slices
    fits = chance.random() < 0.7
    nodes = list(_make_domains(chance, name, keys, sizes, slices, fits))
    text = ", ".join(f"{key}={size}" for key, size in zip(keys, sizes, strict=True))
    resource = _make_resource(chance, kind, name, pods, {"krmfn.dev/slices": text})
    head = 1 if kind == "RayCluster" else 0
    nodes += [_node(f"{name}-head", name, {"example.com/head": "yes"}, 1)] * head
    return Case(name, resource, tuple(nodes), (pods + head) if fits else 0, tuple(zip(keys, sizes, strict=True)))


def _make_domains(
    chance: Random, name: str, keys: tuple[str, ...], sizes: list[int], slices: int, fits: bool
) -> Iterator[Value]:
    """Nodes of the smallest domains, each with room for one of the smallest slices, or one pod less in all domains of
    the first level but those that are one too few."""
    paths: list[tuple[str, ...]] = [(str(at),) for at in range(slices + chance.randint(0, 1) if fits else slices)]
    for outer, inner in pairwise(sizes):
        paths = [(*path, f"{path[-1]}-{at}") for path in paths for at in range(outer // inner)]
    short = chance.randrange(len(paths)) if not fits else -1
    for at, path in enumerate(paths):
        room = sizes[-1] - (at == short)
        labels = dict(zip(keys, (f"{name}-{part}" for part in path), strict=True))
        halves = [room] if room < 2 or chance.random() < 0.5 else [room // 2, room - room // 2]
        for place, half in enumerate(half for half in halves if half):
            yield _node(f"{name}-{at}-{place}", name, labels, half)


def make_minima(chance: Random, number: int) -> Case:
    """Roles of replicas, some of which have to start, and a node for each replica that there is room for."""
    name = f"m{number}"
    size = chance.choice((1, 2, 3))
    if chance.random() < 0.4:
        replicas = chance.randint(1, 5)
        least, room = chance.randint(1, replicas), chance.randint(0, replicas)
        marks = {"krmfn.dev/granularity": "Replica", "krmfn.dev/min-groups": str(least)}
        resource = _make_resource(chance, "LeaderWorkerSet", name, replicas * size, marks, size)
        nodes = [_node(f"{name}-{at}", name, {"example.com/rack": f"{name}-{at}"}, size) for at in range(room)]
        return Case(name, resource, tuple(nodes), room * size if room >= least else 0)
    roles, starts = {}, True
    marks, nodes = {"krmfn.dev/granularity": "Replica"}, []
    for role in ("prefill", "decode"):
        replicas = chance.randint(1, 4)
        least, room = chance.randint(1, replicas), chance.randint(0, replicas)
        starts &= room >= least
        roles[role] = (replicas, room)
        marks[f"krmfn.dev/min-count.{role}"] = str(least)
        nodes += [_node(f"{name}-{role}-{at}", name, {"example.com/role": role}, size) for at in range(room)]
    jobs = [
        {
            "name": role,
            "replicas": replicas,
            "template": {
                "spec": {
                    "parallelism": size,
                    "completions": size,
                    "template": _template(name, {"example.com/role": role}),
                }
            },
        }
        for role, (replicas, _) in roles.items()
    ]
    resource = _resource("jobset.x-k8s.io/v1alpha2", "JobSet", name, {"replicatedJobs": jobs}, marks)
    return Case(name, resource, tuple(nodes), sum(room for _, room in roles.values()) * size if starts else 0)


def _make_resource(chance: Random, kind: str, name: str, pods: int, marks: dict[str, str], size: int = 0) -> Value:
    """A resource of so many pods beside a head, in sets of `size` pods where its kind has sets."""
    template = _template(name, {})
    size = size or chance.choice([each for each in range(1, pods + 1) if pods % each == 0])
    job = {"parallelism": size, "completions": size, "completionMode": "Indexed", "template": template}
    match kind:
        case "Job":
            return _resource("batch/v1", kind, name, {**job, "parallelism": pods, "completions": pods}, marks)
        case "StatefulSet":
            spec = {"replicas": pods, "podManagementPolicy": "Parallel", "serviceName": name, "template": template}
            labels = {"matchLabels": {"app": name}}
            return _resource("apps/v1", kind, name, {**spec, "selector": labels}, marks)
        case "JobSet":
            jobs = [{"name": "w", "replicas": pods // size, "template": {"spec": job}}]
            return _resource("jobset.x-k8s.io/v1alpha2", kind, name, {"replicatedJobs": jobs}, marks)
        case "LeaderWorkerSet":
            whole = {"size": size, "workerTemplate": template}
            whole |= {"leaderTemplate": template} if chance.random() < 0.5 else {}
            spec = {"replicas": pods // size, "leaderWorkerTemplate": whole}
            return _resource("leaderworkerset.x-k8s.io/v1", kind, name, spec, marks)
    group = {"groupName": "w", "replicas": pods // size, "minReplicas": 0, "maxReplicas": pods, "numOfHosts": size}
    head = {"rayStartParams": {}, "template": _template(name, {"example.com/head": "yes"})}
    workers = [{**group, "rayStartParams": {}, "template": template}]
    return _resource("ray.io/v1", kind, name, {"headGroupSpec": head, "workerGroupSpecs": workers}, marks)


def _resource(version: str, kind: str, name: str, spec: Value, marks: dict[str, str]) -> Value:
    metadata = {"name": name, "namespace": "ml", "annotations": {"krmfn.dev/gang": "true", **marks}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _template(name: str, selector: dict[str, str]) -> Value:
    box = {"name": "main", "image": "registry.example.com/a:1", "resources": {"requests": {"cpu": "1"}}}
    spec = {"restartPolicy": "Never", "nodeSelector": {"example.com/case": name, **selector}, "containers": [box]}
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def _node(name: str, case: str, labels: dict[str, str], room: int) -> Value:
    status = {"allocatable": {"cpu": str(room), "memory": "64Gi", "pods": "110"}}
    metadata = {"name": name, "labels": {"example.com/case": case, **labels}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def run(release: str, count: int, seed: int) -> list[str]:
    """What was not placed as asked, of `count` random slices and as many minima."""
    chance = Random(seed)
    cases = [make(chance, number) for make in (make_slices, make_minima) for number in range(count)]
    gates = read_releases(previews=True)[release].clusters[0].gates
    wrong: list[str] = []
    outcomes: Counter[str] = Counter()
    with control(release, dict.fromkeys(gates, True)) as plane, serve_webhook(plane.folder) as webhook:
        post(plane, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "labels": {"gangs": "on"}}})
        install(plane.client, [*print_policies(read_profiles()[f"{release}-was-all"]), webhook])
        wait_for_kinds()
        for start in range(0, len(cases), BATCH):
            batch = cases[start : start + BATCH]
            wrong += run_batch(plane, batch, outcomes, release)
            print(f"{start + len(batch)} of {len(cases)}: {dict(outcomes)}, {len(wrong)} wrong", file=sys.stderr)
    return wrong


def run_batch(plane: Plane, cases: list[Case], outcomes: Counter[str], release: str) -> Iterator[str]:
    """Cases that are decided at once, each on its nodes."""
    generated = generate(tuple(case.resource for case in cases), release)
    sources = {value["metadata"]["name"]: value for value in generated if "spec" in value and _is_source(value)}
    made = [post(plane, node) for case in cases for node in case.nodes]
    made += [post(plane, value) for value in generated if not _is_source(value)]
    owners = {}
    for case in cases:
        for pod in list_pods(sources[case.name]):
            owners[pod["metadata"]["name"]] = case.name
            post(plane, pod)
    pods = settle(plane, quiet=5, longest=90)
    nodes = {node["metadata"]["name"]: node["metadata"]["labels"] for case in cases for node in case.nodes}
    for case in cases:
        mine = [pod for pod in pods if owners.get(pod["metadata"]["name"]) == case.name]
        problem = judge(case, mine, nodes)
        outcomes["starts" if case.whole else "waits"] += 1
        if problem:
            yield f"{case.name}: {problem}: {case.resource}"
    for value in (*pods, *reversed(made)):
        remove(plane, value)


def judge(case: Case, pods: list[Value], nodes: dict[str, dict[str, str]]) -> str:
    """What is not as asked, "" for nothing: how many pods run, and where those of each slice do."""
    bound = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}
    if len(bound) != case.whole:
        return f"{len(bound)} of {len(pods)} pods run, not {case.whole}"
    groups: dict[str, list[str]] = defaultdict(list)
    for pod in pods:
        if pod["metadata"]["name"] in bound:
            link = pod["spec"]["schedulingGroup"]["podGroupName"]
            groups[link].append(bound[pod["metadata"]["name"]])
    for key, size in case.sets:
        per = size // (case.sets[-1][1] or 1)
        found: dict[tuple[str, int], set[str]] = defaultdict(set)
        for link, places in groups.items():
            stem, _, number = link.rpartition("-")
            if number.isdecimal():
                found[stem, int(number) // max(per, 1)] |= {nodes[place][key] for place in places}
        split = [f"{stem}-{number}" for (stem, number), values in found.items() if len(values) > 1]
        if split:
            return f"slices {split} are in several values of {key}"
    return ""


def _is_source(value: Value) -> bool:
    return value["kind"] not in ("Workload", "PodGroup", "CompositePodGroup")
