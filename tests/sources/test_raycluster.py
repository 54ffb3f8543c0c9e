"""RayCluster: its tree, and what KubeRay refuses."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.config import KubeRay
from krmfn.krm.paths import format_path
from krmfn.model.tree import Composite, PodTemplate
from tests.sources.manifests import (
    TEMPLATE,
    make_settings,
    manifest,
    paths_of,
    pods_of,
    quorums_of,
    raycluster,
    read,
    rules_of,
    template,
    workers,
)


def test_head_and_groups_form_a_composite() -> None:
    reading = read(raycluster(workers("cpu", "2/2/2"), workers("tpu", "1/1/1", numOfHosts=4)))
    assert isinstance(reading.group, Composite)
    assert (reading.group.name, reading.group.min_group_count) == ("cluster", 3)
    assert pods_of(reading.group) == quorums_of(reading.group) == {"head": 1, "cpu": 2, "tpu": 4}
    assert reading.notes == ()


def test_paths_lead_to_templates_and_to_what_a_person_edits() -> None:
    reading = read(raycluster(workers("idle", "0"), workers("cpu", "2")))
    assert isinstance(reading.group, Composite)
    head, cpu = reading.group.children
    assert paths_of(head) == [("spec", "headGroupSpec", "template")]
    assert paths_of(cpu) == [("spec", "workerGroupSpecs", 1, "template")]
    assert [format_path(pod.count_path) for pod in cpu.templates] == ["spec.workerGroupSpecs[1].replicas"]  # type: ignore[union-attr]  # a leaf, see above


def test_what_pods_have_to_agree_on_comes_from_the_templates() -> None:
    spec = template(priorityClassName="high", schedulerName="mine", preemptionPolicy="Never")
    group = read(raycluster(workers("cpu", "1", template=spec))).group
    assert isinstance(group, Composite)
    pod: PodTemplate = group.children[1].templates[0]  # type: ignore[union-attr]  # a worker group is a leaf
    assert (pod.priority_class, pod.scheduler, pod.preemption_policy) == ("high", "mine", "Never")


@pytest.mark.parametrize(
    ("group", "path", "why"),
    [
        (workers("a", "0"), "replicas", "replicas is 0"),
        (workers("a", "-2"), "replicas", "replicas is -2"),
        (workers("a", "3", suspend=True), "suspend", "is suspended"),
        (workers("a", "3", numOfHosts=0), "numOfHosts", "has numOfHosts 0"),
        (workers("a", "3", maxReplicas=0), "maxReplicas", "maxReplicas is 0"),
        (workers("a"), "replicas", "replicas is 0"),
    ],
)
def test_groups_without_pods_are_left_out(group: dict[str, Any], path: str, why: str) -> None:
    reading = read(raycluster(group, workers("b", "1")))
    assert pods_of(reading.group) == {"head": 1, "b": 1}
    assert isinstance(reading.group, Composite)
    assert reading.group.min_group_count == 2
    assert [(note.rule, format_path(note.path)) for note in reading.notes] == [
        ("group-without-pods", f"spec.workerGroupSpecs[0].{path}")
    ]
    assert f"({why})" in reading.notes[0].message


@pytest.mark.parametrize("value", [None, "absent"])
def test_null_is_absent(value: str | None) -> None:
    fields = ("replicas", "minReplicas", "maxReplicas", "numOfHosts", "suspend")
    nulls: dict[str, Any] = {} if value == "absent" else dict.fromkeys(fields)
    group = {**workers("a"), **nulls, "minReplicas": 2}
    assert pods_of(read(raycluster(group)).group) == {"head": 1, "a": 2}


def test_a_suspended_cluster_is_read_as_if_it_ran() -> None:
    assert pods_of(read(raycluster(workers("a", "2"), suspend=True)).group) == {"head": 1, "a": 2}


def test_v1alpha1_has_no_hosts_and_no_suspended_groups() -> None:
    reading = read(raycluster(workers("a", "2", numOfHosts=4, suspend=True), api_version="ray.io/v1alpha1"))
    assert pods_of(reading.group) == {"head": 1, "a": 2}
    assert rules_of(reading) == ["field-pruned", "field-pruned"]


@pytest.mark.parametrize(
    ("group", "rule"),
    [
        (workers("a", replicas="2"), "count-type"),
        (workers("a", replicas=True), "count-type"),
        (workers("a", replicas=1.5), "count-type"),
        (workers("a", replicas=2**31), "count-overflow"),
        (workers("a", "1", minReplicas=-1), "count-negative"),
        (workers("a", "1", maxReplicas=-1), "count-negative"),
        (workers("a", "1", numOfHosts=-1), "count-negative"),
        (workers("a", "1", suspend="true"), "field-type"),
        (workers("", "1"), "field-missing"),
        (workers("a", "1", groupName=7), "field-type"),
        (workers("headgroup", "1"), "group-name-reserved"),
        (workers("a b", "1"), "group-name-invalid"),
        (workers("-a", "1"), "group-name-invalid"),
        (workers("a" * 64, "1"), "group-name-invalid"),
        (workers("a" * 58, "1", numOfHosts=2), "group-name-invalid"),
        (workers("a", "1", template=None), "field-missing"),
        (workers("a", "1", template={"spec": {}}), "field-missing"),
        (workers("a", "1", template={"spec": {"containers": []}}), "field-missing"),
        (workers("a", "1", template="x"), "field-type"),
    ],
)
def test_refused_group(group: dict[str, Any], rule: str) -> None:
    reading = read(raycluster(group))
    assert reading.group is None
    assert rule in rules_of(reading)


@pytest.mark.parametrize("name", ["smallGroup", "small_group", "small.group", "a" * 63, "7"])
def test_group_names_that_are_label_values_are_kept(name: str) -> None:
    assert pods_of(read(raycluster(workers(name, "1"))).group) == {"head": 1, name: 1}


def test_whole_floats_count_as_integers() -> None:
    assert pods_of(read(raycluster(workers("a", replicas=2.0))).group) == {"head": 1, "a": 2}


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({}, "spec.headGroupSpec"),
        ({"headGroupSpec": {}}, "spec.headGroupSpec.template"),
        ({"headGroupSpec": {"template": {}}}, "spec.headGroupSpec.template.spec"),
    ],
)
def test_missing_head(spec: dict[str, Any], path: str) -> None:
    reading = read(manifest("ray.io/v1", "RayCluster", spec))
    assert reading.group is None
    assert [(note.rule, format_path(note.path)) for note in reading.notes] == [("field-missing", path)]


@pytest.mark.parametrize("groups", [[], None, "absent"])
def test_head_only(groups: Any) -> None:
    spec = {"headGroupSpec": {"template": TEMPLATE}, **({} if groups == "absent" else {"workerGroupSpecs": groups})}
    assert pods_of(read(manifest("ray.io/v1", "RayCluster", spec)).group) == {"head": 1}


@pytest.mark.parametrize(
    ("name", "refused"),
    [("a" * 53, False), ("a" * 54, True), ("1a", True), ("a.b", True), ("a-", True), ("Demo", True)],
)
def test_names_that_kuberay_accepts(name: str, refused: bool) -> None:
    value = raycluster(workers("a", "1"))
    value["metadata"]["name"] = name
    assert (rules_of(read(value)) == ["ray-name"]) is refused


def test_a_generated_name_makes_no_gang() -> None:
    value = raycluster(workers("a", "1"))
    value["metadata"] = {"generateName": "demo-"}
    assert (read(value).group, rules_of(read(value))) == (None, ["generated-name"])


def test_another_controller_has_it() -> None:
    reading = read(raycluster(workers("a", "1"), managedBy="kueue.x-k8s.io/multikueue"))
    assert (reading.group, rules_of(reading)) == (None, ["managed-elsewhere"])
    assert read(raycluster(workers("a", "1"), managedBy="ray.io/kuberay-operator")).group


def test_autoscaling_is_skipped_by_default() -> None:
    reading = read(raycluster(workers("a", "3/1/5"), enableInTreeAutoscaling=True))
    assert (reading.group, rules_of(reading)) == (None, ["autoscaling-skipped"])
    assert "MinReplicas" in reading.notes[0].hint


def test_autoscaling_counts_the_lower_bound() -> None:
    value = raycluster(workers("a", "3/1/5", numOfHosts=2), workers("b", "0/0/5"), enableInTreeAutoscaling=True)
    reading = read(value, autoscaling="MinReplicas")
    assert quorums_of(reading.group) == {"head": 1, "a": 2}
    assert pods_of(reading.group) == {"head": 1, "a": 6}


def test_autoscaler_options_alone_do_not_switch_it_on() -> None:
    assert read(raycluster(workers("a", "1"), autoscalerOptions={"version": "v2"})).notes == ()


def test_suspended_group_with_autoscaling_is_refused() -> None:
    value = raycluster(workers("a", "3", suspend=True), enableInTreeAutoscaling=True)
    assert rules_of(read(value, autoscaling="MinReplicas")) == ["suspend-with-autoscaling"]


@pytest.mark.parametrize(
    ("release", "version", "pruned"),
    [
        ("1.35", (1, 5), True),
        ("1.35", (1, 6), False),
        ("1.35", (1, 7), True),
        ("1.36", (1, 6), True),
        ("1.36", (1, 7), False),
        ("1.37", (1, 6), True),
        ("1.37", (1, 8), False),
        ("1.37", (2, 0), False),
    ],
)
def test_crds_that_drop_the_link(release: Any, version: tuple[int, int], pruned: bool) -> None:
    settings = make_settings(release=release, kuberay=KubeRay(version, "None"))
    reading = read(raycluster(workers("a", "1")), settings)
    assert reading.group
    assert rules_of(reading) == (["link-pruned"] if pruned else [])


def test_volcano_needs_no_field() -> None:
    settings = make_settings(scheduler="Volcano", kuberay=KubeRay((1, 3), "None"))
    assert read(raycluster(workers("a", "1")), settings).notes == ()
