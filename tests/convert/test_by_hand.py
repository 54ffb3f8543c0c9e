"""Conversions of manifests that people wrote, and of other schedulers' groups."""

from __future__ import annotations

import pytest

from krmfn.convert import convert
from krmfn.model.marks import is_generated
from krmfn.releases.release import UnknownRelease, list_releases
from tests.convert.inputs import SHAPES, generated, pods, read, rules, run

RELEASES = list_releases()


def test_replica_keys_become_groups() -> None:
    text = "\n---\n".join(
        [
            "{apiVersion: scheduling.k8s.io/v1alpha1, kind: Workload, metadata: {name: w, namespace: ml},"
            " spec: {podGroups: [{name: a, policy: {gang: {minCount: 2}}}, {name: b, policy: {basic: {}}}]}}\n",
            pods("one", "workloadRef: {name: w, podGroup: a, podGroupReplicaKey: k1}"),
            pods("two", "workloadRef: {name: w, podGroup: a, podGroupReplicaKey: k2}"),
            pods("three", "workloadRef: {name: w, podGroup: a, podGroupReplicaKey: k1}"),
        ]
    )
    items, done = run(read(text), "1.37")
    assert sorted(item.name for item in items if item.kind == "PodGroup") == ["w-a-k1", "w-a-k2", "w-b"]
    links = [
        item.get(("spec", "template", "spec", "schedulingGroup", "podGroupName"))
        for item in items
        if item.kind == "Job"
    ]
    assert links == ["w-a-k1", "w-a-k2", "w-a-k1"]
    assert rules(done) == ["convert-recreate"] * 3
    back, _ = run(items, "1.35")
    keys = [
        item.get(("spec", "template", "spec", "workloadRef", "podGroupReplicaKey"))
        for item in back
        if item.kind == "Job"
    ]
    assert keys == ["w-a-k1", "w-a-k2", "w-a-k1"]


def test_group_without_workload() -> None:
    text = "\n---\n".join(
        [
            "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g, namespace: ml},"
            " spec: {schedulingPolicy: {gang: {minCount: 2}}}}\n",
            pods("one", "schedulingGroup: {podGroupName: g}"),
        ]
    )
    items, _ = run(read(text), "1.35")
    (workload,) = (item for item in items if item.kind == "Workload")
    assert workload.get(("spec", "podGroups")) == [{"name": "pods", "policy": {"gang": {"minCount": 2}}}]
    (linked,) = (item for item in items if item.kind == "Job")
    assert linked.get(("spec", "template", "spec", "workloadRef")) == {"name": "g", "podGroup": "pods"}
    assert len(items) == 2


@pytest.mark.parametrize(
    ("link", "to"),
    [("workloadRef: {name: w, podGroup: a}", "1.36"), ("schedulingGroup: {podGroupName: g}", "1.35")],
)
def test_links_to_what_is_not_there_stay(link: str, to: str) -> None:
    other = (
        "{apiVersion: scheduling.k8s.io/v1alpha2, kind: PodGroup,"
        " metadata: {name: o}, spec: {schedulingPolicy: {basic: {}}}}"
    )
    items = read("\n---\n".join([pods("one", link), other]))
    before = items[0].text
    after, done = run(items, to)
    assert "convert-unresolved" in rules(done)
    assert after[0].text == before


TWO_PRIORITIES = """
apiVersion: scheduling.k8s.io/v1alpha2
kind: Workload
metadata: {name: w, namespace: ml}
spec:
  podGroupTemplates:
  - {name: a, schedulingPolicy: {basic: {}}, priorityClassName: high}
  - {name: b, schedulingPolicy: {basic: {}}}
---
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: g, namespace: ml}
spec: {podGroupTemplateRef: {workload: {workloadName: w, podGroupTemplateName: b}}, schedulingPolicy: {basic: {}}}
"""


def test_a_list_that_is_too_long_is_told_on_the_way_down() -> None:
    """Whatever the release that it is from says of it; it stays, because nobody knows which entry is meant."""
    text = (
        "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {schedulingPolicy:"
        " {gang: {minCount: 4}}, schedulingConstraints: {topology: [{key: zone}, {key: rack}]}}}"
    )
    items, done = run(read(text), "1.36")
    (finding,) = done.findings
    assert (finding.rule, finding.path[-1]) == ("convert-impossible", "topology")
    assert "2 entries in topology, but 1.36 allows 1" in finding.message
    assert [entry["key"] for entry in items[0].get(finding.path)] == ["zone", "rack"]


def test_workload_of_two_priorities_is_split() -> None:
    items, done = run(read(TWO_PRIORITIES), "1.37")
    assert rules(done) == ["convert-split"]
    assert [item.name for item in items if item.kind == "Workload"] == ["w", "w-no-class"]
    assert items[1].get(("spec", "workloadRef")) == {"workloadName": "w-no-class", "templateName": "b"}


def test_what_is_made_for_a_generated_object_carries_its_marks() -> None:
    """And the waves of targets, so that it is applied in the same order."""
    mark = "annotations: {krmfn.dev/generated-from: Job.batch/train}"
    items, _ = run(read(TWO_PRIORITIES.replace("name: w,", f"name: w, {mark},")), "1.37")
    (made,) = (item for item in items if item.name == "w-no-class")
    (target,) = (item for item in generated(SHAPES["job"], "1.37") if item.kind == "Workload")
    assert is_generated(made)
    assert made.annotations == target.annotations


def test_job_scheduling() -> None:
    text = """
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {parallelism: 2, completions: 2, completionMode: Indexed, scheduling: {schedulingPolicy: {gang: {}}}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: g}
spec: {schedulingPolicy: {basic: {}}}
"""
    items, done = run(read(text), "1.36")
    assert rules(done) == ["convert-lost"]
    assert "scheduling" not in items[0].get(("spec",))
    assert rules(run(items, "1.37")[1]) == ["convert-job"]


# --- from other schedulers ------------------------------------------------------------------------------------------


def test_from_volcano() -> None:
    text = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g, namespace: ml}
spec: {minMember: 3, queue: research, priorityClassName: high, minResources: {cpu: 3}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: ml}
spec:
  template:
    metadata: {annotations: {scheduling.k8s.io/group-name: g}}
    spec: {schedulerName: volcano, containers: [{name: c}]}
"""
    items, done = run(read(text), "1.37")
    group, member = items
    assert (group.api_version, group.get(("spec",))) == (
        "scheduling.k8s.io/v1beta1",
        {"schedulingPolicy": {"gang": {"minCount": 3}}, "priorityClassName": "high"},
    )
    assert member.get(("spec", "template")) == {
        "spec": {"containers": [{"name": "c"}], "schedulingGroup": {"podGroupName": "g"}}
    }
    assert [finding.path for finding in done.findings][:2] == [("spec", "minResources"), ("spec", "queue")]
    assert rules(done) == ["convert-lost", "convert-lost", "convert-recreate"]


@pytest.mark.parametrize("to", RELEASES)
def test_from_scheduler_plugins(to: str) -> None:
    text = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: g, namespace: ml}
spec: {minMember: 3, scheduleTimeoutSeconds: 10}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a, namespace: ml}
spec:
  template:
    metadata: {labels: {app: a, scheduling.x-k8s.io/pod-group: g}}
    spec: {schedulerName: scheduler-plugins-scheduler, containers: [{name: c}]}
"""
    items, done = run(read(text), to)
    (member,) = (item for item in items if item.kind == "StatefulSet")
    template = member.get(("spec", "template"))
    assert template["metadata"] == {"labels": {"app": "a"}}
    link = (
        {"workloadRef": {"name": "g", "podGroup": "pods"}}
        if to == "1.35"
        else {"schedulingGroup": {"podGroupName": "g"}}
    )
    assert template["spec"] == {"containers": [{"name": "c"}], **link}
    assert "convert-lost" in rules(done)


def test_unknown_release() -> None:
    with pytest.raises(UnknownRelease, match=r"1\.34"):
        convert([], "1.34")


def test_from_kai() -> None:
    text = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: g, namespace: ml}
spec: {minSubGroup: 2, queue: research, subGroups: [{name: a, minMember: 1}, {name: b, minMember: 2}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: ml}
spec:
  template:
    metadata:
      labels: {kai.scheduler/subgroup-name: b}
      annotations: {pod-group-name: g, kai.scheduler/skip-podgrouper: "true"}
    spec: {schedulerName: kai-scheduler, containers: [{name: c}]}
"""
    items, done = run(read(text), "1.36")
    group, member = items
    assert group.get(("spec",)) == {"schedulingPolicy": {"gang": {"minCount": 3}}}
    assert member.get(("spec", "template")) == {
        "spec": {"containers": [{"name": "c"}], "schedulingGroup": {"podGroupName": "g"}}
    }
    assert [finding.path for finding in done.findings][:2] == [("spec", "queue"), ("spec", "subGroups")]


@pytest.mark.parametrize(
    ("group", "link"),
    [
        (
            "{apiVersion: scheduling.k8s.io/v1alpha1, kind: Workload, metadata: {name: w, namespace: ml},"
            " spec: {podGroups: [{name: a, policy: {gang: {minCount: 2}}}]}}",
            "workloadRef: {name: w, podGroup: a}",
        ),
        (
            "{apiVersion: scheduling.k8s.io/v1alpha2, kind: PodGroup, metadata: {name: w, namespace: ml},"
            " spec: {schedulingPolicy: {gang: {minCount: 2}}}}",
            "schedulingGroup: {podGroupName: w}",
        ),
    ],
    ids=["1.35", "1.36"],
)
@pytest.mark.parametrize("classes", [("high", "high"), ("high", "low"), ("high", "")])
def test_groups_get_the_class_of_their_pods(group: str, link: str, classes: tuple[str, str]) -> None:
    """From 1.37 on pods of another class than their group are never scheduled."""
    jobs = [
        pods(f"job-{number}", f"priorityClassName: {name}, {link}" if name else link)
        for number, name in enumerate(classes)
    ]
    items, _ = run(read("\n---\n".join([group, *jobs])), "1.37")
    wanted = "high" if classes == ("high", "high") else None
    places = {"PodGroup": ("spec",), "Workload": ("spec", "podGroupTemplates", 0)}
    found = {
        item.kind: item.get((*places[item.kind], "priorityClassName"), None) for item in items if item.kind in places
    }
    assert set(found.values()) == {wanted}, found


def test_a_version_is_of_the_oldest_release_that_has_it_whatever_the_kind() -> None:
    """An unknown field is a mistake, and not lost on a way down."""
    tree = "kind: CompositePodGroup, metadata: {name: a}, spec: {schedulingPolicy: {basic: {}}, colour: red}"
    items, done = run(read(f"{{apiVersion: scheduling.k8s.io/v1beta1, {tree}}}"), "1.37")
    assert (items[0].api_version, rules(done)) == ("scheduling.k8s.io/v1alpha3", [])
