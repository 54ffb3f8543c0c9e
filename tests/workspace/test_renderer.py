"""krmfn-renderer says what `kustomize build` says, whatever it built before, and is never in the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from krmfn.workspace import rendering
from krmfn.workspace.manifests import open_tree
from krmfn.workspace.processes import Failed, Renderer
from krmfn.workspace.rendering import Rendered, render_all
from krmfn.workspace.trees import NotRendered
from krmfn.workspace.world import Rendering
from tests.cli.conftest import ROOT
from tests.e2e.tools import PATH, require, require_kustomize
from tests.workspace.test_rendering import folder

__all__ = ["folder"]

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
FOLDERS = sorted(path.parent for top in ("fixtures", "examples") for name in NAMES for path in (ROOT / top).rglob(name))
#: Programs that are no renderer.
SCRIPTS = (
    "exit 2",
    f"exec {shutil.which('sleep')} 60",
    "read line; exit 1",
    'echo \'{"error": "Error: a"}\'; read line; read line',
)
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n"
PATCH = "patches: [{patch: '{apiVersion: e.io/v1, kind: A, metadata: {name: a}, spec: {list: [{name: b, x: 1}]}}'}]\n"
OWN = (
    "apiVersion: e.io/v1\nkind: A\nmetadata: {name: a}\nspec: {list: [{name: a, x: 1}, {name: b, y: 1}]}\n"
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: a}]}\n"
)
SCHEMA = """{"definitions": {"e.A": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "e.io", "version":
"v1", "kind": "A"}], "properties": {"spec": {"type": "object", "properties": {"list": {"type": "array", "items": {
"type": "object"}, "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"}}}}}}}"""


@pytest.fixture
def renderer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Renderer]:
    """One that runs, and is on the PATH."""
    monkeypatch.setenv("PATH", PATH)
    program = require("krmfn-renderer", "./dev renderer builds it into the cache", packaged=False)
    running = Renderer([program, require_kustomize()], dict(os.environ), str(tmp_path), 2**32)
    yield running
    running.kill()


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def build_once(folder: Path) -> tuple[bytes, str]:
    """What kustomize prints, and its error."""
    done = subprocess.run([require_kustomize(), "build", folder], capture_output=True, check=False)
    said = done.stderr.decode()
    return done.stdout, said[said.index("Error:") :] if done.returncode else ""


def build_again(renderer: Renderer, folder: Path) -> tuple[bytes, str]:
    renderer.ask([str(folder)])
    try:
        return renderer.end(60), ""
    except Failed as error:
        return b"", "\n".join(error.lines) + "\n"


def test_every_kustomization_is_built_alike(renderer: Renderer) -> None:
    assert len(FOLDERS) > 10
    for each in FOLDERS:
        assert build_again(renderer, each) == build_once(each), each


def test_the_schema_of_one_build_is_not_that_of_the_next(renderer: Renderer, tmp_path: Path) -> None:
    usual = "resources: [a.yaml]\n" + PATCH
    for name, text in {
        "usual": usual,
        "own": usual + "openapi: {path: s.json}\n",
        "old": usual + "openapi: {version: v1.21.2}\n",
    }.items():
        write(tmp_path / name, {"kustomization.yaml": text, "a.yaml": OWN, "s.json": SCHEMA})
    write(tmp_path / "broken", {"kustomization.yaml": "openapi: {path: s.json}\nresources: [none]\n", "s.json": SCHEMA})
    expected = {name: build_once(tmp_path / name) for name in ("usual", "own", "old", "broken")}
    assert expected["usual"] != expected["own"]
    for name in ("usual", "own", "usual", "old", "usual", "broken", "usual", "own", "old", "own", "usual"):
        assert build_again(renderer, tmp_path / name) == expected[name], name


def render(*folders: str) -> list[Rendered | NotRendered]:
    tree, place = open_tree(folders[0])
    places = [os.path.join(os.path.dirname(place), name) for name in folders]
    return [each for _, each in render_all(tree, places, Rendering(required=True))]


def test_many_are_rendered_alike_with_and_without_it(
    renderer: Renderer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        bad = "namePrefix: [\n" if number == 5 else f"namePrefix: p{number}-\n"
        write(folder / f"k{number}", {"kustomization.yaml": f"resources: [job.yaml]\n{bad}", "job.yaml": JOB})
    asked: list[Sequence[str]] = []
    ask = Renderer.ask

    def note(self: Renderer, words: Sequence[str]) -> None:
        asked.append(words)
        ask(self, words)

    monkeypatch.setattr(Renderer, "ask", note)
    names = [f"k{number}" for number in range(8)]
    ours = list(map(str, render(*names)))
    assert len(asked) >= 7
    bare = folder.parent / "bare"
    bare.mkdir()
    (bare / "kustomize").symlink_to(require_kustomize())
    monkeypatch.setenv("PATH", str(bare))
    assert ours == list(map(str, render(*names)))
    assert len(asked) <= 8


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_one_that_does_not_answer_is_not_in_the_way(
    script: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder / "app", {"kustomization.yaml": "resources: [job.yaml]\n", "job.yaml": JOB})
    place = tmp_path / "programs" / "krmfn-renderer"
    place.parent.mkdir()
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)
    (place.parent / "kustomize").symlink_to(require_kustomize())
    monkeypatch.setenv("PATH", f"{place.parent}{os.pathsep}/usr/bin:/bin")
    monkeypatch.setattr(rendering, "_MOST_SECONDS", 5.0)
    begin = time.monotonic()
    (result,) = render("app")
    if "sleep" in script:  # as long as kustomize itself may take
        assert "had not finished after 5 seconds" in str(result)
    elif "Error" in script:
        assert str(result).endswith("kustomize: a")
    else:
        assert isinstance(result, Rendered)
        assert b"kind: Job" in result.data
    assert time.monotonic() - begin < 60
    assert not list(Path(tempfile.gettempdir()).glob("krmfn-*/out*"))


def test_it_builds_for_its_own_kustomize_only(renderer: Renderer, tmp_path: Path) -> None:
    program = shutil.which("krmfn-renderer")
    other = shutil.which("actionlint") or shutil.which("sh")
    done = subprocess.run([program or "", other or ""], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"krmfn-renderer: ")
