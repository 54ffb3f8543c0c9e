"""JobSet, LeaderWorkerSet, the training operator's kinds, and those of apps and core: what starts together."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from krmfn.krm.paths import format_path
from krmfn.model.tree import Composite
from tests.sources.manifests import (
    TEMPLATE,
    make_settings,
    manifest,
    only_leaf,
    paths_of,
    pods_of,
    quorums_of,
    read,
    rules_of,
)

# JobSet


def replicated(name: str, replicas: int | None = None, **fields: Any) -> dict[str, Any]:
    """A replicated job of Jobs with 2 pods each."""
    spec = {"template": TEMPLATE, "parallelism": 2, "completions": 2}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}, **fields}


def jobset(*jobs: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A JobSet of these replicated jobs."""
    return manifest("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": list(jobs), **spec})


def test_replicated_jobs_form_a_composite() -> None:
    reading = read(jobset(replicated("driver"), replicated("workers", 3)))
    assert isinstance(reading.group, Composite)
    assert (reading.group.name, reading.group.min_group_count) == ("jobset", 2)
    assert pods_of(reading.group) == quorums_of(reading.group) == {"driver": 2, "workers": 6}
    assert [format_path(path) for path in paths_of(reading.group)] == [
        "spec.replicatedJobs[0].template.spec.template",
        "spec.replicatedJobs[1].template.spec.template",
    ]
    assert rules_of(reading) == ["link-needs-version"]
    assert "v0.12.0" in reading.notes[0].message


@pytest.mark.parametrize(
    "value",
    [
        jobset(replicated("a"), replicated("b"), startupPolicy={"startupPolicyOrder": "InOrder"}),
        jobset(replicated("a"), replicated("b", dependsOn=[{"name": "a", "status": "Ready"}])),
    ],
)
def test_an_ordered_start_is_no_gang_of_all(value: dict[str, Any]) -> None:
    reading = read(value)
    assert isinstance(reading.group, Composite)
    assert reading.group.min_group_count is None
    assert quorums_of(reading.group) == {"a": 2, "b": 2}
    assert "ordered-start" in rules_of(reading)


def test_replicated_jobs_without_pods_are_left_out() -> None:
    reading = read(jobset(replicated("a", 0), replicated("b")))
    assert pods_of(reading.group) == {"b": 2}
    assert "group-without-pods" in rules_of(reading)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (jobset(replicated("a", -1)), "count-negative"),
        (jobset(replicated("a", 2**30 + 2**29)), "count-overflow"),
        (jobset(replicated("a", 2**30 - 1), replicated("b")), "count-overflow"),
        (jobset(replicated("a", template={"spec": {}})), "field-missing"),
        (jobset(replicated("a"), managedBy="kueue.x-k8s.io/multikueue"), "managed-elsewhere"),
    ],
)
def test_jobset_without_gang(value: dict[str, Any], rule: str) -> None:
    reading = read(value)
    assert reading.group is None
    assert rule in rules_of(reading)


EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
LABELLED = "alpha.jobset.sigs.k8s.io/node-selector"


def exclusive(*keys: str, where: tuple[str | int, ...] = ()) -> dict[str, Any]:
    """A JobSet of two jobs with two pods each, and annotations in the metadata at `where`."""
    value = deepcopy(jobset(replicated("a", 2)))
    place: Any = value
    for part in where:
        place = place[part]
    place.setdefault("metadata", {})["annotations"] = dict.fromkeys(keys, "rack")
    return value


JOB = ("spec", "replicatedJobs", 0, "template")


@pytest.mark.parametrize("where", [(), JOB, (*JOB, "spec", "template")])
def test_exclusive_placement_creates_the_others_when_the_first_has_a_node(where: tuple[str | int, ...]) -> None:
    reading = read(exclusive(EXCLUSIVE, where=where), requested=True)
    assert reading.group is None
    note = next(note for note in reading.notes if note.rule == "ordered-start-deadlock")
    assert note.path == (*where, "metadata", "annotations", EXCLUSIVE)
    assert "ordered-start" in rules_of(
        read(exclusive(EXCLUSIVE, where=where), requested=False)
    )  # nobody asked for it in particular


@pytest.mark.parametrize("where", [(), JOB, (*JOB, "spec", "template")])
def test_with_labelled_nodes_no_pod_waits(where: tuple[str | int, ...]) -> None:
    assert pods_of(read(exclusive(EXCLUSIVE, LABELLED, where=where)).group) == {"a": 4}


def test_labelled_nodes_are_heeded_where_the_annotation_is() -> None:
    value = exclusive(EXCLUSIVE)
    value["spec"]["replicatedJobs"][0]["template"]["metadata"] = {"annotations": {LABELLED: "true"}}
    assert read(value).group is None


def test_the_only_pod_of_a_job_is_the_first() -> None:
    value = exclusive(EXCLUSIVE)
    value["spec"]["replicatedJobs"][0]["template"]["spec"] |= {"parallelism": 1, "completions": 1}
    assert pods_of(read(value).group) == {"a": 2}


# LeaderWorkerSet


def leaderworkerset(replicas: int | None, size: int, leader: bool = True, **spec: Any) -> dict[str, Any]:
    """A LeaderWorkerSet, with a template of its own for the leader or without."""
    templates = {"workerTemplate": TEMPLATE, "size": size, **({"leaderTemplate": TEMPLATE} if leader else {})}
    value = {"leaderWorkerTemplate": templates, **({} if replicas is None else {"replicas": replicas}), **spec}
    return manifest("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", value)


def exclusive_set(replicas: int, size: int, **fields: Any) -> dict[str, Any]:
    """A LeaderWorkerSet whose workers are created when the leader has a node."""
    value = leaderworkerset(replicas, size, **fields)
    value["metadata"]["annotations"] = {"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"}
    return value


@pytest.mark.parametrize(
    ("value", "pods"),
    [
        (leaderworkerset(1, 4), {"leader": 1, "workers": 3}),
        (leaderworkerset(None, 4), {"leader": 1, "workers": 3}),
        (leaderworkerset(1, 1), {"leader": 1}),
        (leaderworkerset(1, 4, leader=False), {"leaderworkerset": 4}),
        (leaderworkerset(2, 4), {"leader": 2, "workers": 6}),
        (leaderworkerset(1, 4, startupPolicy="LeaderReady"), {"workers": 3}),
        (exclusive_set(1, 4), {"workers": 3}),
    ],
)
def test_leader_and_workers(value: dict[str, Any], pods: dict[str, int]) -> None:
    assert pods_of(read(value).group) == quorums_of(read(value).group) == pods


@pytest.mark.parametrize(
    ("value", "rules"),
    [
        (leaderworkerset(2, 4), ["gang-on-request"]),
        (leaderworkerset(0, 4), ["group-without-pods"]),
        (leaderworkerset(1, 0), ["count-negative"]),
        (leaderworkerset(2**30, 4), ["count-overflow"]),
        (leaderworkerset(1, 1, startupPolicy="LeaderReady"), ["group-without-pods"]),
        (leaderworkerset(1, 4, leader=False, startupPolicy="LeaderReady"), ["ordered-start-deadlock"]),
        (exclusive_set(1, 4, leader=False), ["ordered-start-deadlock"]),
        (exclusive_set(1, 1), ["group-without-pods"]),
    ],
)
def test_leaderworkerset_without_gang(value: dict[str, Any], rules: list[str]) -> None:
    reading = read(value, requested=False)
    assert (reading.group, rules_of(reading)) == (None, rules)


def test_several_groups_are_one_gang_where_that_is_asked_for() -> None:
    assert rules_of(read(leaderworkerset(2, 4))) == ["rollout-shares-gang", "link-needs-version"]


# training-operator


def pytorchjob(worker: int | None, kind: str = "PyTorchJob", roles: str = "pytorchReplicaSpecs", **spec: Any) -> Any:
    """A job with a master and workers."""
    replicas = {"Master": {"template": TEMPLATE}, "Worker": {"template": TEMPLATE, "replicas": worker}}
    return manifest("kubeflow.org/v1", kind, {roles: replicas, **spec})


@pytest.mark.parametrize(
    ("kind", "roles"),
    [
        ("PyTorchJob", "pytorchReplicaSpecs"),
        ("TFJob", "tfReplicaSpecs"),
        ("XGBoostJob", "xgbReplicaSpecs"),
        ("JAXJob", "jaxReplicaSpecs"),
        ("PaddleJob", "paddleReplicaSpecs"),
    ],
)
def test_roles(kind: str, roles: str) -> None:
    reading = read(pytorchjob(3, kind, roles))
    assert pods_of(reading.group) == quorums_of(reading.group) == {"master": 1, "worker": 3}
    assert [format_path(path) for path in paths_of(reading.group)] == [
        f"spec.{roles}.Master.template",
        f"spec.{roles}.Worker.template",
    ]
    assert rules_of(reading) == ["link-needs-version"]


@pytest.mark.parametrize(("bound", "quorum"), [(2, 2), (9, 4), (None, 4)])
def test_an_elastic_job_waits_for_its_lower_bound(bound: int | None, quorum: int) -> None:
    group = read(pytorchjob(4, elasticPolicy={"minReplicas": bound})).group
    assert quorums_of(group) == {"master": 1, "worker": quorum}
    assert pods_of(group) == {"master": 1, "worker": 4}


def test_role_without_pods_is_left_out() -> None:
    assert pods_of(read(pytorchjob(0)).group) == {"master": 1}


def test_negative_role_is_refused() -> None:
    reading = read(pytorchjob(-1))
    assert (reading.group, "count-negative" in rules_of(reading)) == (None, True)


@pytest.mark.parametrize(
    ("settings", "rules"),
    [
        (make_settings(release="1.35"), ["link-needs-version"]),
        (make_settings(scheduler="Volcano"), []),
    ],
)
def test_link_of_other_targets(settings: Any, rules: list[str]) -> None:
    assert rules_of(read(pytorchjob(1), settings)) == rules


# kinds of apps and core


def replicas_of(kind: str, replicas: int | None = None, **spec: Any) -> dict[str, Any]:
    """A Deployment or the like."""
    counts = {} if replicas is None else {"replicas": replicas}
    return manifest("apps/v1", kind, {"template": TEMPLATE, **counts, **spec})


@pytest.mark.parametrize(
    ("value", "name", "pods"),
    [
        (replicas_of("Deployment", 3), "deployment", 3),
        (replicas_of("Deployment"), "deployment", 1),
        (replicas_of("ReplicaSet", 3), "replicaset", 3),
        (replicas_of("StatefulSet", 3, podManagementPolicy="Parallel"), "statefulset", 3),
        (replicas_of("StatefulSet", 1), "statefulset", 1),
    ],
)
def test_replicas(value: dict[str, Any], name: str, pods: int) -> None:
    leaf = only_leaf(read(value).group)
    assert (leaf.name, leaf.pods, leaf.min_count) == (name, pods, pods)
    assert paths_of(leaf) == [("spec", "template")]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_serving_kinds_have_to_ask(kind: str) -> None:
    reading = read(replicas_of(kind, 3), requested=False)
    assert (reading.group, rules_of(reading)) == (None, ["gang-on-request"])


@pytest.mark.parametrize(
    ("strategy", "naming", "rules"),
    [
        (None, "Stable", ["rollout-shares-gang"]),
        ("RollingUpdate", "Revisioned", ["revision-in-steps"]),
        ("Recreate", "Stable", ["rollout-shares-gang"]),
        ("Recreate", "Revisioned", []),
    ],
)
def test_rollouts(strategy: str | None, naming: str, rules: list[str]) -> None:
    value = replicas_of("Deployment", 3, **({"strategy": {"type": strategy}} if strategy else {}))
    assert rules_of(read(value, naming=naming)) == rules


@pytest.mark.parametrize("policy", [None, "OrderedReady"])
def test_ordered_pods_are_no_gang(policy: str | None) -> None:
    reading = read(replicas_of("StatefulSet", 3, **({"podManagementPolicy": policy} if policy else {})))
    assert (reading.group, rules_of(reading)) == (None, ["ordered-start-deadlock"])
    assert reading.notes[0].proposed == "Parallel"


def test_a_pod_is_its_own_template() -> None:
    leaf = only_leaf(read(manifest("v1", "Pod", TEMPLATE["spec"])).group)
    assert (leaf.pods, paths_of(leaf)) == (1, [()])


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("kubeflow.org/v2beta1", "MPIJob"),
        ("sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication"),
        ("argoproj.io/v1alpha1", "Workflow"),
        ("tekton.dev/v1", "PipelineRun"),
        ("tekton.dev/v1", "TaskRun"),
        ("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
        ("batch.volcano.sh/v1alpha1", "Job"),
    ],
)
def test_kinds_that_are_only_explained(api_version: str, kind: str) -> None:
    reading = read(manifest(api_version, kind, {}))
    assert (reading.group, rules_of(reading)) == (None, ["kind-not-supported"])
    assert kind in reading.notes[0].message
    assert rules_of(read(manifest(api_version, kind, {}), requested=False)) == ["kind-passed-over"]


def revisioned(kind: str, **spec: Any) -> dict[str, Any]:
    return manifest("apps/v1", kind, {"replicas": 4, "template": TEMPLATE, "podManagementPolicy": "Parallel", **spec})


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (revisioned("Deployment"), "creates 2 of them at a time"),
        (revisioned("Deployment", strategy={"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}), ""),
        (revisioned("Deployment", strategy={"type": "Recreate"}), ""),
        (revisioned("StatefulSet"), "creates 1 of them at a time"),
        (revisioned("StatefulSet", updateStrategy={"type": "OnDelete"}), ""),
        (leaderworkerset(2, 4), "gang of 8 pods, but a rolling update creates 4 of them"),
        (leaderworkerset(1, 4), ""),
        (
            leaderworkerset(4, 2, rolloutStrategy={"rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 2}}),
            "gang of 8 pods, but a rolling update creates 6 of them",
        ),
        (
            leaderworkerset(2, 4, rolloutStrategy={"rollingUpdateConfiguration": {"maxUnavailable": "100%"}}),
            "",
        ),
    ],
)
def test_a_revision_of_its_own_that_is_created_in_steps(value: dict[str, Any], told: str) -> None:
    found = [note.message for note in read(value, naming="Revisioned").notes if note.rule == "revision-in-steps"]
    assert len(found) == bool(told)
    assert all(told in message for message in found)
    assert "revision-in-steps" not in rules_of(read(value))
