"""States that are compared: what kustomize would build of the same files is built once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from krmfn.cli.entry import main
from tests.e2e.tools import PATH, require_kustomize
from tests.workspace.repositories import GANGS, JOB, commit
from tests.workspace.test_worlds import folder, write

__all__ = ["folder"]

DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: runs.example.com}
spec:
  group: example.com
  names: {kind: Run, plural: runs}
  scope: Namespaced
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
            type: object
            description: |
              A run.

                indented
# a comment further left
            properties:
              openAPIV3Schema:
                type: string
      served: true
      storage: true
    - name: v2
      schema:
        openAPIV3Schema:
          type: object
      served: false
      storage: false
"""
APPS = ("a", "b", "c")
PLAIN = JOB.replace("krmfn.dev/gang", "example.com/a")


@pytest.fixture
def builds(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a line for each time that kustomize runs, and a repository of three overlays."""
    monkeypatch.setenv("PATH", PATH)
    log, shim = tmp_path / "builds", tmp_path / "bin" / "kustomize"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho >> {log}\nexec {require_kustomize()} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{PATH}")
    for name in APPS:
        kustomization = f"namePrefix: {name}-\nresources: [job.yaml, definition.yaml]\n"
        write(folder, {f"{name}/kustomization.yaml": kustomization, f"{name}/job.yaml": PLAIN})
        write(folder, {f"{name}/definition.yaml": DEFINITION})
    commit(folder)
    return log


def compare(builds: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, int]:
    """What diff says of the work tree, and how often kustomize ran for it."""
    builds.write_text("")
    main(["diff", "HEAD"])
    return capsys.readouterr().out, len(builds.read_text())


@pytest.mark.parametrize(
    ("file", "old", "new", "said", "number"),
    [
        ("", "", "", "0 updated in place, 6 unchanged", 3),
        ("b/job.yaml", "image: train", "image: other", "1 to be replaced", 4),
        ("c/definition.yaml", "type: string", "type: integer", "1 updated in place, 5 unchanged", 4),
        ("a/kustomization.yaml", "a-", "d-", "1 removed, 1 new", 4),
    ],
)
def test_only_what_changed_is_built_twice(
    file: str,
    old: str,
    new: str,
    said: str,
    number: int,
    builds: Path,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if file:
        text = (folder / file).read_text()
        assert old in text
        write(folder, {file: text.replace(old, new)})
    out, ran = compare(builds, capsys)
    assert said in out
    assert ran == number


@pytest.mark.slow
def test_what_a_function_makes_is_built_for_each_state(
    builds: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, {"a/krmfn.yaml": GANGS, "a/job.yaml": JOB})
    write(folder, {"a/kustomization.yaml": "namePrefix: a-\nresources: [job.yaml]\ntransformers: [krmfn.yaml]\n"})
    commit(folder)
    assert compare(builds, capsys)[1] == 4
    (folder / "a/job.yaml").write_text(JOB.replace("8", "9"))
    out, ran = compare(builds, capsys)
    assert (ran, "PodGroup" in out) == (4, True)
