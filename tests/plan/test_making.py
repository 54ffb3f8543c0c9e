"""What happens to each object when a new state is applied over an old one."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn.krm.paths import format_path
from krmfn.krm.results import ABSENT
from tests.front_door import call
from tests.plan.states import GROUP, JOB, TREE, entry, plan

BOTH = JOB + GROUP


def test_the_same_state_changes_nothing_however_it_is_spelled() -> None:
    found = plan(BOTH, BOTH.replace("{name: train, namespace: ml}", "{namespace: ml, name: 'train'}"))
    assert [one.action for one in found.entries] == ["unchanged", "unchanged"]
    assert not found.is_refused


def test_what_the_server_and_tools_write_is_no_change() -> None:
    live = BOTH.replace("ml}\nspec", "ml, uid: 1, annotations: {config.kubernetes.io/index: '0'}}\nspec")
    assert plan(BOTH, live + "status: {}\n").counts["unchanged"] == 2


def test_a_version_of_the_core_group_that_there_never_was() -> None:
    old = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b}]}\n"
    for states in ((old, old.replace("v1", "v2")), ("", old.replace("v1", "main"))):
        [found] = plan(*states).entries
        [reason] = found.reasons
        assert (found.action, reason.rule) == ("refuse", "version-not-served")
        assert reason.message.startswith('no matches for kind "Pod" in version')


def test_a_version_that_is_off_may_be_on_in_the_cluster() -> None:
    old = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec: {}\n"
    for release in ("1.35", "1.37"):
        actions = [
            entry(before, old.replace("/v1", "/v1beta1"), "DeviceClass", kubernetes={"version": release}).action
            for before in ("", old)
        ]
        assert actions == ["new", "update"]


def test_min_count_follows_in_place_on_1_37() -> None:
    new = BOTH.replace("4", "5")
    found = plan(BOTH, new)
    assert [one.action for one in found.entries] == ["update", "update"]
    group = found.entries[1]
    assert [(format_path(c.path), c.old, c.new) for c in group.changes] == [
        ("spec.schedulingPolicy.gang.minCount", 4, 5)
    ]
    assert "running pods are not affected" in group.consequences[0]


def test_min_count_needs_a_new_group_on_1_36() -> None:
    old, new = (text.replace("v1beta1", "v1alpha2") for text in (GROUP, GROUP.replace("4", "5")))
    found = entry(old, new, "PodGroup", kubernetes={"version": "1.36"})
    assert (found.action, [format_path(reason.path) for reason in found.reasons]) == (
        "replace",
        ["spec.schedulingPolicy"],
    )


def test_parallelism_of_a_gang_is_frozen_on_1_36() -> None:
    old = BOTH.replace("v1beta1", "v1alpha2")
    found = entry(old, old.replace("parallelism: 4", "parallelism: 3"), "Job", kubernetes={"version": "1.36"})
    assert (found.action, [reason.rule for reason in found.reasons]) == ("replace", ["gang-parallelism"])


def test_a_changed_constraint_needs_a_new_name_for_the_group_and_all_that_name_it() -> None:
    key = "  schedulingConstraints: {topology: [{key: topology.kubernetes.io/zone}]}\n"
    found = entry(BOTH, BOTH + key, "PodGroup")
    assert found.action == "replace"
    assert [(r.type, format_path(r.path)) for r in found.reasons] == [("Invalid", "spec.schedulingConstraints")]
    assert "podgroup-protection" in found.consequences[0]
    assert "replace the Job as well" in found.consequences[1]
    assert [(place.ref.kind, format_path(place.path)) for place in found.renames] == [
        ("PodGroup", "metadata.name"),
        ("Job", "spec.template.spec.schedulingGroup.podGroupName"),
    ]
    assert [(place.file.path, place.file.line) for place in found.renames if place.file] == [
        ("new.yaml", 16),
        ("new.yaml", 11),
    ]


def test_a_composite_is_renamed_together_with_its_children() -> None:
    found = entry(TREE, TREE.replace("minGroupCount: 1", "minGroupCount: 2"), "CompositePodGroup")
    assert found.action == "replace"
    assert "no finalizer" in found.consequences[0]
    assert [(place.ref.name, format_path(place.path)) for place in found.renames] == [
        ("tree", "metadata.name"),
        ("leaf", "spec.parentCompositePodGroupName"),
    ]


def test_the_names_of_a_1_37_kind_pair_across_versions() -> None:
    found = entry(GROUP, GROUP.replace("v1beta1", "v1alpha3"), "PodGroup")
    assert found.action == "update"
    assert [change.path for change in found.changes] == [("apiVersion",)]


def test_an_object_that_the_server_refuses_in_any_case() -> None:
    bad = GROUP.replace("minCount: 4", "minCount: -1")
    for old in (GROUP, "", JOB):
        found = entry(old, bad, "PodGroup")
        assert found.action == "refuse"
        assert [reason.rule for reason in found.reasons] == ["minimum"]
        assert plan(old, bad).is_refused


def test_a_placeholder_is_refused_in_no_state() -> None:
    unknown = GROUP.replace("minCount: 4", "minCount: '${COUNT}'")
    assert [entry(old, unknown, "PodGroup").action for old in (JOB, GROUP, unknown)] == ["new", "update", "unchanged"]
    assert entry(unknown, GROUP, "PodGroup").action == "update"
    bad = unknown.replace("namespace: ml", "namespace: ml, labels: {a: b/c/d}")
    assert entry(GROUP, bad, "PodGroup").action == "refuse"
    ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a, namespace: ml}\nspec:\n"
    ingress += "  defaultBackend: {service: {name: a, port: {number: 80}}}\n  rules: [{host: NAME.example.com}]\n"
    assert [entry(old, ingress, "Ingress").action for old in (JOB, ingress.replace("80", "81"))] == ["new", "update"]


def test_metadata_alone_is_added_to_what_the_cluster_has() -> None:
    text = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: gp3, annotations: {a: b}}\n"
    assert [entry(old, text, "StorageClass").action for old in (JOB, text.replace("b}", "c}"))] == ["new", "update"]
    assert entry(JOB, text.replace(", annotations: {a: b}", ""), "StorageClass").action == "refuse"


def test_an_object_that_the_server_had_refused_is_judged_as_a_new_one() -> None:
    found = entry(GROUP.replace("minCount: 4", "minCount: -1"), GROUP, "PodGroup")
    assert found.action == "update"


def test_new_and_removed_objects() -> None:
    found = plan(BOTH, JOB + TREE)
    assert {f"{one.ref.kind} {one.ref.name}": one.action for one in found.entries} == {
        "Job train": "unchanged",
        "CompositePodGroup tree": "new",
        "PodGroup leaf": "new",
        "PodGroup train": "remove",
    }
    removed = found.entries[-1]
    assert removed.file is not None
    assert removed.file.path == "old.yaml"
    assert "Job train still links to it" in removed.consequences[0]


def test_a_removed_root_leaves_children_that_name_it() -> None:
    leaf = TREE[TREE.index("---", 3) :]
    removed = plan(TREE, leaf).entries[-1]
    assert removed.action == "remove"
    assert "leaf still names it as its parent" in removed.consequences[0]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (("image: train:1", "image: train:2"), "spec.template"),
        (("podGroupName: train", "podGroupName: other"), "spec.template"),
        (("completionMode: Indexed", "completionMode: NonIndexed"), "spec.completionMode"),
    ],
)
def test_a_job_with_another_template_is_replaced(change: tuple[str, str], path: str) -> None:
    found = entry(JOB, JOB.replace(*change), "Job")
    assert found.action == "replace"
    assert path in {format_path(reason.path) for reason in found.reasons}
    assert found.consequences == ("The Job is deleted with its pods and starts from the beginning.",)


@pytest.mark.parametrize(
    "field",
    ["nodeSelector: {disk: ssd}", "tolerations: [{operator: Exists}]", "schedulingGates: [{name: example.com/wait}]"],
)
def test_a_suspended_job_may_move(field: str) -> None:
    old = JOB.replace("spec:\n  parallelism", "spec:\n  suspend: true\n  parallelism")
    new = old.replace("restartPolicy: Never", f"restartPolicy: Never\n      {field}")
    assert entry(old, new, "Job").action == "update"
    assert entry(JOB, new, "Job").action == "replace"


def test_a_statefulset_may_scale_and_not_change_its_policy() -> None:
    old = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s}
spec:
  replicas: 2
  serviceName: s
  selector: {matchLabels: {app: s}}
  template: {metadata: {labels: {app: s}}, spec: {containers: [{name: main, image: web:1}]}}
"""
    assert entry(old, old.replace("replicas: 2", "replicas: 3"), "StatefulSet").action == "update"
    found = entry(old, old.replace("serviceName: s", "serviceName: t"), "StatefulSet")
    assert (found.action, found.reasons[0].type) == ("replace", "Invalid")


def test_a_new_link_in_a_ray_cluster_makes_a_mixed_gang() -> None:
    old = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: demo}
spec: {headGroupSpec: {template: {spec: {containers: []}}}}
"""
    found = entry(old, old.replace("{containers", "{schedulingGroup: {podGroupName: demo}, containers"), "RayCluster")
    assert found.action == "update"
    assert "mixed" in found.consequences[0]
    assert found.changes[0].old is ABSENT


def test_a_link_that_is_removed_from_a_ray_cluster() -> None:
    """Pods that are left without any group are told of; where another template keeps its link, the gang is mixed."""
    linked = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: demo}
spec:
  headGroupSpec: {template: {spec: {schedulingGroup: {podGroupName: demo}, containers: []}}}
  workerGroupSpecs:
  - {groupName: cpu, template: {spec: {schedulingGroup: {podGroupName: demo}, containers: []}}}
"""
    link = "schedulingGroup: {podGroupName: demo}, "
    assert "scheduled one by one" in entry(linked, linked.replace(link, ""), "RayCluster").consequences[0]
    assert "mixed" in entry(linked, linked.replace(link, "", 1), "RayCluster").consequences[0]


def test_a_ray_cluster_that_is_recreated_keeps_no_pod() -> None:
    old = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: demo}
spec: {upgradeStrategy: {type: Recreate}, headGroupSpec: {template: {spec: {containers: []}}}}
"""
    new = old.replace("{containers", "{schedulingGroup: {podGroupName: demo}, containers")
    for before, after in ((old, new), (new, old)):
        (told,) = entry(before, after, "RayCluster").consequences
        assert "deletes all pods" in told


@pytest.mark.parametrize(
    ("kind", "field", "told"),
    [
        ("RayService", "rayClusterConfig", "KubeRay may build a second cluster beside the running one"),
        ("RayJob", "rayClusterSpec", "A running RayJob ignores changes of rayClusterSpec"),
    ],
)
def test_a_change_of_the_cluster_of_another_ray_resource(kind: str, field: str, told: str, tmp_path: Path) -> None:
    template = "template: {spec: {containers: [{name: ray, image: ray:1}]}}"
    spec = f"{{{field}: {{headGroupSpec: {{rayStartParams: {{}}, {template}}}}}}}"
    old = f"apiVersion: ray.io/v1\nkind: {kind}\nmetadata: {{name: demo}}\nspec: {spec}\n"
    changed, beside = old.replace("ray:1", "ray:2"), old.replace("demo", "demo, labels: {a: b}")
    for name, text in (("old", old), ("changed", changed), ("beside", beside)):
        (tmp_path / f"{name}.yaml").write_text(text)
    assert told in call(words=["diff", "old.yaml", "changed.yaml"], folder=tmp_path).out.decode()
    assert told not in call(words=["diff", "old.yaml", "beside.yaml"], folder=tmp_path).out.decode()


def test_configuration_and_local_objects_are_not_applied() -> None:
    local = """\
apiVersion: krmfn.dev/v1alpha1
kind: GangScheduling
metadata: {name: gangs}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, annotations: {config.kubernetes.io/local-config: "true"}}
---
apiVersion: batch/v1
kind: Job
metadata: {generateName: run-}
"""
    assert plan("", local).entries == ()
