"""RayJob, RayService, RayCronJob: the cluster inside them, and what KubeRay refuses."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.krm.paths import format_path
from tests.sources.manifests import (
    TEMPLATE,
    cluster_spec,
    manifest,
    paths_of,
    pods_of,
    read,
    rules_of,
    template,
    workers,
)

CLUSTER = cluster_spec(workers("gpu", "2/1/4"))


def rayjob(api_version: str = "ray.io/v1", name: str = "demo", **spec: Any) -> dict[str, Any]:
    """A RayJob with the cluster above."""
    return manifest(api_version, "RayJob", {"entrypoint": "run", "rayClusterSpec": CLUSTER, **spec}, name)


def rayservice(api_version: str = "ray.io/v1", name: str = "demo", **spec: Any) -> dict[str, Any]:
    """A RayService with the cluster above."""
    return manifest(api_version, "RayService", {"rayClusterConfig": CLUSTER, **spec}, name)


def raycronjob(name: str = "demo", **job: Any) -> dict[str, Any]:
    """A RayCronJob with the cluster above."""
    spec = {"schedule": "@daily", "jobTemplate": {"rayClusterSpec": CLUSTER, **job}}
    return manifest("ray.io/v1", "RayCronJob", spec, name)


@pytest.mark.parametrize(
    ("value", "prefix"),
    [
        (rayjob(), "spec.rayClusterSpec"),
        (rayservice(), "spec.rayClusterConfig"),
        (raycronjob(), "spec.jobTemplate.rayClusterSpec"),
        (rayjob("ray.io/v1alpha1"), "spec.rayClusterSpec"),
    ],
)
def test_templates_of_the_cluster_inside(value: dict[str, Any], prefix: str) -> None:
    group = read(value).group
    assert pods_of(group) == {"head": 1, "gpu": 2}
    assert [format_path(path) for path in paths_of(group)] == [
        f"{prefix}.headGroupSpec.template",
        f"{prefix}.workerGroupSpecs[0].template",
    ]


def test_the_submitter_is_no_member() -> None:
    value = rayjob(submissionMode="K8sJobMode", submitterPodTemplate=TEMPLATE)
    assert pods_of(read(value).group) == {"head": 1, "gpu": 2}


@pytest.mark.parametrize("cluster", [CLUSTER, None])
def test_a_job_in_an_existing_cluster_has_no_pods(cluster: Any) -> None:
    reading = read(rayjob(clusterSelector={"ray.io/cluster": "demo"}, rayClusterSpec=cluster))
    assert (reading.group, rules_of(reading)) == (None, ["existing-cluster"])


def test_a_job_needs_a_cluster() -> None:
    assert rules_of(read(rayjob(rayClusterSpec=None))) == ["field-missing"]


SELECTOR = {"clusterSelector": {"ray.io/cluster": "demo"}}
SIDECAR_HEAD = {"headGroupSpec": {"template": template(restartPolicy="Always")}}


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"suspend": True}, "suspend"),
        ({"suspend": True, "shutdownAfterJobFinishes": True, **SELECTOR}, "suspend"),
        ({"backoffLimit": 1, **SELECTOR}, "backoffLimit"),
        ({"backoffLimit": 1, "submissionMode": "InteractiveMode"}, "backoffLimit"),
        ({"submissionMode": "SidecarMode", **SELECTOR}, "submissionMode"),
        ({"submissionMode": "SidecarMode", "submitterPodTemplate": TEMPLATE}, "submitterPodTemplate"),
        ({"submissionMode": "SidecarMode", "submitterConfig": {}}, "submitterConfig"),
        (
            {"submissionMode": "SidecarMode", "rayClusterSpec": SIDECAR_HEAD},
            "rayClusterSpec.headGroupSpec.template.spec.restartPolicy",
        ),
    ],
)
def test_refused_job(spec: dict[str, Any], path: str) -> None:
    reading = read(rayjob(**spec))
    assert reading.group is None
    assert ("ray-job-refused", f"spec.{path}") in [(note.rule, format_path(note.path)) for note in reading.notes]


@pytest.mark.parametrize(
    "spec",
    [
        {"suspend": True, "shutdownAfterJobFinishes": True},
        {"backoffLimit": 3},
        {"submissionMode": "SidecarMode"},
        {"submissionMode": "HTTPMode", "backoffLimit": 3},
    ],
)
def test_accepted_job(spec: dict[str, Any]) -> None:
    reading = read(rayjob(**spec))
    assert (pods_of(reading.group), reading.notes) == ({"head": 1, "gpu": 2}, ())


def test_v1alpha1_has_no_submission_mode() -> None:
    reading = read(rayjob("ray.io/v1alpha1", submissionMode="SidecarMode", submitterConfig={}, backoffLimit=-1))
    assert pods_of(reading.group) == {"head": 1, "gpu": 2}
    assert rules_of(reading) == ["field-pruned"] * 3


@pytest.mark.parametrize(
    ("value", "refused"),
    [
        (rayjob(name="a" * 47), False),
        (rayjob(name="a" * 48), True),
        (rayservice(name="a" * 47, upgradeStrategy={"type": "None"}), False),
        (rayservice(name="a" * 48, upgradeStrategy={"type": "None"}), True),
        (raycronjob(name="a" * 37), True),
    ],
)
def test_names_leave_room_for_the_clusters(value: dict[str, Any], refused: bool) -> None:
    assert ("ray-name" in rules_of(read(value))) is refused


@pytest.mark.parametrize(
    "value",
    [
        rayjob(rayClusterSpec={**CLUSTER, "upgradeStrategy": {"type": "Recreate"}}),
        rayservice(rayClusterConfig={**CLUSTER, "upgradeStrategy": {"type": "None"}}),
    ],
)
def test_an_owned_cluster_has_no_upgrade_strategy(value: dict[str, Any]) -> None:
    reading = read(value)
    assert reading.group is None
    assert "ray-cluster-refused" in rules_of(reading)


@pytest.mark.parametrize(
    ("strategy", "naming", "rules"),
    [
        (None, "Stable", ["rollout-shares-gang"]),
        ("NewCluster", "Stable", ["rollout-shares-gang"]),
        ("None", "Stable", []),
        (None, "Revisioned", []),
    ],
)
def test_upgrade_of_a_service(strategy: str | None, naming: str, rules: list[str]) -> None:
    value = rayservice(upgradeStrategy={"type": strategy}) if strategy else rayservice()
    assert rules_of(read(value, naming=naming)) == rules


def test_a_service_must_not_name_its_head_service() -> None:
    head = {"template": TEMPLATE, "headService": {"metadata": {"name": "mine"}}}
    reading = read(rayservice(rayClusterConfig={**CLUSTER, "headGroupSpec": head}))
    assert reading.group is None
    assert "ray-service-refused" in rules_of(reading)


@pytest.mark.parametrize("requested", [True, False])
def test_runs_of_a_raycronjob_may_overlap(requested: bool) -> None:
    reading = read(raycronjob(), requested=requested)
    assert (reading.group is not None, rules_of(reading)) == (requested, ["runs-share-gang"])


@pytest.mark.parametrize("value", [rayjob(managedBy="kueue.x-k8s.io/multikueue"), rayservice(managedBy="x")])
def test_another_controller_has_it(value: dict[str, Any]) -> None:
    assert rules_of(read(value)) == ["managed-elsewhere"]
