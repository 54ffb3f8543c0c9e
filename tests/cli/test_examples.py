"""The examples of --help run as they stand, in a repository that has what they name, with a kubectl that answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from krmfn.cli import COMMANDS
from krmfn.cli.options import read_command
from tests.cli.conftest import Call
from tests.cli.test_explain import DEFINITION
from tests.cli.test_fit import make_job, make_node
from tests.e2e.tools import FUNCTION, PATH, require, require_kustomize, run
from tests.workspace.repositories import commit

#: What these do is not shown by an example: their summaries do.
WITHOUT = {"completion", "version", "help", "mcp", "lsp"}
KUBECTL = '#!/bin/sh\ncase "$1" in get) cat "$0.json" ;; apply) cat >"$0.applied"; test -s "$0.applied" ;; esac\n'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository on a branch after main, with an overlay, and a folder `bin` with kubectl beside it."""
    require("git", "apt-get install git")
    job = make_job("train", 3, 1)
    folder, programs = tmp_path / "repository", tmp_path / "bin"
    (folder / "overlays/prod").mkdir(parents=True)
    (folder / "overlays/prod/kustomization.yaml").write_text("resources: [job.yaml]\nnamePrefix: prod-\n")
    for path in ("job.yaml", "old.yaml", "new.yaml", "overlays/prod/job.yaml"):
        (folder / path).write_text(json.dumps(job))
    (folder / "config/crd").mkdir(parents=True)
    (folder / "config/crd/swarms.yaml").write_text(DEFINITION)
    (folder / "krmfn.yaml").write_text(yaml.safe_dump({**FUNCTION, "spec": {"kubernetes": {"version": "1.36"}}}))
    (folder / "repositories.yml").write_text("repositories: [{folder: overlays, owner: ml}]")
    commit(folder)
    (folder / "job.yaml").write_text(json.dumps(make_job("train", 4, 1)))
    programs.mkdir()
    (programs / "kubectl").write_text(KUBECTL)
    (programs / "kubectl").chmod(0o755)
    dump = {"apiVersion": "v1", "kind": "List", "items": [make_node("gpu-1", "a"), job]}
    (programs / "kubectl.json").write_text(json.dumps(dump))
    return folder


def list_examples() -> list[tuple[str, str]]:
    found = []
    for command in COMMANDS:
        examples = read_command(command).examples
        assert bool(examples) == (command not in WITHOUT), command
        found += [(command, each.strip()) for each in f"\n{examples}".split("\n# ")[1:]]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("command", "example"), list_examples())
def test_an_example_runs(command: str, example: str, repository: Path) -> None:
    what, *lines = example.splitlines()
    assert what.endswith(".")
    assert all(len(line) <= 78 for line in lines), "it would not fit a terminal of 80 columns"
    assert any(f"krmfn {command}" in line for line in lines)
    if "kustomize" in example:
        require_kustomize()
    path = f"{repository.parent / 'bin'}:{PATH}"
    done = run("bash", "-euo", "pipefail", "-c", "\n".join(lines), cwd=repository, env={"PATH": path})
    assert done.returncode in (0, 1), done.stderr
    assert "Error" not in done.stderr, done.stderr


def test_help_ends_with_the_examples(krmfn: Call) -> None:
    done = krmfn("validate", "--help")
    assert done.out.rstrip().endswith("  krmfn validate --baseline known.txt")
