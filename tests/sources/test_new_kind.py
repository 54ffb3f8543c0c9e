"""A kind is one file: every command then knows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from krmfn.model.kinds import KINDS, KindRow
from krmfn.workspace.kustomization import write_names
from tests.front_door import call

SWARM = """\
group: swarms.example.com
kind: Swarm
roles:
- template: spec.parts.*.template
  count: spec.parts.*.replicas
managedBy: {field: spec.managedBy, controller: example.com/swarm}
link: {since: Swarm v2}
immutable: [color]
rival: {field: spec.gangs, name: the swarm's own gangs}
"""
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


@pytest.fixture(autouse=True)
def new_kind() -> Iterator[None]:
    know(SWARM)
    yield
    KINDS.forget_own()


def know(*texts: str) -> None:
    KINDS.forget_own()
    KINDS.add_own(KindRow(yaml.safe_load(text)) for text in texts)


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
    ("link", "told"),
    [("{kept: Always}", ""), ("{}", "the CRD of Swarm may drop spec.schedulingGroup from pod templates")],
)
def test_a_kind_without_a_known_release_says_no_more_than_is_known(link: str, told: str, tmp_path: Path) -> None:
    know(SWARM.replace("{since: Swarm v2}", link))
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


def test_roles_of_a_map_are_groups_called_after_its_keys(tmp_path: Path) -> None:
    data = MANIFEST.replace("- name: queen", "  Queen:").replace("- name: workers", "  Workers:")
    data = data.replace("krmfn.dev/gang:", "krmfn.dev/granularity: Group\n    krmfn.dev/gang:")
    for line in ("replicas: 4", "template:"):
        data = data.replace(f"    {line}", f"      {line}")
    data = data.replace("\n      spec:\n        containers", "\n        spec:\n          containers")
    code, out, err = run(tmp_path, "generate", "-", data=data)
    assert code == 0, err
    assert [line.strip() for line in out.splitlines() if "podGroupName:" in line] == [
        "podGroupName: swarm-bees-j-queen",
        "podGroupName: swarm-bees-j-workers",
    ]


PRODUCT = """\
group: slices.example.com
kind: Slice
roles:
- template: spec.template
  count:
  - {field: spec.replicas, default: 2, atLeast: spec.least, atMost: spec.most}
  - {field: spec.hosts, plus: 1}
  minimum: [spec.least, {field: spec.hosts, plus: 1}]
link: {kept: Always}
"""
NAMED = """\
group: slices.example.com
kind: Slice
roles:
- {name: bee, template: spec.template, count: {field: spec.pools.*.size, naming: spec.pools.*.roles}}
link: {kept: Always}
"""
SLICE = """\
apiVersion: slices.example.com/v1
kind: Slice
metadata: {name: s, annotations: {krmfn.dev/gang: "true"}}
spec:
  hosts: 3
  template: {spec: {containers: [{name: a, image: b}]}}
"""


@pytest.mark.parametrize(
    ("more", "quorum"),
    [
        ("", 8),
        ("  replicas: 5\n", 20),
        ("  replicas: 5\n  most: 4\n", 16),
        ("  replicas: 5\n  least: 6\n  most: 4\n", 24),
        ("  replicas: 1\n  least: 1\n", 4),
    ],
)
def test_pods_are_the_product_of_counts_within_their_bounds(more: str, quorum: int, tmp_path: Path) -> None:
    know(PRODUCT)
    code, out, err = run(tmp_path, "generate", "-", data=SLICE + more)
    assert (code, f"minCount: {quorum}" in out) == (0, True), out + err


def test_a_count_below_zero_or_too_large_is_refused(tmp_path: Path) -> None:
    know(PRODUCT)
    assert "count-negative" in run(tmp_path, "generate", "-", data=SLICE + "  replicas: -1\n")[2]
    assert "count-overflow" in run(tmp_path, "generate", "-", data=SLICE + "  replicas: 1000000000\n")[2]


def test_the_field_without_pods_is_that_of_the_entry_that_names_the_role(tmp_path: Path) -> None:
    know(NAMED)
    value = SLICE + "  pools: [{size: 0, roles: [bee]}]\n"
    assert "spec.pools[0].size: size is 0: no pods, so no group" in run(tmp_path, "generate", "-", data=value)[2]
    assert run(tmp_path, "validate", "-", data=value)[0] == 0


def test_a_kind_whose_crd_drops_the_link_needs_the_bridge(tmp_path: Path) -> None:
    know(PRODUCT.replace("Always", "Never"))
    _, out, err = run(tmp_path, "generate", "-", data=SLICE)
    assert "PodGroup" not in out
    assert "the CRD of Slice drops the link from pod templates" in err
    settings = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nspec: {link: Auto}\n"
    (tmp_path / "krmfn.yaml").write_text(settings)
    code, out, _ = run(tmp_path, "generate", "-", data=SLICE)
    assert code == 0
    assert out.count("pod-group: slice-s") == 1


ORDERED = """\
group: stages.example.com
kind: Stages
roles:
- {name: driver, template: spec.driver, late: {field: spec.mode, value: AfterWorkers}}
- {name: worker, template: spec.worker, count: spec.workers}
order: {field: spec.mode, value: InOrder}
link: {kept: Always}
"""
STAGES = """\
apiVersion: stages.example.com/v1
kind: Stages
metadata: {name: s, annotations: {krmfn.dev/gang: "true", krmfn.dev/granularity: Group}}
spec:
  workers: 3
  driver: {spec: {containers: [{name: a, image: b}]}}
  worker: {spec: {containers: [{name: a, image: b}]}}
"""


@pytest.mark.parametrize(
    ("mode", "tree", "links"),
    [
        ("Together", "minGroupCount: 2", 2),
        ("InOrder", "one after the other, so each is a separate gang", 2),
        ("AfterWorkers", "minCount: 3", 1),
    ],
)
def test_the_order_of_roles_decides_who_waits_for_whom(mode: str, tree: str, links: int, tmp_path: Path) -> None:
    know(ORDERED)
    _, out, err = run(tmp_path, "generate", "-", data=STAGES + f"  mode: {mode}\n")
    assert tree in out + err
    assert ("CompositePodGroup" in out) == (mode == "Together")
    assert out.count("podGroupName: ") == links
