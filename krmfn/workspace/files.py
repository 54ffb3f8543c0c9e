"""Manifests on disk, on stdin and in git: which files an argument names, and their bytes.

Must not know what the bytes mean.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from krmfn.workspace.disk import Disk, read_stream
from krmfn.workspace.trees import GIT, MOST_BYTES, InputMissing, LeftOut, ManifestFile, Tree
from krmfn.workspace.witness import lexists, realpath

__all__ = ["GIT", "InputMissing", "Inputs", "is_path", "name_state", "open_tree", "read_paths"]


class Inputs(NamedTuple):
    """Files, and those that the same arguments name and that are not read."""

    files: tuple[ManifestFile, ...]
    left_out: tuple[LeftOut, ...]


def read_paths(
    paths: Sequence[str], excluded: Sequence[str] = (), unsaved: Mapping[str, bytes] = {}, most: int = MOST_BYTES
) -> Inputs:
    """Every manifest that `paths` name, in sorted order within a folder; a file named twice is read once.

    A path is a file (any suffix), a folder (searched for *.yaml, *.yml, *.json; what is hidden is passed over), `-` for
    stdin, or `git:REV[:PATH]`. Of folders, what `excluded` patterns match is passed over. `unsaved` and `most` are
    as in Tree. Raises InputMissing.
    """
    files: list[ManifestFile] = []
    left_out: list[LeftOut] = []
    seen: set[str] = set()
    for path in paths:
        if path == "-":
            files.append(ManifestFile("-", _read_stdin()))
            continue
        streamed = None if path.startswith(GIT) else read_stream(path)
        if streamed is not None:
            files.append(ManifestFile(path, streamed))
            continue
        tree, place = open_tree(path)
        tree.excluded, tree.unsaved, tree.most_bytes = tuple(excluded), unsaved, most
        read = read_tree(tree, place)
        if not read.files and not read.left_out and path.startswith(GIT):
            raise InputMissing(f"{path}: no manifests in {place}")
        for file in read.files:
            identity = file.path if path.startswith(GIT) else realpath(file.path)
            if identity not in seen:
                seen.add(identity)
                files.append(file)
        left_out += read.left_out
    return Inputs(tuple(files), tuple(left_out))


def is_path(word: str) -> bool:
    """Whether an argument names a file or folder, and neither stdin nor a revision."""
    return word != "-" and not word.startswith(GIT)


def name_state(word: str) -> str:
    """An argument that names a state: `main` is `git:main` where no file or folder is called so."""
    return word if word == "-" or word.startswith(GIT) or lexists(word) else GIT + word


def open_tree(argument: str, default: str = ".") -> tuple[Tree, str]:
    """The tree that an argument names a path of, and the path: a path, or `git:REV[:PATH]` where PATH defaults to
    `default`. Raises InputMissing."""
    if not argument.startswith(GIT):
        return Disk(argument), argument
    from krmfn.workspace.git import Revision

    revision, _, path = argument.removeprefix(GIT).partition(":")
    if not revision:
        raise InputMissing(f"{argument}: no revision: write git:main, git:HEAD~1 or git:v1.2:base")
    path = path or default
    return Revision(argument, revision, path), path


def read_tree(tree: Tree, path: str) -> Inputs:
    """A file of a tree, or all manifests of a folder of it. Raises InputMissing for a path that is not there."""
    if tree.kind(path) != "folder":
        try:
            return Inputs((ManifestFile(path.replace(os.sep, "/"), tree.read(path)),), ())
        except FileNotFoundError:
            raise tree.miss(path) from None
        except LeftOut as left:
            raise InputMissing(str(left)) from None
    files = []
    for name in tree.walk(path):
        try:
            files.append(ManifestFile(name, tree.read(name)))
        except FileNotFoundError:  # it went while we were looking
            continue
        except LeftOut as left:
            tree.left_out.append(left)
    return Inputs(tuple(files), tuple(tree.left_out))


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise InputMissing("stdin is closed: there is nothing to read for -")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise InputMissing(f"stdin cannot be read: {error.strerror}") from None
