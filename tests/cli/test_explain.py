"""`krmfn explain`: fields as the references for agents have them, which recorded answers of API servers prove."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.explained import RECORDED, differ
from conformance.storage import read_records
from krmfn.model.rules import RULES
from tests.cli.conftest import ROOT, Call

REFERENCES = ROOT / ".agents" / "skills" / "krmfn" / "references"


@pytest.mark.parametrize("release", ["1.36", "1.37", "1.38"])
def test_all_fields_are_those_of_the_references(release: str, krmfn: Call) -> None:
    for kind in ("Workload", "PodGroup"):
        done = krmfn("explain", f"{kind}.spec", "--recursive", "--kubernetes", release)
        text = (REFERENCES / f"fields-{release}.txt").read_text()
        wanted = re.findall(rf"^{re.escape(release)} ({kind}\.spec\b.*\n)", text, re.MULTILINE)
        assert (done.code, done.out) == (0, "".join(wanted))


def test_a_field_with_what_is_below_and_its_rules(krmfn: Call) -> None:
    out = krmfn("explain", "podgroup.spec.schedulingPolicy.gang", "--kubernetes", "1.37").out
    assert out.splitlines()[:3] == [
        "Kubernetes 1.37, scheduling.k8s.io/v1beta1",
        "PodGroup.spec.schedulingPolicy.gang: object, one of basic or gang, update NoSet NoUnset",
        "  minCount: int32, required, at least 1",
    ]
    assert f"no-set: {RULES['no-set'].sentence}" in out
    deep = krmfn("explain", "PodGroup.spec.schedulingPolicy.gang.minCount").out
    assert f"min-count-above-pods: {RULES['min-count-above-pods'].sentence}" in deep


@pytest.mark.parametrize(
    ("word", "lines"),
    [
        ("RayCluster.spec.workerGroupSpecs[].replicas", ["KubeRay", "ray.io/v1", "workerGroupSpecs[].replicas: int32"]),
        ("jobset.spec.replicatedJobs.template.spec.parallelism", ["JobSet", "template.spec.parallelism: int32"]),
        ("Deployment.spec.strategy", ["apps/v1", "  rollingUpdate: object"]),
        ("NetworkPolicy.spec", ["networking.k8s.io/v1", "  podSelector: object"]),
        ("Job.spec.template.spec.containers.resources", ["batch/v1", "  requests: map of quantity"]),
    ],
)
def test_other_kinds(word: str, lines: list[str], krmfn: Call) -> None:
    done = krmfn("explain", word)
    assert done.code == 0
    assert [line for line in lines if line not in done.out] == []


def test_kinds_of_one_name(krmfn: Call) -> None:
    done = krmfn("explain", "podgroup.spec")
    assert "Volcano" in done.err
    word = re.findall(r"Volcano \S+ has another one: --api-version (\S+)", done.err)
    volcano = krmfn("explain", "podgroup.spec", "--api-version", *word)
    assert "  minMember: int32" in volcano.out
    assert "minMember" not in done.out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([""], "name a kind or a field, such as"),
        (["rayclster"], "has no rayclster. Did you mean RayCluster? --crds adds the definitions of others"),
        (["Pod.spec.contaners"], "Pod.spec has no field contaners. Did you mean containers?"),
        (["Pod.spec.hostname.x"], "Pod.spec.hostname has no field x. It has no fields"),
        (["PodGroup", "--api-version", "apps/v1"], "has no PodGroup of apps/v1"),
        (["CompositePodGroup", "--kubernetes", "1.35"], "has no CompositePodGroup"),
    ],
)
def test_what_is_not_there(words: list[str], error: str, krmfn: Call) -> None:
    done = krmfn("explain", *words)
    assert (done.code, done.out) == (2, "")
    assert error in done.err


def test_every_kind_can_be_walked(krmfn: Call, tmp_path: Path) -> None:
    for kind in ("LeaderWorkerSet", "TrainJob", "MPIJob", "Queue", "ClusterQueue"):
        done = krmfn("explain", kind, "--recursive")
        assert done.code == 0
        assert len(done.out.splitlines()) > 10
        assert "Traceback" not in done.err


DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: swarms.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Swarm, plural: swarms}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            x-kubernetes-validations: [{rule: "self.size > 1 || self.mode == 'Solo'"}]
            properties:
              size: {type: integer, format: int32, minimum: 1, default: 2, description: "How many.\\nMore is better."}
              mode: {type: string, enum: [Solo, Many]}
"""
SAID = """\
CustomResourceDefinition swarms.example.com, example.com/v1
Swarm.spec.size: int32, required, default 2, at least 1
  How many.
  More is better.
"""


def test_kinds_of_users_are_explained_by_the_definitions_of_the_folder_or_of_crds(tmp_path: Path, krmfn: Call) -> None:
    for folder in ("config/crd", "empty"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "config/crd/swarm.yaml").write_text(DEFINITION)
    (tmp_path / "config/broken.yaml").write_text("a: [")
    assert krmfn("explain", "swarm.spec.size").out == SAID
    assert krmfn("explain", "Swarm.spec.size", "--crds", "config/crd/swarm.yaml").out == SAID
    rule = "Swarm.spec: object, rule self.size > 1 || self.mode == 'Solo'"
    assert rule in krmfn("explain", "Swarm", "--recursive").out.splitlines()
    missed = krmfn("explain", "Swarm.spec.sise")
    assert (missed.code, missed.out) == (2, "")
    told = "CustomResourceDefinition swarms.example.com: Swarm.spec has no field sise. Did you mean size?"
    assert told in missed.err
    assert "has no Swarn. Did you mean Swarm?" in krmfn("explain", "Swarn").err
    assert "--crds empty: no CustomResourceDefinition in it" in krmfn("explain", "Swarm", "--crds", "empty").err
    assert krmfn("explain", "Swarm", "--api-version", "example.com/v2").code == 2


def test_a_definition_is_explained_as_kubectl_does() -> None:
    records = list(read_records(RECORDED))
    assert [found for record in records if (found := differ(record))] == []
    assert len(records) >= 40
