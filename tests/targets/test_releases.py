"""What each release's objects say, row by row of the mapping; that servers accept them is shown in test_live."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krmfn.model.tree import Composite, Group, Leaf
from krmfn.releases.release import Release, find_release, list_needed
from krmfn.targets import Emission, emit
from krmfn.targets.emission import note_gates
from tests.targets.emissions import CPU, GPU, kinds, made, rules, specs
from tests.targets.trees import RELEASES, batch, cluster, gang, job, merged, ray, settings, workers

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("1.35", [("v1alpha1", "Workload", "job-train")]),
        ("1.36", [("v1alpha2", "Workload", "job-train"), ("v1alpha2", "PodGroup", "job-train")]),
        ("1.37", [("v1beta1", "Workload", "job-train"), ("v1beta1", "PodGroup", "job-train")]),
    ],
)
def test_job(release: str, expected: list[tuple[str, str, str]]) -> None:
    emission = made(job(4), release, batch())
    assert kinds(emission) == expected
    assert rules(emission) == []
    (workload,) = specs(emission, "Workload").values()
    assert workload["controllerRef"] == {"apiGroup": "batch", "kind": "Job", "name": "train"}


def test_tree() -> None:
    emission = made(cluster(CPU, GPU), "1.37")
    assert kinds(emission) == [
        ("v1beta1", "Workload", "raycluster-demo"),
        ("v1alpha3", "CompositePodGroup", "raycluster-demo"),
        ("v1beta1", "PodGroup", "raycluster-demo-j-cpu"),
        ("v1beta1", "PodGroup", "raycluster-demo-j-gpu"),
        ("v1beta1", "PodGroup", "raycluster-demo-jz-head"),
    ]
    (root,) = specs(emission, "CompositePodGroup").values()
    assert root["schedulingPolicy"] == {"gang": {"minGroupCount": 3}}
    policies = {name: spec["schedulingPolicy"] for name, spec in specs(emission, "PodGroup").items()}
    assert [policy["gang"]["minCount"] for policy in policies.values()] == [3, 2, 1]


@pytest.mark.parametrize("release", ["1.35", "1.36"])
def test_flat(release: str) -> None:
    """The head waits for nobody, so a losing cluster keeps its node: a warning says so."""
    emission = made(cluster(CPU, GPU), release)
    (workload,) = specs(emission, "Workload").values()
    entries = workload.get("podGroups") or workload["podGroupTemplates"]
    policies = [entry.get("policy") or entry["schedulingPolicy"] for entry in entries]
    assert policies == [{"basic": {}}, {"gang": {"minCount": 3}}, {"gang": {"minCount": 2}}]
    assert rules(emission) == ["groups-apart"]


@pytest.mark.parametrize("release", RELEASES)
def test_cluster_is_one_gang(release: str) -> None:
    """The default form: one group over head and workers, which needs GenericWorkload only (1.37)."""
    emission = made(merged(CPU, GPU), release)
    assert len(emission.objects) == (1 if release == "1.35" else 2)
    assert {link.value for link in emission.links} <= {"raycluster-demo", "cluster"}
    assert rules(emission) == []
    wanted = ("GenericWorkload",) if release == "1.37" else ("GenericWorkload", "GangScheduling")
    assert list_needed(find_release(release), emission.objects) == wanted


@pytest.mark.parametrize("release", RELEASES)
def test_links_reach_every_template(release: str) -> None:
    emission = made(cluster(CPU, GPU), release)
    name = "workloadRef" if release == "1.35" else "schedulingGroup"
    places = {link.path[: link.path.index(name)] for link in emission.links}
    assert places == {
        ("spec", "headGroupSpec", "template", "spec"),
        ("spec", "workerGroupSpecs", 0, "template", "spec"),
        ("spec", "workerGroupSpecs", 1, "template", "spec"),
    }


@pytest.mark.parametrize("release", RELEASES)
def test_across_resources(release: str) -> None:
    tree = cluster(CPU)._replace(name="raycluster-demo")
    emission = made(Composite("pipeline", (tree, job(2, 1, "job-feed")), 2), release, ray(), batch("feed"))
    (workload,) = specs(emission, "Workload").values()
    assert "controllerRef" not in workload
    assert {value["metadata"]["annotations"]["krmfn.dev/generated-from"] for value in emission.objects} == {
        "Job.batch/feed,RayCluster.ray.io/demo"
    }
    assert {link.owner for link in emission.links} == {0, 1}
    if release == "1.37":
        assert len(specs(emission, "CompositePodGroup")) == 2
    else:
        entries = workload.get("podGroups") or workload["podGroupTemplates"]
        policy = entries[0].get("policy") or entries[0]["schedulingPolicy"]
        assert (len(entries), policy) == (1, {"gang": {"minCount": 6}})


def test_order_of_creation() -> None:
    emission = made(cluster(CPU), "1.37")
    waves = [value["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"] for value in emission.objects]
    assert waves == ["-3", "-2", "-1", "-1"]
    assert all(list(value) == ["apiVersion", "kind", "metadata", "spec"] for value in emission.objects)


ZONE = "topology.kubernetes.io/zone"

# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["1.35", "1.36"])
def test_more_than_eight_groups(release: str) -> None:
    groups = [workers(index, f"g{index}", 1) for index in range(8)]
    assert made(cluster(*groups[:7]), release).objects
    emission = made(cluster(*groups), release)
    assert (rules(emission), emission.objects) == (["groups-do-not-fit"], ())
    assert "granularity Cluster" in emission.notes[0].hint


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("quorum", [0, -1, 5])
def test_quorum_out_of_bounds(release: str, quorum: int) -> None:
    emission = made(job(4)._replace(min_count=quorum), release, batch())
    assert (rules(emission), emission.objects) == (["quorum-out-of-bounds"], ())
    assert emission.notes[0].path == ("spec", "parallelism")


@pytest.mark.parametrize("release", RELEASES)
def test_no_pods_no_gang(release: str) -> None:
    assert made(job(0), release, batch()) == Emission((), (), ())


@pytest.mark.parametrize(
    ("release", "gate", "root"),
    [
        ("1.35", "GangScheduling", job(2)),
        ("1.36", "GenericWorkload", job(2)),
        ("1.36", "TopologyAwareWorkloadScheduling", job(2)._replace(topology_key=ZONE)),
        ("1.36", "WorkloadAwarePreemption", job(2)._replace(disruption_mode="All")),
        ("1.37", "GenericWorkload", job(2)),
        ("1.37", "TopologyAwareWorkloadScheduling", cluster(CPU)),
        ("1.37", "CompositePodGroup", cluster(CPU)),
    ],
)
def test_gate_that_is_off(release: str, gate: str, root: Group) -> None:
    emission = made(root, release, batch(), **{gate: False})
    assert (rules(emission)[-1], emission.objects) == ("gate-off", ())
    assert gate in emission.notes[-1].message
    assert made(root, release, batch(), **{gate: True}).objects


def test_priority_does_without_its_gate_in_1_36() -> None:
    emission = made(job(2, priority_class="high"), "1.36", batch(), WorkloadAwarePreemption=False)
    assert "high" not in str(emission.objects)
    assert emission.objects


def test_gates_are_named_once() -> None:
    objects = made(cluster(CPU), "1.37").objects
    note = note_gates(find_release("1.37"), [*objects, *objects], {"GenericWorkload": True})
    assert note is not None
    assert "need the feature gates TopologyAwareWorkloadScheduling and CompositePodGroup and the API" in note.message
    flags = "--feature-gates=TopologyAwareWorkloadScheduling=true,CompositePodGroup=true, and kube-apiserver also with "
    assert f"{flags}--runtime-config=scheduling.k8s.io/v1alpha3=true,scheduling.k8s.io/v1beta1=true. " in note.hint
    needed = list_needed(find_release("1.37"), objects)
    assert note_gates(find_release("1.37"), objects, dict.fromkeys(needed, True)) is None


# --- revisions ------------------------------------------------------------------------------------------------------


def revised(root: Leaf, release: str, **values: Any) -> str:
    emission = emit(gang(root, batch(), naming="Revisioned", **values), settings(release))
    (group,) = (value for value in emission.objects if value["kind"] == "PodGroup")
    name: str = group["metadata"]["name"]
    assert name == f"job-train-{group['metadata']['annotations']['krmfn.dev/revision']}"
    assert {link.value for link in emission.links} == {name}
    return name


def test_revision_follows_what_cannot_change() -> None:
    first = revised(job(4), "1.37")
    assert revised(job(5), "1.37") == first, "minCount may change in 1.37"
    assert revised(job(4), "1.36") != revised(job(5), "1.36"), "nothing may change in 1.36"
    others = [job(4)._replace(topology_key=ZONE), job(4)._replace(min_count=None), job(4, priority_class="high")]
    assert len({first, *(revised(root, "1.37") for root in others)}) == 4


@pytest.mark.parametrize("release", RELEASES)
def test_all_objects_of_a_gang_have_its_revision(release: str) -> None:
    """A Workload cannot get one group more, and groups cannot refer to another Workload: all are made anew together."""
    emission = emit(gang(cluster(CPU), naming="Revisioned"), settings(release))
    revisions = {value["metadata"]["annotations"]["krmfn.dev/revision"] for value in emission.objects}
    assert len(revisions) == 1
    stem = f"raycluster-demo-{revisions.pop()}"
    assert all(value["metadata"]["name"].startswith(stem) for value in emission.objects)
    assert all(link.value.startswith(stem) for link in emission.links if link.path[-1] != "podGroup")
    stable = emit(gang(cluster(CPU)), settings(release))
    assert all(len(value["metadata"]["annotations"]) == 2 for value in stable.objects)


def test_the_most_stable_version_that_has_all_fields_is_written() -> None:
    """A release that serves a kind in several versions, of which the stable one lacks a field."""
    row = json.loads((ROOT / "schemas/kubernetes/1.37/release.json").read_text())
    row["kinds"]["PodGroup"] = ["v1", "v1beta1"]
    row["lacks"] = {"PodGroup": {"v1": ["parentCompositePodGroupName"]}}
    chosen = settings("1.37")._replace(release=Release("1.37", row))
    flat = emit(gang(merged(workers(0, "cpu", 2))), chosen)
    tree = emit(gang(cluster(workers(0, "cpu", 2))), chosen)
    assert [version for version, kind, _ in kinds(flat) if kind == "PodGroup"] == ["v1"]
    assert {version for version, kind, _ in kinds(tree) if kind == "PodGroup"} == {"v1beta1"}
    pinned = chosen._replace(api_versions={"PodGroup": "v1"})
    assert [version for version, kind, _ in kinds(emit(gang(merged()), pinned)) if kind == "PodGroup"] == ["v1"]
    refused = emit(gang(cluster(workers(0, "cpu", 2))), pinned)
    assert (refused.objects, rules(refused)) == ((), ["api-version-pinned"])
    assert "PodGroup v1 of Kubernetes 1.37 has no parentCompositePodGroupName" in refused.notes[0].message


def test_a_pinned_version_is_written_and_told() -> None:
    pinned = {"Workload": "v1alpha3", "PodGroup": "v1alpha3"}
    emission = emit(gang(job(2), batch()), settings("1.37")._replace(api_versions=pinned))
    assert {version for version, _, _ in kinds(emission)} == {"v1alpha3"}
    note = note_gates(find_release("1.37"), emission.objects, {})
    assert note is not None
    assert "--runtime-config=scheduling.k8s.io/v1alpha3=true. " in note.hint
