"""Kustomizations as kustomize renders them, of the work tree or of a revision. Knows kustomize and git, no manifest.

kustomize is asked to run functions, because the groups that they generate are what a plan is about; so it runs what the
kustomizations list. Whoever does not trust a revision turns rendering off.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable

from krmfn.krm.records import NamedTuple
from krmfn.workspace.files import GIT, InputMissing, ManifestFile, read_paths, read_revision
from krmfn.workspace.kustomization import find_kustomization

FLAGS = ("--enable-alpha-plugins", "--enable-exec")


class State(NamedTuple):
    """The files of one state. `rendered` says that they are kustomize's output; `hint` why they are not."""

    files: tuple[ManifestFile, ...]
    rendered: bool
    hint: str = ""


def read_state(argument: str, default: str, render: bool) -> State:
    """The manifests that `argument` names: a path, `-`, or `git:REV[:PATH]` where PATH defaults to `default`.

    A folder with a kustomization is rendered, if `render` allows it and kustomize is on the PATH. Raises InputMissing.
    """
    if not argument.startswith(GIT):
        has_one = os.path.isdir(argument) and find_kustomization(argument)
        if has_one and render and shutil.which("kustomize"):
            return State((_build(argument, argument),), True)
        return State(tuple(read_paths([argument])), False, _hint(argument, render) if has_one else "")
    revision, _, path = argument.removeprefix(GIT).partition(":")
    path = path or default
    if render and shutil.which("kustomize"):
        with tempfile.TemporaryDirectory(prefix="krmfn-") as folder:
            place = _extract(argument, revision, path, folder)
            if place and find_kustomization(place):
                return State((_build(place, f"{argument}: {path}"),), True)
    return State(tuple(read_revision(f"{GIT}{revision}", [path])), False, _hint(path, render))


def _hint(folder: str, render: bool) -> str:
    if not render or shutil.which("kustomize"):
        return ""
    return f"{folder} is read as it lies there, because kustomize is not on the PATH to render it"


def _build(folder: str, name: str) -> ManifestFile:
    # "-" as path: lines of rendered text are no place that anybody could edit.
    return ManifestFile("-", _run(["kustomize", "build", *FLAGS, folder], f"{name}: kustomize build"))


def _extract(argument: str, revision: str, path: str, folder: str) -> str | None:
    """The repository of `path` at `revision`, below `folder`: where `path` lies in it, None when it is not there."""
    start = path
    while start and not os.path.isdir(start):
        start = os.path.dirname(start)
    top = _run(["git", "-C", start or ".", "rev-parse", "--show-toplevel"], argument).decode().strip()
    archive = os.path.join(folder, "archive.tar")
    # As one commit: bases and components lie anywhere in the repository, not only below the path.
    _run(["git", "-C", top, "archive", "--output", archive, revision], argument)
    tree = os.path.join(folder, "tree")
    os.mkdir(tree)
    _run(["tar", "-xf", archive, "-C", tree], argument)
    place = os.path.join(tree, os.path.relpath(os.path.realpath(path), os.path.realpath(top)))
    return place if os.path.isdir(place) else None


def _run(command: Iterable[str], what: str) -> bytes:
    words = list(command)
    try:
        done = subprocess.run(words, capture_output=True, check=False)
    except FileNotFoundError:
        raise InputMissing(f"{what}: {words[0]} is not on the PATH") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputMissing(f"{what}: {lines[-1] if lines else f'exit status {done.returncode}'}")
    return done.stdout
