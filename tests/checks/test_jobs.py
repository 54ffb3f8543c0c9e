"""Gangs that never start, or not again: Jobs that have done a part, pods that follow others, parts that are missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import krmfn
from krmfn.checks.operator import kueue, ordering
from krmfn.checks.scheduler import agreement, hindrances, quorum, reuse
from krmfn.config import read_settings
from krmfn.krm import Item
from krmfn.reports.pages import read_page
from krmfn.survey.census import take_census
from krmfn.survey.counting import count_members
from krmfn.survey.gangs import list_present

QUEUE = {"labels": {"kueue.x-k8s.io/queue-name": "team"}}
EXCLUSIVE = {"annotations": {"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"}}


def template(group: str) -> dict[str, Any]:
    link = {"schedulingGroup": {"podGroupName": group}} if group else {}
    return {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}], **link}}


def job_spec(parallelism: int, completions: int | None, **fields: Any) -> dict[str, Any]:
    counts = {"parallelism": parallelism} | ({} if completions is None else {"completions": completions})
    return {**counts, **fields, "template": template("a")}


def job(*counts: Any, metadata: Any = (), **fields: Any) -> dict[str, Any]:
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", **dict(metadata)}}
    return head | {"spec": job_spec(*counts, **fields)}


def jobset(*specs: tuple[int, dict[str, Any]], metadata: Any = ()) -> dict[str, Any]:
    jobs = [{"name": f"j{i}", "replicas": n, "template": {"spec": spec}} for i, (n, spec) in enumerate(specs)]
    head = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "a", **dict(metadata)}}
    return head | {"spec": {"replicatedJobs": jobs}}


def wrap(value: dict[str, Any], metadata: Any = ()) -> dict[str, Any]:
    head = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper"}
    return head | {"metadata": {"name": "w", **dict(metadata)}, "spec": {"components": [{"template": value}]}}


def leader_worker_set(leader: str | None, workers: str) -> dict[str, Any]:
    templates = {"size": 4, "workerTemplate": template(workers)}
    if leader is not None:
        templates["leaderTemplate"] = template(leader)
    head = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    return head | {"metadata": {"name": "a", **EXCLUSIVE}, "spec": {"replicas": 1, "leaderWorkerTemplate": templates}}


def pod_group(name: str, quorum: int, parent: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": quorum}}}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}


def composite(name: str, quorum: int) -> dict[str, Any]:
    spec = {"schedulingPolicy": {"gang": {"minGroupCount": quorum}}}
    head = {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup", "metadata": {"name": name}}
    return head | {"spec": spec}


def find(check: Any, values: Iterable[dict[str, Any]]) -> list[str]:
    """The messages of one rule."""
    items = [Item.new(value) for value in values]
    settings = read_settings(None)
    members, _ = count_members(list_present(items), items, settings)
    return [finding.message for finding in check.find(take_census(items, members), settings)]


@pytest.mark.parametrize(
    ("value", "quorum", "told"),
    [
        (job(4, 10), 4, "only 2 to create"),
        (job(4, 5), 4, "only one to create"),
        (job(4, 10), 2, ""),  # as many as the last wave
        (job(4, 8), 4, ""),
        (job(4, 4), 4, ""),
        (job(4, 2), 2, ""),  # two pods, all at once
        (job(4, None), 4, ""),  # a work queue creates no pod after a success
        (jobset((2, job_spec(4, 6))), 8, "only 4 to create"),
        (jobset((2, job_spec(4, 6))), 4, ""),
        (jobset((1, job_spec(4, 6)), (1, job_spec(2, 2))), 6, "only 2 to create"),
        (jobset((1, job_spec(4, 6)), (1, job_spec(2, 2))), 4, ""),
        (wrap(job(4, 10)), 4, "only 2 to create"),
        (wrap(jobset((2, job_spec(4, 6)))), 8, "only 4 to create"),
    ],
)
def test_the_last_pods_meet_the_quorum(value: dict[str, Any], quorum: int, told: str) -> None:
    found = find(reuse.find_tail_starves, [value, pod_group("a", quorum)])
    assert len(found) == bool(told)
    assert all(told in message for message in found)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (job(4, 4), "one pod has succeeded"),
        (job(4, 10), "7 pods have succeeded"),
        (job(4, 4, backoffLimit=0), ""),
        (jobset((1, job_spec(4, 4, backoffLimit=3))), "one pod has succeeded"),
        (wrap(job(4, 4)), "one pod has succeeded"),
        (wrap(jobset((1, job_spec(4, 4)))), "one pod has succeeded"),
    ],
)
def test_retries_of_all_that_make_jobs(value: dict[str, Any], told: str) -> None:
    found = find(reuse.find_retry_starves, [value, pod_group("a", 4)])
    assert len(found) == bool(told)
    assert all(told in message for message in found)


CRON = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (job(4, 4), 0),
        (job(4, 4, metadata=QUEUE), 1),
        (job(4, 4, metadata=QUEUE, completionMode="Indexed"), 1),
        (jobset((1, job_spec(4, 4)), metadata=QUEUE), 1),
        (CRON | {"spec": {"schedule": "@daily", "jobTemplate": {"metadata": QUEUE, "spec": job_spec(4, 4)}}}, 1),
        (wrap(job(4, 4), metadata=QUEUE), 0),  # deleted and created again
    ],
)
def test_what_a_queue_resumes(value: dict[str, Any], found: int) -> None:
    assert len(find(reuse.find_resume_starves, [value, pod_group("a", 4)])) == found


@pytest.mark.parametrize(
    ("objects", "waits"),
    [
        ([leader_worker_set(None, "a"), pod_group("a", 4)], ["one pod exists until then"]),
        ([leader_worker_set("a", "a"), pod_group("a", 4)], ["one pod exists until then"]),
        ([leader_worker_set("a", "a"), pod_group("a", 1)], []),
        ([leader_worker_set("", "a"), pod_group("a", 3)], []),  # the leader waits for nobody
        ([leader_worker_set("b", "a"), pod_group("a", 3), pod_group("b", 1)], []),
        (
            [leader_worker_set("b", "a"), pod_group("a", 3, "r"), pod_group("b", 1, "r"), composite("r", 2)],
            ["0 pods exist until then"],
        ),
        ([leader_worker_set("b", "a"), pod_group("a", 3, "r"), pod_group("b", 1, "r"), composite("r", 1)], []),
    ],
)
def test_workers_that_follow_their_leader(objects: list[dict[str, Any]], waits: list[str]) -> None:
    found = find(ordering.find_exclusive_placement, objects)
    assert len(found) == len(waits)
    assert all(part in message for part, message in zip(waits, found, strict=True))


@pytest.mark.parametrize(
    ("group", "kind", "spec", "told"),
    [
        ("ray.io", "RayService", {"rayClusterConfig": "cluster"}, "second cluster"),
        ("ray.io", "RayService", {"rayClusterConfig": "cluster", "upgradeStrategy": {"type": "None"}}, ""),
        ("ray.io", "RayCronJob", {"schedule": "0 2 * * *", "jobTemplate": {"rayClusterSpec": "cluster"}}, "runs may"),
        ("batch", "CronJob", {"jobTemplate": {"spec": "job"}}, "runs may"),
        ("batch", "CronJob", {"jobTemplate": {"spec": "job"}, "concurrencyPolicy": "Replace"}, ""),
    ],
)
@pytest.mark.parametrize("policy", ["gang", "basic"])
def test_a_later_run_or_cluster_joins_the_group(group: str, kind: str, spec: Any, told: str, policy: str) -> None:
    parts = {
        "cluster": {"headGroupSpec": {"template": template("a")}, "workerGroupSpecs": []},
        "job": job(2, 2)["spec"],
    }

    def fill(value: Any) -> Any:
        return {key: fill(each) for key, each in value.items()} if isinstance(value, dict) else parts.get(value, value)

    owner = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "a"}, "spec": fill(spec)}
    gang = pod_group("a", 1)
    if policy == "basic":
        gang["spec"]["schedulingPolicy"] = {"basic": {}}
    found = find(reuse.find_rollout_shares_group, [owner, gang])
    assert len(found) == (bool(told) and policy == "gang")
    assert all(told in message for message in found)


def test_a_group_without_a_quorum_waits_with_the_gang_above_it() -> None:
    """A later run of a child with the policy basic meets the quorum of its parent in place of the earlier one."""
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"}}
    cron["spec"] = {"jobTemplate": {"spec": job(2, 2)["spec"]}}
    child = pod_group("a", 1, "r")
    child["spec"]["schedulingPolicy"] = {"basic": {}}
    assert len(find(reuse.find_rollout_shares_group, [cron, child, composite("r", 1)])) == 1


def surging(surge: Any, *groups: int) -> list[dict[str, Any]]:
    """A LeaderWorkerSet of 3 replicas with the group of each, and the numbers of further groups."""
    value = leader_worker_set(None, "")
    by = {"krmfn.dev/pod-group": "a", "krmfn.dev/pod-group-by": "leaderworkerset.sigs.k8s.io/group-index"}
    value["metadata"] = {"name": "a"}
    value["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"] = {"annotations": by}
    value["spec"] |= {"replicas": 3, "rolloutStrategy": {"rollingUpdateConfiguration": {"maxSurge": surge}}}
    return [value, *(pod_group(f"a-{number}", 4) for number in (0, 1, 2, *groups))]


@pytest.mark.parametrize(
    ("surge", "groups", "told"),
    [
        (None, (), ""),
        (0, (), ""),
        (1, (), "adds 1 replica above the 3"),
        ("50%", (), "adds up to 2 replicas"),
        (9, (), "adds up to 3 replicas"),
        (1, (3,), ""),
    ],
)
def test_replicas_that_a_rolling_update_adds(surge: Any, groups: tuple[int, ...], told: str) -> None:
    found = find(reuse.find_rollout_starves, surging(surge, *groups))
    assert len(found) == bool(told)
    assert all(told in message for message in found)


def suspended(value: dict[str, Any]) -> dict[str, Any]:
    return value | {"spec": value["spec"] | {"suspend": True}}


def another(group: str) -> dict[str, Any]:
    """A Job of two pods beside the Job a."""
    value = job(2, 2)
    value["metadata"] = {"name": "b"}
    value["spec"]["template"] = template(group)
    return value


@pytest.mark.parametrize(
    ("objects", "found"),
    [
        ([suspended(job(4, 4)), another("a"), pod_group("a", 6)], 1),
        ([suspended(job(4, 4)), another("a"), pod_group("a", 2)], 0),  # the others suffice
        ([suspended(job(4, 4)), suspended(another("a")), pod_group("a", 6)], 0),
        ([suspended(job(4, 4)), pod_group("a", 4)], 0),  # as it was meant
        ([suspended(job(4, 4, metadata=QUEUE)), another("a"), pod_group("a", 6)], 0),  # Kueue resumes it
        ([suspended(job(4, 4)), another("b"), pod_group("a", 4, "r"), pod_group("b", 2, "r"), composite("r", 2)], 1),
        ([suspended(job(4, 4)), another("b"), pod_group("a", 4, "r"), pod_group("b", 2, "r"), composite("r", 1)], 0),
    ],
)
def test_a_gang_of_which_a_part_is_suspended(objects: list[dict[str, Any]], found: int) -> None:
    assert len(find(hindrances.find_gated_member, objects)) == found


def ray_cluster(head: str, workers: str, replicas: int) -> dict[str, Any]:
    group = {"groupName": "w", "replicas": replicas, "minReplicas": 1, "maxReplicas": 9, "template": template(workers)}
    spec = {"headGroupSpec": {"template": template(head)}, "workerGroupSpecs": [group]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "a"}, "spec": spec}


@pytest.mark.parametrize(
    ("objects", "found"),
    [
        ([ray_cluster("a", "a", 6), pod_group("a", 3)], 1),
        ([ray_cluster("a", "a", 3), pod_group("a", 3)], 1),
        ([ray_cluster("a", "a", 2), pod_group("a", 3)], 0),
        ([ray_cluster("a", "a", 6), pod_group("a", 1)], 0),  # each pod starts alone
        ([ray_cluster("b", "a", 6), pod_group("a", 3), pod_group("b", 1)], 0),
    ],
)
def test_workers_that_can_do_without_the_head(objects: list[dict[str, Any]], found: int) -> None:
    assert len(find(quorum.find_gang_without_head, objects)) == found


def test_an_elastic_job_is_meant_to_run_with_fewer_pods() -> None:
    roles = {"Worker": {"replicas": 4, "template": template("a")}}
    spec = {"elasticPolicy": {"minReplicas": 2}, "pytorchReplicaSpecs": roles}
    value = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "a"}, "spec": spec}
    assert find(quorum.find_min_count_below_pods, [value, pod_group("a", 2)]) == []
    del spec["elasticPolicy"]
    assert len(find(quorum.find_min_count_below_pods, [value, pod_group("a", 2)])) == 1


@pytest.mark.parametrize(
    ("spec", "uid", "found"),
    [({"priority": 0}, "", 0), ({"priority": 7}, "", 1), ({"priority": 7}, "u", 0), ({}, "", 0)],
)
def test_a_priority_that_the_server_filled_in(spec: dict[str, Any], uid: str, found: int) -> None:
    group = pod_group("a", 2)
    group["spec"] |= spec
    group["metadata"] |= {"uid": uid} if uid else {}
    assert len(find(agreement.find_priority_by_hand, [another("a"), group])) == found


def test_kueue_admits_the_pods_of_a_deployment_one_by_one() -> None:
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", **QUEUE}}
    value = head | {"spec": {"replicas": 4, "template": template("a")}}
    (message,) = find(kueue.find_several_workloads, [value, pod_group("a", 4)])
    assert "Deployment a pod by pod" in message
    assert find(kueue.find_several_workloads, [value, pod_group("a", 1)]) == []
    assert find(kueue.find_several_workloads, [job(4, 4, metadata=QUEUE), pod_group("a", 4)]) == []


def test_no_pod_can_name_a_group_with_a_generated_name() -> None:
    value = pod_group("", 2) | {"metadata": {"generateName": "a-"}}
    (told,) = find(quorum.find_group_unused, [value])
    assert told == "no pod template can link to a group whose name the API server generates"


def test_scheduling_of_an_owned_job_counts_from_1_38_on() -> None:
    """Kubernetes 1.38.0-beta.0, job_scheduling_manager.go, getManagementMode: honoured regardless of the owner."""
    bad = read_page("job-scheduling-ignored").examples["bad.yaml"].encode()
    gates = {"WorkloadWithJob": True}
    old = krmfn.validate(bad, kubernetes="1.37", feature_gates=gates)
    new = krmfn.validate(bad, kubernetes="1.38", feature_gates=gates)
    assert old.of("job-scheduling-ignored")
    assert not new.of("job-scheduling-ignored")
