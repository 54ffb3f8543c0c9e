"""The CI recipes: their own commands, run as the services run them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.tools import ROOT, require, require_kustomize, run

EXAMPLE = ROOT / "examples" / "flux"
IDENTITY = {
    f"GIT_{who}_{what}": f"a{at}" for who in ("AUTHOR", "COMMITTER") for what, at in (("NAME", ""), ("EMAIL", "@b"))
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone of a repository with the example, as a runner has it."""
    require_kustomize()
    require("git", "apt-get install git")
    shutil.copytree(EXAMPLE, tmp_path / "origin")
    script = "git init -q -b main . && git add . && git commit -qm all && git clone -q . ../runner/work"
    done = run("sh", "-c", script, cwd=tmp_path / "origin", env=IDENTITY)
    assert done.returncode == 0, done.stderr
    return tmp_path / "runner" / "work"


def steps(checkout: Path) -> dict[str, Any]:
    """The named steps of the GitHub workflow and what they run."""
    workflow = yaml.safe_load((checkout / "ci" / "github.yaml").read_text())
    return {step["name"]: step["run"] for step in workflow["jobs"]["render"]["steps"] if "name" in step}


def carry_out(script: str, checkout: Path) -> Any:
    """`bash -e`, as GitHub's runner calls it."""
    return run("bash", "-e", "-c", script, cwd=checkout, env={"GITHUB_BASE_REF": "main"})


def test_github_lets_a_change_pass_that_can_be_made(checkout: Path) -> None:
    cluster = checkout / "source" / "raycluster.yaml"
    cluster.write_text(cluster.read_text().replace("eplicas: 4", "eplicas: 6"))
    named = steps(checkout)
    assert carry_out(named["Render"], checkout).returncode == 0
    done = carry_out(named["Validate, and compare with what main renders"], checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "::error" not in done.stdout


def test_github_stops_a_change_that_the_server_would_refuse(checkout: Path) -> None:
    cluster = checkout / "source" / "raycluster.yaml"
    annotation = '    krmfn.dev/gang: "true"'
    cluster.write_text(cluster.read_text().replace(annotation, f"    krmfn.dev/disruption-mode: Single\n{annotation}"))
    named = steps(checkout)
    assert carry_out(named["Render"], checkout).returncode == 0
    done = carry_out(named["Validate, and compare with what main renders"], checkout)
    assert done.returncode == 1
    errors = [line for line in done.stdout.splitlines() if line.startswith("::error ")]
    assert any("file=rendered/manifests.yaml" in line and "immutable" in line for line in errors)


def test_gitlab_renders_and_reports(checkout: Path) -> None:
    job = yaml.safe_load((checkout / "ci" / "gitlab.yaml").read_text())["render"]
    commands = [command for command in job["script"] if not command.startswith(("pip ", "curl "))]
    done = run("sh", "-ec", "\n".join(commands), cwd=checkout)
    assert done.returncode == 0, done.stderr
    assert json.loads((checkout / job["artifacts"]["reports"]["codequality"]).read_text()) is not None
    assert all((checkout / path).is_dir() for path in job["artifacts"]["paths"])


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*gitlab*.yaml")), ids=lambda path: path.parent.name)
def test_gitlab_installs_the_kustomize_that_the_image_lacks(path: Path) -> None:
    jobs = [job for job in yaml.safe_load(path.read_text()).values() if "krmfn validate" in " ".join(job["script"])]
    assert jobs
    for job in jobs:
        assert job["image"].startswith("python:")
        assert job["script"][1].startswith("curl ")
        assert "/kustomize_v5" in job["script"][1]
