"""A kind is one row and one small function: every command then knows it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from krmfn.model.kinds import KINDS, KindRow, TemplatePath
from krmfn.model.tree import Composite, Group, Leaf
from krmfn.sources.manifest import Manifest
from krmfn.workspace.name_references import write_names
from tests.front_door import call

ROW = KindRow(
    "swarms.example.com",
    "Swarm",
    (TemplatePath("spec/parts/*/template", "spec/parts/*/replicas"),),
    "swarm.read_swarm",
    keeper="Swarm v2",
    immutable=("color",),
    managed_by="spec/managedBy",
    manager="example.com/swarm",
    rival="spec/gangs",
    rival_name="the swarm's own gangs",
)
MANIFEST = """\
apiVersion: swarms.example.com/v1
kind: Swarm
metadata:
  name: bees
  annotations:
    krmfn.dev/gang: "true"
spec:
  color: yellow
  parts:
  - name: queen
    template:
      spec:
        containers: [{name: a, image: b}]
  - name: workers
    replicas: 4
    template:
      spec:
        containers: [{name: a, image: b}]
"""


def read_swarm(manifest: Manifest) -> Group | None:
    if manifest.is_elsewhere():
        return None
    leaves = []
    for path in manifest.list_paths(("spec", "parts")):
        pods = manifest.count((*path, "replicas"), 1)
        template = manifest.template((*path, "template"), pods, (*path, "replicas"))
        if template:
            leaves.append(Leaf(manifest.text((*path, "name")), (template,), pods))
    if not leaves:
        return None
    return Composite("swarm", tuple(leaves), len(leaves))


@pytest.fixture(autouse=True)
def new_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("krmfn.sources.swarm")
    module.read_swarm = read_swarm  # type: ignore[attr-defined]  # a module made here
    monkeypatch.setitem(sys.modules, "krmfn.sources.swarm", module)
    monkeypatch.setitem(KINDS, (ROW.group, ROW.name), ROW)


def run(folder: Path, *words: str, data: str = "") -> tuple[int, str, str]:
    done = call(data.encode(), words, folder)
    return done.code, done.out.decode(), done.err.decode()


def test_generate_and_the_function_make_its_gang(tmp_path: Path) -> None:
    (tmp_path / "bees.yaml").write_text(MANIFEST)
    code, out, err = run(tmp_path, "generate", "bees.yaml")
    assert (code, out.count("kind: PodGroup"), out.count("podGroupName: swarm-bees")) == (0, 1, 2)
    assert "minCount: 5" in out
    assert "CRDs older than Swarm v2 drop spec.schedulingGroup" in err
    items = "\n".join(f"  {line}" for line in MANIFEST.splitlines())
    listed = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n-{items[1:]}\n"
    assert run(tmp_path, data=listed)[1].count("podGroupName: swarm-bees") == 2


@pytest.mark.parametrize(
    ("keeper", "told"), [(None, ""), ("", "the CRD of Swarm may drop spec.schedulingGroup from pod templates")]
)
def test_a_kind_without_a_known_release_says_no_more_than_is_known(
    keeper: str | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, (ROW.group, ROW.name), ROW._replace(keeper=keeper))
    _, _, err = run(tmp_path, "generate", "-", data=MANIFEST)
    assert told in err
    assert ("link-needs-version" in err) == bool(told)


def test_validate_counts_its_pods_and_knows_its_crd(tmp_path: Path) -> None:
    _, out, _ = run(tmp_path, "generate", "-", data=MANIFEST)
    (tmp_path / "all.yaml").write_text(out.replace("minCount: 5", "minCount: 6").replace("yellow", "red\n  gangs: x"))
    code, out, _ = run(tmp_path, "validate", "all.yaml")
    assert code == 1
    assert "min-count-above-pods" in out
    assert "the swarm's own gangs" in out


def test_tree_draws_it(tmp_path: Path) -> None:
    (tmp_path / "bees.yaml").write_text(MANIFEST)
    code, out, _ = run(tmp_path, "tree", "bees.yaml")
    assert code == 0
    assert "Swarm" in out
    assert "4 pods" in out
    (tmp_path / "bees.yaml").write_text(MANIFEST.replace("krmfn.dev/gang", "example.com/gang"))
    assert "scheduled pod by pod:\n   Swarm bees" in run(tmp_path, "tree", "bees.yaml")[1]


def test_diff_knows_what_cannot_change(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(MANIFEST)
    (tmp_path / "new.yaml").write_text(MANIFEST.replace("yellow", "red"))
    _, out, _ = run(tmp_path, "diff", "old.yaml", "new.yaml")
    assert "spec.color" in out
    assert "field is immutable" in out


def test_a_swarm_of_another_controller_gets_no_gang(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "generate", "-", data=MANIFEST + "  managedBy: example.com/other\n")
    assert (code, out.count("PodGroup")) == (0, 0)
    assert "example.com/other manages this Swarm" in err


def test_kustomize_is_told_where_its_pods_name_their_group() -> None:
    assert (
        "path: spec/parts/template/spec/schedulingGroup/podGroupName, kind: Swarm, group: swarms.example.com"
        in write_names()
    )


def test_the_kind_is_suggested_for_a_near_one(tmp_path: Path) -> None:
    _, _, err = run(tmp_path, "generate", "-", data=MANIFEST.replace("swarms.example.com", "swarm.example.com"))
    assert "Did you mean Swarm of swarms.example.com?" in err
