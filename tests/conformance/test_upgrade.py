"""What was rehearsed on real programs (`python -m conformance upgrade`) is what krmfn says and prints."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.upgrade import DATA, JOB
from krmfn.krm.item import Item
from krmfn.plan.upgrade import PHASES, plan_upgrade
from krmfn.releases.release import find_release, find_writer, list_releases, tell_damage
from tests.front_door import call

LINK = {"schedulingGroup": {"podGroupName": "g"}}
RECORDS = [json.loads(path.read_text()) for path in sorted(DATA.glob("*.json"))]
each = pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{record['from']}-{record['to']}")


def test_every_upgrade_is_rehearsed() -> None:
    rehearsed = {(record["from"], record["to"]) for record in RECORDS}
    for old, new in pairwise(map(find_release, list_releases())):
        stored = [{"apiVersion": f"scheduling.k8s.io/{served[0]}", "kind": kind} for kind, served in old.kinds.items()]
        if any(find_writer(value, new) for value in stored):
            assert (old.name, new.name) in rehearsed


@each
def test_what_is_told_is_what_happened(record: dict[str, Any]) -> None:
    """The sentence about each kind against the answers of the new programs."""
    for kind, seen in record["left"].items():
        told = " ".join(tell_damage(one, find_release(record["to"])) for one in ([kind] if kind else record["left"]))
        assert seen["API server ready"] != ("kube-apiserver never becomes ready" in told)
        assert seen["plain pod bound"] != ("no pod of the whole cluster" in told)
        if kind:
            assert seen["lists"][kind] == 500
        assert seen["back"], "the old API server can be started again"


@each
def test_the_printed_commands_work(record: dict[str, Any], tmp_path: Path) -> None:
    """They are those that were rehearsed, and everything runs after them."""
    told = record["told"]
    assert (told["before"], told["after"]) == ("", "")
    for seen in (
        told,
        told["again"],
        *told.get("between", {}).values(),
        *(left["repaired"] for left in record["left"].values()),
    ):
        assert seen["API server ready"]
        assert seen["plain pod bound"]
        assert set(seen["lists"].values()) == {200}
    assert all(left["repair"] == "" for left in record["left"].values())
    assert told["pods kept"], "pods run on through the upgrade"
    assert told["gang"], "the gang is whole under the new release"
    assert not told["back"], "the old release cannot read what the new one stored"
    data = yaml.safe_dump(JOB).encode()
    generated = call(data, ["generate", "-q", "--kubernetes", record["from"], "-"], tmp_path)
    (tmp_path / "train.yaml").write_bytes(generated.out)
    for phase in PHASES:
        words = ["upgrade", "--kubernetes", record["from"], "--to", record["to"], "--only", phase, "train.yaml"]
        lines = call(words=words, folder=tmp_path).out.decode().splitlines()
        assert [line for line in lines if line[:1] not in ("", "#")] == told["commands"][phase]


@each
def test_an_object_of_several_overlays_is_deleted_once(record: dict[str, Any]) -> None:
    old, new = find_release(record["from"]), find_release(record["to"])
    linked = {"template": {"spec": {old.link[0]: {"name": "a"}}}}
    values: list[dict[str, Any]] = [{"apiVersion": "batch/v1", "kind": "Job", "spec": linked}]
    values += [{"apiVersion": f"scheduling.k8s.io/{served[0]}", "kind": kind} for kind, served in old.kinds.items()]
    items = [Item.new({**value, "metadata": {"name": "a", "namespace": "b"}}) for value in values]
    assert plan_upgrade([*items, *items], new).spell() == plan_upgrade(items, new).spell()


def test_an_upgrade_over_several_releases_is_told_step_by_step(tmp_path: Path) -> None:
    """The first step decides what has to go, and what happens when it is left; nothing is made in between."""
    generated = call(yaml.safe_dump(JOB).encode(), ["generate", "-q", "--kubernetes", "1.35", "-"], tmp_path)
    (tmp_path / "train.yaml").write_bytes(generated.out)
    scripts = {}
    for new in ("1.36", "1.37"):
        words = ["upgrade", "--kubernetes", "1.35", "--to", new, "train.yaml"]
        scripts[new] = " ".join(call(words=words, folder=tmp_path).out.decode().replace("\n#", "").split())
    assert "upgraded one minor release at a time: to 1.36, then to 1.37. Create no groups under 1.36" in scripts["1.37"]
    assert "one minor release at a time" not in scripts["1.36"]
    damage = tell_damage("Workload", find_release("1.36"))
    assert all(damage in script and "from Kubernetes 1.35 to 1.36" in script for script in scripts.values())
    assert "krmfn convert --to 1.37" in scripts["1.37"]
    assert any(set(record["told"].get("between", {})) == {"1.36"} for record in RECORDS), "it is rehearsed"


@pytest.mark.parametrize(("kind", "action"), [("Job", "replaced"), ("Pod", "replaced"), ("Deployment", "updated")])
def test_a_link_of_an_older_release_is_lost_before_the_update(kind: str, action: str, tmp_path: Path) -> None:
    """The server does not read it, so the new link is one more field: of a Job or a Pod it cannot change any more."""
    pod: dict[str, Any] = {"containers": [{"name": "a", "image": "b"}]}
    for name, link in (("old", {"workloadRef": {"name": "w", "podGroup": "a"}}), ("new", LINK)):
        spec = pod | link
        if kind != "Pod":
            labels = {"matchLabels": {"a": "b"}}
            template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
            only = {"restartPolicy": "Never"} if kind == "Job" else {}
            spec = {"template": template | {"spec": spec | only}} | ({} if kind == "Job" else {"selector": labels})
        group = {"Job": "batch/v1", "Pod": "v1", "Deployment": "apps/v1"}[kind]
        value = {"apiVersion": group, "kind": kind, "metadata": {"name": "a"}, "spec": spec}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(value))
    for new in ("1.36", "1.37"):
        words = ["diff", "--kubernetes", "1.35", "--to-kubernetes", new, "old.yaml", "new.yaml"]
        told = call(words=words, folder=tmp_path).out.decode()
        assert f"1 {'to be ' if action == 'replaced' else ''}{action}" in told, told


def test_versions_that_a_release_does_not_have_cannot_be_turned_on(tmp_path: Path) -> None:
    values = [
        {"apiVersion": f"scheduling.k8s.io/{version}", "kind": "PodGroup", "metadata": {"name": version}}
        for version in ("v1alpha2", "v1beta1")
    ]
    (tmp_path / "a.yaml").write_text(yaml.safe_dump_all(values))
    told = call(words=["validate", "--kubernetes", "1.37", "a.yaml"], folder=tmp_path).out.decode()
    assert "--runtime-config=scheduling.k8s.io/v1beta1=true." in told


def test_groups_of_several_releases_have_a_part_each() -> None:
    """In whatever order they come: no command is printed for a kind that the release does not have."""
    made = {
        "1.35": {"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "Workload", "metadata": {"name": "old"}},
        "1.36": {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "mid"}},
        "1.37": {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "new"}},
    }
    release = find_release("1.37")
    alone = {name: plan_upgrade([Item.new(value)], release) for name, value in made.items()}
    for values in (made.values(), reversed(made.values())):
        done = plan_upgrade([Item.new(value) for value in values], release)
        assert [item.name for item in done.blockers] == ["old", "mid"]
        assert done.before[1:] == (*alone["1.35"].before, *alone["1.36"].before)
        assert done.repair == (*alone["1.35"].repair, *alone["1.36"].repair)
        assert done.before[0].startswith("# The input has groups of 1.35 and 1.36. No cluster has both")
        assert done.after[1].startswith("# Running pods of 1.35 have lost their link")


@pytest.mark.parametrize("name", ["x; $(touch a)'`touch b`", "--all", "../../x", "x\n::error::", "\x1b[2J", "x\n", ""])
def test_no_commands_for_what_is_in_no_cluster(name: str) -> None:
    """Names out of files get into a shell: only such as a server takes, which are one word, no option and no path."""
    for metadata in ({"name": name, "namespace": "a"}, {"name": "b", "namespace": name or "-"}):
        value = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": metadata}
        assert not plan_upgrade([Item.new(value)], find_release("1.37")).blockers


def test_files_are_one_word_each(tmp_path: Path) -> None:
    value = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "a"}}
    script = plan_upgrade([Item.new(value)], find_release("1.37"), ["x; $(touch gone)'`touch gone`.yaml"]).spell()
    (tmp_path / "script").write_text(f"kubectl() {{ :; }}; krmfn() {{ :; }}\n{script}")
    assert os.system(f"cd {tmp_path} && sh -e script > /dev/null") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["script"]


def test_only_jobs_that_lose_their_link_are_deleted(tmp_path: Path) -> None:
    plain = {**JOB, "metadata": {"name": "plain", "namespace": "default"}}
    generated = call(yaml.safe_dump(JOB).encode(), ["generate", "-q", "--kubernetes", "1.35", "-"], tmp_path)
    (tmp_path / "all.yaml").write_bytes(generated.out + b"---\n" + yaml.safe_dump(plain).encode())
    words = ["upgrade", "--kubernetes", "1.35", "--to", "1.36", "all.yaml"]
    lines = call(words=words, folder=tmp_path).out.decode().splitlines()
    deleted = [line.split()[3] for line in lines if line.startswith("kubectl delete job.batch")]
    assert deleted == ["train"]
