"""The pods that operators make of a resource: the template's metadata and spec, with a name and the labels they give.

Must not know groups. Sources: mpi-operator v0.6.0, lws v0.8.0, jobset v0.11.1, kuberay v1.6.2; those that take only
the annotations of pods from a resource: spark-operator v2.3.0 (and Spark 4.0), argo-workflows v3.6.10, grove v0.1.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.bridge.pods import INDEX, LWS

Value = dict[str, Any]

COMPLETION = "batch.kubernetes.io/job-completion-index"


def list_pods(value: Value) -> Iterator[Value]:
    """The pods of a resource, as its operator creates them; of a Workflow those of its first step."""
    name, spec = value["metadata"]["name"], value["spec"]
    match value["kind"]:  # StatefulSet and Job: kubernetes v1.37.0
        case "LeaderWorkerSet":
            whole = spec["leaderWorkerTemplate"]
            worker = whole["workerTemplate"]
            for index in range(spec["replicas"]):
                # the webhook gives the leader its index, the controller the workers
                labels = {f"{LWS}/name": name, f"{LWS}/worker-index": "0"}
                yield _make(value, f"{name}-{index}", whole.get("leaderTemplate", worker), labels)
                for number in range(1, whole["size"]):
                    labels = {f"{LWS}/name": name, INDEX["lws"]: str(index), f"{LWS}/worker-index": str(number)}
                    yield _make(value, f"{name}-{index}-{number}", worker, labels)
        case "JobSet":
            for job in spec["replicatedJobs"]:
                for index in range(job.get("replicas", 1)):
                    for number in range(job["template"]["spec"].get("parallelism", 1)):
                        labels = {"jobset.sigs.k8s.io/jobset-name": name, INDEX["jobset"]: str(index)}
                        labels[COMPLETION] = str(number)
                        template = job["template"]["spec"]["template"]
                        yield _make(value, f"{name}-{job['name']}-{index}-{number}", template, labels)
        case "Job":
            for number in range(spec["parallelism"]):
                yield _make(value, f"{name}-{number}", spec["template"], {COMPLETION: str(number)})
        case "StatefulSet":
            for number in range(spec["replicas"]):
                yield _make(value, f"{name}-{number}", spec["template"], {"apps.kubernetes.io/pod-index": str(number)})
        case "MPIJob":
            for role, each in spec["mpiReplicaSpecs"].items():
                for number in range(each.get("replicas", 1 if role == "Launcher" else 0)):
                    labels = {"training.kubeflow.org/job-name": name}
                    yield _make(value, f"{name}-{role.lower()}-{number}", each["template"], labels)
        case "RayCluster":
            ray = {"ray.io/cluster": name, "ray.io/group": "headgroup"}
            yield _make(value, f"{name}-head", spec["headGroupSpec"]["template"], ray | {"ray.io/node-type": "head"})
            for group in spec["workerGroupSpecs"]:
                hosts = group.get("numOfHosts", 1)
                for number in range(group["replicas"] * hosts):
                    labels = ray | {"ray.io/node-type": "worker", INDEX["ray"]: str(number // hosts)}
                    labels |= {"ray.io/replica-host-index": str(number % hosts)} if hosts > 1 else {}
                    yield _make(value, f"{name}-{group['groupName']}-{number}", group["template"], labels)
        case "SparkApplication":
            for number in range(spec["executor"]["instances"]):
                labels = {"spark-role": "executor", "spark-app-name": name, "spark-exec-id": str(number + 1)}
                yield _make(value, f"{name}-exec-{number + 1}", _dress(spec["executor"]), labels)
        case "Workflow":
            by_name = {template["name"]: template for template in spec["templates"]}
            for step in by_name[spec["entrypoint"]]["steps"][0]:
                for number in range(int(step["withSequence"]["count"])):
                    labels = {"workflows.argoproj.io/workflow": name}
                    yield _make(value, f"{name}-{step['name']}-{number}", _dress(by_name[step["template"]]), labels)
        case "PodCliqueSet":
            for replica in range(spec["replicas"]):
                for clique in spec["template"]["cliques"]:
                    for number in range(clique["spec"]["replicas"]):
                        labels = {"grove.io/podgang": f"{name}-{replica}"}
                        made = {**_dress(clique), "spec": clique["spec"]["podSpec"]}
                        yield _make(value, f"{name}-{replica}-{clique['name']}-{number}", made, labels)


def _dress(source: Value) -> Value:
    """A template with the annotations of `source` and a container of its own, as Spark and Argo write it."""
    metadata = source.get("metadata", source)
    container = {"name": "main", "image": "registry.example.com/a:1", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"annotations": metadata.get("annotations", {})}, "spec": {"containers": [container]}}


def _make(owner: Value, name: str, template: Value, labels: dict[str, str]) -> Value:
    metadata: Value = dict(template.get("metadata") or {})
    metadata |= {"name": name, "namespace": owner["metadata"]["namespace"]}
    metadata["labels"] = {**metadata.get("labels", {}), **labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
