"""What `krmfn facts` keeps, and what data about a cluster cannot say, through the process."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml

from benchmarks.dumps import write_dump
from krmfn.krm.paths import dig
from krmfn.survey.condensing import condense
from tests.cli.conftest import Call
from tests.cli.test_fit import make_job, make_node
from tests.fuzz.mutations import walk


def test_numbers_that_no_cluster_has_are_refused(tmp_path: Path, krmfn: Call) -> None:
    """A typing error must not make millions of pods or nodes in memory."""
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(make_job("train", 2_000_000_000, 1)))
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump(make_node("a", "a")))
    done = krmfn("fit", "job.yaml", "--cluster", "cluster.yaml", "--prove")
    assert done.code == 2
    assert "job.yaml:" in done.err
    assert "Job train has 2000000000 pods, and no cluster has more than 150000" in done.err
    for count in (-3, 0, 10**9, "2"):
        facts = {"nodes": [{"name": "a", "count": count}]}
        given = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "ClusterFacts", "spec": facts}
        (tmp_path / "cluster.yaml").write_text(yaml.safe_dump(given))
        for command in ("fit", "validate"):
            done = krmfn(command, "job.yaml", "--cluster", "cluster.yaml")
            assert (done.code, done.err.startswith("krmfn: cluster.yaml: spec.nodes[0].count: ")) == (2, True)


def test_names_of_another_type_are_no_facts() -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": {"a": "b"}}}
    (kept,) = condense({"items": [quota]})["items"]
    assert kept["metadata"] == {"name": "q"}


@pytest.mark.parametrize(
    ("kind", "pods", "kept"), [("ResourceQuota", True, 1), ("ResourceQuota", False, 0), ("LimitRange", True, 0)]
)
def test_what_pods_use_of_a_quota_is_a_fact_beside_them(kind: str, pods: bool, kept: int) -> None:
    used = {"used": {"pods": "3"}}
    quota = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "q", "namespace": "ml"}, "spec": {}, "status": used}
    (found,) = condense({"items": [quota]}, pods)["items"]
    assert [found[key] for key in ("status",) if key in found] == [used] * kept


def test_facts_of_definitions_keep_what_leads_to_the_link(tmp_path: Path, krmfn: Call) -> None:
    pod = {"type": "object", "properties": {"schedulingGroup": {"type": "object"}, "hostname": {"type": "string"}}}
    template = {"type": "object", "properties": {"spec": pod, "metadata": {"type": "object"}}}
    group = {"type": "object", "properties": {"template": template, "replicas": {"type": "integer"}}}
    spec = {"type": "object", "properties": {"workerGroupSpecs": {"type": "array", "items": group}}}
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "rayclusters.ray.io"},
        "spec": {"group": "ray.io", "names": {"kind": "RayCluster", "plural": "rayclusters"}, "versions": [version]},
    }
    (tmp_path / "dump.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [crd]}))
    done = krmfn("facts", "dump.json", "-o", "json")
    assert done.code == 0, done.err
    kept = json.loads(done.out)["spec"]
    for name in ("spec", "workerGroupSpecs", "template", "schedulingGroup"):
        assert f'"{name}"' in json.dumps(kept)
    for name in ("hostname", "replicas", 'metadata": {"type'):
        assert name not in json.dumps(kept)


def test_facts_of_training_runtimes_hold_no_environment(tmp_path: Path, krmfn: Call) -> None:
    container = {
        "name": "node",
        "image": "registry.example.com/train",
        "command": ["train", "--password=hunter2"],
        "env": [
            {"name": "TOKEN", "value": "hunter2"},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        "resources": {"requests": {"cpu": "1"}},
    }
    pod = {"spec": {"nodeSelector": {"env": "prod"}, "containers": [container]}}
    job = {"name": "node", "template": {"spec": {"template": pod}}}
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "torch"},
        "spec": {"template": {"spec": {"replicatedJobs": [job]}}},
    }
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(runtime))
    facts = json.loads(krmfn("facts", "-o", "json", str(path)).out)
    (kept,) = facts["spec"]["items"]
    (job,) = kept["spec"]["template"]["spec"]["replicatedJobs"]
    spec = job["template"]["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == {"env": "prod"}
    assert spec["containers"] == [
        {
            "name": "node",
            "env": [{"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
            "resources": {"requests": {"cpu": "1"}},
        }
    ]


def test_a_pod_with_any_value_of_another_type_is_shrunk() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "a", "controller": True}
    ports = [{"containerPort": 80, "hostPort": 80, "hostIP": "::", "protocol": "TCP"}]
    container = {"name": "a", "image": "a", "command": ["a"], "ports": ports, "resources": {"requests": {"cpu": "1"}}}
    pod = {
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "b", "labels": {"a": "b"}, "ownerReferences": [owner]},
        "spec": {"nodeName": "a", "containers": [container], "volumes": [{"name": "a", "ephemeral": {}}]},
        "status": {"phase": "Running"},
    }
    node = {"kind": "Node", "metadata": {"name": "a"}}
    for path in walk(pod):
        for other in (None, 5, "x", {"a": 5}, [{"a": 5}], [[None]]):
            spoiled = copy.deepcopy(pod)
            dig(spoiled, *path[:-1])[path[-1]] = other
            condense({"items": [node, spoiled]})


def test_facts_in_a_list_are_the_same_in_json(krmfn: Call) -> None:
    facts = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "ClusterFacts", "spec": {"nodes": [{"name": "a", "count": 2}]}}
    items = [{**facts, "metadata": {"name": "x"}}, make_node("b", "b")]
    document = {"apiVersion": "v1", "kind": "List", "items": items}
    texts = [krmfn("facts", "-", stdin=spell(document)).out for spell in (json.dumps, yaml.safe_dump)]
    assert yaml.safe_load(texts[0]) == yaml.safe_load(texts[1])
    assert "count: 2" in texts[0]


@pytest.mark.slow
def test_a_dump_of_many_pods_says_the_same_in_every_spelling(tmp_path: Path, krmfn: Call) -> None:
    """As kubectl prints it, on one line, as YAML: facts, fit and why read each in another way."""
    write_dump(tmp_path / "indented.json", 12, 120, 3)
    value = json.loads((tmp_path / "indented.json").read_text())
    pod = next(each for each in value["items"] if each["kind"] == "Pod")
    value["items"] += [{**pod, "metadata": {**pod["metadata"], "name": f"p{n}", "namespace": "ml"}} for n in range(3)]
    (tmp_path / "indented.json").write_text(json.dumps(value, indent=4, sort_keys=True))
    (tmp_path / "flat.json").write_text(json.dumps(value))
    (tmp_path / "dump.yaml").write_text(yaml.safe_dump(value))
    jobs = [each for each in value["items"] if each["kind"] in ("Job", "PodGroup")]
    (tmp_path / "jobs.yaml").write_text(yaml.safe_dump_all(jobs))
    asked = (
        ("facts",),
        ("fit", "jobs.yaml", "--prove", "--cluster"),
        *(
            ("why", word, "--prove", "--cluster")
            for word in ("job/ml/g0", "job/g1", "pod/p1", "po/team-1/app-1-000001")
        ),
        ("why", "job/team-1/g0", "--prove", "--cluster"),
    )
    for words in asked:
        told = {(done.code, done.out, done.err) for name in SPELLINGS for done in [krmfn(*words, name)]}
        assert len(told) == 1, told
    facts = krmfn("facts", "dump.yaml").out
    assert yaml.safe_load(facts)["spec"] == condense({"items": value["items"]})


SPELLINGS = ("indented.json", "flat.json", "dump.yaml")
