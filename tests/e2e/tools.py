"""The programs that the end-to-end tests run, found or asked for, and a kustomization written in a few lines.

A program that is missing is a skip that says how to get it. In CI (`CI=true`) what a package manager has is an error.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
#: Where `./dev` builds Go tools; so `pytest` alone finds them as well.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "krmfn")
PATH = os.pathsep.join([str(Path(sys.executable).parent), str(CACHE / "bin"), os.environ["PATH"]])

FUNCTION: dict[str, Any] = {
    "apiVersion": "krmfn.dev/v1alpha1",
    "kind": "GangScheduling",
    "metadata": {"name": "gangs", "annotations": {"config.kubernetes.io/function": "exec: {path: krmfn}\n"}},
}
JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "annotations": {"krmfn.dev/gang": "true"}},
    "spec": {
        "completionMode": "Indexed",
        "completions": 3,
        "parallelism": 3,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example/train:1"}]}},
    },
}


def require(program: str, way: str, *, packaged: bool = True) -> str:
    """The path of a program. Without it the test is skipped, or fails in CI when a package manager has it."""
    path = shutil.which(program, path=PATH)
    if path is not None:
        return path
    message = f"needs {program}: {way}"
    if packaged and os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def require_kustomize(patch: pytest.MonkeyPatch | None = None) -> str:
    """The path of kustomize; with `patch`, it is on the PATH of the test, too."""
    if patch is not None:
        patch.setenv("PATH", PATH)
    return require("kustomize", "./dev setup builds it into the cache")


def run(*command: str, cwd: Path | None = None, stdin: str = "", env: Mapping[str, str] | None = None) -> Any:
    """Runs a program with our console script on the PATH; never raises for its exit code."""
    environment = {**os.environ, "PATH": PATH, **(env or {})}
    return subprocess.run(
        command, cwd=cwd, input=stdin, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def build(folder: Path, *flags: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """`kustomize build` with functions of both kinds allowed, or with `flags` instead."""
    kustomize = require_kustomize()
    done: subprocess.CompletedProcess[str] = run(
        kustomize, "build", *(flags or ("--enable-alpha-plugins", "--enable-exec")), str(folder), env=env
    )
    return done


def build_objects(folder: Path, *flags: str) -> dict[str, dict[str, Any]]:
    """The objects of a build that has to succeed, by `Kind/namespace/name` (no namespace: `Kind/name`)."""
    done = build(folder, *flags)
    assert done.returncode == 0, done.stderr
    return read_objects(done.stdout)


def read_objects(text: str) -> dict[str, dict[str, Any]]:
    """The documents of a stream, by `Kind/namespace/name`."""
    found = {}
    for value in yaml.safe_load_all(text):
        metadata = value["metadata"]
        found["/".join(filter(None, [value["kind"], metadata.get("namespace"), metadata["name"]]))] = value
    return found


def write_kustomization(folder: Path, files: Mapping[str, Any] | None = None, **fields: Any) -> Path:
    """A kustomization of `fields`, and `files` (text, one object or several) beside it. Returns its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (files or {}).items():
        text = content if isinstance(content, str) else yaml.safe_dump_all([content])
        (folder / name).write_text(text)
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({"metadata": {"name": folder.name}, **fields}))
    return folder


def function(**spec: Any) -> dict[str, Any]:
    """A functionConfig that runs our console script, with this spec."""
    return {**FUNCTION, "spec": spec} if spec else FUNCTION
