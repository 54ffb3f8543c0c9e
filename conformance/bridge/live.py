"""The bridge with real schedulers: custom resources under the CRDs that drop the link, pods as operators make them.

Each scenario has less room than pods. With the policies every group starts whole or not at all; the same pods without
the policies show what would happen otherwise. `python -m conformance.bridge live` runs it and writes REPORT.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from conformance.bridge.operators import list_pods
from conformance.bridge.pods import ASK
from conformance.bridge.record import install, print_policies
from conformance.bridge.webhook import serve_webhook
from conformance.build import run_go
from conformance.scheduler.plane import Plane, control
from conformance.versions import HERE, read_profiles

Value = dict[str, Any]

REPORT = HERE / "bridge" / "REPORT.md"
GATES = {
    "1.36": ("1.36-was-all", ("GenericWorkload", "GangScheduling", "WorkloadWithJob")),
    "1.37": ("1.37-was-all", ("GenericWorkload", "WorkloadWithJob")),
}
#: Modules of Go that hold the CRDs, and where: the last versions that drop `schedulingGroup`.
CRDS = {
    "github.com/kubeflow/mpi-operator@v0.6.0": "manifests/base/kubeflow.org_mpijobs.yaml",
    "sigs.k8s.io/lws@v0.8.0": "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
    "sigs.k8s.io/jobset@v0.11.1": "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml",
    "github.com/ray-project/kuberay/ray-operator@v1.6.2": "config/crd/bases/ray.io_rayclusters.yaml",
}
_CONFIG: Value = {
    "apiVersion": "krmfn.dev/v1alpha1",
    "kind": "GangScheduling",
    "metadata": {"name": "gangs"},
    "spec": {"link": "Auto", "kuberay": {"version": "1.6"}},
}
POD = {
    "spec": {
        "containers": [{"name": "main", "image": "registry.example.com/a:1", "resources": {"requests": {"cpu": "1"}}}]
    }
}


class Scenario(NamedTuple):
    """Resources, and how many pods of one CPU there is room for. `whole` are the sizes of groups that start, sorted."""

    title: str
    resources: tuple[Value, ...]
    room: int
    whole: tuple[int, ...]


class Outcome(NamedTuple):
    """How many pods of each group are bound, of how many; and how many of the group's pods were linked to it."""

    bound: dict[str, tuple[int, int]]
    linked: int


def make_resource(api_version: str, kind: str, name: str, spec: Value, granularity: str = "Cluster") -> Value:
    annotations = {"krmfn.dev/gang": "true", "krmfn.dev/granularity": granularity}
    metadata = {"name": name, "namespace": "ml", "annotations": annotations}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _mpi(name: str) -> Value:
    roles = {"Launcher": {"replicas": 1, "template": POD}, "Worker": {"replicas": 4, "template": POD}}
    return make_resource("kubeflow.org/v2beta1", "MPIJob", name, {"mpiReplicaSpecs": roles})


def _ray(name: str, granularity: str) -> Value:
    group = {"groupName": "tpu", "replicas": 2, "minReplicas": 0, "maxReplicas": 2, "numOfHosts": 4, "template": POD}
    spec = {"headGroupSpec": {"rayStartParams": {}, "template": POD}, "workerGroupSpecs": [group]}
    return make_resource("ray.io/v1", "RayCluster", name, spec, granularity)


def _list_scenarios() -> Iterator[Scenario]:
    yield Scenario("two MPIJobs of 5 pods", (_mpi("a"), _mpi("b")), 8, (5,))
    whole = {"size": 4, "leaderTemplate": POD, "workerTemplate": POD}
    lws = {"replicas": 3, "leaderWorkerTemplate": whole}
    serve = make_resource("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "serve", lws, "Replica")
    yield Scenario("a LeaderWorkerSet with 3 groups of 4 pods", (serve,), 10, (4, 4))
    jobs = [
        {"name": name, "replicas": replicas, "template": {"spec": {"parallelism": pods, "template": POD}}}
        for name, replicas, pods in (("driver", 1, 1), ("workers", 2, 4))
    ]
    train = make_resource("jobset.x-k8s.io/v1alpha2", "JobSet", "train", {"replicatedJobs": jobs}, "Replica")
    yield Scenario("a JobSet: a driver and 2 Jobs of 4 pods", (train,), 7, (1, 4))
    yield Scenario("two RayClusters of 9 pods", (_ray("a", "Cluster"), _ray("b", "Cluster")), 12, (9,))
    yield Scenario("a RayCluster: a head and 2 replicas of 4 hosts", (_ray("c", "Replica"),), 7, (1, 4))


SCENARIOS = tuple(_list_scenarios())


def read_crds(places: Mapping[str, str] = CRDS) -> Iterator[Value]:
    """The CRDs, from the module cache of Go; downloaded where they are missing."""
    for module, path in places.items():
        found = json.loads(run_go(["mod", "download", "-json", module], Path(tempfile.gettempdir())))
        yield yaml.load(Path(found["Dir"], path).read_text(), yaml.CSafeLoader)


def run_release(release: str, bridged: bool) -> dict[str, Outcome]:
    """All scenarios on a control plane of the release, one after the other. Raises RuntimeError for a refusal."""
    profile, gates = GATES[release]
    with control(release, dict.fromkeys(gates, True)) as plane, serve_webhook(plane.folder) as webhook:
        prepare(plane, CRDS)
        if bridged:
            install(plane.client, [*print_policies(read_profiles()[profile]), webhook])
        wait_for_kinds()
        return {scenario.title: _run(plane, scenario, release) for scenario in SCENARIOS}


def prepare(plane: Plane, places: Mapping[str, str]) -> None:
    """The namespace and the kinds of the scenarios."""
    post(plane, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "labels": {"gangs": "on"}}})
    for crd in read_crds(places):
        post(plane, crd)


def wait_for_kinds() -> None:
    """Until the new kinds are served."""
    time.sleep(3)


def _run(plane: Plane, scenario: Scenario, release: str) -> Outcome:
    generated = generate(scenario.resources, release)
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node"},
        "status": {"allocatable": {"cpu": str(scenario.room), "memory": "64Gi", "pods": "110"}},
    }
    made = [post(plane, value) for value in (*generated, node)]
    pods = [pod for value in made if value["kind"] != "Node" for pod in list_pods(value)]  # as the CRD has kept them
    for pod in pods:
        post(plane, pod)
    found = settle(plane)
    groups: dict[str, list[bool]] = {}
    linked = 0
    for pod in found:
        link = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName", "")
        linked += bool(link)
        groups.setdefault(link or pod["metadata"]["annotations"][ASK], []).append(bool(pod["spec"].get("nodeName")))
    for value in (*found, *reversed(made)):
        remove(plane, value)
    return Outcome({name: (sum(bound), len(bound)) for name, bound in sorted(groups.items())}, linked)


def generate(resources: tuple[Value, ...], release: str) -> list[Value]:
    """What `krmfn generate` makes of the resources."""
    with tempfile.TemporaryDirectory() as folder:
        config = _CONFIG | {"spec": {**_CONFIG["spec"], "kubernetes": {"version": release}}}
        Path(folder, "krmfn.yaml").write_text(yaml.safe_dump(config))
        text = yaml.safe_dump_all(json.loads(json.dumps(resources)))
        command = [sys.executable, "-m", "krmfn", "generate", "-q", "--config", f"{folder}/krmfn.yaml", "-"]
        done = subprocess.run(command, input=text.encode(), check=True, capture_output=True)
    found = list(yaml.safe_load_all(done.stdout))
    return [*(value for value in found if value["kind"] != "PodGroup"), *(v for v in found if v["kind"] == "PodGroup")]


def post(plane: Plane, value: Value) -> Value:
    """Creates an object; what the server made of it. Raises RuntimeError."""
    answer = plane.client.post(collection(value), value)
    if not answer.accepted:
        raise RuntimeError(f"{value['kind']} {value['metadata']['name']}: {answer.status} {answer.body}")
    return {"apiVersion": value["apiVersion"], "kind": value["kind"], **answer.body}


def collection(value: Value) -> str:
    """Where objects of a kind are; of a pod without one too."""
    version, space = value.get("apiVersion", "v1"), value["metadata"].get("namespace")
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{root}{f'/namespaces/{space}' if space else ''}/{value.get('kind', 'Pod').lower()}s"


def read_pods(plane: Plane) -> list[Value]:
    """The pods of the namespace, bound or not."""
    found: list[Value] = plane.client.get("/api/v1/namespaces/ml/pods").body["items"]
    return found


def settle(plane: Plane, quiet: float = 6, longest: float = 60) -> list[Value]:
    """The pods, when none has been bound for a while."""
    end, changed, known = time.monotonic() + longest, time.monotonic(), -1
    while True:
        pods = read_pods(plane)
        bound = sum(bool(pod["spec"].get("nodeName")) for pod in pods)
        if bound != known:
            known, changed = bound, time.monotonic()
        if time.monotonic() - changed > quiet or time.monotonic() > end:
            return pods
        time.sleep(0.3)


def remove(plane: Plane, value: Value) -> None:
    """Deletes an object at once."""
    path = f"{collection(value)}/{value['metadata']['name']}"
    plane.client.patch(path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    plane.client.send("DELETE", path, {"gracePeriodSeconds": 0})


def is_whole(scenario: Scenario, outcome: Outcome) -> bool:
    """Whether every group started whole or not at all, and as many as there is room for."""
    started = sorted(bound for bound, _ in outcome.bound.values() if bound)
    return started == sorted(scenario.whole) and all(bound in (0, pods) for bound, pods in outcome.bound.values())


def write_report(outcomes: dict[tuple[str, bool], dict[str, Outcome]]) -> str:
    """The table of all runs, in Markdown."""
    lines = [
        "# What the bridge does to running pods",
        "",
        "Written by `python -m conformance.bridge live`: real control planes, and the CRDs of mpi-operator v0.6.0, LWS",
        "v0.8.0, JobSet v0.11.1 and KubeRay 1.6.2, all of which drop `schedulingGroup`. The resources are those that",
        "the API server gave back; the pods are made of them as the operators do. A group is shown as bound/pods.",
        "",
        "| resources | room for | Kubernetes | policies | groups |",
        "|---|---|---|---|---|",
    ]
    for scenario in SCENARIOS:
        for (release, bridged), found in outcomes.items():
            groups = ", ".join(f"{name} {bound}/{pods}" for name, (bound, pods) in found[scenario.title].bound.items())
            policies = "yes" if bridged else "no"
            lines.append(f"| {scenario.title} | {scenario.room} | {release} | {policies} | {groups} |")
    return "\n".join(lines) + "\n"
