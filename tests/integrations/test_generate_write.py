"""`generate --write` on files, as hooks and people call it: on folders, and on single files of a repository."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from krmfn.cli.entry import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "pre-commit"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example, as working directory."""
    for name in ("job.yaml", "kustomization.yaml"):
        shutil.copy(EXAMPLE / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_counts(path: Path) -> list[int]:
    """minCount of every PodGroup in a file."""
    objects = yaml.safe_load_all(path.read_text())
    return [each["spec"]["schedulingPolicy"]["gang"]["minCount"] for each in objects if each["kind"] == "PodGroup"]


@pytest.mark.parametrize("argument", ["job.yaml", "./job.yaml", "."])
def test_a_source_named_alone_updates_its_groups(repository: Path, argument: str) -> None:
    assert main(["generate", "--write", argument]) == 0
    assert read_counts(repository / "job-gang.yaml") == [16]
    job = repository / "job.yaml"
    job.write_text(job.read_text().replace(": 16", ": 8"))
    assert main(["generate", "--check", argument]) == 1
    assert main(["generate", "--write", argument]) == 0
    assert read_counts(repository / "job-gang.yaml") == [8]
    assert main(["generate", "--check", "."]) == 0


def test_files_named_in_two_spellings_are_one(repository: Path) -> None:
    assert main(["generate", "--write", "."]) == 0
    assert main(["generate", "--check", "./job.yaml", "job-gang.yaml"]) == 0


def test_the_kustomization_gets_and_loses_the_file(repository: Path) -> None:
    kustomization, job = repository / "kustomization.yaml", repository / "job.yaml"
    before = kustomization.read_text()
    assert main(["generate", "--write", "job.yaml"]) == 0
    assert kustomization.read_text() == before + "- job-gang.yaml\n"
    job.write_text(job.read_text().replace('krmfn.dev/gang: "true"', 'krmfn.dev/gang: "false"'))
    assert main(["generate", "--write", "job.yaml"]) == 0
    assert not (repository / "job-gang.yaml").exists()
    assert kustomization.read_text() == before
    assert "schedulingGroup" not in job.read_text()
