"""The bridge while resources change: more replicas, a restart, an autoscaler, and kinds whose operators take nothing
but the annotations of pods from them.

Each step leaves less room than pods, or room that came free; every group starts whole or not at all, and every pod is
linked as `conformance.bridge.predicting` says. `python -m conformance.bridge changes [RELEASE…]` runs it, and writes
the rows of these releases in CHANGES.md.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from conformance.bridge import live
from conformance.bridge.live import POD, Value
from conformance.bridge.operators import list_pods
from conformance.bridge.pods import ASK, BY, INDEX, label_leader
from conformance.bridge.predicting import predict
from conformance.bridge.record import install, print_policies
from conformance.bridge.webhook import serve_webhook
from conformance.scheduler.plane import Plane, control
from conformance.versions import HERE, read_profiles
from krmfn.releases.release import find_release

REPORT = HERE / "bridge" / "CHANGES.md"
#: As in live: modules of Go with definitions. That of PodCliqueSet is in none, so it is not stored, its pods are.
CRDS = {
    **live.CRDS,
    "github.com/kubeflow/spark-operator/v2@v2.3.0": "config/crd/bases/sparkoperator.k8s.io_sparkapplications.yaml",
    "github.com/argoproj/argo-workflows/v3@v3.6.10": "manifests/base/crds/minimal/argoproj.io_workflows.yaml",
}
_UNSTORED = "PodCliqueSet"


class Step(NamedTuple):
    """A state: what is applied, how many pods of one CPU there is room for, the names with which pods begin that are
    deleted first, and how many pods of each group are bound in the end (of how many)."""

    title: str
    resource: Value
    room: int
    bound: dict[str, tuple[int, int]]
    restarted: str = ""


class Course(NamedTuple):
    """Steps of one resource. `groups` are written by hand: their names and quorums."""

    title: str
    steps: tuple[Step, ...]
    groups: Mapping[str, int] = MappingProxyType({})


class Outcome(NamedTuple):
    """How many pods of each group are bound, of how many; pods that are linked otherwise than predicted."""

    bound: dict[str, tuple[int, int]]
    surprises: list[str]


def list_courses(release: str) -> Iterator[Course]:
    """All of them. Where a release has no trees of groups, an autoscaling RayCluster is one group."""
    trees = find_release(release).has("composite-groups")
    two, three = (_lws(replicas) for replicas in (2, 3))
    names = [f"leaderworkerset-serve-{number}" for number in range(3)]
    whole, none = (4, 4), (0, 4)
    yield Course(
        "a LeaderWorkerSet with groups of 4 pods",
        (
            Step("2 replicas", two, 8, dict(zip(names, (whole, whole), strict=False))),
            Step("3 replicas", three, 11, dict(zip(names, (whole, whole, none), strict=True))),
            Step("a node more", three, 12, dict(zip(names, (whole, whole, whole), strict=True))),
            Step(
                "group 0 restarts, a node less",
                three,
                11,
                dict(zip(names, (none, whole, whole), strict=True)),
                "serve-0",
            ),
            Step("the node is back", three, 12, dict(zip(names, (whole, whole, whole), strict=True))),
        ),
    )
    train = _jobset()
    jobs = [f"jobset-train-{name}" for name in ("driver-0", "workers-0", "workers-1")]
    yield Course(
        "a JobSet: a driver and 2 Jobs of 4 pods",
        (
            Step("created", train, 9, dict(zip(jobs, ((1, 1), whole, whole), strict=True))),
            Step("restarts, two nodes less", train, 7, dict(zip(jobs, ((1, 1), whole, none), strict=True)), "train-"),
        ),
    )
    head, workers, ray = "raycluster-auto-iz-head", "raycluster-auto-i-tpu", "raycluster-auto"
    few, more = (_ray(replicas, "Group" if trees else "Cluster") for replicas in (2, 4))
    yield Course(
        "a RayCluster that autoscales, minReplicas 2",
        (
            Step("no room for both workers", few, 2, {head: (0, 1), workers: (0, 2)} if trees else {ray: (0, 3)}),
            Step("room", few, 3, {head: (1, 1), workers: (2, 2)} if trees else {ray: (3, 3)}),
            Step(
                "the autoscaler wants 4, one has no room",
                more,
                4,
                {head: (1, 1), workers: (3, 4)} if trees else {ray: (4, 5)},
            ),
        ),
    )
    yield Course("the executors of a SparkApplication", _wait(_spark(), "spark-pi", 3), {"spark-pi": 3})
    yield Course("a step of a Workflow, 4 times", _wait(_workflow(), "fan", 4), {"fan": 4})
    yield Course(
        "a PodCliqueSet with 2 replicas of 3 pods",
        (
            Step("room for 5", _cliques(), 5, {"pcs-infer-0": (3, 3), "pcs-infer-1": (0, 3)}),
            Step("room for 6", _cliques(), 6, {"pcs-infer-0": (3, 3), "pcs-infer-1": (3, 3)}),
        ),
        {"pcs-infer-0": 3, "pcs-infer-1": 3},
    )


def _wait(resource: Value, group: str, pods: int) -> tuple[Step, ...]:
    return (
        Step(f"room for {pods - 1}", resource, pods - 1, {group: (0, pods)}),
        Step(f"room for {pods}", resource, pods, {group: (pods, pods)}),
    )


def _lws(replicas: int) -> Value:
    whole = {"size": 4, "leaderTemplate": POD, "workerTemplate": POD}
    spec = {"replicas": replicas, "leaderWorkerTemplate": whole}
    return live.make_resource("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "serve", spec, "Replica")


def _jobset() -> Value:
    jobs = [
        {"name": name, "replicas": replicas, "template": {"spec": {"parallelism": pods, "template": POD}}}
        for name, replicas, pods in (("driver", 1, 1), ("workers", 2, 4))
    ]
    return live.make_resource("jobset.x-k8s.io/v1alpha2", "JobSet", "train", {"replicatedJobs": jobs}, "Replica")


def _ray(replicas: int, granularity: str) -> Value:
    group = {"groupName": "tpu", "replicas": replicas, "minReplicas": 2, "maxReplicas": 4, "template": POD}
    head = {"rayStartParams": {}, "template": POD}
    spec = {"enableInTreeAutoscaling": True, "headGroupSpec": head, "workerGroupSpecs": [group]}
    made = live.make_resource("ray.io/v1", "RayCluster", "auto", spec, granularity)
    made["metadata"]["annotations"]["krmfn.dev/autoscaling"] = "MinReplicas"
    return made


def _by_hand(api_version: str, kind: str, name: str, spec: Value) -> Value:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "ml"}, "spec": spec}


def _spark() -> Value:
    executor = {"instances": 3, "cores": 1, "annotations": {ASK: "spark-pi"}}
    spec: Value = {"type": "Scala", "mode": "cluster", "sparkVersion": "4.0.0", "mainApplicationFile": "local:///a.jar"}
    spec |= {"driver": {"cores": 1}, "executor": executor}
    return _by_hand("sparkoperator.k8s.io/v1beta2", "SparkApplication", "pi", spec)


def _workflow() -> Value:
    fan = {"name": "shard", "template": "work", "withSequence": {"count": "4"}}
    work = {"name": "work", "metadata": {"annotations": {ASK: "fan"}}, "container": {"image": "a"}}
    spec = {"entrypoint": "main", "templates": [{"name": "main", "steps": [[fan]]}, work]}
    return _by_hand("argoproj.io/v1alpha1", "Workflow", "steps", spec)


def _cliques() -> Value:
    cliques = [
        {
            "name": name,
            "annotations": {ASK: "pcs", BY: "grove.io/podgang"},
            "spec": {"roleName": name, "replicas": pods, "minAvailable": pods, "podSpec": POD["spec"]},
        }
        for name, pods in (("leader", 1), ("worker", 2))
    ]
    return _by_hand("grove.io/v1alpha1", _UNSTORED, "infer", {"replicas": 2, "template": {"cliques": cliques}})


def run(release: str) -> dict[tuple[str, str], Outcome]:
    """All courses on one control plane, by title of the course and of the step. Raises RuntimeError for a refusal."""
    profile, gates = live.GATES[release]
    if find_release(release).has("composite-groups"):
        gates = (*gates, "TopologyAwareWorkloadScheduling", "CompositePodGroup")  # for the tree of a RayCluster
    with control(release, dict.fromkeys(gates, True)) as plane, serve_webhook(plane.folder) as webhook:
        live.prepare(plane, CRDS)
        install(plane.client, [*print_policies(read_profiles()[profile]), webhook])
        live.wait_for_kinds()
        return {
            (course.title, step.title): outcome
            for course in list_courses(release)
            for step, outcome in zip(course.steps, _run(plane, course, release), strict=True)
        }


def _run(plane: Plane, course: Course, release: str) -> list[Outcome]:
    stored: dict[tuple[str, str], Value] = {}
    outcomes = []
    for name, quorum in course.groups.items():
        spec = {"schedulingPolicy": {"gang": {"minCount": quorum}}}
        _apply(plane, _by_hand(find_release(release).api_version("PodGroup"), "PodGroup", name, spec), stored)
    for step in course.steps:
        made = [step.resource] if course.groups else live.generate((step.resource,), release)
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}}
        size = {"cpu": str(step.room), "memory": "64Gi", "pods": "110"}
        for pod in live.read_pods(plane):
            if step.restarted and pod["metadata"]["name"].startswith(step.restarted):
                live.remove(plane, pod)
        for value in (*made, node | {"status": {"allocatable": size}}):
            _apply(plane, value, stored)
        there = {pod["metadata"]["name"] for pod in live.read_pods(plane)}
        pods = [pod for value in stored.values() for pod in list_pods(value)]
        surprises = [_ask(plane, pod) for pod in pods if pod["metadata"]["name"] not in there]
        bound: dict[str, list[bool]] = {}
        for pod in live.settle(plane):
            group = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName", "none")
            bound.setdefault(group, []).append(bool(pod["spec"].get("nodeName")))
        counts = {name: (sum(each), len(each)) for name, each in sorted(bound.items())}
        outcomes.append(Outcome(counts, [text for text in surprises if text]))
    for value in (*live.read_pods(plane), *reversed(stored.values())):
        if value.get("kind") != _UNSTORED:
            live.remove(plane, value)
    return outcomes


def _apply(plane: Plane, value: Value, stored: dict[tuple[str, str], Value]) -> None:
    """Creates an object, or changes its spec, or its size for a node; keeps what the server made of it."""
    key = (value["kind"], value["metadata"]["name"])
    if value["kind"] == _UNSTORED:
        stored[key] = value
    elif key not in stored:
        stored[key] = live.post(plane, value)
    elif value["kind"] in ("Node", "LeaderWorkerSet", "RayCluster"):
        part = "status" if value["kind"] == "Node" else "spec"
        path = f"{live.collection(value)}/{key[1]}" + ("/status" if part == "status" else "")
        answer = plane.client.patch(path, {part: value[part]}, "application/merge-patch+json")
        if not answer.accepted:
            raise RuntimeError(f"{key}: {answer.status} {answer.body}")
        stored[key] = {**value, **answer.body}


def _ask(plane: Plane, pod: Value) -> str:
    """Creates a pod; how it was linked where that was not predicted."""
    metadata = copy.deepcopy(pod["metadata"])
    index = label_leader(metadata)
    metadata["labels"] |= {INDEX["lws"]: index} if index else {}
    predicted = predict(metadata).link
    found = (live.post(plane, pod)["spec"].get("schedulingGroup") or {}).get("podGroupName", "")
    return "" if found == predicted else f"{metadata['name']}: {found}, not {predicted}"


def write_report(release: str, outcomes: dict[tuple[str, str], Outcome]) -> str:
    """The report with the rows of a release, and those of other releases as they are."""
    rows = [
        line for line in REPORT.read_text().splitlines() if line.startswith("| 1.") and f"| {release} |" not in line
    ]
    for course in list_courses(release):
        for step in course.steps:
            outcome = outcomes[course.title, step.title]
            groups = ", ".join(f"{name} {bound}/{pods}" for name, (bound, pods) in outcome.bound.items())
            told = (release, course.title, step.title, step.room, groups, len(outcome.surprises))
            rows.append(f"| {' | '.join(map(str, told))} |")
    lines = [
        "# What the bridge does while resources change",
        "",
        "Written by `python -m conformance.bridge changes` on control planes of these releases: each row is a step on",
        "what the rows above left. A group is shown as bound/pods. The groups of SparkApplication, Workflow and",
        "PodCliqueSet are written by hand.",
        "",
        "| Kubernetes | resource | step | room for | groups | links not as predicted |",
        "|---|---|---|---|---|---|",
        *sorted(rows, key=lambda row: row.split(" | ")[0]),
    ]
    return "\n".join(lines) + "\n"
