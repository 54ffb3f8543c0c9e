"""examples/fleet: what engines would run is run here, and says what one run says; killed parts are done again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_shards import make
from tests.e2e.tools import PATH, require, require_kustomize, run
from tests.workspace.repositories import JOB

EXAMPLES = Path(__file__).parents[2] / "examples" / "fleet"
NUMBER = 4


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with worlds of every sort."""
    require_kustomize()
    return make(tmp_path / "repository", 1)


def read(name: str) -> Any:
    return yaml.safe_load((EXAMPLES / name).read_text())


def carry_out(script: str, folder: Path, env: dict[str, str] | None = None, words: tuple[str, ...] = ("-euc",)) -> Any:
    """A script as an engine's shell runs it."""
    return run("sh", *words, script, cwd=folder, env=env)


def compare(parts: list[Path], repository: Path) -> None:
    """The parts together say what one run says."""
    assert len(parts) == NUMBER
    merged = run("krmfn", "merge", *map(str, parts), "-o", "json", cwd=repository)
    whole = run("krmfn", "validate", "-o", "json", cwd=repository)
    assert (merged.stdout, merged.returncode) == (whole.stdout, whole.returncode)
    assert whole.stdout


def test_pods_of_an_indexed_job(repository: Path, tmp_path: Path) -> None:
    """One pod is killed in the middle; the Job starts its index again."""
    reports = tmp_path / "reports"
    reports.mkdir()
    job = read("indexed-job.yaml")["spec"]
    (container,) = job["template"]["spec"]["containers"]
    (script,) = container["args"]
    script = script.replace("/reports/", f"{reports}/")
    assert (job["completions"], container["command"]) == (NUMBER, ["sh", "-euc"])
    env = {**os.environ, "PATH": PATH, "JOB_COMPLETION_INDEX": "1"}
    pod = subprocess.Popen(
        ["sh", "-euc", script], cwd=repository, env=env, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while not (reports / "part.1.new").exists():
        time.sleep(0.01)
    os.killpg(pod.pid, signal.SIGKILL)
    pod.wait()
    assert not (reports / "part.1").exists()
    for index in range(NUMBER):
        done = carry_out(script, repository, {"JOB_COMPLETION_INDEX": str(index)})
        assert done.returncode == 0, done.stderr
    compare(sorted(reports.glob("part.*")), repository)


@pytest.mark.parametrize("name", ["indexed-job.yaml", "argo-workflow.yaml"])
def test_our_manifests_are_valid(name: str) -> None:
    done = run("krmfn", "validate", str(EXAMPLES / name))
    assert done.returncode == 0, done.stdout


def test_steps_of_an_argo_workflow(repository: Path, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    spec = read("argo-workflow.yaml")["spec"]
    templates = {each["name"]: each for each in spec["templates"]}
    ((check,), (join,)) = templates["all"]["steps"]
    sequence = check["withSequence"]
    for item in range(int(sequence["start"]), int(sequence["end"]) + 1):
        source = templates[check["template"]]["script"]["source"]
        source = source.replace("{{inputs.parameters.shard}}", str(item)).replace("/reports/", f"{reports}/")
        done = carry_out(source, repository)
        assert done.returncode == 0, done.stderr
    last = carry_out(templates[join["template"]]["script"]["source"].replace("/reports/", f"{reports}/"), repository)
    assert last.returncode == 1, last.stderr
    compare(sorted(reports.iterdir()), repository)


def test_jobs_of_github(repository: Path, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    jobs = read("github-matrix.yaml")["jobs"]

    def list_scripts(job: str) -> list[str]:
        return [each["run"] for each in jobs[job]["steps"] if not each.get("run", "pip ").startswith("pip ")]

    for shard in jobs["check"]["strategy"]["matrix"]["shard"]:
        (script,) = list_scripts("check")
        script = script.replace("${{ matrix.shard }}", str(shard))
        done = run("bash", "-ec", script, cwd=repository, env={"RUNNER_TEMP": str(parts)})
        assert done.returncode == 0, done.stderr
    (script,) = list_scripts("join")
    last = run("bash", "-ec", script, cwd=tmp_path)
    assert last.returncode == 1, last.stderr
    assert "::error" in last.stdout
    compare(sorted(parts.iterdir()), repository)


def test_jobs_of_gitlab(repository: Path, tmp_path: Path) -> None:
    """Each job has a checkout of the same commit; artifacts are unpacked over it."""
    jobs = read("gitlab-parallel.yaml")
    for job in jobs.values():  # what is installed is here
        job["script"] = [command for command in job["script"] if not command.startswith(("pip ", "curl "))]
    number = jobs["check"]["parallel"]
    kept: dict[str, str] = {}
    for node in range(1, number + 1):
        env = {"CI_NODE_INDEX": str(node), "CI_NODE_TOTAL": str(number)}
        done = carry_out("\n".join(jobs["check"]["script"]), repository, env)
        assert done.returncode == 0, done.stderr
        for path in (repository / "parts").iterdir():
            kept[path.name] = path.read_text()
            path.unlink()
        (repository / "parts").rmdir()
    (tmp_path / "parts").mkdir()
    for name, text in kept.items():
        (tmp_path / "parts" / name).write_text(text)
    last = carry_out("\n".join(jobs["join"]["script"]), tmp_path)
    assert last.returncode == 1, last.stderr
    assert json.loads((tmp_path / "gl-code-quality-report.json").read_text())
    compare(sorted((tmp_path / "parts").iterdir()), repository)


def test_make(repository: Path, tmp_path: Path) -> None:
    require("make", "apt-get install make")
    build = tmp_path / "build"
    build.mkdir()
    words = ["make", "-j", "2", "-f", str(EXAMPLES / "Makefile"), "-C", str(build), f"REPOSITORY={repository}"]
    done = run(*words)
    assert done.returncode == 2, done.stderr
    parts = sorted((build / "parts").iterdir())
    assert len(parts) == NUMBER
    merged = run("krmfn", "merge", *map(str, parts), "-o", "json", cwd=build)
    assert merged.stdout == run("krmfn", "validate", str(repository), "-o", "json", cwd=build).stdout


#: Starts two nodes, kills a worker and then a node of them while the example is at work, and tells what is left.
CHAOS = """\
import os, signal, subprocess, sys, time
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
other = cluster.add_node(num_cpus=1)
cluster.wait_for_nodes()
words = [sys.executable, *sys.argv[1:], "--address", cluster.address]
process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
def list_workers():
    raylets = {each.process.pid for node in cluster.list_all_nodes() for each in node.all_processes["raylet"]}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat, open(f"/proc/{name}/cmdline") as line:
                parent = int(stat.read().rpartition(")")[2].split()[1])
                if parent in raylets and line.read().startswith(("ray::check_some", "ray::IDLE")):
                    yield int(name)
        except OSError:
            pass
killed = []
for number, line in enumerate(process.stdout):
    print(line, end="", flush=True)
    if number >= 10 and not killed:
        killed = list(list_workers())[:1]
        for each in killed:
            os.kill(each, signal.SIGKILL)
    if number == 40:
        cluster.remove_node(other, allow_graceful=False)
print("killed", len(killed), "ended", process.wait())
cluster.shutdown()
"""


@pytest.mark.slow
def test_ray_loses_nothing_when_a_worker_and_a_node_die(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="pip install ray")
    for number in range(300):
        place = tmp_path / "repositories" / f"r{number}"
        place.mkdir(parents=True)
        text = JOB.replace("spec:", "spec:\n  backoffLimit: -1", 1) if number % 3 else JOB
        (place / "job.yaml").write_text(text if number != 7 else "apiVersion: v1\nkind: [\n")
    (tmp_path / "chaos.py").write_text(CHAOS)
    words = [str(EXAMPLES / "fleet_ray.py"), "repositories", "--into", "reports", "--size", "2"]
    done = run(*(sys.executable, "chaos.py", *words), cwd=tmp_path, env={"PYTHONPATH": str(EXAMPLES.parents[1])})
    assert "killed 1 ended 0" in done.stdout, done.stdout[-500:] + done.stderr[-2000:]
    assert re.findall(r"(\d+) of 300", done.stdout)[-1] == "300"
    reports = {path.stem: json.loads(path.read_text())["results"] for path in (tmp_path / "reports").iterdir()}
    assert set(reports) == {f"r{number}" for number in range(300)}
    wrong = {name for name, found in reports.items() if any(each["severity"] == "error" for each in found)}
    assert wrong == {f"r{number}" for number in range(300) if number % 3 or number == 7} - {"r0"}
    named = [f"{name}=reports/{name}.json" for name in reports]
    merged = run("krmfn", "merge", *named, "-o", "json", cwd=tmp_path)
    assert json.loads(merged.stdout)["summary"]["error"] == sum(
        each["severity"] == "error" for found in reports.values() for each in found
    )
