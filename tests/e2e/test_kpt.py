"""The function under the real kpt: files change in place and keep their comments, and a second run changes nothing."""

from pathlib import Path

import pytest

from tests.e2e.tools import require, run

LINE = "https://kpt.dev/installation (a single program; kpt 1.0.0-beta.56 or newer)"

JOB = """# The training run of every night.
apiVersion: batch/v1
kind: Job
metadata:
  name: train # kpt-set: ${name}
  namespace: ml
  annotations:
    krmfn.dev/gang: 'true'
spec:
  parallelism: 4
  completions: 4 # as many as parallelism
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: "example/train:1"
"""
KPTFILE = """apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: package
  annotations:
    config.kubernetes.io/local-config: "true"
pipeline:
  mutators:
    - exec: krmfn
      configPath: gangs.yaml
  validators:
    - exec: krmfn
      configMap:
        mode: Validate
"""
CONFIG = """apiVersion: krmfn.dev/v1alpha1
kind: GangScheduling
metadata:
  name: gangs
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
  kubernetes:
    version: "1.37"
"""


def snapshot(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "job.yaml").write_text(JOB)
    return folder


def test_eval_writes_in_place_and_twice_is_once(package: Path) -> None:
    kpt = require("kpt", LINE, packaged=False)
    done = run(kpt, "fn", "eval", str(package), "--exec", "krmfn", "--", "kubernetes.version=1.37")
    assert done.returncode == 0, done.stderr
    once = snapshot(package)
    assert sorted(once) == ["job-gang.yaml", "job.yaml"]
    before, after = JOB.splitlines(), once["job.yaml"].splitlines()
    added = [line for line in after if line not in before]
    assert [line.strip() for line in added] == ["schedulingGroup:", "podGroupName: job-train"]
    assert [line for line in after if line not in added] == before
    assert run(kpt, "fn", "eval", str(package), "--exec", "krmfn", "--", "kubernetes.version=1.37").returncode == 0
    assert snapshot(package) == once


def test_render_runs_it_as_mutator_and_validator(package: Path) -> None:
    kpt = require("kpt", LINE, packaged=False)
    (package / "Kptfile").write_text(KPTFILE)
    (package / "gangs.yaml").write_text(CONFIG)
    done = run(kpt, "fn", "render", str(package), "--allow-exec")
    assert done.returncode == 0, done.stderr
    once = snapshot(package)
    assert "kind: PodGroup" in once["job-gang.yaml"]
    assert run(kpt, "fn", "render", str(package), "--allow-exec").returncode == 0
    assert {n: t for n, t in snapshot(package).items() if n != "Kptfile"} == {
        n: t for n, t in once.items() if n != "Kptfile"
    }


def test_results_are_shown_and_nothing_is_written(package: Path) -> None:
    kpt = require("kpt", LINE, packaged=False)
    before = snapshot(package)
    done = run(kpt, "fn", "eval", str(package), "--exec", "krmfn", "--", "gang.minCount=9")
    assert done.returncode == 1
    assert "[error] batch/v1/Job/ml/train" in done.stderr
    assert snapshot(package) == before


def test_a_misspelt_argument_is_answered(package: Path) -> None:
    kpt = require("kpt", LINE, packaged=False)
    done = run(kpt, "fn", "eval", str(package), "--exec", "krmfn", "--", "kubernetes.vresion=1.37")
    assert done.returncode == 1
    assert "version" in done.stderr
    assert "Traceback" not in done.stderr
