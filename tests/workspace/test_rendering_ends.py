"""How rendering ends when kustomize fails, takes too long, or somebody stops it: no secrets, no remains."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from krmfn.workspace.manifests import open_tree
from krmfn.workspace.rendering import render_all
from krmfn.workspace.trees import NotRendered
from krmfn.workspace.world import Rendering
from tests.cli.conftest import ROOT
from tests.e2e.tools import PATH
from tests.workspace.repositories import JOB, Trap
from tests.workspace.test_rendering import KUSTOMIZATION, build, folder, trap, write

__all__ = ["folder", "trap"]

SLEEP = shutil.which("sleep")
KUSTOMIZE = shutil.which("kustomize", path=PATH)
SECRETS = {
    "no key": {"kustomization.yaml": "secretGenerator: [{name: s, literals: [hushed]}]\n"},
    "two keys": {"kustomization.yaml": "secretGenerator: [{name: s, files: [a=b=hushed]}]\n"},
    "generator": {
        "kustomization.yaml": "generators: [f.yaml]\n",
        "f.yaml": "apiVersion: builtin\nkind: SecretGenerator\nmetadata: {name: a}\nliterals: [hushed]\nfiles: 1\n",
    },
    "index of a replacement": {
        "kustomization.yaml": "resources: [s.yaml]\nreplacements:\n"
        "- source: {kind: Secret, fieldPath: stringData.a, options: {delimiter: x, index: 9}}\n"
        "  targets: [{select: {kind: Secret}, fieldPaths: [stringData.b]}]\n",
        "s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: hushed, b: c}\n",
    },
    "patch": {
        "kustomization.yaml": "transformers: [f.yaml]\n",
        "f.yaml": "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, patch: 'env: [ hushed'}\n",
    },
}
#: A text that every replacement doubles.
DOUBLED = (
    "- source: {kind: ConfigMap, fieldPath: data.a}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.a], "
)
DOUBLED = "replacements:\n" + (DOUBLED + "options: {delimiter: ',', index: 99}}]\n") * 32


@pytest.mark.parametrize("way", SECRETS)
def test_what_kustomize_says_holds_no_secrets(way: str, folder: Path) -> None:
    write(folder, SECRETS[way])
    with pytest.raises(NotRendered, match=r"cannot be built by kustomize|creates a Secret from a file") as caught:
        build()
    assert "hushed" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_kustomize_and_removes_the_copy(number: int, folder: Path, trap: Trap) -> None:
    program = folder.parent / "bin/kustomize"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho $$ > '{trap.mark}'\nexec {SLEEP} 60\n")
    program.chmod(0o755)
    (folder.parent / "tmp").mkdir()
    write(folder, {"kustomization.yaml": KUSTOMIZATION + "namePrefix: a-\n"})
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "signal.signal(signal.SIGHUP, signal.SIG_DFL); from krmfn.__main__ import main; sys.exit(main())"
    run = subprocess.Popen(
        [sys.executable, "-c", code, "validate", "app"],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{program.parent}:{PATH}",
            "TMPDIR": str(folder.parent / "tmp"),
            "PYTHONPATH": str(ROOT),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    limit = time.monotonic() + 60
    while not (trap.mark.exists() and trap.mark.read_text().strip()) and time.monotonic() < limit:
        time.sleep(0.05)
    run.send_signal(number)
    assert run.communicate() == (b"", b"")
    assert run.returncode == (130 if number == signal.SIGINT else -number)
    assert not list((folder.parent / "tmp").iterdir())
    state = Path(f"/proc/{trap.mark.read_text().strip()}/stat")
    assert not state.exists() or state.read_text().split()[2] in "XZ"


def test_a_read_only_container(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    write(folder, {"kustomization.yaml": "namePrefix: p-\nresources: []\n"})
    with pytest.raises(NotRendered, match="needs a folder for temporary files, and there is none"):
        build()


def test_kustomize_may_not_take_for_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder.parent / "bin/kustomize"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {SLEEP} 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{PATH}")
    monkeypatch.setattr("krmfn.workspace.rendering._MOST_SECONDS", 0.2)
    write(folder, {"kustomization.yaml": KUSTOMIZATION + "namePrefix: a-\n"})
    with pytest.raises(NotRendered, match="it had not finished after"):
        build()


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of others can be limited on Linux only")
def test_kustomize_may_not_take_all_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krmfn.workspace.rendering._MOST_MEMORY", 3 * 2**29)
    write(folder, {"kustomization.yaml": "resources: [c.yaml]\n" + DOUBLED})
    write(folder, {"c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: abcdefghij}\n"})
    with pytest.raises(NotRendered, match="needs more than 1 GiB of memory, or writes more than 256 MiB"):
        build()


@pytest.mark.parametrize("text", ["data: &x\n  a: *x\n", "data: &x {a: [*x]}\n", '"data":&x {"a":*x}\n'])
def test_kustomize_gets_no_text_that_it_cannot_end(text: str, folder: Path) -> None:
    write(folder, {"kustomization.yaml": "namePrefix: a-\nresources: [c.yaml]\n"})
    write(folder, {"c.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\n{text}"})
    began = time.monotonic()
    with pytest.raises(NotRendered):
        build()
    assert time.monotonic() - began < 60  # kustomize would be ended after 300 seconds


TRANSFORMER = """\
apiVersion: builtin
kind: LabelTransformer
metadata: {name: %s}
labels: {a: b}
fieldSpecs: [{path: metadata/labels, create: true}]
"""


def test_a_folder_of_functions(folder: Path) -> None:
    """They run in the order in which its kustomization lists them."""
    write(folder, {"kustomization.yaml": KUSTOMIZATION + "transformers: [../t]\n"})
    write(folder, {f"../t/{name}.yaml": TRANSFORMER % name for name in "ab"})
    write(folder, {"../t/b.yaml": (TRANSFORMER % "b").replace("a: b", "a: c")})
    for names, last in (("ab", b"a: c"), ("ba", b"a: b")):
        write(folder, {"../t/kustomization.yaml": f"resources: [{names[0]}.yaml, {names[1]}.yaml]\n"})
        assert last in build().data


@pytest.mark.slow
def test_as_many_are_built_at_a_time_as_there_are_processors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder.parent / "bin/kustomize"
    program.parent.mkdir()
    log = folder.parent / "log"
    program.write_text(f'#!/bin/sh\necho + >> {log}\n{SLEEP} 0.5\necho - >> {log}\nexec {KUSTOMIZE} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{PATH}")
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    names = [f"app/{name}" for name in ("e", "b", "d", "a", "c", "none", "f")]
    for name in "abcdef":
        write(folder, {f"{name}/kustomization.yaml": f"resources: [job.yaml]\nnamePrefix: {name}-\n"})
        write(folder, {f"{name}/job.yaml": JOB})
    tree, _ = open_tree(".")
    done = list(render_all(tree, names, Rendering(required=True)))
    assert [name for name, _ in done] == names
    for name, rendered in done:
        if isinstance(rendered, NotRendered):
            assert name == "app/none", rendered
        else:
            assert f"name: {name[-1]}-".encode() in rendered.data
    running, most = 0, 0
    for line in log.read_text().split():
        running += 1 if line == "+" else -1
        most = max(most, running)
    assert most in (2, 3)
