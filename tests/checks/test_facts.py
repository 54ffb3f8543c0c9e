"""Facts about the cluster: both spellings say the same, and the input's own objects count."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.survey.facts import Facts, read_facts

PRINTED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000},
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "usual"},
            "value": 5,
            "globalDefault": True,
            "preemptionPolicy": "Never",
        },
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n1", "labels": {"zone": "a"}},
            "status": {"allocatable": {"cpu": "3920m", "memory": "8Gi"}},
        },
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "team", "namespace": "ml"},
            "spec": {"hard": {"pods": "10"}},
        },
        {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "g", "namespace": "ml"}},
    ],
}
SHORT: dict[str, Any] = {
    "priorityClasses": {"high": 1000, "usual": {"value": 5, "globalDefault": True, "preemptionPolicy": "Never"}},
    "nodes": [{"name": "n1", "labels": {"zone": "a"}, "allocatable": {"cpu": "3920m", "memory": "8Gi"}}],
    "resourceQuotas": [{"name": "team", "namespace": "ml", "hard": {"pods": 10}}],
    "podGroups": ["ml/g"],
}


def read(cluster: dict[str, Any]) -> Facts:
    return read_facts(cluster, {})


def test_what_kubectl_prints_and_the_short_spelling_say_the_same() -> None:
    assert read(PRINTED) == read(SHORT)


@pytest.mark.parametrize("cluster", [PRINTED, SHORT])
def test_a_pod_without_a_class_gets_the_global_default(cluster: dict[str, Any]) -> None:
    facts = read(cluster)
    assert facts.priority("") == 5
    assert facts.priority("high") == 1000
    assert facts.priority("other") is None


def test_without_facts_nothing_is_known_but_the_built_in_classes() -> None:
    facts = read({})
    assert facts.priority("") is None
    assert facts.priority("system-node-critical") == 2_000_001_000
    assert (facts.nodes, facts.queues, facts.schedulers, facts.quotas) == (None, None, None, ())


def test_no_default_class_means_priority_zero() -> None:
    assert read({"priorityClasses": {"high": 1000}}).priority("") == 0


def test_link_fields_of_crds_and_gates_of_components() -> None:
    facts = read(
        {
            "customResourceDefinitions": {"rayclusters.ray.io": ["schedulingGroup"]},
            "featureGates": {"kube-scheduler": {"GenericWorkload": False}},
            "schedulers": ["default-scheduler", "batch"],
        }
    )
    assert facts.kept_fields["rayclusters.ray.io"] == ["schedulingGroup"]
    assert facts.gates["kube-scheduler"]["GenericWorkload"] is False
    assert facts.schedulers == frozenset({"default-scheduler", "batch"})


@pytest.mark.parametrize("value", [None, 3, "x", ["x"], {"nodes": 3}, {"items": [3, {"kind": 4}]}, {"nodes": [3]}])
def test_facts_of_another_shape_are_no_facts(value: Any) -> None:
    assert read({"priorityClasses": value, "items": value, "featureGates": value}).priority("high") is None
