"""The pods that controllers make of a workload, as far as a scheduler can tell. A second reader of these kinds.

Sources: the controllers' documentation; for Jobs the real controller does the same on some scenarios (decide.py).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Value = dict[str, Any]


def expand(value: Value) -> Iterator[Value]:
    """The pods of one object; none when it makes none. Of what makes them again and again, those of one run."""
    spec, name = value.get("spec", {}), value["metadata"]["name"]
    match value["kind"]:
        case "Pod":
            yield copy.deepcopy(value)
        case "Job":
            yield from _job(value, name, spec)
        case "RayCluster":
            yield from _ray(value, name, spec)
        case "RayJob":
            yield from _ray(value, name, spec["rayClusterSpec"])
        case "RayCronJob":
            yield from _ray(value, name, spec["jobTemplate"]["rayClusterSpec"])
        case "RayService":
            yield from _ray(value, name, spec["rayClusterConfig"])
        case "CronJob":
            yield from _job(value, name, spec["jobTemplate"]["spec"])
        case "MPIJob" | "PyTorchJob":
            for role, each in spec["mpiReplicaSpecs" if value["kind"] == "MPIJob" else "pytorchReplicaSpecs"].items():
                for number in range(each.get("replicas", 1)):
                    yield _pod(value, f"{name}-{role.lower()}-{number}", each["template"])
        case "JobSet":
            for job in spec["replicatedJobs"]:
                for replica in range(job.get("replicas", 1)):
                    yield from _job(value, f"{name}-{job['name']}-{replica}", job["template"]["spec"])
        case "LeaderWorkerSet":
            template = spec["leaderWorkerTemplate"]
            worker = template["workerTemplate"]
            for replica in range(spec.get("replicas", 1)):
                yield _pod(value, f"{name}-{replica}", template.get("leaderTemplate", worker))
                for number in range(1, template["size"]):
                    yield _pod(value, f"{name}-{replica}-{number}", worker)
        case "Deployment" | "ReplicaSet":
            for number in range(spec.get("replicas", 1)):
                yield _pod(value, f"{name}-{number}", spec["template"])
        case "StatefulSet":
            # Without Parallel the second pod is made when the first one is ready.
            ready = spec.get("replicas", 1) if spec.get("podManagementPolicy") == "Parallel" else 1
            for number in range(ready):
                yield _pod(value, f"{name}-{number}", spec["template"])


def _job(value: Value, name: str, spec: Value) -> Iterator[Value]:
    parallelism = spec.get("parallelism", 1)
    for number in range(min(parallelism, spec.get("completions", parallelism))):
        pod = _pod(value, f"{name}-{number}", spec["template"])
        pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] = name
        yield pod


def _ray(value: Value, name: str, spec: Value) -> Iterator[Value]:
    yield _pod(value, f"{name}-head", spec["headGroupSpec"]["template"])
    for group in spec.get("workerGroupSpecs", []):
        for number in range(group.get("replicas", 1) * group.get("numOfHosts", 1)):
            pod = _pod(value, f"{name}-{group['groupName']}-{number}", group["template"])
            amount = {"cpu": "200m", "memory": "256Mi"}
            wait = {"name": "wait-gcs-ready", "image": pod["spec"]["containers"][0]["image"]}
            wait["resources"] = {"requests": amount, "limits": amount}
            pod["spec"].setdefault("initContainers", []).append(wait)
            yield pod


def _pod(value: Value, name: str, template: Value) -> Value:
    metadata = {"name": name, "namespace": value["metadata"].get("namespace", "default")}
    metadata["labels"] = dict(template.get("metadata", {}).get("labels", {}))
    spec = copy.deepcopy(template["spec"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
