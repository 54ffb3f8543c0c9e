"""Nodes that do not exist yet: what node pools can add, against the same nodes where they exist."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Call
from tests.front_door import call

GPU = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"}
TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
NODE = {"name": "cpu-1", "allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}}
ZONE = "topology.kubernetes.io/zone"


def make_gang(pods: int, gpus: int, selector: dict[str, str] | None = None, key: str = "") -> list[dict[str, Any]]:
    metadata = {"name": "train", "namespace": "ml"}
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"nvidia.com/gpu": gpus}}
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "schedulingGroup": {"podGroupName": "train"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "containers": [{"name": "main", "image": "i", "resources": resources}],
    }
    if selector:
        spec["nodeSelector"] = selector
    counts = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "backoffLimit": 0}
    group: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": pods}}}
    if key:
        group["schedulingConstraints"] = {"topology": [{"key": key}]}
    return [
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {**counts, "template": {"spec": spec}}},
        {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": group},
    ]


def make_facts(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "krmfn.dev/v1alpha1", "kind": "ClusterFacts", "metadata": {"name": "a"}, "spec": spec}


def make_karpenter(name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"team": name}}, "spec": {"taints": [TAINT], "requirements": [], **spec}}
    metadata = {"name": name}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": metadata,
        "spec": {"template": template, **more},
    }


class World:
    """Files, and what is said of them."""

    def __init__(self, folder: Path, krmfn: Call) -> None:
        self._folder, self._krmfn = folder, krmfn

    def fit(self, gang: list[dict[str, Any]], *clusters: dict[str, Any]) -> tuple[str, str]:
        """The verdict and the reason."""
        (self._folder / "gang.yaml").write_text(yaml.safe_dump_all(gang))
        (self._folder / "cluster.yaml").write_text(yaml.safe_dump_all(clusters))
        options = ("--as-is", "--prove", "-o", "json", "--cluster", "cluster.yaml")
        done = self._krmfn("fit", "gang.yaml", *options)
        (found,) = json.loads(done.out)["gangs"]
        assert done.code == int(found["verdict"] == "never"), done.err
        return found["verdict"], found.get("why") or ""

    def run(self, *words: str) -> str:
        return self._krmfn(*words).out


@pytest.fixture
def world(tmp_path: Path, krmfn: Call) -> World:
    return World(tmp_path, krmfn)


def test_a_pool_of_the_facts(world: World) -> None:
    pool = {"name": "gpu-a", "max": 6, "labels": {"pool": "a"}, "taints": [TAINT], "allocatable": GPU}
    gang = make_gang(8, 4, {"pool": "a"})
    found = world.fit(gang, make_facts(nodes=[NODE], nodePools=[pool]))
    text = (
        "0 of 8 pods fit on the 1 node of today; the node pool gpu-a can grow by 6: the gang can start if it grows by 4"
    )
    assert found == ("grows", text)
    assert text in world.run("validate", "gang.yaml", "--cluster", "cluster.yaml")
    verdict, why = world.fit(gang, make_facts(nodes=[NODE], nodePools=[{**pool, "max": 3}]))
    assert (verdict, why) == (
        "never",
        "0 of 8 pods fit on the 1 node of today; the gang needs 4 more nodes of the node pool gpu-a, whose limit is "
        "3 nodes: the gang is never scheduled",
    )
    assert world.fit(make_gang(1, 9, {"pool": "a"}), make_facts(nodes=[NODE], nodePools=[pool]))[0] == "never"
    verdict, why = world.fit(gang, make_facts(nodes=[NODE], nodePools=[{"name": "gpu-a", "max": 6}]))
    assert verdict == "open"
    assert "unless the node pool gpu-a can add nodes: of which kind is not known" in why


def test_nodes_that_exist_count_and_show_what_comes(world: World) -> None:
    """Of a pool without a template, nodes that it has already are the template; with the label of the cloud."""
    node = {"name": "g1", "count": 2, "labels": {"cloud.google.com/gke-nodepool": "gpu-a"}, "allocatable": GPU}
    verdict, why = world.fit(make_gang(8, 4), make_facts(nodes=[node], nodePools=[{"name": "gpu-a", "max": 5}]))
    assert verdict == "grows"
    assert "can grow by 3: the gang can start if it grows by 2" in why
    limits = {"nvidia.com/gpu": 24}
    verdict, why = world.fit(make_gang(8, 4), make_facts(nodes=[node], nodePools=[{"name": "gpu-a", "limits": limits}]))
    assert verdict == "never"
    assert "whose limit is 24 nvidia.com/gpu" in why


@pytest.mark.slow
def test_pools_of_karpenter(world: World) -> None:
    types = [
        {"name": "p5", "allocatable": GPU, "labels": {ZONE: ["z1", "z2"], "generation": "5"}},
        {"name": "p3", "allocatable": {**GPU, "nvidia.com/gpu": "4"}, "labels": {ZONE: "z1", "generation": "3"}},
        {"name": "c7", "allocatable": NODE["allocatable"], "labels": {ZONE: "z1", "generation": "7"}},
    ]
    chosen = {"requirements": [{"key": "generation", "operator": "Gt", "values": ["3"]}]}
    pool = make_karpenter("fast", chosen, limits={"nvidia.com/gpu": 40}, weight=5)
    facts = make_facts(nodes=[NODE], instanceTypes=types)
    assert world.fit(make_gang(8, 4), facts)[0] == "never"
    verdict, why = world.fit(make_gang(8, 4), facts, pool)
    assert (verdict, why.partition("; ")[2]) == (
        "grows",
        "the node pool fast can grow by 5 (instance type p5): the gang can start if it grows by 4",
    )
    # Weight decides which pool is named; a gang that has to be in one zone gets nodes of one zone.
    other = make_karpenter("slow", {"requirements": []}, weight=90)
    assert (
        "node pool slow can grow without a limit (instance type p5)"
        in world.fit(make_gang(8, 4), facts, pool, other)[1]
    )
    assert world.fit(make_gang(8, 4, key=ZONE), facts, pool)[0] == "grows"
    assert world.fit(make_gang(8, 4, {ZONE: "z3"}), facts, pool)[0] == "never"
    assert world.fit(make_gang(8, 4, {"team": "fast", ZONE: "z2"}), facts, pool)[0] == "grows"
    # What a requirement leaves open, a pod may ask for; and without instance types nothing is known.
    vague = make_karpenter("vague", {"requirements": [{"key": "size", "operator": "Exists"}]})
    assert world.fit(make_gang(8, 4, {"size": "xl"}), facts, vague)[0] == "open"
    assert world.fit(make_gang(8, 4), make_facts(nodes=[NODE]), pool)[0] == "open"
    fixed = make_karpenter("fixed", {"requirements": []}, replicas=3)
    assert world.fit(make_gang(8, 4), facts, fixed)[0] == "never"


def test_several_pools_together(world: World) -> None:
    pools = [
        {"name": name, "max": 2, "labels": {"pool": name}, "allocatable": GPU, "weight": weight}
        for name, weight in (("a", 1), ("b", 0))
    ]
    verdict, why = world.fit(make_gang(8, 4), make_facts(nodes=[NODE], nodePools=pools))
    assert verdict == "grows"
    assert why.endswith("the gang can start if node pools grow: a by 2 and b by 2")


def test_the_flags_of_a_cluster_autoscaler(world: World, tmp_path: Path, krmfn: Call) -> None:
    """They give the bounds; the nodes are like those that exist. Facts keep both."""
    box = {"name": "a", "image": "cluster-autoscaler:v1", "command": ["./cluster-autoscaler", "--nodes=1:4:gpu-a"]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "ca", "namespace": "kube-system"},
        "spec": {"containers": [box], "nodeName": "g1"},
    }
    labels = {"eks.amazonaws.com/nodegroup": "gpu-a", "kubernetes.io/hostname": "g1"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "g1", "labels": labels}}
    node["status"] = {"allocatable": GPU}
    expected = "the node pool gpu-a can grow by 3: the gang can start if it grows by 3"
    assert world.fit(make_gang(8, 4), node, pod)[1].endswith(expected)
    facts = krmfn("facts", "cluster.yaml").out
    assert "--nodes" not in facts
    (tmp_path / "facts.yaml").write_text(facts)
    said = krmfn("fit", "gang.yaml", "--as-is", "--prove", "--cluster", "facts.yaml").out
    assert expected in " ".join(said.split())
    spelled = make_facts(nodePools=[{"name": "gpu-a", "max": 9}])
    assert "can grow by 8" in world.fit(make_gang(8, 4), node, pod, spelled)[1]


def test_why_tells_of_pools(world: World, tmp_path: Path, krmfn: Call) -> None:
    types = make_facts(instanceTypes=[{"name": "p5", "allocatable": GPU}])
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "c"}, "status": {"allocatable": {"cpu": "4"}}}
    gang = make_gang(8, 4)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True, "uid": "1"}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"train-{number}", "namespace": "ml", "ownerReferences": [owner]},
            "spec": gang[0]["spec"]["template"]["spec"],
            "status": {"phase": "Pending"},
        }
        for number in range(8)
    ]
    dump = [node, make_karpenter("fast", {}), *gang, *pods, types]
    (tmp_path / "dump.yaml").write_text(yaml.safe_dump_all(dump))
    said = " ".join(krmfn("why", "job/ml/train", "--cluster", "dump.yaml", "--prove").out.split())
    assert "Cause: it needs nodes that do not exist yet: 0 of 8 pods fit on the 1 node of today; the node pool" in said
    assert "Way out: Check why the autoscaler does not add them" in said


@pytest.mark.parametrize("seed", range(25))
def test_the_fewest_nodes_are_those_that_would_do_if_they_existed(seed: int, tmp_path: Path) -> None:
    """Against the proofs themselves, on clusters in which so many nodes of the pool exist."""
    chance = random.Random(seed)
    pods, gpus = chance.randrange(1, 12), chance.choice((1, 2, 3, 4, 8, 9))
    labels = {"pool": "a", ZONE: chance.choice(("z1", "z2"))}
    key, most = chance.choice(("", "", ZONE)), chance.randrange(0, 9)
    nodes = [
        {
            "name": f"n{n}",
            "labels": {ZONE: chance.choice(("z1", "z2"))},
            "allocatable": chance.choice((GPU, NODE["allocatable"])),
        }
        for n in range(chance.randrange(1, 4))
    ]
    gang = make_gang(pods, gpus, chance.choice((None, {"pool": "a"})), key)
    (tmp_path / "gang.yaml").write_text(yaml.safe_dump_all(gang))
    pool = {"name": "p", "max": most, "labels": labels, "allocatable": GPU}

    def tell(**facts: Any) -> str:
        (tmp_path / "cluster.yaml").write_text(yaml.safe_dump(make_facts(**facts)))
        words = ["validate", "gang.yaml", "--feature-gates", GATES, "--cluster", "cluster.yaml"]
        return call(words=words, folder=tmp_path).out.decode()

    def fails(number: int) -> bool:
        more = [{"name": f"m{n}", "labels": labels, "allocatable": GPU} for n in range(number)]
        return "never scheduled" in tell(nodes=[*nodes, *more])

    text = tell(nodes=nodes, nodePools=[pool])
    least = next((number for number in range(pods + 1) if not fails(number)), None)
    grown = re.search(r"can start if it grows by (\d+)", text)
    needed = re.search(r"the gang needs (\d+) more node", text)
    if least == 0:
        assert not grown
        assert "never scheduled" not in text
    elif least is not None and least <= most:
        assert grown
        assert int(grown[1]) == least
        assert "never scheduled" not in text
    else:
        assert "never scheduled" in text
        assert (int(needed[1]) if needed else None) == least


GATES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
