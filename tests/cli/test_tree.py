"""`krmfn tree`: the same trees in every format."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Call

GROUP = ("--kubernetes", "1.37")


def test_text(folder: Path, krmfn: Call) -> None:
    assert krmfn("tree", "-q", "base").out == (
        "Workload job-train: for Job train\n"
        "└─ PodGroup job-train: all 8 pods start together, or none\n"
        "   └─ Job train spec.template: 8 pods, by spec.parallelism\n"
        "Workload raycluster-llama: for RayCluster llama\n"
        "└─ PodGroup raycluster-llama: all 5 pods start together, or none\n"
        "   ├─ RayCluster llama spec.headGroupSpec.template: 1 pod, by spec.headGroupSpec\n"
        "   └─ RayCluster llama spec.workerGroupSpecs[0].template: 4 pods, by spec.workerGroupSpecs[0].replicas\n"
    )


def test_as_is_shows_what_has_no_group(folder: Path, krmfn: Call) -> None:
    done = krmfn("tree", "--as-is", "base")
    assert done.out == "without a group, scheduled pod by pod:\n   Job train\n   RayCluster llama\n"


def test_a_quorum_that_cannot_be_met(folder: Path, krmfn: Call) -> None:
    krmfn("generate", "--write", "base")
    path = folder / "base/job-gang.yaml"
    path.write_text(path.read_text().replace("minCount: 8", "minCount: 9"))
    assert "never starts: waits for 9 pods, and there are 8" in krmfn("tree", "--as-is", "base").out


def test_json_has_the_numbers(folder: Path, krmfn: Call) -> None:
    trees = json.loads(krmfn("tree", "-q", "-o", "json", "base").out)["trees"]
    assert trees[1]["below"][0]["pods"] == 5
    assert trees[1]["below"][0]["minCount"] == 5


def test_mermaid_and_dot_have_one_node_each(folder: Path, krmfn: Call) -> None:
    nodes = 7
    mermaid = krmfn("tree", "-q", "-o", "mermaid", "base").out
    assert mermaid.startswith("flowchart TD\n")
    assert sum("-->" not in line for line in mermaid.splitlines()) == nodes + 1
    dot = krmfn("tree", "-q", "-o", "dot", "base").out
    assert dot.count("label=") == nodes
    assert dot.count("->") == nodes - 2
