"""What keeps a gang from starting without any node being to blame, beyond the examples on the rules' pages."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.config import read_settings
from krmfn.krm import Stream
from krmfn.pipeline import find_all

POD = "spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: '2'}}}]}"
MPI = f"""
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: mpi, namespace: ml}}
spec:
  launcherCreationPolicy: WaitForWorkersReady
  runPolicy: {{schedulingPolicy: {{queue: a}}}}
  mpiReplicaSpecs:
    Launcher: {{replicas: 1, template: {{{POD}}}}}
    Worker: {{replicas: 2, template: {{{POD}}}}}
"""
RAY = f"""
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: ray, namespace: ml, labels: {{volcano.sh/queue-name: team}}}}
spec:
  headGroupSpec: {{rayStartParams: {{}}, template: {{{POD}}}}}
  workerGroupSpecs:
  - {{groupName: w, replicas: 3, maxReplicas: 3, rayStartParams: {{}}, template: {{{POD}}}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {{name: team}}
spec: {{capability: {{cpu: "7"}}}}
"""
LINKED = POD.replace("spec: {", "spec: {schedulingGroup: {podGroupName: NAME}, ")
JOBSET = f"""
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: set, namespace: ml}}
spec:
  replicatedJobs:
  - {{name: a, replicas: 1, template: {{spec: {{parallelism: 2, template: {{{LINKED.replace("NAME", "a")}}}}}}}}}
  - {{name: b, replicas: 1, template: {{spec: {{parallelism: 2, template: {{{LINKED.replace("NAME", "b")}}}}}}}}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {{name: a, namespace: ml}}
spec: {{schedulingPolicy: {{gang: {{minCount: 2}}}}}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {{name: b, namespace: ml}}
spec: {{schedulingPolicy: {{gang: {{minCount: 2}}}}}}
"""
VOLCANO = f"""
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: job, namespace: ml}}
spec:
  tasks:
  - {{name: a, replicas: 2, template: {{{POD}}}}}
  - {{name: b, replicas: 2, dependsOn: {{name: [a]}}, template: {{{POD}}}}}
"""
HEAD = "template: {spec: {restartPolicy: Never, containers: [{name: c, "
COHORT = f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: all}}
spec:
  cohortName: team
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {{name: spot, resources: [{{name: cpu, nominalQuota: "2", borrowingLimit: "1"}}]}}
    - {{name: usual, resources: [{{name: cpu, nominalQuota: "2", borrowingLimit: "1"}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: team, namespace: ml}}
spec: {{clusterQueue: all}}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: job, namespace: ml, labels: {{kueue.x-k8s.io/queue-name: team}}}}
spec: {{parallelism: 2, completions: 2, suspend: true, template: {{{POD}}}}}
"""


@pytest.mark.parametrize(
    ("text", "rule", "old", "new"),
    [
        (MPI, "mpi-launcher-waits", "{queue: a}", "{minAvailable: 2}"),
        (MPI, "mpi-launcher-waits", "{queue: a}", "{minAvailable: 3}|AtStartup"),
        (RAY, "volcano-resources-above-queue", 'cpu: "7"', 'cpu: "8"'),
        (
            JOBSET,
            "groups-without-root",
            "  replicatedJobs:",
            "  startupPolicy: {startupPolicyOrder: InOrder}\n  replicatedJobs:",
        ),
        (VOLCANO, "volcano-job-never-whole", "spec:\n  tasks", "spec:\n  minAvailable: 2\n  tasks"),
        (RAY, "ray-head-ports", HEAD, HEAD),
        (COHORT, "kueue-queue-too-small", 'borrowingLimit: "1"', 'borrowingLimit: "2"'),
        (COHORT, "kueue-queue-too-small", ', borrowingLimit: "1"', ""),
    ],
)
def test_found_and_not_found(text: str, rule: str, old: str, new: str) -> None:
    if rule == "ray-head-ports":  # two names for one port; one name each
        text = text.replace(HEAD, HEAD + "ports: [{containerPort: 1, name: a}, {containerPort: 1, name: b}], ", 1)
        old, new = "containerPort: 1, name: b", "containerPort: 2, name: b"
    new, _, policy = new.partition("|")
    assert rule in find_rules(text)
    assert old in text
    mended = text.replace(old, new)
    assert rule not in find_rules(mended.replace("WaitForWorkersReady", policy) if policy else mended)


def find_rules(text: str, **spec: Any) -> set[str]:
    items = list(Stream.parse(text.encode(), "a.yaml").items)
    settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})
    found = find_all(items, settings, None, ("server", "scheduler", "operator"), "apply")
    return {finding.rule for finding in found}


@pytest.mark.parametrize(
    ("autoscaled", "cpu", "found"), [("true", "7800m", True), ("true", "7500m", False), ("false", "7800m", False)]
)
def test_the_autoscalers_container_makes_the_head_too_large(autoscaled: str, cpu: str, found: bool) -> None:
    """KubeRay adds a container with half a CPU to the head."""
    linked = LINKED.replace("NAME", "ray")
    head = linked.replace("cpu: '2'", f"cpu: '{cpu}'")
    text = f"""
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: ray, namespace: ml}}
spec:
  enableInTreeAutoscaling: {autoscaled}
  headGroupSpec: {{rayStartParams: {{}}, template: {{{head}}}}}
  workerGroupSpecs:
  - {{groupName: w, replicas: 2, minReplicas: 2, maxReplicas: 2, rayStartParams: {{}}, template: {{{linked}}}}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {{name: ray, namespace: ml}}
spec: {{schedulingPolicy: {{gang: {{minCount: 3}}}}}}
"""
    nodes = [{"name": "n", "count": 2, "allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110"}}]
    assert ("pod-too-large" in find_rules(text, cluster={"nodes": nodes})) is found
