"""Which pods a TrainJob has: Kubeflow Trainer is asked about made-up runtimes and TrainJobs, and the answers compared.

It is asked about what krmfn generates, so that the JobSet that it makes shows, too, that the name of the group reaches
the pods.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import yaml

from conformance.build import run_go
from conformance.storage import Record
from conformance.versions import HERE
from krmfn.model.marks import POD_GROUP

RECORDED = HERE / "data" / "trainer.jsonl.xz"
PROGRAM = HERE / "go" / "trainer"
_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
_CONFIG = {
    "apiVersion": "krmfn.dev/v1alpha1",
    "kind": "GangScheduling",
    "metadata": {"name": "gangs"},
    "spec": {"link": "Auto", "operators": {"trainer": "2.2"}},
}
_MPI = {"numProcPerNode": 1, "sshAuthMountPath": "/ssh", "mpiImplementation": "OpenMPI"}
_POLICIES: tuple[dict[str, Any], ...] = (
    {},
    {"torch": {}},
    {"jax": {}},
    {"mpi": _MPI},
    {"mpi": {**_MPI, "runLauncherAsNode": True}},
)


def make_cases(seed: int, count: int) -> Iterator[Record]:
    """Runtimes, each with a TrainJob that asks for a gang."""
    chance = Random(f"trainer/{seed}")
    for number in range(count):
        yield {"runtime": _make_runtime(chance, f"runtime-{number}"), "trainJob": _make_job(chance, number)}


def _make_runtime(chance: Random, name: str) -> Record:
    policy = chance.choice(_POLICIES)
    names = [each for each in ("dataset-initializer", "model-initializer") if chance.random() < 0.3]
    names += ["launcher"] if "mpi" in policy else []
    names += ["node"] if chance.random() < 0.95 or not names or "jax" in policy else []  # without it Trainer crashes
    names += ["aux"] if chance.random() < 0.2 else []
    jobs = []
    for index, each in enumerate(names):
        trains = each == ("launcher" if "mpi" in policy else "node")
        step = (
            each
            if each.endswith("initializer")
            else "trainer"
            if trains and (chance.random() < 0.95 or "jax" in policy)
            else ""
        )
        spec: Record = {"template": {"spec": {"containers": [{"name": _container(each, step), "image": "a"}]}}}
        if chance.random() < 0.4:
            spec["parallelism"] = chance.randrange(5)
        job: Record = {"name": each, "replicas": 1 if step else chance.choice((1, 1, 2)), "template": {"spec": spec}}
        if step:
            job["template"]["metadata"] = {"labels": {_STEP: step}}
        if index and chance.random() < 0.2:
            job["dependsOn"] = [{"name": names[index - 1], "status": chance.choice(("Ready", "Complete"))}]
        jobs.append(job)
    spec = {"template": {"spec": {"replicatedJobs": jobs}}}
    if policy or chance.random() < 0.7:
        spec["mlPolicy"] = {**policy, **({"numNodes": chance.randrange(1, 6)} if chance.random() < 0.6 else {})}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def _container(job: str, step: str) -> str:
    return step if step.endswith("initializer") else "node" if step or job == "node" else "main"


def _make_job(chance: Random, number: int) -> Record:
    spec: Record = {"runtimeRef": {"name": f"runtime-{number}", "kind": "TrainingRuntime"}}
    if chance.random() < 0.7:
        spec["trainer"] = {"numNodes": chance.choice((0, 1, 1, 2, 3, 8))} if chance.random() < 0.8 else {"image": "b"}
    if chance.random() < 0.3:
        patch = {"metadata": {"annotations": {"example.com/a": "b"}}}
        job = {"name": chance.choice(("node", "launcher")), "template": {"spec": {"template": patch}}}
        other = {"template": {"spec": {"replicatedJobs": [job]}}}
        spec["runtimePatches"] = [{"manager": "example.com/other", "trainingRuntimeSpec": other}]
    asks = {"krmfn.dev/gang": "true", "krmfn.dev/granularity": chance.choice(("Cluster", "Group", "Replica"))}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": f"train-{number}", "namespace": "default", "annotations": asks},
        "spec": spec,
    }


def generate(cases: Sequence[Record]) -> list[tuple[Record, dict[str, int]]]:
    """Each case's TrainJob as krmfn writes it, and the PodGroups for it with how many pods each waits for."""
    items = [case[part] for case in cases for part in ("runtime", "trainJob")]
    listed = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "functionConfig": _CONFIG,
        "items": items,
    }
    done = subprocess.run(
        [sys.executable, "-m", "krmfn"], input=json.dumps(listed), text=True, capture_output=True, check=True
    )
    jobs: dict[str, Record] = {}
    groups: dict[str, dict[str, int]] = {}
    for item in yaml.load(done.stdout, yaml.CSafeLoader)["items"]:
        name = item["metadata"]["name"]
        if item["kind"] == "TrainJob":
            jobs[name] = item
        elif item["kind"] == "PodGroup":
            owner = item["metadata"]["annotations"]["krmfn.dev/generated-from"].rpartition("/")[2]
            groups.setdefault(owner, {})[name] = item["spec"]["schedulingPolicy"]["gang"]["minCount"]
    names = [case["trainJob"]["metadata"]["name"] for case in cases]
    return [(jobs[name], groups.get(name, {})) for name in names]


def ask_trainer(cases: Sequence[Record]) -> list[Record]:
    """The cases, each with the pods of the JobSet that Trainer makes: for each of its jobs their number, and the group
    that they ask for."""
    written = [job for job, _ in generate(cases)]
    asked = "".join(
        json.dumps({"runtime": case["runtime"], "trainJob": job}) + "\n"
        for case, job in zip(cases, written, strict=True)
    )
    answers = map(json.loads, run_go(["run", "-mod=mod", "."], PROGRAM, asked).splitlines())
    return [
        {**case, "written": job, "made": list(_list_pods(answer))}
        for case, job, answer in zip(cases, written, answers, strict=True)
    ]


def _list_pods(answer: Record) -> Iterator[tuple[str, int, str]]:
    if "error" in answer:
        raise RuntimeError(answer["error"])
    for job in answer["replicatedJobs"]:
        spec = job["template"]["spec"]
        annotations = spec["template"].get("metadata", {}).get("annotations", {})
        yield job["name"], job.get("replicas", 1) * spec.get("parallelism", 1), annotations.get(POD_GROUP, "")


def list_differences(records: Sequence[Record]) -> Iterator[tuple[Record, str]]:
    """What is generated otherwise now, and groups that do not wait for just the pods that are linked to them."""
    for record, (job, groups) in zip(records, generate(records), strict=True):
        links = Counter[str]()
        for _, pods, group in record["made"]:
            links[group] += pods
        outside = links.pop("", 0)
        if job != record["written"]:
            yield record, "another TrainJob is written now: record again"
        elif dict(links) != groups or outside:
            yield record, f"pods {dict(links)} and {outside} without a group, but groups {groups}"
