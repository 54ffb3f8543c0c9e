"""`krmfn facts` keeps what `krmfn fit` asks Kueue about: recorded worlds as dumps of a cluster, and as facts."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.kueue.fitted import read_answers, spell, split
from conformance.kueue.record import read_all
from tests.front_door import call

Value = dict[str, Any]
WORLDS = {str(record["seed"]): record for record in read_all()}
#: Prints the recorded answer, and keeps what it was asked.
PROGRAM = """import sys
open({asked!r}, "w").write(sys.stdin.read())
print(open({answer!r}).read())
"""


def make_dump(seed: str) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """The jobs that wait, and the cluster with the Workloads of those that do not, as other managers' neighbours."""
    jobs, rest = split(WORLDS[seed])
    shown = read_answers()[seed][0]
    running = {each["job"] for each in shown["jobs"] if each["state"] in ("admitted", "held")}
    owners = [(each["metadata"], each["metadata"]["ownerReferences"][0]) for each in shown["workloads"]]
    made = [f"{metadata['namespace']}/{owner['kind']}/{owner['name']}" for metadata, owner in owners]
    workloads = [each for each, name in zip(shown["workloads"], made, strict=True) if name in running]
    named = {"/".join((job["metadata"]["namespace"], job["kind"], job["metadata"]["name"])): job for job in jobs}
    waiting = [job for name, job in named.items() if name not in running]
    finished = json.loads(json.dumps(workloads[0]))
    finished["metadata"] |= {"name": "finished-one"}
    finished["status"]["conditions"].append(
        {"type": "Finished", "status": "True", "reason": "Succeeded", "message": ""}
    )
    box = {"name": "manager", "image": "mirror.example.com:5000/kueue/kueue:v0.18.4@sha256:0", "args": ["--secret"]}
    manager = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "kueue-controller-manager"}}
    manager["spec"] = {"template": {"spec": {"containers": [box]}}}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "jobset-manager-config", "namespace": "a"}}
    other["data"] = {
        "controller_manager_config.yaml": "apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\n"
    }
    return waiting, [other, manager, *rest, *workloads, finished]


def ask(folder: Path, cluster: str) -> tuple[Value, list[Value]]:
    """What fit asks, without the names of nodes that are alike, and what it says."""
    done = call(b"", ["fit", "jobs.yaml", "--cluster", cluster, "-o", "json"], folder)
    asked = json.loads((folder / "asked.json").read_text())
    nodes = []
    others = []
    for value in asked["steps"][0]:
        if value["kind"] == "Node":
            labels = {key: text for key, text in value["metadata"]["labels"].items() if "hostname" not in key}
            nodes.append(json.dumps([labels, value["spec"], value["status"]], sort_keys=True))
        else:
            others.append({key: entry for key, entry in value.items() if key != "description"})
    return {**asked, "steps": [sorted(nodes), others]}, json.loads(done.out)["gangs"]


@pytest.mark.parametrize("seed", sorted(read_answers().keys() & WORLDS.keys()))
def test_facts_ask_kueue_what_the_dump_asks(seed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question is the oracle: with the same one the manager says the same."""
    jobs, dump = make_dump(seed)
    (tmp_path / "jobs.yaml").write_text(spell(jobs))
    (tmp_path / "dump.yaml").write_text(spell(dump))
    facts = call(b"", ["facts", "dump.yaml"], tmp_path)
    assert facts.code == 0
    (tmp_path / "facts.yaml").write_bytes(facts.out)
    (tmp_path / "answer.json").write_text(json.dumps({"trials": [{**read_answers()[seed][0], "jobs": []}]}))
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "krmfn-simulator-kueue-0.18"
    words = {"asked": str(tmp_path / "asked.json"), "answer": str(tmp_path / "answer.json")}
    program.write_text(f"#!{sys.executable}\n{PROGRAM.format(**words)}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    whole, short = ask(tmp_path, "dump.yaml"), ask(tmp_path, "facts.yaml")
    assert whole == short
    assert len(facts.out) < len((tmp_path / "dump.yaml").read_bytes())
    assert not [
        word for word in (b"mirror.example.com", b"--secret", b"finished-one", b"imagePull") if word in facts.out
    ]
