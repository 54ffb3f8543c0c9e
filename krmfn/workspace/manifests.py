"""Files of manifests, on disk, on stdin and in git: which an argument names, which objects they hold, which could not
be read, and how they are written again.

Knows files and text; not what the objects mean.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from krmfn.krm import FileRef, Item, Result, Stream, Unreadable
from krmfn.krm.results import Severity
from krmfn.krm.stream import Skipped
from krmfn.model.kept import find, is_used, keep
from krmfn.model.rules import RULES
from krmfn.workspace.disk import Disk, read_stream
from krmfn.workspace.trees import GIT, KUSTOMIZATIONS, MOST_BYTES, InputMissing, LeftOut, ManifestFile, Tree
from krmfn.workspace.witness import lexists, realpath

#: What learns of files before they are read, and returns them one by one.
Watch: TypeAlias = Callable[[Sequence[ManifestFile]], Iterable[ManifestFile]]
#: Files that steer tools: they are read, but they are no part of a stream of manifests.
STEERING = (*KUSTOMIZATIONS, "Kptfile", "krmfn.yaml", "krmfn-names.yaml")
#: What the text of a rendered kustomization is called. No line of it is a place that anybody could edit.
RENDERED = "(rendered)"
#: How it begins what is told of a kustomization of which nothing is checked.
NOT_RENDERED = "not checked: it"


class LoadedFile(NamedTuple):
    """A file and what was read in it."""

    path: str
    data: bytes
    stream: Stream


class Manifests(NamedTuple):
    """All files of a call. `problems` are those that could not be read, and what was skipped in the others."""

    files: Sequence[LoadedFile]
    problems: Sequence[Result]

    @property
    def items(self) -> list[Item]:
        """The objects of all files, in order."""
        return [item for file in self.files for item in file.stream.items]

    @property
    def unreadable(self) -> bool:
        """Whether a file could not be read at all."""
        return any(map(hides, self.problems))


def load(
    files: Iterable[ManifestFile],
    left_out: Iterable[LeftOut] = (),
    named: Collection[str] | None = None,
    known: Mapping[str, LoadedFile] = {},
) -> Manifests:
    """Read all files; one that cannot be read does not hide the others. What was `left_out` is told among the problems.

    Of files that are not `named` (None: all are), those that are no manifests are passed over. Some may be `known`, as
    they were read for something else.

    Files that a kustomization among them lists as patches are left out: they look like objects and are parts of some.
    """
    read = []
    problems = [_tell(left) for left in left_out]
    for path, data in files:
        is_named = named is None or path in named
        if not is_named and path.rpartition("/")[2] not in STEERING and not _may_hold_objects(data):
            continue
        try:
            file = known.get(path) or read_whole(path, data, tolerant=True)
        except Unreadable as error:
            place = FileRef(path, 0, error.line, error.column)
            problems.append(tell("unreadable", error.message, place))
            continue
        read.append(file)
        problems += [_tell_skipped(skipped, is_named) for skipped in file.stream.skipped]
    patches = _list_patches(read)
    kept = [file for file in read if os.path.normpath(file.path) not in patches]
    return Manifests(kept, [each for each in problems if not _is_of_patch(each, patches)])


def read_whole(path: str, data: bytes, *, tolerant: bool = False) -> LoadedFile:
    """A file with all that is in it, so that it is known what cannot be read. Raises Unreadable."""
    known = find("values", data)
    stream = Stream.parse(data, path, tolerant=tolerant, known=known)
    for item in stream.items:
        item.value  # noqa: B018  is parsed when it is asked for
    if known is None and is_used():
        keep("values", data, stream.list_values())
    return LoadedFile(path, data, stream)


def _may_hold_objects(data: bytes) -> bool:
    """Whether a file can be one of manifests. JSON that cannot is the data of some program, and may be large."""
    return b"apiVersion" in data or re.match(rb"\s*(?:\[|\{(?!\{))", data) is None


def _tell_skipped(skipped: Skipped, is_named: bool) -> Result:
    place = FileRef(skipped.path, skipped.index, skipped.line, skipped.column)
    if skipped.sort == "incomplete":
        hint = "Set it: kubectl and the API server need it to identify the object."
        return tell("kind-missing", skipped.message, place, hint=hint)
    if not skipped.sort or (is_named and skipped.sort != "templates"):
        return tell("unreadable", skipped.message, place)
    return tell("skipped", skipped.message, place, sort=skipped.sort)


def hides(problem: Result) -> bool:
    """Whether a problem says that something could not be read."""
    return problem.severity == "error" and problem.tags.get("rule") != "kind-missing"


def _tell(left: LeftOut) -> Result:
    if left.severe:
        return tell("unreadable", f"the file {left.reason}", FileRef(left.path))
    return tell("skipped", f"not read: it {left.reason}", FileRef(left.path), sort=left.sort)


def tell(rule: str, message: str, file: FileRef | None, severity: Severity | None = None, **tags: str) -> Result:
    """What a rule says about a file; without a `severity` that of its row."""
    row = RULES[rule]
    return Result(message, severity or row.severity, file=file, tags={"rule": rule, "stage": row.stage, **tags})


def _list_patches(files: Sequence[LoadedFile]) -> set[str]:
    """The files that kustomizations among them list as patches."""
    kustomizations = [file for file in files if file.path.rpartition("/")[2] in KUSTOMIZATIONS]
    if not kustomizations:
        return set()
    from krmfn.workspace.kustomization import list_patches

    return {patch for file in kustomizations for patch in list_patches(file.data, file.path)}


def _is_of_patch(problem: Result, patches: Collection[str]) -> bool:
    """Whether a problem is that a patch lacks what an object has to have."""
    path = problem.file.path if problem.file else ""
    return problem.tags.get("rule") == "kind-missing" and os.path.normpath(path) in patches


def join(parts: Sequence[bytes]) -> bytes:
    """Several streams as one: a marker line between those that do not begin with one.

    kubectl takes a stream for JSON when it begins with a brace, and then refuses markers. A marker comes first there.
    """
    whole = b""
    for part in parts:
        if not part.strip():
            continue
        if whole:
            whole += b"" if whole.endswith(b"\n") else b"\n"
            whole += b"" if part.startswith(b"---") else b"---\n"
        whole += part
    is_mixed = whole.lstrip().startswith(b"{") and b"\n---" in whole  # no JSON has a line that begins so
    return b"---\n" + _separate(whole) if is_mixed else whole


def _separate(stream: bytes) -> bytes:
    """The stream with a marker, too, between JSON documents at its beginning that follow one another without."""
    import json

    text = stream.decode("utf-8", "surrogateescape")
    documents = []
    try:
        while text.lstrip().startswith("{"):
            text = text.lstrip()
            _, end = json.JSONDecoder().raw_decode(text)
            documents.append(text[:end])
            text = text[end:]
    except ValueError:  # a mapping of YAML in braces
        pass
    separated = "\n---\n".join(documents) + ("\n---\n" if documents and text.lstrip().startswith("{") else "") + text
    return separated.encode("utf-8", "surrogateescape")


class Inputs(NamedTuple):
    """Files, and those that the same arguments name and that are not read."""

    files: Sequence[ManifestFile]
    left_out: Sequence[LeftOut]


def read_paths(
    paths: Sequence[str], excluded: Sequence[str] = (), unsaved: Mapping[str, bytes] = {}, most: int = MOST_BYTES
) -> Inputs:
    """Every manifest that `paths` name, in sorted order within a folder; a file named twice is read once.

    A path is a file (any suffix), a folder (searched for *.yaml, *.yml, *.json; what is hidden is passed over), `-` for
    stdin, or `git:REV[:PATH]`. Of folders, what `excluded` patterns match is passed over. `unsaved` and `most` are
    as in Tree. Raises InputMissing.
    """
    files = []
    left_out: list[LeftOut] = []
    seen = set()
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
    return Inputs(files, left_out)


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
            return Inputs((ManifestFile(path, tree.read(path)),), ())
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
    return Inputs(files, tuple(tree.left_out))


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise InputMissing("stdin is closed: there is nothing to read for -")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise InputMissing(f"stdin cannot be read: {error.strerror}") from None
