"""Counting pods, whether they get a gang or not: what only speaks against a gang does not hide them."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.config import KubeRay
from krmfn.krm.results import ResourceRef
from krmfn.sources import count_pods
from tests.sources.manifests import (
    TEMPLATE,
    cluster_spec,
    job,
    make_settings,
    manifest,
    pods_of,
    raycluster,
    read,
    workers,
)

JOB = {"template": TEMPLATE, "parallelism": 4}
LWS = {"workerTemplate": TEMPLATE, "leaderTemplate": TEMPLATE, "size": 3}


@pytest.mark.parametrize(
    ("value", "pods"),
    [
        (raycluster(workers("a", "3/1/5"), enableInTreeAutoscaling=True), {"head": 1, "a": 3}),
        (job(parallelism=4), {"job": 4}),
        (job(), {"job": 1}),
        (job(parallelism=4, scheduling={}), {"job": 4}),
        (manifest("batch/v1", "CronJob", {"jobTemplate": {"spec": JOB}}), {"job": 4}),
        (
            manifest("ray.io/v1", "RayCronJob", {"jobTemplate": {"rayClusterSpec": cluster_spec(workers("a", "2"))}}),
            {"head": 1, "a": 2},
        ),
        (manifest("apps/v1", "Deployment", {"template": TEMPLATE, "replicas": 3}), {"deployment": 3}),
        (manifest("apps/v1", "StatefulSet", {"template": TEMPLATE, "replicas": 3}), {"statefulset": 3}),
        (manifest("v1", "Pod", TEMPLATE["spec"]), {"pod": 1}),
        (
            manifest("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"leaderWorkerTemplate": LWS, "replicas": 2}),
            {"leader": 2, "workers": 4},
        ),
    ],
)
def test_pods_without_a_gang(value: dict[str, Any], pods: dict[str, int]) -> None:
    ref = ResourceRef(value["apiVersion"], value["kind"], "demo")
    assert read(value, requested=False).group is None
    assert pods_of(count_pods(value, ref, make_settings()).group) == pods


def test_an_operator_that_makes_the_gang_makes_the_pods_too() -> None:
    settings = make_settings(kuberay=KubeRay((1, 7), "Volcano"))
    reading = count_pods(raycluster(workers("a", "2")), ResourceRef("ray.io/v1", "RayCluster", "demo"), settings)
    assert (pods_of(reading.group), reading.notes) == ({"head": 1, "a": 2}, ())


def test_a_generated_name_does_not_matter() -> None:
    value = job(parallelism=2)
    value["metadata"] = {"generateName": "demo-"}
    assert pods_of(count_pods(value, ResourceRef("batch/v1", "Job", ""), make_settings()).group) == {"job": 2}


def test_what_the_controller_refuses_has_no_pods() -> None:
    reading = count_pods(
        raycluster(workers("a", "3/5/1")), ResourceRef("ray.io/v1", "RayCluster", "demo"), make_settings()
    )
    assert (reading.group, [note.rule for note in reading.notes]) == (None, ["min-above-max"])


def test_a_leader_outside_the_gang_is_a_pod() -> None:
    spec = {"leaderWorkerTemplate": LWS, "startupPolicy": "LeaderReady"}
    value = manifest("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)
    assert pods_of(read(value).group) == {"workers": 2}
    ref = ResourceRef("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "demo")
    assert pods_of(count_pods(value, ref, make_settings()).group) == {"leader": 1, "workers": 2}
