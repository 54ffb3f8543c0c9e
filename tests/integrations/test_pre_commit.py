"""The hooks, run by the real pre-commit from a local clone of this repository.

pre-commit installs the clone into an environment of its own, so this needs the package index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.e2e.tools import require

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "pre-commit"
#: What the package is built from.
SHIPPED = ("krmfn", "schemas", "docs/rules", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")


class Clone(NamedTuple):
    """This repository as pre-commit sees it, and where pre-commit keeps its environments."""

    path: Path
    revision: str
    home: Path


class Repository(NamedTuple):
    """A user's repository with the hooks."""

    path: Path
    home: Path

    def run(self, hook: str) -> subprocess.CompletedProcess[str]:
        """`pre-commit run HOOK --all-files`, everything being staged."""
        git(self.path, "add", "--all")
        return subprocess.run(
            [require("pre-commit", "pip install pre-commit"), "run", hook, "--all-files", "--color", "never"],
            cwd=self.path,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PRE_COMMIT_HOME": str(self.home), "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        )


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A repository with one commit of the work tree as it is, changes included."""
    require("git", "apt-get install git")
    require("pre-commit", "pip install pre-commit")
    path = tmp_path_factory.mktemp("krmfn")
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, path)
    git(path, "init", "--quiet")
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--message", "all")
    return Clone(path, git(path, "rev-parse", "HEAD"), tmp_path_factory.mktemp("home"))


@pytest.fixture
def repository(clone: Clone, tmp_path: Path) -> Repository:
    """The example, with the clone in place of the published repository."""
    shutil.copytree(EXAMPLE, tmp_path / "work")
    path = tmp_path / "work"
    config = yaml.safe_load((path / ".pre-commit-config.yaml").read_text())
    config["repos"][0] |= {"repo": str(clone.path), "rev": clone.revision}
    (path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    git(path, "init", "--quiet")
    return Repository(path, clone.home)


def test_generate_writes_and_is_content_the_second_time(repository: Repository) -> None:
    first = repository.run("krmfn-generate")
    assert first.returncode == 1, first.stdout
    assert "schedulingGroup" in (repository.path / "job.yaml").read_text()
    assert "# " in (repository.path / "job.yaml").read_text()
    assert (repository.path / "job-gang.yaml").is_file()
    kustomization = (repository.path / "kustomization.yaml").read_text()
    assert kustomization == (EXAMPLE / "kustomization.yaml").read_text() + "- job-gang.yaml\n"
    second = repository.run("krmfn-generate")
    assert second.returncode == 0, second.stdout
    check = repository.run("krmfn-render-check")
    assert check.returncode == 0, check.stdout


def test_generate_that_only_creates_files_fails_too(repository: Repository) -> None:
    """pre-commit does not notice untracked files."""
    repository.run("krmfn-generate")
    (repository.path / "job-gang.yaml").unlink()
    (repository.path / "kustomization.yaml").unlink()
    assert repository.run("krmfn-generate").returncode == 1


def test_render_check_fails_and_changes_nothing(repository: Repository) -> None:
    before = (repository.path / "job.yaml").read_text()
    done = repository.run("krmfn-render-check")
    assert done.returncode == 1
    assert "+        podGroupName: job-train" in done.stdout
    assert (repository.path / "job.yaml").read_text() == before
    assert not (repository.path / "job-gang.yaml").exists()


def test_validate_names_the_place(repository: Repository) -> None:
    repository.run("krmfn-generate")
    assert repository.run("krmfn-validate").returncode == 0
    group = repository.path / "job-gang.yaml"
    group.write_text(group.read_text().replace("minCount: 16", "minCount: 17"))
    done = repository.run("krmfn-validate")
    assert done.returncode == 1
    assert "job-gang.yaml:" in done.stdout


def test_what_is_no_manifest_is_let_through(repository: Repository) -> None:
    repository.run("krmfn-generate")
    (repository.path / "values.yaml").write_text("image: {tag: 1}\n")
    (repository.path / "template.yaml").write_text("apiVersion: v1\nkind: Pod\nspec: {{ .Values.spec }}\n")
    (repository.path / "data.json").write_text("[1, 2]\n")
    for hook in ("krmfn-generate", "krmfn-validate", "krmfn-render-check"):
        done = repository.run(hook)
        assert done.returncode == 0, done.stdout
