"""Which changes of a link strand pods: by how many pods the controller creates at once, and what their group needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import krmfn
from krmfn.checks.scheduler.reuse import describe, find_steps
from krmfn.cli.entry import main
from krmfn.krm import Item
from krmfn.survey.census import take_census


def template(group: str) -> dict[str, Any]:
    link = {"schedulingGroup": {"podGroupName": group}} if group else {}
    return {"spec": {"containers": [{"name": "a", "image": "a:1"}], **link}}


def deployment(group: str, **spec: Any) -> dict[str, Any]:
    return {"kind": "Deployment", "spec": {"replicas": 8, "template": template(group), **spec}}


def stateful_set(group: str, **spec: Any) -> dict[str, Any]:
    return {"kind": "StatefulSet", "spec": {"replicas": 4, "template": template(group), **spec}}


def leader_worker_set(group: str, **update: Any) -> dict[str, Any]:
    workers = {"size": 4, "workerTemplate": template(group)}
    strategy = {"type": "RollingUpdate", "rollingUpdateConfiguration": update}
    spec = {"replicas": 2, "leaderWorkerTemplate": workers, "rolloutStrategy": strategy}
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "spec": spec}


def cluster(group: str, *workers: str, **spec: Any) -> dict[str, Any]:
    groups = [
        {"groupName": f"w-{name}", "replicas": 2, "minReplicas": 2, "maxReplicas": 2, "template": template(name)}
        for name in workers
    ]
    head = {"template": template(group)}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "spec": {"headGroupSpec": head, **spec, "workerGroupSpecs": groups},
    }


def pod_group(name: str, quorum: int, **spec: Any) -> dict[str, Any]:
    policy = {"schedulingPolicy": {"gang": {"minCount": quorum}}}
    head = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": name}}
    return head | {"spec": policy | spec}


def find(old: dict[str, Any], new: dict[str, Any], *groups: dict[str, Any], before: Any = ()) -> tuple[str, str]:
    head = {"apiVersion": "apps/v1", "metadata": {"name": "a"}}
    states = [[Item.new(head | value) for value in state] for state in ([old, *before], [new, *groups])]
    steps = find_steps(take_census(states[1], (), states[0])).values()
    told = describe(next(iter(steps))) if steps else None
    return (told.message, told.hint) if told else ("", "")


@pytest.mark.parametrize(
    ("strategy", "quorum", "at_once"),
    [
        ({}, 8, "4 pods"),
        ({"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}, 8, "1 pod "),
        ({"strategy": {"rollingUpdate": {"maxSurge": "30%", "maxUnavailable": "30%"}}}, 8, "5 pods"),
        ({"strategy": {"rollingUpdate": {"maxSurge": "100%"}}}, 8, ""),
        ({"strategy": {"type": "Recreate"}}, 8, ""),
        ({}, 4, ""),
        ({}, 5, "4 pods"),
        ({"replicas": 0}, 8, ""),
    ],
)
def test_rolling_updates_of_a_deployment(strategy: dict[str, Any], quorum: int, at_once: str) -> None:
    message, _ = find(deployment(""), deployment("new", **strategy), pod_group("new", quorum))
    expected = f"the rolling update creates {at_once.strip()} at a time in new, which waits for {quorum} pods"
    assert message == (f"{expected}: the update never ends" if at_once else "")


def test_other_rolling_updates() -> None:
    message, hint = find(stateful_set("old"), stateful_set("new"), pod_group("new", 4))
    assert message.startswith("the rolling update creates 1 pod at a time")
    assert "OnDelete" in hint
    message, hint = find(
        stateful_set("old"), stateful_set("new", updateStrategy={"type": "OnDelete"}), pod_group("new", 4)
    )
    assert message.startswith("running pods stay members of old; a pod that replaces one of them is in new")
    message, _ = find(leader_worker_set(""), leader_worker_set("new"), pod_group("new", 8))
    assert message.startswith("the rolling update creates 4 pods at a time")
    assert not find(leader_worker_set(""), leader_worker_set("new", maxUnavailable="100%"), pod_group("new", 8))[0]


OLD = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: demo, namespace: ml}
spec:
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: a, image: a}]}}}
  workerGroupSpecs:
  - groupName: w
    replicas: 2
    minReplicas: 2
    maxReplicas: 2
    rayStartParams: {}
    template: {spec: {containers: [{name: a, image: a}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve, namespace: ml}
spec:
  replicas: 8
  selector: {matchLabels: {app: serve}}
  template: {metadata: {labels: {app: serve}}, spec: {containers: [{name: a, image: a}]}}
"""


def test_an_annotation_that_opts_running_pods_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before krmfn has written the group; where the old state asked for it, too, nothing is told."""
    (tmp_path / "old.yaml").write_text(OLD)
    (tmp_path / "new.yaml").write_text(
        OLD.replace("namespace: ml", 'namespace: ml, annotations: {krmfn.dev/gang: "true"}')
    )
    old, new = str(tmp_path / "old.yaml"), str(tmp_path / "new.yaml")
    assert main(["validate", "--against", old, new]) in (0, 1)
    out = capsys.readouterr().out
    assert "a pod that replaces one of them is in the group that krmfn generates, which waits for 3 pods" in out
    assert (
        "the rolling update creates 4 pods at a time in the group that krmfn generates, which waits for 8 pods" in out
    )
    main(["validate", "--against", new, new])
    assert "krmfn generates" not in capsys.readouterr().out


def test_running_pods_that_stay() -> None:
    message, hint = find(cluster("", ""), cluster("new", "new"), pod_group("new", 3))
    assert message == (
        "running pods stay outside of any group; a pod that replaces one of them is in new, which waits for 3 pods: it "
        "is never scheduled"
    )
    assert hint.startswith("Suspend the RayCluster with this change")
    renewed = cluster("new", "new", upgradeStrategy={"type": "Recreate"})
    for new in (renewed, cluster("new", "new", suspend=True)):
        assert not find(cluster("", ""), new, pod_group("new", 3))[0]
    assert not find(cluster("old", "old"), cluster("", ""), before=[pod_group("old", 3)])[0]


def test_a_worker_group_is_found_by_its_name() -> None:
    """A new worker group before one that keeps its link changes nothing for those that run."""
    old = cluster("head", "b")
    groups = [pod_group(name, 2) for name in ("head", "a", "b")]
    assert not find(old, cluster("head", "a", "b"), *groups, before=groups)[0]


def test_a_group_of_one_waits_for_its_tree() -> None:
    parent = {"parentCompositePodGroupName": "root", "workloadRef": {"workloadName": "a", "templateName": "a"}}
    root = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "root"},
        "spec": {"schedulingPolicy": {"gang": {"minGroupCount": 2}}},
    }
    message, _ = find(cluster(""), cluster("new"), pod_group("new", 1, **parent), root)
    assert "which waits for all groups of its tree" in message
    assert not find(cluster(""), cluster("new"), pod_group("new", 1))[0]


def test_a_group_that_others_are_members_of_may_be_complete() -> None:
    other = deployment("shared") | {"metadata": {"name": "b"}}
    assert not find(
        cluster(""), cluster("shared"), pod_group("shared", 5), other, before=[other, pod_group("shared", 5)]
    )[0]


@pytest.mark.parametrize(
    ("kind", "version", "severity"),
    [
        ("PodGroup", "v1alpha2", "warning"),
        ("PodGroup", "v1alpha9", "error"),
        ("CompositePodGroup", "v1beta1", "error"),
    ],
)
def test_what_no_release_serves_is_an_error_whatever_the_cluster_is(kind: str, version: str, severity: str) -> None:
    value = {"apiVersion": f"scheduling.k8s.io/{version}", "kind": kind, "metadata": {"name": "a"}, "spec": {}}
    (found,) = krmfn.validate(value, stages=["server"]).of("version-not-served")
    assert found.severity == severity
