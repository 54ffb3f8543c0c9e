"""`krmfn diff --cluster`: what becomes of gangs in a cluster, as a picture of the nodes that change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from krmfn.workspace.simulator import find_simulator
from tests.cli.conftest import Call
from tests.cli.test_fit import SIMULATOR, make_job, make_node

ZONE = "topology.kubernetes.io/zone"
EVIL = "w<b>`|@team[x](http://a)\x1b[31m"
#: Places pods by their node selectors; those that were in zone b make room.
PLACING = SIMULATOR.replace(
    "trials = []",
    f"""trials = []
zones = {{
    each["metadata"]["namespace"] + "/" + each["metadata"]["name"]: each["spec"].get("nodeSelector", {{}}).get("{ZONE}")
    for each in asked["objects"]
    if each["kind"] == "Pod"
}}
gone = [name for name in zones if "/w" in name] if "b" in zones.values() else []""",
)
PLACING = PLACING.replace(
    '{"node": nodes[number % len(nodes)]}', '{"node": "gpu-%d%s" % (1 + number % 2, zones[name] or "a")}'
).replace('"pods": pods}', '"pods": pods, "preempted": gone}')


def make_zoned(zone: str, name: str = "fits") -> dict[str, Any]:
    job = make_job(name, 2, 1)
    job["spec"]["template"]["spec"]["nodeSelector"] = {ZONE: zone}
    return job


def make_web(number: int) -> dict[str, Any]:
    spec = {"nodeName": "gpu-1b", "containers": [{"name": "c", "image": "i"}]}
    metadata = {"name": f"{EVIL}{number}", "namespace": "ml"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


@pytest.fixture
def zones(tmp_path: Path) -> Path:
    """Two zones of two nodes, pods of others in the second; a Job that goes from the first to the second."""
    nodes = [make_node(f"gpu-{number}{zone}", zone) for zone in "ab" for number in (1, 2)]
    items = [*nodes, *map(make_web, range(6))]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    (tmp_path / "old.yaml").write_text(yaml.safe_dump_all([make_job("fits", 1, 1), make_zoned("a", "fits-too")]))
    (tmp_path / "new.yaml").write_text(yaml.safe_dump_all([make_job("fits", 1, 1), make_zoned("b", "fits-too")]))
    (tmp_path / "simulator").write_text(PLACING)
    (tmp_path / "simulator").chmod(0o755)
    return tmp_path


def diff(krmfn: Call, form: str, old: str = "old.yaml", new: str = "new.yaml") -> str:
    return krmfn("diff", old, new, "--cluster", "cluster.yaml", "--simulator", "./simulator", "-o", form).out


@pytest.mark.slow
@pytest.mark.usefixtures("zones")
def test_a_gang_that_moves_to_another_zone_is_told_though_it_starts_as_before(krmfn: Call) -> None:
    moved = "starts, and moves from zone a ×2 to zone b ×2"
    text = diff(krmfn, "text")
    assert f"  ml/job-fits-too: {moved}\n" in text
    assert "ml/job-fits:" not in text, "it stays where it was"
    assert f"| `ml/job-fits-too` | {moved} |" in diff(krmfn, "markdown")
    (shift,) = json.loads(diff(krmfn, "json"))["cluster"]
    assert (shift["before"], shift["after"], shift["harmful"]) == ("starts", "starts", False)
    assert (shift["key"], shift["from"], shift["to"]) == (ZONE, {"a": 2}, {"b": 2})


@pytest.mark.slow
@pytest.mark.usefixtures("zones")
def test_the_chart_has_the_nodes_that_change_before_and_after(krmfn: Call) -> None:
    chart = diff(krmfn, "markdown").split("```mermaid\n")[1].split("```")[0]
    before, after = chart.split('subgraph s1["after"]')
    assert before.count("ml/job-fits-too ×1") == after.count("ml/job-fits-too ×1") == 2
    assert 'w0d0["zone a"]' in before
    (color,) = {line.rpartition(":::")[2] for line in chart.splitlines() if "ml/job-fits-too" in line}
    assert color == "g1", "a gang has one colour in both states"
    assert chart.count("subgraph") - 1 < chart.count("end"), "every box is closed"
    states = json.loads(diff(krmfn, "json"))["outlooks"]
    held = [{node["name"]: node["gangs"] for node in states[0][state]["nodes"]} for state in ("before", "after")]
    assert held[0]["gpu-1a"]["ml/job-fits-too"] == held[1]["gpu-1b"]["ml/job-fits-too"] == 1
    assert "gpu-1b" not in "".join(name for name, gangs in held[0].items() if gangs)


@pytest.mark.slow
@pytest.mark.usefixtures("zones")
def test_pods_that_make_room_are_named_and_harmless(krmfn: Call) -> None:
    text, markdown = diff(krmfn, "text"), diff(krmfn, "markdown")
    assert "  preempted: ml/w<b>" in text
    assert "and 2 more pods\n" in text
    assert "\x1b[31m" not in text + markdown
    (line,) = (line for line in markdown.splitlines() if "preempted" in line)
    assert line.startswith("🔴 preempted: ml/w&#60;b&#62;&#96;&#124;&#64;team")
    assert len(json.loads(diff(krmfn, "json"))["preempted"]) == 6
    fit = json.loads(
        krmfn("fit", "new.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator", "-o", "json").out
    )
    assert len(fit["preempted"]) == 6
    assert {node["name"]: node["otherPods"] for node in fit["nodes"]}["gpu-1b"] == 0, "they are gone"


@pytest.mark.slow
def test_a_gang_whose_pods_make_room_no_longer_runs(zones: Path, krmfn: Call) -> None:
    pods = [make_web(number) for number in (7, 8)]
    for pod in pods:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "web", "uid": "1", "controller": True}
        name = f"web{pod['metadata']['name'][-1]}"
        pod["metadata"] |= {"name": name, "ownerReferences": [owner]}
    for name, more in (("cluster", pods), ("old", [make_job("web", 2, 1)]), ("new", [make_job("web", 2, 1)])):
        with (zones / f"{name}.yaml").open("a") as file:
            file.write("---\n" + yaml.safe_dump_all(more))
    (shift,) = (each for each in json.loads(diff(krmfn, "json"))["cluster"] if each["gang"] == "ml/job-web")
    assert (shift["before"], shift["after"], shift["harmful"]) == (
        *("starts", "waits for capacity that other pods use", True),
    )
    words = ("diff", "old.yaml", "new.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator")
    assert krmfn(*words).code == 1, "what ran is stopped"
    assert krmfn(*words[:1], "new.yaml", *words[2:]).code == 0, "it was stopped before"


def test_a_gang_that_never_starts_has_no_place(zones: Path, krmfn: Call) -> None:
    """Some of its pods would find a node: that is no place where it runs."""
    job = make_job("fits", 3, 2)
    job["spec"]["template"]["spec"]["nodeSelector"] = {ZONE: "a"}
    (zones / "new.yaml").write_text(yaml.safe_dump_all([job, make_zoned("a", "fits-too")]))
    (zones / "simulator").write_text(PLACING.replace('"fits": True', '"fits": name != "ml/fits-2"'))
    (shift,) = json.loads(diff(krmfn, "json"))["cluster"]
    assert shift["after"] == "never starts"
    assert "to" not in shift


@pytest.mark.slow
@pytest.mark.usefixtures("zones")
def test_nothing_moves_between_a_state_and_itself(krmfn: Call) -> None:
    text = diff(krmfn, "markdown", "new.yaml", "new.yaml")
    assert "In the cluster, the same gangs run as before." in text
    assert "mermaid" not in text
    assert json.loads(diff(krmfn, "json", "new.yaml", "new.yaml"))["preempted"] == [], "as before"


def test_a_gang_that_is_new_has_no_before(zones: Path, krmfn: Call) -> None:
    (zones / "none.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    text = diff(krmfn, "markdown", "none.yaml", "old.yaml")
    assert "| `ml/job-fits-too` | new, starts now in zone a ×2 |" in text
    assert diff(krmfn, "text", "old.yaml", "none.yaml").count("starts before in zone a") == 2


def test_the_scheduler_itself_says_what_moves(zones: Path, krmfn: Call) -> None:
    """No program that is made for the test: where the simulator is installed."""
    if not find_simulator("1.37"):
        pytest.skip("no krmfn-simulator-1.37: ./dev simulator 1.37")
    (zones / "cluster.yaml").write_text(
        yaml.safe_dump_all(make_node(f"gpu-{number}{zone}", zone) for zone in "ab" for number in (1, 2))
    )
    done = krmfn("diff", "old.yaml", "new.yaml", "--cluster", "cluster.yaml", "--kubernetes", "1.37", "-o", "json")
    (shift,) = (each for each in json.loads(done.out)["cluster"] if each["gang"] == "ml/job-fits-too")
    assert (shift["before"], shift["after"], shift["key"]) == ("starts", "starts", ZONE)
    assert (set(shift["from"]), set(shift["to"])) == ({"a"}, {"b"})
