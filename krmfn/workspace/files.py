"""Manifests on disk, on stdin and in git: which files an argument names, and their bytes.

Must not know what the bytes mean. Nothing is checked out: git is asked for the objects themselves.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from krmfn.krm.records import NamedTuple

SUFFIXES = (".yaml", ".yml", ".json")
GIT = "git:"


class ManifestFile(NamedTuple):
    """A file's bytes. `path` is spelled as the user named it (`-` for stdin), with slashes."""

    path: str
    data: bytes


class InputMissing(Exception):
    """An argument names nothing that can be read. The message says which, and what would be accepted."""


def read_paths(paths: Sequence[str]) -> Iterator[ManifestFile]:
    """Every manifest that `paths` name, in sorted order within a folder; a file named twice is read once.

    A path is a file (any suffix), a folder (walked for *.yaml, *.yml, *.json; hidden folders are left out), `-` for
    stdin, or `git:REV[:PATH]`. Raises InputMissing.
    """
    seen: set[str] = set()
    for path in paths:
        if path == "-":
            yield ManifestFile("-", sys.stdin.buffer.read())
        elif path.startswith(GIT):
            yield from read_revision(path)
        else:
            for name in _walk(path):
                real = os.path.realpath(name)
                if real not in seen:
                    seen.add(real)
                    yield ManifestFile(name.replace(os.sep, "/"), _read(name))


def read_revision(argument: str, paths: Sequence[str] = ()) -> Iterator[ManifestFile]:
    """The manifests of `git:REV` (below `paths`, default the working directory) or `git:REV:PATH`.

    Files keep the spelling that read_paths() gives to the same files of the work tree, so that two states compare.
    Raises InputMissing when git, the repository, the revision or every path in it is missing.
    """
    revision, _, path = argument.removeprefix(GIT).partition(":")
    wanted = [path] if path else [each for each in paths if each != "-"] or ["."]
    if not revision:
        raise InputMissing(f"{argument}: no revision: write git:main, git:HEAD~1 or git:v1.2:base")
    for folder in wanted:
        yield from _read_tree(argument, revision, folder)


def _walk(path: str) -> Iterable[str]:
    if os.path.isfile(path) or (os.path.exists(path) and not os.path.isdir(path)):
        return [path]
    if not os.path.isdir(path):
        raise InputMissing(f"{path}: no such file or folder")
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        found += [os.path.normpath(os.path.join(folder, name)) for name in names if name.endswith(SUFFIXES)]
    return sorted(found)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise InputMissing(f"{path}: {error.strerror}") from None


def _read_tree(argument: str, revision: str, path: str) -> Iterator[ManifestFile]:
    # git runs where the path lies (or lay), so a path into another repository works and names come out relative to it.
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    while folder and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    inside = os.path.relpath(path, folder or ".").replace(os.sep, "/")
    listed = _git(argument, folder, "ls-tree", "-r", "-z", revision, "--", inside)
    blobs: list[tuple[str, str]] = []
    for line in listed.decode("utf-8", "surrogateescape").split("\0"):
        entry, _, name = line.partition("\t")
        if (name.endswith(SUFFIXES) and "/." not in f"/{name}") or (name and name == inside):
            blobs.append((name, entry.split()[2]))
    if not blobs:
        raise InputMissing(f"{argument}: {path} holds no manifest at revision {revision}")
    blobs.sort()
    answer = _git(argument, folder, "cat-file", "--batch", stdin="".join(f"{blob}\n" for _, blob in blobs).encode())
    start = 0
    for name, _ in blobs:
        head = answer.index(b"\n", start)
        end = head + 1 + int(answer[start:head].split()[2])
        shown = os.path.normpath(os.path.join(folder, name))
        yield ManifestFile(shown.replace(os.sep, "/"), answer[head + 1 : end])
        start = end + 1


def _git(argument: str, folder: str, *command: str, stdin: bytes = b"") -> bytes:
    import subprocess

    try:
        done = subprocess.run(["git", *command], cwd=folder or None, input=stdin, capture_output=True, check=False)
    except FileNotFoundError:
        raise InputMissing(f"{argument}: git is not on the PATH") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1].removeprefix("fatal: ") if lines else f"exit status {done.returncode}"
        raise InputMissing(f"{argument}: {reason}")
    return done.stdout
