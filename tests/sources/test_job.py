"""Job and CronJob: how many pods exist at once, and when they are no gang."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.krm.paths import format_path
from tests.sources.manifests import (
    TEMPLATE,
    job,
    make_settings,
    manifest,
    only_leaf,
    paths_of,
    read,
    rules_of,
    template,
)


@pytest.mark.parametrize(
    ("parallelism", "completions", "pods"),
    [
        (None, None, 1),
        (4, None, 4),
        (4, 4, 4),
        (4, 2, 2),
        (2, 8, 2),
        (None, 8, 1),
        (1, 1, 1),
    ],
)
def test_pods_at_once(parallelism: int | None, completions: int | None, pods: int) -> None:
    leaf = only_leaf(read(job(parallelism=parallelism, completions=completions)).group)
    assert (leaf.name, leaf.pods, leaf.min_count) == ("job", pods, pods)


def test_where_template_and_count_stand() -> None:
    value = job(parallelism=2, template=template(priorityClassName="high", schedulerName="mine"))
    (pod,) = only_leaf(read(value).group).templates
    assert (pod.path, pod.count_path) == (("spec", "template"), ("spec", "parallelism"))
    assert (pod.priority_class, pod.scheduler) == ("high", "mine")


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"parallelism": 0}, "spec.parallelism"),
        ({"parallelism": 0, "completions": 4}, "spec.parallelism"),
        ({"parallelism": 4, "completions": 0}, "spec.completions"),
    ],
)
def test_no_pods_no_gang(spec: dict[str, Any], path: str) -> None:
    reading = read(job(**spec))
    assert reading.group is None
    assert [(note.rule, format_path(note.path)) for note in reading.notes] == [("group-without-pods", path)]


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ({"parallelism": -1}, "count-negative"),
        ({"completions": -1}, "count-negative"),
        ({"parallelism": "4"}, "count-type"),
        ({"parallelism": 2**31}, "count-overflow"),
        ({"template": None}, "field-missing"),
        ({"template": {"spec": {}}}, "field-missing"),
    ],
)
def test_refused(spec: dict[str, Any], rule: str) -> None:
    reading = read(job(**spec))
    assert reading.group is None
    assert rule in rules_of(reading)


def test_a_suspended_job_is_read_as_if_it_ran() -> None:
    assert only_leaf(read(job(parallelism=4, suspend=True)).group).pods == 4


def test_another_controller_has_it() -> None:
    assert rules_of(read(job(managedBy="kueue.x-k8s.io/multikueue"))) == ["managed-elsewhere"]
    assert read(job(managedBy="kubernetes.io/job-controller")).group


@pytest.mark.parametrize(
    ("release", "gates", "ours"),
    [
        ("1.37", {}, False),
        ("1.37", {"WorkloadWithJob": True}, False),
        ("1.37", {"WorkloadWithJob": False}, True),
        ("1.36", {}, True),
        ("1.35", {}, True),
    ],
)
def test_a_job_that_has_its_own_scheduling(release: Any, gates: dict[str, bool], ours: bool) -> None:
    value = job(parallelism=4, scheduling={"schedulingPolicy": {"gang": {}}})
    reading = read(value, make_settings(release=release, feature_gates=gates))
    assert (reading.group is not None) is ours
    assert rules_of(reading) == ([] if ours else ["job-own-scheduling"])


@pytest.mark.parametrize(
    ("spec", "gang"),
    [
        ({}, False),
        ({"parallelism": 1, "completions": 1}, False),
        ({"parallelism": 4}, False),  # a work queue
        ({"parallelism": 4, "completions": 4}, True),
        ({"parallelism": 4, "completions": 8, "completionMode": "Indexed"}, True),
        ({"parallelism": 4, "completions": 1}, False),
    ],
)
def test_select_all_takes_only_gangs_by_nature(spec: dict[str, Any], gang: bool) -> None:
    reading = read(job(**spec), requested=False)
    assert (reading.group is not None) is gang
    assert rules_of(reading) == ([] if gang else ["job-no-gang"])


@pytest.mark.parametrize(("text", "quorum"), [("2", 2), ("9", 4), ("x", 4), ("", 4)])
def test_kueue_may_admit_less(text: str, quorum: int) -> None:
    value = job(parallelism=4, completions=4)
    value["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": text}
    assert only_leaf(read(value, min_count="MinReplicas").group).min_count == quorum
    assert only_leaf(read(value).group).min_count == 4


def cronjob(policy: str | None, **spec: Any) -> dict[str, Any]:
    """A CronJob whose Jobs have `spec`."""
    job_spec = {"template": TEMPLATE, "parallelism": 4, "completions": 4, **spec}
    value = {"schedule": "@daily", "jobTemplate": {"spec": job_spec}}
    return manifest("batch/v1", "CronJob", {**value, **({"concurrencyPolicy": policy} if policy else {})})


@pytest.mark.parametrize(
    ("policy", "gang", "rules"),
    [
        ("Forbid", True, []),
        ("Replace", True, ["runs-share-gang"]),
        ("Allow", False, ["runs-share-gang"]),
        (None, False, ["runs-share-gang"]),
    ],
)
def test_runs_of_a_cronjob_share_a_gang(policy: str | None, gang: bool, rules: list[str]) -> None:
    reading = read(cronjob(policy))
    assert (reading.group is not None, rules_of(reading)) == (gang, rules)


def test_scheduling_is_no_field_of_a_cronjob() -> None:
    value = cronjob("Forbid")
    value["spec"]["scheduling"] = {"schedulingPolicy": {"gang": {}}}
    reading = read(value)
    assert (reading.group is not None, rules_of(reading)) == (True, [])


def test_template_of_a_cronjob() -> None:
    assert paths_of(read(cronjob("Forbid")).group) == [("spec", "jobTemplate", "spec", "template")]


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ({"parallelism": 1, "completions": 1}, "job-no-gang"),
        ({"managedBy": "example.com/other"}, "managed-elsewhere"),
        ({"parallelism": 0}, "group-without-pods"),
    ],
)
def test_cronjob_without_gang(spec: dict[str, Any], rule: str) -> None:
    reading = read(cronjob("Forbid", **spec), requested=False)
    assert (reading.group, rules_of(reading)) == (None, [rule])
