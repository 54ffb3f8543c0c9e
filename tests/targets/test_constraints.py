"""Topology keys, disruption modes, priorities and schedulers, as each release says them, or loses them."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.krm import Item
from krmfn.pipeline import complete
from krmfn.releases.release import find_release, list_needed
from krmfn.survey.facts import read_facts
from krmfn.targets import emit
from tests.targets.emissions import CPU, made, rules, specs
from tests.targets.trees import RELEASES, batch, cluster, gang, head, job, settings, workers

ZONE = "topology.kubernetes.io/zone"

CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}


def constraint(spec: dict[str, Any]) -> Any:
    return (spec.get("schedulingConstraints") or {"topology": [{}]})["topology"][0].get("key")


def test_topology_in_the_tree() -> None:
    emission = made(cluster(CPU._replace(topology_key="rack"))._replace(topology_key=ZONE), "1.37")
    assert [constraint(value["spec"]) for value in emission.objects[1:]] == [ZONE, "rack", None]
    assert "TopologyAwareWorkloadScheduling" in list_needed(find_release("1.37"), emission.objects)


def test_topology_in_a_flat_list_holds_per_group() -> None:
    emission = made(cluster(CPU)._replace(topology_key=ZONE), "1.36")
    assert [constraint(spec) for spec in specs(emission, "PodGroup").values()] == [ZONE, ZONE]
    assert rules(emission) == ["groups-apart", "topology-loosened"]


def test_topology_is_lost_in_1_35() -> None:
    emission = made(job(2)._replace(topology_key=ZONE, disruption_mode="All"), "1.35", batch())
    assert rules(emission) == ["topology-lost", "disruption-mode-lost"]
    assert len(emission.objects) == 1


@pytest.mark.parametrize(
    ("release", "mode", "expected"),
    [
        ("1.36", "All", "PodGroup"),
        ("1.36", "Single", "Pod"),
        ("1.37", "All", {"all": {}}),
        ("1.37", "Single", {"single": {}}),
    ],
)
def test_disruption_modes(release: str, mode: Any, expected: Any) -> None:
    emission = made(job(2)._replace(disruption_mode=mode), release, batch())
    (group,) = specs(emission, "PodGroup").values()
    (workload,) = specs(emission, "Workload").values()
    assert group["disruptionMode"] == workload["podGroupTemplates"][0]["disruptionMode"] == expected


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_all_is_for_gangs(release: str) -> None:
    """A group without a quorum is never disrupted as a whole (R31)."""
    emission = made(job(2)._replace(disruption_mode="All", min_count=None), release, batch())
    (group,) = specs(emission, "PodGroup").values()
    assert "disruptionMode" not in group


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_priority_is_everywhere(release: str) -> None:
    root = cluster(workers(0, "cpu", 2, priority_class="high"), first=head(priority_class="high"))
    emission = made(root, release)
    found = str(emission.objects).count("'priorityClassName': 'high'")
    assert found == (4 if release == "1.36" else 6)
    assert "'priority'" not in str(emission.objects)


@pytest.mark.parametrize("release", RELEASES)
def test_priorities_that_differ(release: str) -> None:
    emission = made(cluster(workers(0, "cpu", 2, priority_class="high")), release)
    if release == "1.35":
        assert emission.objects
        return
    (note,) = (note for note in emission.notes if note.rule == "priority-not-shared")
    assert note.path == ("spec", "workerGroupSpecs", 0, "template", "spec", "priorityClassName")
    assert (emission.objects, emission.links) == ((), ())


@pytest.mark.parametrize(
    ("facts", "agree"),
    [
        ({}, False),
        ({"priorityClasses": {"high": 1000}}, False),
        ({"priorityClasses": [{"name": "high", "value": 1000, "globalDefault": True}]}, True),
        ({"priorityClasses": {"high": {"value": 1000, "globalDefault": True}}}, True),
        ({"priorityClasses": {"other": {"value": 1000, "globalDefault": True}}}, False),
        ({"items": [{**CLASS, "metadata": {"name": "high"}, "globalDefault": True}]}, True),
    ],
)
def test_the_class_of_pods_that_name_none(facts: dict[str, Any], agree: bool) -> None:
    root = cluster(workers(0, "cpu", 2, priority_class="high"))
    emission = emit(gang(root), settings("1.37")._replace(priority_classes=read_facts(facts, {}).priority_classes))
    assert ("priority-not-shared" not in rules(emission)) is agree
    assert bool(emission.objects) is agree


@pytest.mark.parametrize("release", RELEASES)
def test_schedulers_that_differ(release: str) -> None:
    same = cluster(workers(0, "cpu", 2, scheduler="default-scheduler"))
    assert made(same, release).objects
    assert "scheduler-not-shared" in rules(made(cluster(workers(0, "cpu", 2, scheduler="volcano")), release))


def test_preemption_policy() -> None:
    """Written where the pods say Never: the API server refuses a group of such a class without it (C, vector 57)."""
    root = job(2, priority_class="calm", preemption_policy="Never")
    (group,) = specs(made(root, "1.37", batch()), "PodGroup").values()
    assert group["preemptionPolicy"] == "Never"
    (group,) = specs(made(root, "1.37", batch(), PodGroupPreemptionPolicy=False), "PodGroup").values()
    assert "preemptionPolicy" not in group


@pytest.mark.parametrize(
    "facts",
    [
        {"priorityClasses": {"calm": {"value": 1, "preemptionPolicy": "Never"}, "high": 2}},
        {"priorityClasses": [{"name": "calm", "preemptionPolicy": "Never"}]},
        {
            "items": [
                {"kind": "Node"},
                {**CLASS, "metadata": {"name": "calm"}, "preemptionPolicy": "Never"},
            ]
        },
    ],
)
def test_preemption_policy_of_the_class(facts: Any) -> None:
    def policy(name: str) -> Any:
        choice = settings("1.37")._replace(priority_classes=read_facts(facts, {}).priority_classes)
        emission = emit(gang(job(2, priority_class=name), batch()), choice)
        return specs(emission, "PodGroup")["job-train"].get("preemptionPolicy")

    assert (policy("calm"), policy("high"), policy("")) == ("Never", None, None)


def test_unsaid_policies_are_those_of_the_class() -> None:
    first = head(priority_class="calm", preemption_policy="Never")
    root = cluster(workers(0, "cpu", 2, priority_class="calm"), first=first)
    assert made(root, "1.37").objects
    other = cluster(
        workers(0, "cpu", 2, preemption_policy="PreemptLowerPriority"), first=head(preemption_policy="Never")
    )
    assert "preemption-policy-not-shared" in rules(made(other, "1.37"))
    assert made(other, "1.36").objects


def test_preemption_policy_of_a_class_in_git() -> None:
    """A class that is applied together with the gang is one of the cluster's."""
    spec = {"restartPolicy": "Never", "priorityClassName": "calm", "containers": [{"name": "c", "image": "i"}]}
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ml", "annotations": {"krmfn.dev/gang": "true"}},
        "spec": {"parallelism": 2, "completions": 2, "template": {"spec": spec}},
    }
    classes = {**CLASS, "metadata": {"name": "calm"}, "preemptionPolicy": "Never"}
    made = complete([Item.new(value) for value in (owner, classes)], settings("1.37"))[0]
    (group,) = [item.value for item in made if item.kind == "PodGroup"]
    assert group["spec"]["preemptionPolicy"] == "Never"
