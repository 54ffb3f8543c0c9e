"""Converting between releases: what is converted equals what would have been generated, and losses are said."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from krmfn.convert import RELEASES, Conversion, convert
from krmfn.krm.item import Item
from krmfn.reconcile import Wanted, reconcile
from krmfn.targets import emit
from krmfn.tree import Group
from tests.targets.trees import batch, cluster, gang, job, merged, ray, settings, workers

CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
CPU = workers(0, "cpu", 3)
SHAPES: dict[str, Group] = {
    "job": job(4),
    "basic": job(4)._replace(min_count=None),
    "one-gang": merged(CPU, workers(1, "gpu", 2)),
}


def owner(kind: str) -> Item:
    pod = {"template": {"spec": CONTAINERS}}
    if kind == "Job":
        value: dict[str, Any] = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "train", "namespace": "ml"},
            "spec": pod,
        }
    else:
        spec = {"headGroupSpec": pod, "workerGroupSpecs": [pod | {"groupName": "cpu"}, pod | {"groupName": "gpu"}]}
        value = {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": {"name": "demo", "namespace": "ml"},
            "spec": spec,
        }
    return Item.new(value)


def generated(root: Group, release: str) -> list[Item]:
    """A resource with everything that is generated for it."""
    is_job = root.name == "job"
    item = owner("Job" if is_job else "RayCluster")
    asked = gang(root, batch() if is_job else ray())
    done = reconcile([item], [Wanted(asked, (item,), emit(asked, settings(release)))])
    return [item, *(Item.new(addition.value) for addition in done.added)]


def run(items: list[Item], to: str) -> tuple[list[Item], Conversion]:
    done = convert(items, to)
    return [item for item in items if item not in done.removed] + [Item.new(entry.value) for entry in done.added], done


def plain(items: list[Item]) -> list[Any]:
    return sorted(
        (yaml.safe_load(item.text) for item in items), key=lambda value: (value["kind"], value["metadata"]["name"])
    )


def rules(done: Conversion) -> list[str]:
    return [finding.note.rule for finding in done.findings]


@pytest.mark.parametrize("to", RELEASES)
@pytest.mark.parametrize("start", RELEASES)
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_generating_anew(shape: str, start: str, to: str) -> None:
    items, done = run(generated(SHAPES[shape], start), to)
    assert plain(items) == plain(generated(SHAPES[shape], to))
    expected = ["convert-recreate"] if "1.35" in (start, to) and start != to else []
    assert rules(done) == expected


@pytest.mark.parametrize("release", RELEASES)
def test_nothing_to_do_changes_no_byte(release: str) -> None:
    items = generated(SHAPES["job"], release)
    texts = [item.text for item in items]
    after, done = run(items, release)
    assert [item.text for item in after] == texts
    assert (done.added, done.removed, done.findings) == ((), (), ())


def test_flat_groups_survive_the_way_up() -> None:
    """Side by side before, side by side after: a conversion does not invent a tree."""
    root = cluster(CPU, workers(1, "gpu", 2))
    items, done = run(generated(root, "1.36"), "1.37")
    assert {item.kind for item in items} == {"RayCluster", "Workload", "PodGroup"}
    assert rules(done) == []
    back, _ = run(items, "1.36")
    assert plain(back) == plain(generated(root, "1.36"))


def test_a_tree_is_lost_on_the_way_down() -> None:
    root = cluster(CPU, workers(1, "gpu", 2))._replace(topology_key="zone")
    items, done = run(generated(root, "1.37"), "1.36")
    assert [item.kind for item in done.removed] == ["CompositePodGroup"]
    said = [finding.note.message.partition("for ")[2] for finding in done.findings]
    assert said == [
        "schedulingConstraints",
        "that 3 groups of template cluster start together",
        "the group itself: its children are scheduled one by one",
    ]
    (workload,) = (item for item in items if item.kind == "Workload")
    assert [entry["name"] for entry in workload.get(("spec", "podGroupTemplates"))] == ["head", "cpu", "gpu"]
    assert all("parent" not in item.text for item in items if item.kind == "PodGroup")


def test_too_many_templates() -> None:
    root = cluster(*(workers(index, f"g{index}", 1) for index in range(8)))
    items = [item for item in generated(cluster(CPU), "1.37") if item.kind == "RayCluster"]
    items += [Item.new(value) for value in emit(gang(root), settings("1.37")).objects]
    assert "convert-impossible" in rules(run(items, "1.36")[1])


def test_modes_are_spelled_anew() -> None:
    for mode in ("All", "Single"):
        root = job(2)._replace(disruption_mode=mode)
        assert plain(run(generated(root, "1.36"), "1.37")[0]) == plain(generated(root, "1.37"))
        assert plain(run(generated(root, "1.37"), "1.36")[0]) == plain(generated(root, "1.36"))


def test_what_1_35_has_no_word_for() -> None:
    root = job(2, priority_class="high")._replace(topology_key="zone", disruption_mode="All")
    _, done = run(generated(root, "1.37"), "1.35")
    lost = {finding.note.path[-1] for finding in done.findings if finding.note.rule == "convert-lost"}
    assert lost == {"disruptionMode", "priorityClassName", "schedulingConstraints"}


# --- by hand --------------------------------------------------------------------------------------------------------


def read(text: str) -> list[Item]:
    return [Item.new(value) for value in yaml.safe_load_all(text)]


PODS = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: ml}
spec: {template: {spec: {containers: [{name: c}], LINK}}}
"""


def pods(name: str, link: str) -> str:
    return PODS.replace("NAME", name).replace("LINK", link)


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


def test_workload_of_two_priorities_is_split() -> None:
    text = """
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
    items, done = run(read(text), "1.37")
    assert rules(done) == ["convert-split"]
    assert [item.name for item in items if item.kind == "Workload"] == ["w", "w-no-class"]
    assert items[1].get(("spec", "workloadRef")) == {"workloadName": "w-no-class", "templateName": "b"}


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
    assert [finding.note.path for finding in done.findings][:2] == [("spec", "minResources"), ("spec", "queue")]
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
    with pytest.raises(KeyError):
        convert([], "1.34")
