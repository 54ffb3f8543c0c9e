"""What `krmfn facts` keeps, and what data about a cluster cannot say, through the process."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.cli.conftest import Call
from tests.cli.test_fit import make_job, make_node


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
