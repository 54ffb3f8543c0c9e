"""What is predicted, and not generated, where KubeRay is set up to make gangs itself."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.config import KubeRay
from krmfn.sources.manifest import SourceReading
from tests.sources.manifests import cluster_spec, make_settings, manifest, raycluster, read, rules_of, workers

LABEL = {"ray.io/gang-scheduling-enabled": "true"}
GROUPS = (workers("cpu", "2/1/2"), workers("tpu", "1/0/1", numOfHosts=4), workers("idle", "0/0/4"))


def read_managed(
    manages: Any, labels: dict[str, str] | None = None, kind: str = "RayCluster", **spec: Any
) -> SourceReading:
    """The reading of the cluster above under an operator with this setting."""
    value = raycluster(*GROUPS, **spec)
    if kind == "RayJob":
        value = manifest("ray.io/v1", "RayJob", {"rayClusterSpec": cluster_spec(*GROUPS), **spec})
    value["metadata"]["labels"] = labels or {}
    return read(value, make_settings(kuberay=KubeRay((1, 7), manages)), autoscaling="MinReplicas")


@pytest.mark.parametrize(
    ("manages", "autoscaling", "prediction"),
    [
        ("KubernetesWAS", False, "Workload demo and PodGroup demo-cluster with minCount 7"),
        ("Volcano", False, "PodGroup ray-demo-pg with minMember 7"),
        ("Volcano", True, "PodGroup ray-demo-pg with minMember 2"),
        ("YuniKorn", False, "headgroup 1, cpu 1, tpu 0, idle 0"),
        ("SchedulerPlugins", False, "PodGroup demo of scheduling.x-k8s.io with minMember 7"),
        ("KAI", False, "minAvailable 6"),
    ],
)
def test_prediction(manages: str, autoscaling: bool, prediction: str) -> None:
    reading = read_managed(manages, LABEL, enableInTreeAutoscaling=autoscaling)
    assert (reading.group, rules_of(reading)) == (None, ["operator-manages"])
    assert prediction in reading.notes[0].message


@pytest.mark.parametrize(
    ("labels", "autoscaling"), [({}, False), ({"ray.io/gang-scheduling-enabled": "false"}, False), (LABEL, True)]
)
def test_kubernetes_was_leaves_others_alone(labels: dict[str, str], autoscaling: bool) -> None:
    reading = read_managed("KubernetesWAS", labels, enableInTreeAutoscaling=autoscaling)
    assert reading.group is not None
    assert "operator-manages" not in rules_of(reading)


def test_kubernetes_was_reads_the_label_without_case() -> None:
    assert rules_of(read_managed("KubernetesWAS", {"ray.io/gang-scheduling-enabled": "TRUE"})) == ["operator-manages"]


@pytest.mark.parametrize("manages", ["YuniKorn", "SchedulerPlugins"])
def test_a_foreign_scheduler_takes_the_pods_even_without_a_gang(manages: str) -> None:
    reading = read_managed(manages)
    assert (reading.group, rules_of(reading)) == (None, ["operator-schedules"])


@pytest.mark.parametrize(
    ("manages", "mode", "rule"),
    [
        ("SchedulerPlugins", "HTTPMode", "operator-refuses"),
        ("KAI", "K8sJobMode", "operator-refuses"),
        ("KAI", "HTTPMode", "operator-manages"),
        ("Volcano", "K8sJobMode", "operator-manages"),
    ],
)
def test_rayjobs(manages: str, mode: str, rule: str) -> None:
    assert rules_of(read_managed(manages, LABEL, "RayJob", submissionMode=mode)) == [rule]


def test_names_of_owned_clusters_are_random() -> None:
    assert "demo-<random>-cluster" in read_managed("KubernetesWAS", LABEL, "RayJob").notes[0].message
    assert "ray-demo-pg" in read_managed("Volcano", LABEL, "RayJob").notes[0].message
