"""`./dev new` lays out what the recipes of CONTRIBUTING say: each is done in a copy of the repository and run there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from krmfn.releases.release import newest_release

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PARTS = ("krmfn", "schemas", "docs", "release", "tests", "examples")
FILES = ("CONTRIBUTING.md", "README.md", "pyproject.toml", "dev")
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml, annotations: {krmfn.dev/gang: "true"}}
spec:
  parallelism: 4
  completions: 4
  completionMode: Indexed
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: "train:1"}]}}
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for part in PARTS:
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def run(copy: Path, *words: str, data: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *words]
    environment = {"PYTHONPATH": str(copy), "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, cwd=copy, input=data, capture_output=True, text=True, check=False, env=environment)


def lay_out(copy: Path, *words: str) -> str:
    done = run(copy, "release/new.py", *words)
    assert (done.returncode, done.stderr) == (0, "")
    again = run(copy, "release/new.py", *words)
    assert again.returncode == 1
    assert "exists already" in again.stderr
    return done.stdout


def test_a_rule(copy: Path) -> None:
    assert "tests/checks/test_rules.py -k label-is-wrong" in lay_out(copy, "rule", "label-is-wrong")
    words = ("-q", "-p", "no:cacheprovider", "tests/checks/test_rules.py", "-k", "label-is-wrong")
    done = run(copy, "-m", "pytest", *words)
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
    assert "label-is-wrong" in run(copy, "-m", "krmfn", "rules", "label-is-wrong").stdout
    assert run(copy, "docs/generate.py", "--check").returncode == 0


def test_a_release(copy: Path) -> None:
    lay_out(copy, "release", "1.59")
    done = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_schemastore.py")
    assert done.returncode == 0, done.stdout
    (copy / "job.yaml").write_text(JOB)
    done = run(copy, "-m", "krmfn", "generate", "--kubernetes", "1.59", "job.yaml")
    assert (done.returncode, "kind: PodGroup" in done.stdout) == (0, True)


def test_a_preview_is_not_laid_out_and_what_becomes_of_it_is_told(copy: Path) -> None:
    folder = copy / "schemas" / "kubernetes" / "1.60"
    shutil.copytree(folder.parent / newest_release().name, folder)
    text = (folder / "release.json").read_text()
    (folder / "release.json").write_text(text.replace('"version"', '"preview": true,\n  "version"', 1))
    done = run(copy, "release/new.py", "release", "1.60")
    told = "new: schemas/kubernetes/1.60 exists already; how a preview is released: conformance/README.md\n"
    assert (done.returncode, done.stderr) == (1, told)


def test_a_kind(copy: Path) -> None:
    lay_out(copy, "kind", "Swarm.bees.example.com")
    spec = "spec: {replicas: 4, template: {spec: {containers: [{name: main, image: train:1}]}}}"
    head = JOB.partition("spec:")[0].replace("batch/v1", "bees.example.com/v1").replace("Job", "Swarm")
    (copy / "swarm.yaml").write_text(f"{head}{spec}\n")
    done = run(copy, "-m", "krmfn", "generate", "swarm.yaml")
    assert (done.returncode, "minCount: 4" in done.stdout) == (0, True), done.stderr
    assert run(copy, "docs/generate.py", "--check").returncode == 0


def test_a_target(copy: Path) -> None:
    lay_out(copy, "target", "Reaper")
    (copy / "job.yaml").write_text(JOB)
    head = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: gangs}\n"
    (copy / "krmfn.yaml").write_text(head + "spec: {scheduler: Reaper}\n")
    done = run(copy, "-m", "krmfn", "generate", "job.yaml")
    assert (done.returncode, "scheduling.reaper.example.com/v1alpha1" in done.stdout) == (0, True), done.stderr
    words = ("-q", "-p", "no:cacheprovider", "tests/targets/test_kustomize_names.py", "-k", "schedulers")
    done = run(copy, "-m", "pytest", *words)
    assert done.returncode == 0, done.stdout
    assert run(copy, "docs/generate.py", "--check").returncode == 0


@pytest.mark.parametrize("words", [["rule", "Not_An_Id"], ["kind", "Job"], ["release", "v2"], ["target", "lower"], []])
def test_what_cannot_be_laid_out_is_explained(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "release/new.py", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("new: ")


def test_the_owners_are_listed_for_every_room() -> None:
    lines = (ROOT / ".github" / "CODEOWNERS").read_text().splitlines()
    paths = {line.split()[0] for line in lines if line.startswith("/")}
    rooms = {f"/krmfn/{path.parent.name}/" for path in (ROOT / "krmfn").glob("*/__init__.py")}
    assert {path for path in paths if path.startswith("/krmfn/")} == rooms
    assert all((ROOT / path.strip("/")).is_dir() for path in paths)
