"""The examples build with the function as they are, and what comes out is what their comments promise."""

import re
from pathlib import Path

import pytest

from tests.e2e.tools import ROOT, build, build_objects, run

EXAMPLES = [
    "raycluster",
    "job",
    "gang-group",
    "overlays/team-a",
    "overlays/team-b",
]


def count(found: dict[str, dict[str, object]], kind: str) -> int:
    return sum(name.startswith(f"{kind}/") for name in found)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_builds_and_is_valid(example: str) -> None:
    done = build(ROOT / "examples" / example)
    assert done.returncode == 0, done.stderr
    release = re.search(r'version: "(1\.3\d)"', "".join(p.read_text() for p in find_configs(example)))
    checked = run("krmfn", "validate", "--kubernetes", release[1] if release else "1.37", "-", stdin=done.stdout)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def find_configs(example: str) -> list[Path]:
    """The functionConfig beside the kustomization, or that of all overlays."""
    here = ROOT / "examples" / example
    return [p for p in (here / "gangs.yaml", here.parent / "gangs" / "gangs.yaml") if p.exists()]


def test_the_raycluster_is_a_tree_with_its_topology() -> None:
    found = build_objects(ROOT / "examples" / "raycluster")
    assert (count(found, "Workload"), count(found, "CompositePodGroup"), count(found, "PodGroup")) == (1, 1, 3)
    root = found["CompositePodGroup/ml/raycluster-llama"]["spec"]
    assert root["schedulingConstraints"] == {"topology": [{"key": "topology.kubernetes.io/zone"}]}
    trainers = found["PodGroup/ml/raycluster-llama-ab-trainers"]["spec"]
    assert trainers["schedulingConstraints"] == {"topology": [{"key": "example.com/rack"}]}
    assert trainers["schedulingPolicy"] == {"gang": {"minCount": 8}}
    assert trainers["priorityClassName"] == "training"


def test_the_job_waits_for_all_its_pods() -> None:
    found = build_objects(ROOT / "examples" / "job")
    assert found["PodGroup/ml/job-allreduce"]["spec"]["schedulingPolicy"] == {"gang": {"minCount": 8}}


def test_the_cluster_and_the_job_share_one_root() -> None:
    found = build_objects(ROOT / "examples" / "gang-group")
    assert (count(found, "Workload"), count(found, "PodGroup")) == (1, 3)
    roots = [o for n, o in found.items() if n.startswith("CompositePodGroup/")]
    (root,) = (o for o in roots if "parentCompositePodGroupName" not in o["spec"])
    assert root["spec"]["schedulingPolicy"] == {"gang": {"minGroupCount": 2}}


def test_overlays_name_and_count_for_themselves() -> None:
    team_a = build_objects(ROOT / "examples" / "overlays" / "team-a")
    team_b = build_objects(ROOT / "examples" / "overlays" / "team-b")
    assert team_a["PodGroup/team-a/raycluster-a-tuning"]["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}
    assert team_b["PodGroup/team-b/raycluster-b-tuning"]["spec"]["schedulingPolicy"] == {"gang": {"minCount": 5}}
