"""kpt: render and eval, twice without a difference, with comments and paths kept and results shown."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from tests.e2e.tools import ROOT, require, run

EXAMPLE = ROOT / "examples" / "kpt"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the example."""
    require("kpt", "https://kpt.dev/installation/", packaged=False)
    shutil.copytree(EXAMPLE, tmp_path / "package")
    return tmp_path / "package"


def read(package: Path) -> dict[str, str]:
    """The files of the package; kpt itself notes the last render in the Kptfile."""
    return {path.name: path.read_text() for path in package.iterdir() if path.name != "Kptfile"}


def test_render_twice(package: Path) -> None:
    done = run("kpt", "fn", "render", ".", "--allow-exec", cwd=package)
    assert done.returncode == 0, done.stderr
    first = read(package)
    assert "completions: 16 # kpt-set: ${ranks}\n" in first["job.yaml"]
    assert first["job.yaml"].startswith("# Sixteen ranks of one training run.\n")
    assert '    krmfn.dev/gang: "true" # all sixteen or none\n' in first["job.yaml"]
    assert [each["kind"] for each in yaml.safe_load_all(first["job-gang.yaml"])] == ["Workload", "PodGroup"]
    assert {name for name in first if name.endswith("gang.yaml")} == {"job-gang.yaml"}
    done = run("kpt", "fn", "render", ".", "--allow-exec", cwd=package)
    assert done.returncode == 0, done.stderr
    assert read(package) == first


def test_eval_with_arguments_twice(package: Path) -> None:
    command = ["kpt", "fn", "eval", ".", "--exec", "krmfn", "--", "kubernetes.version=1.36", "select=All"]
    assert run(*command, cwd=package).returncode == 0
    first = read(package)
    assert "scheduling.k8s.io/v1alpha2" in first["job-gang.yaml"]
    assert run(*command, cwd=package).returncode == 0
    assert read(package) == first


def test_groups_stay_when_their_source_is_not_sent(package: Path) -> None:
    run("kpt", "fn", "eval", ".", "--exec", "krmfn", cwd=package)
    first = read(package)
    done = run("kpt", "fn", "eval", ".", "--exec", "krmfn", "--match-kind", "PodGroup", cwd=package)
    assert done.returncode == 0, done.stderr
    assert read(package) == first


def test_a_wrong_argument_is_named_with_the_right_one(package: Path) -> None:
    done = run("kpt", "fn", "eval", ".", "--exec", "krmfn", "--", "kubernetes.versoin=1.36", cwd=package)
    assert done.returncode != 0
    assert "Did you mean version?" in done.stderr


def test_an_error_is_shown_and_nothing_is_written(package: Path) -> None:
    job = package / "job.yaml"
    job.write_text(job.read_text().replace("parallelism: 16", "parallelism: -1"))
    before = read(package)
    done = run("kpt", "fn", "render", ".", "--allow-exec", cwd=package)
    assert done.returncode != 0
    assert "Job/ml/train" in done.stderr
    assert read(package) == before
