"""Files of manifests, read: which objects they hold, which could not be read, and how they are written again.

Knows files and text; not what the objects mean.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from krmfn.krm import FileRef, Item, Result, Stream, Unreadable
from krmfn.krm.results import Severity
from krmfn.krm.stream import Skipped
from krmfn.model.kept import find, is_used, keep
from krmfn.workspace.trees import KUSTOMIZATIONS, LeftOut, ManifestFile

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

    @property
    def steers(self) -> bool:
        """Whether the file is for a tool, by its name."""
        return self.path.rpartition("/")[2] in STEERING


class Manifests(NamedTuple):
    """All files of a call. `problems` are those that could not be read, and what was skipped in the others."""

    files: tuple[LoadedFile, ...]
    problems: tuple[Result, ...]

    @property
    def items(self) -> list[Item]:
        """The objects of all files, in order."""
        return [item for file in self.files for item in file.stream.items]

    @property
    def unreadable(self) -> bool:
        """Whether a file could not be read at all."""
        return any(map(hides, self.problems))


def load(
    files: Iterable[ManifestFile], left_out: Iterable[LeftOut] = (), named: Collection[str] | None = None
) -> Manifests:
    """Read all files; one that cannot be read does not hide the others. What was `left_out` is told among the problems.

    Of files that are not `named` (None: all are), those that are no manifests are passed over.

    Files that a kustomization among them lists as patches are left out: they look like objects and are parts of some.
    """
    read: list[LoadedFile] = []
    problems = [_tell(left) for left in left_out]
    for path, data in files:
        is_named = named is None or path in named
        if not is_named and path.rpartition("/")[2] not in STEERING and not _may_hold_objects(data):
            continue
        try:
            file = read_whole(path, data, tolerant=True)
        except Unreadable as error:
            place = FileRef(path, 0, error.line, error.column)
            problems.append(tell("unreadable", error.message, place))
            continue
        read.append(file)
        problems += [_tell_skipped(skipped, is_named) for skipped in file.stream.skipped]
    patches = _list_patches(read)
    kept = [file for file in read if os.path.normpath(file.path) not in patches]
    return Manifests(tuple(kept), tuple(each for each in problems if not _is_of_patch(each, patches)))


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
    from krmfn.model.rules import RULES  # few runs have something to say

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
