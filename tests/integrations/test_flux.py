"""The pre-rendered way for Flux: what CI renders survives what Flux does to names, and needs no function."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.tools import ROOT, require_kustomize, run

EXAMPLE = ROOT / "examples" / "flux"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the example, rendered."""
    require_kustomize()
    shutil.copytree(EXAMPLE, tmp_path / "flux")
    done = run("./render.sh", "source", "rendered", cwd=tmp_path / "flux")
    assert done.returncode == 0, done.stderr
    return tmp_path / "flux"


def build(folder: Path, **changes: Any) -> list[dict[str, Any]]:
    """What Flux applies: it writes `changes` into the kustomization, and builds without functions."""
    path = folder / "kustomization.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **changes}))
    done = run("kustomize", "build", ".", cwd=folder)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def find_links(value: Any) -> set[str]:
    """Every podGroupName below `value`."""
    if isinstance(value, dict):
        own = {value["podGroupName"]} if "podGroupName" in value else set()
        return own.union(*map(find_links, value.values()))
    return set().union(*map(find_links, value)) if isinstance(value, list) else set()


def test_links_follow_the_prefix_suffix_and_namespace_of_flux(repository: Path) -> None:
    flux = yaml.safe_load((EXAMPLE / "flux" / "kustomization.yaml").read_text())["spec"]
    objects = build(
        repository / "rendered",
        namePrefix=flux["namePrefix"],
        nameSuffix="-x",
        namespace="other",
    )
    by_kind = {each["kind"]: each for each in objects}
    assert set(by_kind) == {"RayCluster", "Workload", "PodGroup"}
    assert {each["metadata"]["namespace"] for each in objects} == {"other"}
    name = by_kind["PodGroup"]["metadata"]["name"]
    assert name == "team-a-raycluster-demo-x"
    assert find_links(by_kind["RayCluster"]) == {name}
    assert by_kind["PodGroup"]["spec"]["workloadRef"]["workloadName"] == by_kind["Workload"]["metadata"]["name"]
    assert by_kind["Workload"]["spec"]["controllerRef"]["name"] == by_kind["RayCluster"]["metadata"]["name"]


def test_nothing_is_left_for_substitution(repository: Path) -> None:
    """postBuild.substitute would replace it."""
    assert "${" not in (repository / "rendered" / "manifests.yaml").read_text()


def test_rendering_again_changes_nothing(repository: Path) -> None:
    before = {path.name: path.read_bytes() for path in (repository / "rendered").iterdir()}
    assert run("./render.sh", "source", "rendered", cwd=repository).returncode == 0
    assert {path.name: path.read_bytes() for path in (repository / "rendered").iterdir()} == before


def test_a_failure_leaves_the_last_rendering(repository: Path) -> None:
    before = (repository / "rendered" / "manifests.yaml").read_bytes()
    cluster = repository / "source" / "raycluster.yaml"
    cluster.write_text(cluster.read_text().replace('gang: "true"', 'gang: "yes"'))
    assert run("./render.sh", "source", "rendered", cwd=repository).returncode != 0
    assert (repository / "rendered" / "manifests.yaml").read_bytes() == before
