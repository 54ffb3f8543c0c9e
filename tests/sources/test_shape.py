"""From a resource's tree to its gang's, and gangs across resources."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.krm.results import ResourceRef
from krmfn.model.tree import Composite, Group, Leaf, PodTemplate, leaves
from krmfn.survey.shape import SharingResource, join, shape
from tests.sources.manifests import (
    job,
    make_options,
    only_leaf,
    pods_of,
    quorums_of,
    raycluster,
    read,
    rules_of,
    workers,
)

CLUSTER = raycluster(workers("cpu", "2/1"), workers("tpu", "1/0", numOfHosts=4))


def shape_cluster(value: Any = CLUSTER, **options: Any) -> Any:
    """The shaped tree of a cluster."""
    group = read(value, **options).group
    assert group
    return shape(group, make_options(**options))


def test_cluster_is_one_leaf_over_all_pods() -> None:
    leaf = only_leaf(shape_cluster().group)
    assert (leaf.name, leaf.pods, leaf.min_count) == ("cluster", 7, 7)
    assert [pod.pods for pod in leaf.templates] == [1, 2, 4]


def test_group_is_a_composite_that_waits_for_all() -> None:
    root = shape_cluster(granularity="Group").group
    assert isinstance(root, Composite)
    assert root.min_group_count == 3
    assert quorums_of(root) == {"head": 1, "cpu": 2, "tpu": 4}


@pytest.mark.parametrize(
    ("min_count", "granularity", "quorums"),
    [
        ("Replicas", "Cluster", {"cluster": 7}),
        ("MinReplicas", "Cluster", {"cluster": 2}),
        (5, "Cluster", {"cluster": 5}),
        (99, "Cluster", {"cluster": 99}),  # the target refuses it
        ("Replicas", "Group", {"head": 1, "cpu": 2, "tpu": 4}),
        ("MinReplicas", "Group", {"head": 1, "cpu": 1}),
    ],
)
def test_quorums(min_count: Any, granularity: Any, quorums: dict[str, int]) -> None:
    assert quorums_of(shape_cluster(min_count=min_count, granularity=granularity).group) == quorums


def test_a_group_that_guarantees_no_pod_stays_outside() -> None:
    shaped = shape_cluster(min_count="MinReplicas", granularity="Group")
    assert shaped.group.min_group_count == 2
    assert [(note.rule, note.path) for note in shaped.notes] == [
        ("group-not-guaranteed", ("spec", "workerGroupSpecs", 1, "replicas"))
    ]


def test_one_number_is_not_for_several_groups() -> None:
    assert rules_of(shape_cluster(min_count=5, granularity="Group")) == ["min-count-for-groups"]


def test_one_number_is_for_the_only_group() -> None:
    shaped = shape_cluster(raycluster(), min_count=1, granularity="Group")
    assert (quorums_of(shaped.group), shaped.notes) == ({"cluster": 1}, ())


def test_a_job_takes_a_number() -> None:
    group = read(job(parallelism=4)).group
    assert group
    for granularity in ("Cluster", "Group"):
        leaf = only_leaf(shape(group, make_options(min_count=3, granularity=granularity)).group)
        assert (leaf.min_count, leaf.pods) == (3, 4)


def test_a_job_takes_a_key_for_its_only_group() -> None:
    group = read(job(parallelism=4)).group
    assert group
    for min_count in ("Replicas", 3):
        shaped = shape(group, make_options(min_count=min_count, group_topology_keys={"job": "rack"}))
        assert (shaped.group.topology_key, shaped.notes) == ("rack", ())


def test_autoscaling_with_nothing_guaranteed_keeps_the_head() -> None:
    value = raycluster(workers("a", "3/0/5"), enableInTreeAutoscaling=True)
    leaf = only_leaf(shape_cluster(value, autoscaling="MinReplicas").group)
    assert (leaf.pods, leaf.min_count) == (4, 1)


def test_keys_and_modes_of_the_whole_gang() -> None:
    leaf = shape_cluster(topology_key="zone", disruption_mode="All").group
    assert (leaf.topology_key, leaf.disruption_mode) == ("zone", "All")
    root = shape_cluster(topology_key="zone", disruption_mode="All", granularity="Group").group
    assert (root.topology_key, root.disruption_mode) == ("zone", "All")
    assert {leaf.disruption_mode for leaf in leaves(root)} == {"All"}  # a parent of All needs children of All
    assert {leaf.topology_key for leaf in leaves(root)} == {""}


def test_keys_of_single_groups() -> None:
    keys = {"tpu": "rack", "cpu": "zone"}
    root = shape_cluster(granularity="Group", topology_key="zone", group_topology_keys=keys).group
    assert {leaf.name: leaf.topology_key for leaf in leaves(root)} == {"head": "", "cpu": "", "tpu": "rack"}


@pytest.mark.parametrize(
    ("granularity", "keys", "hint"),
    [
        ("Cluster", {"tpu": "rack"}, "Set granularity: Group."),
        ("Group", {"tpus": "rack"}, "Did you mean tpu?"),
        ("Group", {"xyz": "rack"}, "Its groups are head, cpu and tpu."),
    ],
)
def test_key_of_a_group_that_is_not_there(granularity: Any, keys: dict[str, str], hint: str) -> None:
    shaped = shape_cluster(granularity=granularity, group_topology_keys=keys)
    assert rules_of(shaped) == ["group-topology-unused"]
    assert shaped.notes[0].hint == hint


def test_groups_that_cannot_start_together_are_not_merged() -> None:
    pod = PodTemplate(0, ("spec",), 2, ("spec",))
    apart = Composite("jobset", (Leaf("a", (pod,), 2), Leaf("b", (pod,), 2)), None)
    for granularity in ("Cluster", "Group"):
        root = shape(apart, make_options(granularity=granularity, disruption_mode="All")).group
        assert isinstance(root, Composite)
        assert (root.min_group_count, root.disruption_mode, quorums_of(root)) == (None, "", {"a": 2, "b": 2})


# Gangs across resources


def make_member(kind: str = "RayCluster", **options: Any) -> SharingResource:
    """A cluster of 7 pods, or a Job of 4, with its options."""
    asked = make_options(**options)
    group = read(CLUSTER if kind == "RayCluster" else job(parallelism=4)).group
    assert group
    version = "ray.io/v1" if kind == "RayCluster" else "batch/v1"
    return SharingResource(ResourceRef(version, kind, "demo"), shape(group, asked).group, asked)


def owners_of(group: Group) -> list[int]:
    """The owner of every pod template."""
    return [pod.owner for leaf in leaves(group) for pod in leaf.templates]


def test_all_pods_of_several_resources_are_one_leaf() -> None:
    joined = join("both", [make_member("Job"), make_member()])
    leaf = only_leaf(joined.group)
    assert (leaf.name, leaf.pods, leaf.min_count) == ("both", 11, 11)
    assert owners_of(leaf) == [0, 1, 1, 1]
    assert (joined.notes, joined.naming) == ((), "Stable")


def test_with_groups_the_trees_become_children() -> None:
    root = join("both", [make_member("Job"), make_member(granularity="Group")]).group
    assert isinstance(root, Composite)
    assert (root.name, root.min_group_count) == ("both", 2)
    assert [child.name for child in root.children] == ["job-demo", "raycluster-demo"]
    assert pods_of(root) == {"job-demo": 4, "head": 1, "cpu": 2, "tpu": 4}
    assert owners_of(root) == [0, 1, 1, 1]


def test_what_all_ask_for_holds_for_the_whole() -> None:
    options = {"topology_key": "zone", "disruption_mode": "All"}
    root = join("both", [make_member("Job", **options), make_member(granularity="Group", **options)]).group
    assert (root.topology_key, root.disruption_mode) == ("zone", "All")
    assert isinstance(root, Composite)
    assert [child.topology_key for child in root.children] == ["", ""]
    leaf = join("both", [make_member("Job", **options), make_member(**options)]).group
    assert (leaf.topology_key, leaf.disruption_mode) == ("zone", "All")


def test_in_a_tree_each_resource_may_have_its_own() -> None:
    members = [make_member("Job", topology_key="rack"), make_member(granularity="Group", topology_key="zone")]
    joined = join("both", members)
    assert (joined.group.topology_key, joined.notes) == ("", ())
    assert isinstance(joined.group, Composite)
    assert [child.topology_key for child in joined.group.children] == ["rack", "zone"]


@pytest.mark.parametrize(
    ("options", "annotation"),
    [
        ({"topology_key": "rack"}, "krmfn.dev/topology-key"),
        ({"disruption_mode": "Single"}, "krmfn.dev/disruption-mode"),
    ],
)
def test_one_leaf_has_one_answer(options: dict[str, Any], annotation: str) -> None:
    joined = join("both", [make_member("Job", topology_key="zone", disruption_mode="All"), make_member(**options)])
    assert [(index, note.rule, note.path[-1]) for index, note in joined.notes] == [
        (1, "gang-group-conflict", annotation)
    ]


def test_groups_that_start_in_order_cannot_join() -> None:
    pod = PodTemplate(0, ("spec",), 2, ("spec",))
    apart = Composite("jobset", (Leaf("a", (pod,), 2), Leaf("b", (pod,), 2)), None)
    member = SharingResource(ResourceRef("jobset.x-k8s.io/v1alpha2", "JobSet", "js"), apart, make_options())
    assert [(index, note.rule) for index, note in join("both", [make_member(), member]).notes] == [
        (1, "ordered-start-deadlock")
    ]


def test_one_silent_resource_follows_the_other() -> None:
    joined = join("both", [make_member("Job"), make_member(topology_key="zone")])
    assert (joined.group.topology_key, joined.notes) == ("zone", ())


def test_one_revisioned_resource_makes_the_gang_revisioned() -> None:
    assert join("both", [make_member("Job"), make_member(naming="Revisioned")]).naming == "Revisioned"
