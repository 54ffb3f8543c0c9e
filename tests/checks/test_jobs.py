"""Gangs of Jobs that start once and not again, and gangs of jobs whose pods follow their first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from krmfn.checks.operator import ordering
from krmfn.checks.scheduler import reuse
from krmfn.config import read_settings
from krmfn.krm import Item
from krmfn.survey.census import take_census
from krmfn.survey.counting import count_members
from krmfn.survey.gangs import survey

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
    members, _ = count_members(survey(items, settings).present, settings)
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
