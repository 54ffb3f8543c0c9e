"""Slices and minima of roles, through the command that writes them: what is nested in what, and what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from conformance.bridge.operators import list_pods
from conformance.bridge.predicting import predict
from conformance.bridge.slicing import make_minima, make_slices
from tests.front_door import Done, call

Value = dict[str, Any]

CONFIG: Value = {
    "apiVersion": "krmfn.dev/v1alpha1",
    "kind": "GangScheduling",
    "metadata": {"name": "gangs"},
    "spec": {"link": "Auto", "kuberay": {"version": "1.6"}, "kubernetes": {"version": "1.37"}},
}
BOX = {"containers": [{"name": "main", "image": "registry.example.com/a:1"}]}


def generate(folder: Path, resource: Value, **spec: Any) -> Done:
    """`krmfn generate` of a resource, in a folder with a configuration."""
    (folder / "krmfn.yaml").write_text(yaml.safe_dump(CONFIG | {"spec": CONFIG["spec"] | spec}))
    return call(yaml.safe_dump(resource).encode(), ["generate", "-q", "--config", "krmfn.yaml", "-"], folder)


def make_job(slices: str, pods: int = 96, **spec: Any) -> Value:
    spec = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": {"spec": BOX}, **spec}
    marks = {"krmfn.dev/gang": "true", "krmfn.dev/slices": slices}
    metadata = {"name": "train", "namespace": "ml", "annotations": marks}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def read_tree(done: Done) -> tuple[Value, dict[str, Value]]:
    """The resource, and all groups by name."""
    assert done.code == 0, done.err
    source, *made = yaml.safe_load_all(done.out)
    return source, {value["metadata"]["name"]: value for value in made if value["kind"] != "Workload"}


@pytest.mark.parametrize("make", [make_slices, make_minima])
def test_pods_fill_nested_groups(make: Any, tmp_path: Path) -> None:
    """The quorums of all groups, from the leaves to the root, against pods as operators make them and policies link
    them. The random resources are those that a live scheduler has placed."""
    chance = Random(37)
    for number in range(40):
        case = make(chance, number)
        source, groups = read_tree(generate(tmp_path, case.resource))
        pods = Counter(predict(pod["metadata"]).link for pod in list_pods(source) if not _leads(pod))
        leaders = Counter(_join_leader(pod) for pod in list_pods(source) if _leads(pod))
        linked = pods + leaders
        leaves = {name: value for name, value in groups.items() if value["kind"] == "PodGroup"}
        assert linked == {name: value["spec"]["schedulingPolicy"]["gang"]["minCount"] for name, value in leaves.items()}
        children = Counter(value["spec"].get("parentCompositePodGroupName", "") for value in groups.values())
        roots = children.pop("")
        assert roots == 1
        for name, count in children.items():
            quorum = groups[name]["spec"]["schedulingPolicy"]["gang"]["minGroupCount"]
            assert quorum == count if make is make_slices else 1 <= quorum <= count


def _leads(pod: Value) -> bool:
    return "leaderworkerset.sigs.k8s.io/group-index" not in pod["metadata"]["labels"] and (
        "leaderworkerset.sigs.k8s.io/name" in pod["metadata"]["labels"]
    )


def _join_leader(pod: Value) -> str:
    """The group of a leader, whose index a webhook puts on."""
    labels = {"leaderworkerset.sigs.k8s.io/group-index": pod["metadata"]["name"].rpartition("-")[2]}
    return predict({**pod["metadata"], "labels": pod["metadata"]["labels"] | labels}).link


def test_each_level_has_its_topology_key(tmp_path: Path) -> None:
    _, groups = read_tree(generate(tmp_path, make_job("topology.kubernetes.io/zone=48, example.com/rack=16")))
    found = Counter(
        (value["kind"], *(each["key"] for each in value["spec"].get("schedulingConstraints", {}).get("topology", ())))
        for value in groups.values()
    )
    assert found == {
        ("CompositePodGroup",): 1,
        ("CompositePodGroup", "topology.kubernetes.io/zone"): 2,
        ("PodGroup", "example.com/rack"): 6,
    }


REFUSED = [
    (make_job("zone=40"), "96 pods cannot be cut into slices of 40", "Use slices of 32 or 48, or 80 or 120 pods."),
    (make_job("zone=100"), "96 pods cannot be cut into slices of 100", "Use slices of 96, or 100 pods."),
    (make_job("zone=48, rack=20"), "slices of 48 pods cannot be cut into slices of 20", "Use 16 or 24 instead of 20,"),
    (
        make_job("zone=16, rack=48"),
        "slices of 16 pods cannot be cut into slices of 48",
        "Write the largest slices first.",
    ),
    (make_job("zone=48, zone=16"), "two levels of slices have the label zone", "Remove the smaller level"),
    (make_job("zone=48, rack=16, zone=8"), "two levels of slices have the label zone", "give it another label"),
    (make_job("a=96, b=48, c=24, d=12"), "4 levels of slices are nested deeper", "Use at most 3 levels."),
    (make_job("zone=48", completionMode="NonIndexed"), "have no numbers", "Use an Indexed Job"),
    (make_job("zone=48", completions=200), "have no numbers", "Use an Indexed Job"),
    (make_job("zone=1", pods=10**6), "in slices of 1 are 1000000 groups", "at most 5000 groups"),
]


@pytest.mark.parametrize(("resource", "message", "hint"), REFUSED)
def test_what_cannot_be_cut_is_refused_before_anything_is_written(
    resource: Value, message: str, hint: str, tmp_path: Path
) -> None:
    done = generate(tmp_path, resource)
    text = done.err.decode()
    assert (done.code, done.out) == (2, b"") or b"kind: Workload" not in done.out
    assert message in text
    assert hint in text
    assert text.count("[slices-impossible]") == 1


@pytest.mark.parametrize("text", ["zone", "zone=0", "zone=4,", "=4", "zone=4;rack=2", "zone = 4", "zone=99999999999"])
def test_a_text_that_says_no_slices_is_an_error_of_its_annotation(text: str, tmp_path: Path) -> None:
    done = generate(tmp_path, make_job(text))
    assert done.code != 0
    assert b"krmfn.dev/slices" in done.err
    assert b"[annotation-value]" in done.err


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ({"kubernetes": {"version": "1.36"}}, "slices-impossible"),
        ({"kubernetes": {"version": "1.35"}}, "bridge-not-possible"),
        ({"link": "Template"}, "bridge-not-possible"),
        ({"scheduler": "Volcano"}, "bridge-not-possible"),
    ],
)
def test_settings_without_slices(spec: Value, rule: str, tmp_path: Path) -> None:
    done = generate(tmp_path, make_job("zone=48"), **spec)
    assert done.code != 0
    assert f"[{rule}]".encode() in done.err


def test_a_quorum_above_the_groups_is_refused(tmp_path: Path) -> None:
    resource = make_minima(Random(1), 0).resource
    for key in resource["metadata"]["annotations"]:
        if ".min" in key or "/min" in key:
            resource["metadata"]["annotations"][key] = "99"
    done = generate(tmp_path, resource)
    assert b"[quorum-out-of-bounds]" in done.err
    assert b"kind: PodGroup" not in done.out


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    once = generate(tmp_path, make_job("zone=48, rack=16")).out
    words = ["generate", "-q", "--config", "krmfn.yaml", "-"]
    assert call(once, words, tmp_path).out == once


def test_other_slices_leave_no_group_of_the_first_behind(tmp_path: Path) -> None:
    """The count that the annotation says is the one that is there, and the link follows."""
    once = generate(tmp_path, make_job("zone=48, rack=16")).out
    words = ["generate", "-q", "--config", "krmfn.yaml", "-"]
    again = call(once.replace(b"rack=16", b"rack=24"), words, tmp_path)
    fresh = generate(tmp_path, make_job("zone=48, rack=24"))
    assert read_tree(again)[1].keys() == read_tree(fresh)[1].keys()
    assert b"job-completion-index / 24" in again.out


def test_one_number_for_several_groups_is_refused_with_slices_as_without(tmp_path: Path) -> None:
    box = {"template": {"spec": BOX}}
    workers = {"groupName": "w", "replicas": 4, "minReplicas": 4, "maxReplicas": 4, "numOfHosts": 2, **box}
    marks = {"krmfn.dev/gang": "true", "krmfn.dev/slices": "zone=4", "krmfn.dev/min-count": "4"}
    metadata = {"name": "r", "namespace": "ml", "annotations": marks}
    spec = {"headGroupSpec": box, "workerGroupSpecs": [workers]}
    done = generate(tmp_path, {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec})
    assert b"[min-count-for-groups]" in done.err


def make_marked(kind: str, **marks: str) -> Value:
    """A Job, or a RayCluster with two hosts a replica, with such annotations beside the opt-in."""
    box = {"template": {"spec": BOX}}
    workers = {"groupName": "w", "replicas": 4, "minReplicas": 2, "maxReplicas": 4, "numOfHosts": 2, **box}
    ray: Value = {
        **{"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "r", "namespace": "ml"}},
        "spec": {"headGroupSpec": box, "workerGroupSpecs": [workers, {**workers, "groupName": "v"}]},
    }
    value = make_job("") if kind == "Job" else ray
    named = {f"krmfn.dev/{key.replace('_', '-')}": mark for key, mark in marks.items()}
    value["metadata"]["annotations"] = {"krmfn.dev/gang": "true", **named}
    return value


UNUSED = [
    ("Job", "1.37", {"min_count": "MinReplicas"}, "no field of this Job says how many of its pods are enough"),
    ("Job", "1.37", {"min_groups": "2"}, "min-groups has no effect: the gang is one group"),
    ("Job", "1.37", {"min_groups": "2", "granularity": "Replica"}, "min-groups has no effect: the gang is one group"),
    ("Job", "1.36", {"min_groups": "2"}, "nested, which Kubernetes 1.36 cannot do"),
    ("RayCluster", "1.37", {"min_count.u": "2", "granularity": "Replica"}, "there is no such group"),
    ("RayCluster", "1.37", {"min_count.w": "2"}, "the gang is one group"),
    ("RayCluster", "1.37", {"min_count": "MinReplicas", "granularity": "Replica"}, "MinReplicas has no effect"),
    ("RayCluster", "1.36", {"min_groups": "2", "granularity": "Group"}, "nested, which Kubernetes 1.36 cannot do"),
    ("RayCluster", "1.36", {"min_count.w": "2", "granularity": "Replica"}, "nested, which Kubernetes 1.36 cannot do"),
]


@pytest.mark.parametrize(("kind", "release", "marks", "message"), UNUSED)
def test_a_minimum_that_cannot_be_had_is_refused(
    kind: str, release: str, marks: dict[str, str], message: str, tmp_path: Path
) -> None:
    done = generate(tmp_path, make_marked(kind, **marks), kubernetes={"version": release})
    assert done.code == 1
    assert message in done.err.decode()
    assert done.err.count(b"[minimum-unused]") == done.err.count(b"error:") == 1
    assert b"kind: Workload" not in done.out


@pytest.mark.parametrize(
    ("kind", "release", "marks"),
    [
        ("Job", "1.37", {"min_count": "2"}),
        ("RayCluster", "1.37", {"min_count": "MinReplicas"}),
        ("RayCluster", "1.37", {"min_count": "MinReplicas", "granularity": "Group"}),
        ("RayCluster", "1.37", {"min_count.w": "1", "min_count.v": "2", "granularity": "Replica"}),
        ("RayCluster", "1.36", {"min_count.w": "3", "granularity": "Group"}),
        ("RayCluster", "1.37", {"min_groups": "2", "granularity": "Group"}),
    ],
)
def test_a_minimum_that_can_be_had_changes_the_groups(
    kind: str, release: str, marks: dict[str, str], tmp_path: Path
) -> None:
    done = generate(tmp_path, make_marked(kind, **marks), kubernetes={"version": release})
    plain = {"granularity": marks["granularity"]} if "granularity" in marks else {}
    usual = generate(tmp_path, make_marked(kind, **plain), kubernetes={"version": release})
    assert done.code == usual.code == 0
    made, was = (each.out.decode().partition("kind: Workload") for each in (done, usual))
    assert made[1]
    assert made[2] != was[2]


def test_a_minimum_of_the_configuration_is_only_told_where_it_has_no_effect(tmp_path: Path) -> None:
    done = generate(tmp_path, make_marked("Job"), gang={"minGroups": 2})
    assert done.code == 0
    assert b"kind: PodGroup" in done.out
    told = call(yaml.safe_dump(make_marked("Job")).encode(), ["generate", "--config", "krmfn.yaml", "-"], tmp_path)
    assert b"warning: Job ml/train metadata" in told.err


def test_what_is_refused_is_told_once(tmp_path: Path) -> None:
    """Groups that start in turn cannot be in a gang; the API server's words for the tree that they would make are
    left out."""
    jobs = [{"name": name, "template": {"spec": {"template": {"spec": BOX}}}} for name in ("a", "b")]
    jobset: Value = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "s"}}
    jobset["metadata"]["namespace"] = "ml"
    jobset["spec"] = {"startupPolicy": {"startupPolicyOrder": "InOrder"}, "replicatedJobs": jobs}
    marks = {"gang": "true", "gang-group": "both", "granularity": "Group", "disruption-mode": "All"}
    both = [jobset, make_marked("Job")]
    for each in both:
        each["metadata"]["annotations"] = {f"krmfn.dev/{key}": mark for key, mark in marks.items()}
    (tmp_path / "krmfn.yaml").write_text(SETTINGS_OF_1_38)
    text = "---\n".join(map(yaml.safe_dump, both)).encode()
    done = call(text, ["generate", "-q", "--config", "krmfn.yaml", "-"], tmp_path)
    assert done.code == 1
    assert done.err.count(b"error:") == done.err.count(b"[ordered-start-deadlock]") == 1


SETTINGS_OF_1_38 = """\
apiVersion: krmfn.dev/v1alpha1
kind: GangScheduling
metadata: {name: gangs}
spec: {link: Auto, kubernetes: {version: "1.38"}}
"""


def test_a_minimum_that_is_no_number_is_told_as_annotations_are_written(tmp_path: Path) -> None:
    resource = make_job("zone=48")
    resource["metadata"]["annotations"]["krmfn.dev/min-groups"] = "two"
    done = generate(tmp_path, resource)
    assert b"[annotation-value]" in done.err
    assert b"without quotes" not in done.err


@pytest.mark.parametrize(("racks", "verdict"), [(6, "open"), (5, "never")])
def test_fit_counts_the_pods_of_every_slice(racks: int, verdict: str, tmp_path: Path) -> None:
    """Six racks with room for 16 pods each hold the gang, five do not."""
    box = {**BOX["containers"][0], "resources": {"requests": {"cpu": "1"}}}
    job = make_job("zone=48, rack=16", template={"spec": {"restartPolicy": "Never", "containers": [box]}})
    status = {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{at}", "labels": {"zone": str(at // 3), "rack": str(at)}},
            "status": status,
        }
        for at in range(racks)
    ]
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": nodes}))
    (tmp_path / "krmfn.yaml").write_text(yaml.safe_dump(CONFIG))
    words = ["fit", "--prove", "--config", "krmfn.yaml", "--cluster", "nodes.yaml", "-o", "json", "-"]
    done = call(yaml.safe_dump(job).encode(), words, tmp_path)
    (gang,) = yaml.safe_load(done.out)["gangs"]
    assert (gang["verdict"], gang["pods"]) == (verdict, 96)
