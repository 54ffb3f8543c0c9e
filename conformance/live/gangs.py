"""Gangs start whole or not at all: every kind that krmfn generates for, twice, in a cluster with room for one of them.

The room is a number of pods: one node with so many slots, and more of everything else than any example asks for. Pods
are made as the controllers make them (scheduler/pods.py); those of Jobs by the real controller.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import yaml

from conformance.live.claims import Claim, Step, Value, ask_json, generate, krmfn, spell_cluster, write_manifests
from conformance.scheduler.cluster import NAMESPACES, clean, create, list_pods, remove, wait_quiet
from conformance.scheduler.decide import GROUPS
from conformance.scheduler.plane import Plane
from conformance.scheduler.pods import expand
from conformance.scheduler.verdicts import link_of, read_groups, root_of

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "kinds"
WHOLE = "gangs start whole or not at all"
ORDER = "names decide the order"
TIMES = 5
OFF = "a gate that is off"
#: Kinds that are sent to the server; of the others only the pods are, because their definitions are not installed.
_BUILT_IN = ("Job",)
_PLENTY = {"cpu": "100000", "memory": "1000Ti", "nvidia.com/gpu": "100000", "google.com/tpu": "100000"}


class _Gang(NamedTuple):
    """The groups and pods of one root. `pods` are namespace/name."""

    root: str
    pods: tuple[str, ...]


def list_sources(release: str) -> Iterator[tuple[str, str, tuple[list[Value], list[Value]]]]:
    """Title, granularity, and what krmfn generates for the example in either namespace. A granularity that changes
    nothing, or that links nothing, is left out."""
    for path in sorted(EXAMPLES.glob("*.yaml")):
        text, known = path.read_text(), []
        for granularity in ("Cluster",) if path.stem == "pods" else ("Cluster", "Group"):
            first, second = (generate(place(text, space, granularity), release) for space in NAMESPACES)
            groups = [value["spec"] for value in first if value["kind"] in GROUPS]
            if groups and groups not in known:  # without: the kind drops the link, see conformance/bridge
                known.append(groups)
                yield path.stem, granularity, (first, second)


def place(text: str, space: str, granularity: str) -> str:
    """Manifests in a namespace, with the annotation."""
    values = [value for value in yaml.safe_load_all(text) if value]
    for value in values:
        value["metadata"]["namespace"] = space
        value["metadata"]["annotations"]["krmfn.dev/granularity"] = granularity
    return yaml.safe_dump_all(values)


def _generate_tree(release: str, space: str) -> list[Value]:
    """A RayCluster with a group for each of its parts."""
    return generate(place((EXAMPLES / "raycluster.yaml").read_text(), space, "Group"), release)


def list_races(release: str) -> Iterator[Step]:
    """Two of each: one starts, the other has nothing; it follows when the first one is gone."""
    for title, granularity, (first, second) in list_sources(release):
        subject, room = f"{title}, {granularity}", len(_all_pods(first))
        yield partial(_race, subject=subject, values=[*first, *second], room=room)


def _race(plane: Plane, subject: str, values: Sequence[Value], room: int) -> Claim:
    clean(plane, plane.applied)
    plane.applied = list(values)
    gangs = _list_gangs(values)
    pods = sum(len(gang.pods) for gang in gangs)
    claimed = f"{len(gangs)} gangs of {pods} pods, room for {room}: each whole or not at all; the others follow"
    _make_room(plane, room)
    refused = _apply(plane, values)
    if refused:
        return Claim(WHOLE, subject, claimed, f"refused: {'; '.join(refused.values())[:200]}", False)
    bound = _count_bound(plane, gangs)
    seen = ", ".join(f"{name} {got} of {size}" for name, (got, size) in bound.items())
    torn = [name for name, (got, size) in bound.items() if got not in (0, size)]
    first = sum(got for got, _ in bound.values())
    _end(plane, values, [gang for gang in gangs if bound[gang.root][0]])
    wait_quiet(plane, 2)
    after = _count_bound(plane, [gang for gang in gangs if not bound[gang.root][0]])
    seen += "; then " + ", ".join(f"{name} {got} of {size}" for name, (got, size) in after.items())
    followed = bool(after) and all(got == size for got, size in after.values())
    return Claim(WHOLE, subject, claimed, seen, not torn and 0 < first <= room and followed)


def _apply(plane: Plane, values: Sequence[Value]) -> dict[str, str]:
    """Creates groups and pods; what was refused."""
    groups = sorted((v for v in values if v["kind"] in GROUPS), key=lambda value: GROUPS.index(value["kind"]))
    own = [value for value in values if value["kind"] in _BUILT_IN]
    pods = [pod for value in values if value not in own for pod in expand(value)]
    refused = create(plane, [*groups, *pods, *own], fieldValidation="Strict")
    wait_quiet(plane, 2, at_least=len(_all_pods(own)))
    return refused


def _make_room(plane: Plane, pods: int) -> None:
    create(plane, [make_node("node", {}, {**_PLENTY, "pods": str(pods)})])


def _all_pods(values: Iterable[Value]) -> list[Value]:
    return [pod for value in values for pod in expand(value)]


def _list_gangs(values: Sequence[Value]) -> list[_Gang]:
    groups, found = read_groups(values), dict[str, list[str]]()
    for pod in _all_pods(values):
        root = root_of(link_of(pod), groups)
        found.setdefault(root, []).append(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}")
    return [_Gang(root, tuple(pods)) for root, pods in found.items()]


def _count_bound(plane: Plane, gangs: Sequence[_Gang]) -> dict[str, tuple[int, int]]:
    """By root: how many of its pods have a node, of how many. Pods are told by their group: controllers name them.

    The scheduler takes pods as placed before it has bound them: counts that are the same a second later are right.
    """
    groups = read_groups(plane.applied)
    before: dict[str, int] | None = None
    while True:
        counts = dict.fromkeys((gang.root for gang in gangs), 0)
        for pod in list_pods(plane):
            root = root_of(link_of(pod), groups)
            if root in counts:
                counts[root] += bool(pod["spec"].get("nodeName"))
        if counts == before:
            return {gang.root: (counts[gang.root], len(gang.pods)) for gang in gangs}
        before = counts
        time.sleep(1)


def _end(plane: Plane, values: Sequence[Value], gangs: Sequence[_Gang]) -> None:
    """Takes away the gangs that run: what makes their pods first."""
    roots, groups = {gang.root for gang in gangs}, read_groups(values)
    for value in values:
        if value["kind"] in _BUILT_IN and any(root_of(link_of(pod), groups) in roots for pod in expand(value)):
            remove(plane, value)
    for pod in list_pods(plane):
        if root_of(link_of(pod), groups) in roots:
            remove(plane, {"apiVersion": "v1", "kind": "Pod", **pod})
    list_pods(plane)


def prove_order(plane: Plane) -> Iterator[Claim]:
    """A RayCluster that starts only when its head comes last: the scheduler takes the groups of a tree by name, and
    never moves one. With the head's group named to be the first, it does not start."""
    for subject, annotation, cpus in (
        ("a worker group that needs a rack", {"krmfn.dev/topology-key.w": "rack"}, ("8", 2)),
        ("one large worker", {}, ("16", 1)),
    ):
        values = generate(yaml.safe_dump(_make_ray(annotation, *cpus)), plane.release.name)
        started = sum(_starts(plane, values) for _ in range(TIMES))
        turned = yaml.safe_dump_all(values).replace("-hz-head", "-aa-head")
        others = sum(_starts(plane, list(yaml.safe_load_all(turned))) for _ in range(TIMES))
        seen = f"{started} of {TIMES} start; {others} of {TIMES} with the head's group first"
        yield Claim(ORDER, subject, f"{TIMES} of {TIMES} start", seen, started == TIMES > others)


def _make_ray(annotations: dict[str, str], cpu: str, replicas: int) -> Value:
    def template(amount: str) -> Value:
        return {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": amount}}}]}}

    counts = dict.fromkeys(("replicas", "minReplicas", "maxReplicas"), replicas)
    workers = {"groupName": "w", **counts, "rayStartParams": {}, "template": template(cpu)}
    marks = {"krmfn.dev/gang": "true", "krmfn.dev/granularity": "Group", **annotations}
    head = {"rayStartParams": {}, "template": template("4")}
    metadata = {"name": "c", "namespace": "ml", "annotations": marks}
    spec = {"headGroupSpec": head, "workerGroupSpecs": [workers]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec}


def _starts(plane: Plane, values: Sequence[Value]) -> bool:
    """Whether all pods have a node, in a cluster of two racks with a node of 16 and one of 5 CPUs."""
    clean(plane, plane.applied)
    plane.applied = list(values)
    for cpu in ("16", "5"):
        amounts = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
        create(plane, [make_node(f"n{cpu}", {"rack": f"r{cpu}"}, amounts)])
    _apply(plane, values)
    return all(got == size for got, size in _count_bound(plane, _list_gangs(values)).values())


def make_node(name: str, labels: Value, allocatable: Value, spec: Value | None = None) -> Value:
    """A node."""
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
    status = {"allocatable": allocatable}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec or {}, "status": status}


def prove_scheduler_gate(plane: Plane) -> Iterator[Claim]:
    """A scheduler without composite groups, under a server that has them: the scheduler's own metrics show the gate,
    krmfn warns, and a tree is torn."""
    first, second = (_generate_tree(plane.release.name, space) for space in NAMESPACES)
    with TemporaryDirectory() as folder:
        metrics = Path(folder, "metrics.txt")
        metrics.write_text(str(plane.scheduler.get("/metrics").body))
        manifests = write_manifests(Path(folder, "all.yaml"), first)
        said = krmfn("validate", manifests, "--cluster", str(metrics), "--kubernetes", plane.release.name).stdout
    told = next((line for line in said.splitlines() if "[cluster-gate-off]" in line), "nothing")
    clean(plane, plane.applied)
    plane.applied = [*first, *second]
    _make_room(plane, len(_all_pods(first)) + 4)  # enough for a part of the second one
    refused = _apply(plane, plane.applied)
    gangs = _list_gangs(plane.applied)
    bound = _count_bound(plane, gangs)
    seen = ", ".join(f"{name} {got} of {size}" for name, (got, size) in bound.items())
    torn = any(got not in (0, size) for got, size in bound.values())
    kept = "CompositePodGroup is off on kube-scheduler" in told and torn and not refused
    claimed = told.partition(": ")[2].partition(" [")[0]
    yield Claim(OFF, "CompositePodGroup off in the scheduler", claimed, seen or str(refused), kept)


def prove_server_gate(plane: Plane) -> Iterator[Claim]:
    """A server without composite groups refuses what krmfn says that it refuses, and takes the rest."""
    values = _generate_tree(plane.release.name, "ml")
    with TemporaryDirectory() as folder:
        manifests = write_manifests(Path(folder, "all.yaml"), values)
        report = ask_json("validate", manifests, "--stage", "server", *spell_cluster(plane.release.name, plane.gates))
    told = {
        finding["resourceRef"]["kind"]
        for finding in report["results"]
        if finding["severity"] == "error" and finding.get("resourceRef")
    }
    clean(plane, plane.applied)
    plane.applied = [value for value in values if value["kind"] in GROUPS]
    refused = {name.split()[0] for name in create(plane, plane.applied, fieldValidation="Strict")}
    claimed = f"refused: {', '.join(sorted(told)) or 'nothing'}"
    seen = f"refused: {', '.join(sorted(refused)) or 'nothing'}"
    yield Claim(OFF, "CompositePodGroup off in the whole cluster", claimed, seen, told == refused and bool(told))
