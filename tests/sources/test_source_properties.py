"""What holds for every manifest: bounds of the arithmetic, and no exception on any value anywhere."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krmfn.krm.results import ResourceRef
from krmfn.model.kinds import KINDS
from krmfn.model.tree import Composite, Group, leaves
from krmfn.sources import count_pods
from krmfn.sources.ray import WorkerGroup
from krmfn.survey.shape import shape
from tests.sources.manifests import (
    TEMPLATE,
    cluster_spec,
    find_among,
    make_options,
    make_settings,
    manifest,
    read,
    workers,
)

COUNTS = st.integers(-(2**31), 2**31 - 1)
SCALARS = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner))


@given(COUNTS, COUNTS, COUNTS, st.integers(0, 64), st.booleans())
def test_pods_lie_within_the_bounds(replicas: int, low: int, high: int, hosts: int, suspended: bool) -> None:
    low, high = sorted((low, high))
    group = WorkerGroup((), "a", replicas, low, high, hosts, suspended)
    if suspended:
        assert group.pods == group.min_pods == 0
    else:
        assert group.min_pods <= group.pods <= high * hosts
        assert group.pods == sorted((low, replicas, high))[1] * hosts


WORKER = {"replicas": 3, "template": TEMPLATE}
TRAINING = {
    "JAXJob": "jaxReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
}
JOB_SPEC = {"template": TEMPLATE, "parallelism": 2, "completions": 2}
EXAMPLES: dict[tuple[str, str], dict[str, Any]] = {
    ("", "Pod"): TEMPLATE["spec"],
    ("batch", "Job"): JOB_SPEC,
    ("batch", "CronJob"): {"concurrencyPolicy": "Forbid", "jobTemplate": {"spec": JOB_SPEC}},
    ("ray.io", "RayCluster"): cluster_spec(workers("a", "2/1/3", numOfHosts=2), suspend=False),
    ("ray.io", "RayJob"): {"rayClusterSpec": cluster_spec(workers("a", "2")), "submissionMode": "HTTPMode"},
    ("ray.io", "RayService"): {
        "rayClusterConfig": cluster_spec(workers("a", "2")),
        "upgradeStrategy": {"type": "None"},
    },
    ("ray.io", "RayCronJob"): {"jobTemplate": {"rayClusterSpec": cluster_spec(workers("a", "2"))}},
    ("jobset.x-k8s.io", "JobSet"): {
        "replicatedJobs": [{"name": "a", "replicas": 2, "template": {"spec": JOB_SPEC}}],
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
    },
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): {
        "replicas": 1,
        "startupPolicy": "LeaderCreated",
        "leaderWorkerTemplate": {"size": 3, "leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE},
    },
    **{("kubeflow.org", kind): {roles: {"Worker": WORKER}} for kind, roles in TRAINING.items()},
    ("kubeflow.org", "PyTorchJob"): {"pytorchReplicaSpecs": {"Worker": WORKER}, "elasticPolicy": {"minReplicas": 2}},
    ("kubeflow.org", "MPIJob"): {"mpiReplicaSpecs": {"Launcher": {"template": TEMPLATE}, "Worker": WORKER}},
    ("workload.codeflare.dev", "AppWrapper"): {
        "components": [{"template": manifest("batch/v1", "Job", {"template": TEMPLATE, "parallelism": 2})}]
    },
    ("trainer.kubeflow.org", "TrainJob"): {
        "runtimeRef": {"name": "torch"},
        "trainer": {"numNodes": 3, "resourcesPerNode": {"requests": {"cpu": 1}}},
        "runtimePatches": [
            {
                "manager": "krmfn.dev/gangs",
                "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node"}]}}},
            }
        ],
    },
    ("sparkoperator.k8s.io", "SparkApplication"): {
        "driver": {"cores": 1},
        "executor": {"instances": 3},
        "dynamicAllocation": {"enabled": False},
        "sparkConf": {"spark.ui.port": "4045"},
    },
    ("workloads.x-k8s.io", "RoleBasedGroup"): {
        "roles": [
            {"name": "router", "standalonePattern": {"template": TEMPLATE}},
            {"name": "prefill", "replicas": 2, "leaderWorkerPattern": {"size": 3, "template": TEMPLATE}},
            {
                "name": "decode",
                "customComponentsPattern": {"components": [{"name": "leader", "size": 1, "template": TEMPLATE}]},
            },
        ]
    },
    ("workload.serving.volcano.sh", "ModelServing"): {
        "schedulerName": "default-scheduler",
        "template": {
            "roles": [{"name": "a", "workerReplicas": 2, "entryTemplate": TEMPLATE, "workerTemplate": TEMPLATE}]
        },
    },
    ("serving.kserve.io", "LLMInferenceService"): {
        "replicas": 2,
        "parallelism": {"data": 16, "dataLocal": 8},
        "template": {},
        "worker": {},
        "prefill": {"replicas": 1, "parallelism": {"pipeline": 2}, "worker": {"schedulerName": "default-scheduler"}},
    },
    ("grove.io", "PodCliqueSet"): {
        "replicas": 2,
        "template": {"cliques": [{"name": "a", "spec": {"replicas": 3, "minAvailable": 2, "podSpec": {}}}]},
    },
    ("nvidia.com", "DynamoGraphDeployment"): {
        "components": [{"name": "Frontend", "replicas": 1, "podTemplate": TEMPLATE}],
        "services": {"decode": {"replicas": 2, "extraPodSpec": {"priorityClassName": "high"}}},
    },
    ("disaggregatedset.x-k8s.io", "DisaggregatedSet"): {
        "slices": 2,
        "roles": [
            {
                "name": "prefill",
                "spec": {"leaderWorkerTemplate": {"size": 3, "leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE}},
            },
        ],
    },
    ("apps", "Deployment"): {**WORKER, "strategy": {"type": "Recreate"}},
    ("apps", "ReplicaSet"): WORKER,
    ("apps", "StatefulSet"): {**WORKER, "podManagementPolicy": "Parallel"},
}
TRAINJOB = ("trainer.kubeflow.org", "TrainJob")
#: What it names.
RUNTIME = manifest(
    "trainer.kubeflow.org/v1alpha1",
    "ClusterTrainingRuntime",
    {
        "mlPolicy": {"numNodes": 1, "torch": {}},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                            "spec": {"template": TEMPLATE},
                        },
                    }
                ]
            }
        },
    },
    "torch",
)
#: Some kinds get a gang through the bridge alone.
BRIDGED = make_settings(link="Auto")


def write_example(key: tuple[str, str], spec: Any) -> dict[str, Any]:
    """An object of a kind; the version matters where a CRD drops the link."""
    version = {"MPIJob": "v2beta1", "TrainJob": "v1alpha1"}.get(key[1], "v1")
    made = manifest(f"{key[0]}/{version}" if key[0] else version, key[1], spec)
    made["metadata"]["annotations"] = {"nvidia.com/enable-grove": "false"}
    return made


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in `value`."""
    yield path
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in steps:
        yield from paths_in(child, (*path, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy of `value` with `new` at `path`."""
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = put(value[path[0]], path[1:], new)
    return changed


def check_tree(group: Group) -> None:
    """What targets rely on."""
    assert all(leaf.pods >= 1 and isinstance(leaf.name, str) and leaf.templates for leaf in leaves(group))
    if isinstance(group, Composite):
        assert group.children
        assert group.min_group_count in (None, len(group.children))


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_examples_are_gangs(key: tuple[str, str]) -> None:
    group = read(write_example(key, EXAMPLES[key]), BRIDGED, [RUNTIME]).group
    assert group
    check_tree(group)


@pytest.mark.parametrize("key", EXAMPLES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_value_anywhere_is_read_without_an_exception(key: tuple[str, str], data: Any) -> None:
    place = data.draw(st.sampled_from(list(paths_in(EXAMPLES[key]))))
    value = write_example(key, put(EXAMPLES[key], place, data.draw(VALUES)))
    for granularity in ("Cluster", "Group"):
        group = read(value, BRIDGED, [RUNTIME], granularity=granularity, autoscaling="MinReplicas").group
        if group:
            check_tree(group)
            shaped = shape(group, make_options(granularity=granularity))
            if all(leaf.min_count == 0 for leaf in leaves(group)) and granularity == "Group":
                assert "group-not-guaranteed" in {note.rule for note in shaped.notes}, "then nothing is generated"
            else:
                check_tree(shaped.group)
    ref = ResourceRef(value["apiVersion"], value["kind"], "demo")
    count_pods(value, ref, make_settings(), find_among([RUNTIME]))


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_any_value_anywhere_in_a_runtime_is_read_without_an_exception(data: Any) -> None:
    runtime = {
        **RUNTIME,
        "spec": put(RUNTIME["spec"], data.draw(st.sampled_from(list(paths_in(RUNTIME["spec"])))), data.draw(VALUES)),
    }
    group = read(write_example(TRAINJOB, EXAMPLES[TRAINJOB]), BRIDGED, [runtime]).group
    if group:
        check_tree(group)


def test_every_source_has_an_example() -> None:
    differ = set(EXAMPLES) ^ {key for key, row in KINDS.items() if row.has_gangs}
    assert not differ, "EXAMPLES in this file has one gang of each kind that can have one"
