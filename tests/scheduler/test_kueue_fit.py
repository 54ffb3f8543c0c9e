"""`krmfn fit` asks Kueue's manager in one process before the scheduler: recorded worlds through the front door."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.kueue.byhand import HAND_WORLDS
from conformance.kueue.fitted import read_answers, spell, split
from conformance.kueue.record import read_all
from krmfn.forecast.admitting import Admission
from krmfn.krm.item import Item
from krmfn.workspace.simulator import find_simulator
from tests.front_door import Done, call

Value = Mapping[str, Any]
NAME = "krmfn-simulator-kueue-0.19"
WORLDS = {str(record["seed"]): record for record in read_all()}


def write(folder: Path, record: Value) -> list[str]:
    """The files of a world, and the words that ask about them."""
    jobs, rest = split(record)
    (folder / "jobs.yaml").write_text(spell(jobs))
    (folder / "cluster.yaml").write_text(spell(rest))
    return ["fit", "jobs.yaml", "--cluster", "cluster.yaml"]


def pretend(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in place of the simulator, alone on the PATH."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / NAME).write_text(f"#!{sys.executable}\n{body}")
    (folder / "bin" / NAME).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder / "bin"))


def list_admitted(done: Done) -> set[str]:
    gangs = json.loads(done.out)["gangs"]
    return {each["job"] for gang in gangs for each in gang.get("kueue", ()) if each["state"] == "admitted"}


def list_real(record: Value) -> set[str]:
    return {job for job, answer in record["answers"].items() if answer["admitted"]}


@pytest.mark.parametrize("seed", sorted(read_answers().keys() & WORLDS.keys()))
def test_what_the_simulator_said_is_told_of_each_job(
    seed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded answers: who is admitted is who was admitted by a real manager."""
    (tmp_path / "answer.json").write_text(json.dumps({"trials": read_answers()[seed]}))
    pretend(tmp_path, f"print(open({str(tmp_path / 'answer.json')!r}).read())", monkeypatch)
    done = call(b"", [*write(tmp_path, WORLDS[seed]), "-o", "json"], tmp_path)
    assert list_admitted(done) == list_real(WORLDS[seed])
    assert json.loads(done.out)["kueue"] == "0.19"
    for gang in json.loads(done.out)["gangs"]:
        states = {each["state"] for each in gang.get("kueue", ())}
        assert (gang["verdict"] == "never") or states <= {"admitted", "waits", "held", "open"}
    text = call(b"", write(tmp_path, WORLDS[seed]), tmp_path).out.decode()
    assert "by the manager of Kueue 0.19, run on the facts about the cluster; krmfn-simulator-1.37 is not on" in text
    for name in list_real(WORLDS[seed]):
        assert f"Kueue admits {' '.join(name.split('/')[1:])}" in " ".join(text.split())


#: Worlds that an installed simulator is asked about.
SEEDS = list(WORLDS)[4::120]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_fit_admits_what_the_manager_admitted(seed: str, tmp_path: Path) -> None:
    if not find_simulator("kueue-0.19"):
        pytest.skip(f"no {NAME}: ./dev simulator kueue-0.19")
    done = call(b"", [*write(tmp_path, WORLDS[seed]), "-o", "json"], tmp_path)
    assert list_admitted(done) == list_real(WORLDS[seed])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("print('no JSON')", "is not a krmfn-simulator: its answer cannot be read"),
        ("print('{\"trials\": [1]}')", "is not a krmfn-simulator: its answer cannot be read"),
        ('print(\'{"trials": [{"name": "jobs", "jobs": [{}], "workloads": [], "queues": []}]}\')', "cannot be read"),
        ("print('[' * 100000)", "is not a krmfn-simulator: its answer cannot be read"),
        ("raise SystemExit('configuration: no such field')", f"{NAME}: configuration: no such field"),
        ("import sys; sys.exit('panic: all is lost\\n\\ngoroutine 1')", f"{NAME}: panic: all is lost"),
        ("import time; time.sleep(60)", f"{NAME}: it had not finished after 0.5 seconds"),
    ],
)
def test_a_simulator_that_does_not_answer_leaves_the_proofs(
    body: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, and what rules prove."""
    monkeypatch.setattr("krmfn.workspace.simulator._MOST_SECONDS", 0.5 if "sleep" in body else 20.0)
    words = write(tmp_path, WORLDS["7"])
    proved = call(b"", [*words, "--prove", "-o", "json"], tmp_path)
    pretend(tmp_path, body, monkeypatch)
    done = call(b"", [*words, "-o", "json"], tmp_path)
    assert said in done.err.decode()
    assert done.err.count(b"\n") == 1 + proved.err.count(b"\n")
    assert (done.out, done.code) == (proved.out, proved.code)
    assert "did not answer" in call(b"", words, tmp_path).out.decode()


def test_without_the_simulator_a_line_says_which_one_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the line of Kueue that the dump's Deployment names."""
    monkeypatch.setenv("PATH", str(tmp_path))
    words = write(tmp_path, WORLDS["7"])
    image = {"image": "registry.k8s.io/kueue/kueue:v0.18.4@sha256:0"}
    manager = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "kueue-controller-manager"}}
    manager["spec"] = {"template": {"spec": {"containers": [image]}}}
    for line in ("0.19", "0.18"):
        out = call(b"", words, tmp_path).out.decode()
        assert "by rules only: krmfn-simulator-1.37 is not on the PATH and" in out
        assert out.rstrip().endswith(f" and krmfn-simulator-kueue-{line} is not on the PATH")
        with (tmp_path / "cluster.yaml").open("a") as file:
            file.write("---\n" + json.dumps(manager) + "\n")


#: Of each world written by hand: the verdict of its gang, words that say it, and the pods that make room.
BY_HAND = {
    "preempts": ("open", "Kueue admits Job urgent as number 1: flavor default; it preempts Job slow", 3),
    "stays admitted": ("open", "Kueue admits Job slow: flavor default", 0),
    "asks for nodes": (
        "grows",
        "Kueue requests nodes (ProvisioningRequest best-effort-atomic-scale-up.autoscaling.x-k8s.io for 3 pods)",
        0,
    ),
    "asks whether there are nodes": ("never", "only checks whether the nodes that exist have room, and adds none", 0),
    "stays in a rack": ("open", "Kueue admits Job work as number 1: flavor default, in n2 (3 pods)", 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("real", [False, True], ids=["recorded", "simulator"])
@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_a_world_written_by_hand(name: str, real: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs makes room; nodes are asked for; a domain is chosen beside what is there."""
    if real and not find_simulator("kueue-0.19"):
        pytest.skip(f"no {NAME}: ./dev simulator kueue-0.19")
    world = HAND_WORLDS[name]()
    (tmp_path / "jobs.yaml").write_text(spell(world.jobs))
    (tmp_path / "cluster.yaml").write_text(spell(world.dump))
    if not real:
        (tmp_path / "answer.json").write_text(json.dumps({"trials": read_answers()[name]}))
        pretend(tmp_path, f"print(open({str(tmp_path / 'answer.json')!r}).read())", monkeypatch)
    words = ["fit", "jobs.yaml", "--cluster", "cluster.yaml"]
    done = json.loads(call(b"", [*words, "-o", "json"], tmp_path).out)
    verdict, said, gone = BY_HAND[name]
    (gang,) = done["gangs"]
    placed = "runs" if real and verdict == "open" and done["simulator"] else verdict  # where the scheduler is, too
    assert (gang["verdict"], len(done.get("preempted", ()))) == (placed, gone)
    assert said in " ".join(call(b"", words, tmp_path).out.decode().split())


@pytest.mark.parametrize("number", [3, 4])
def test_three_domains_are_named(number: int) -> None:
    domains = [{"labels": {"rack": f"n{each}"}, "pods": 1} for each in range(number)]
    told = {"podSets": [{"flavors": ["default"], "domains": domains}], "preempts": []}
    said = Admission(Item.parse(b"{kind: Job, metadata: {name: work}}"), told).spell()
    named = "n0 (1 pod), n1 (1 pod), n2 (1 pod) and others" if number > 3 else "n0 (1 pod), n1 (1 pod) and n2 (1 pod)"
    assert said == f"Kueue admits Job work: flavor default, in {named}"


def test_every_world_by_hand_has_its_answer() -> None:
    assert BY_HAND.keys() == HAND_WORLDS.keys() == read_answers().keys() - WORLDS.keys()


SCHEDULER = """import json, sys
asked = json.load(sys.stdin)
def suits(pod, node):
    wanted = pod["spec"].get("nodeSelector", {}).items()
    return wanted <= node["metadata"]["labels"].items()
nodes = [each for each in asked["objects"] if each["kind"] == "Node"]
waiting = [each for each in asked["objects"] if each["kind"] == "Pod"]
pods = {f"{each['metadata']['namespace']}/{each['metadata']['name']}": each for each in waiting}
trials = []
for trial in asked["trials"]:
    found = {}
    for name in trial["pods"]:
        fits = [node["metadata"]["name"] for node in nodes if suits(pods[name], node)]
        found[name] = {"node": fits[-1]} if fits else {"message": "0/4 nodes are available"}
    trials.append({"name": trial["name"], "pods": found})
print(json.dumps({"trials": trials}))
"""


def test_the_scheduler_places_what_kueue_admits_where_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of jobs that are not admitted are not made; others go to the domain that Kueue gave them."""
    (tmp_path / "answer.json").write_text(json.dumps({"trials": read_answers()["7"]}))
    pretend(tmp_path, f"print(open({str(tmp_path / 'answer.json')!r}).read())", monkeypatch)
    (tmp_path / "scheduler").write_text(f"#!{sys.executable}\n{SCHEDULER}")
    (tmp_path / "scheduler").chmod(0o755)
    words = [*write(tmp_path, WORLDS["7"]), "--simulator", "./scheduler"]
    done = json.loads(call(b"", [*words, "-o", "json"], tmp_path).out)
    gangs = {gang["name"]: gang for gang in done["gangs"]}
    assert {name: gang["verdict"] for name, gang in gangs.items()} == {"w7/j0": "never", "w7/j1": "runs"}
    assert not any(place["node"] for place in gangs["w7/j0"]["places"])
    placed = {place["pod"].split("-")[1]: place["node"] for place in gangs["w7/j1"]["places"]}
    domains = WORLDS["7"]["answers"]["w7/JobSet/j1"]["domains"]
    assert placed == {name: domain[0][0][0] for name, domain in domains.items()}
    said = "by the manager of Kueue 0.19 and the scheduler of Kubernetes 1.37, run on the facts about the cluster"
    assert said in call(b"", words, tmp_path).out.decode()
