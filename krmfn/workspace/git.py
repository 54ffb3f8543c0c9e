"""git: the one gate to it. Files of a revision are read from the objects; nothing is checked out, fetched or run.

A repository can bring configuration, attributes, hooks and bare repositories in its folders, all of which make git
run programs. So git starts at the top of the work tree that was found from outside, does only what reads objects
(rev-parse for names, cat-file for folders and files), and is told on its command line that nothing else is wanted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from subprocess import Popen
from typing import NamedTuple

from krmfn.workspace.disk import find_here, find_top, is_below
from krmfn.workspace.processes import Failed, has_output, run, start
from krmfn.workspace.trees import (
    GIT,
    MOST_CHARACTERS,
    SUBMODULE,
    FolderEntry,
    InputMissing,
    LeftOut,
    RevisionMissing,
    Tree,
)
from krmfn.workspace.witness import isdir, lexists, note, realpath

_SETTINGS = {
    "safe.bareRepository": "explicit",
    "protocol.allow": "never",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.pager": "cat",
    "core.sshCommand": "false",
}
_ENVIRONMENT = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
#: What a caller's environment may say: where its own configuration is, which names the folders that it trusts.
_KEPT = ("GIT_CONFIG_", "GIT_EXEC_PATH")
#: In what git says of an object that a partial clone lacks.
_PARTIAL = "promisor remote"
_GET_THE_REST = "get the rest with git fetch --refetch --no-filter"
_LACKS_MUCH = f"this clone has only a part of the repository; {_GET_THE_REST}"
#: What is in a folder of git, by its mode.
_KINDS = {b"40000": "folder", b"120000": "link", b"160000": SUBMODULE}
_MOST_LINKS = 40
#: To find a revision, or an object. A named pipe among git's own files would make git wait without end.
_MOST_SECONDS = 30
#: A few trees that hold each other ten times name more than any disk has.
_MOST_LISTED = 2_000_000


class _Listed(NamedTuple):
    """Something in a folder: a "file", a "folder", a "link" or SUBMODULE, and the name of its object."""

    kind: str
    name: str


class Revision(Tree):
    """The files of a repository at a revision. Paths mean what they mean in the work tree."""

    def __init__(self, argument: str, revision: str, path: str) -> None:
        """The repository that `path` lies in, or lay in. `argument` is what messages call the revision.

        Raises InputMissing when git, the repository or the revision is missing.
        """
        self.argument = argument
        self.where = f" in {GIT}{revision}"
        here = find_here()
        folder = os.path.join(here, path)
        while not isdir(folder):
            folder = os.path.dirname(folder)
        repository = find_top(folder)
        if not repository:
            shown = "the working directory" if path == "." else path
            raise RevisionMissing(f"{argument}: {shown} is not in a git repository", revision)
        super().__init__(here, repository)
        self._reader: Popen[bytes] | None = None
        self._top = _Listed("folder", self._find_tree(revision))
        note("revision", f"{self.boundary}\n{revision}", self._top.name)
        self._folders: dict[str, dict[str, _Listed]] = {}  # by the names of their objects
        self._listed = 0
        self._list(self._top, "")  # a clone without it is told at once

    def kind(self, path: str) -> str:
        try:
            found = self._follow(self._locate(path))[1].kind
        except (LeftOut, FileNotFoundError):
            return ""
        return "" if found == SUBMODULE else found

    def entries(self, folder: str) -> Iterator[FolderEntry]:
        try:
            place, found = self._follow(self._locate(folder))
        except (LeftOut, FileNotFoundError):
            return
        listed = self._list(found, place) if found.kind == "folder" else {}
        self._listed += len(listed)
        if self._listed > _MOST_LISTED:
            raise InputMissing(f"{self.argument}: the repository has too many files: more than {_MOST_LISTED:,}")
        yield from (FolderEntry(name, entry.kind) for name, entry in listed.items())

    def resolve(self, path: str) -> str:
        place, _ = self._follow(self._locate(path))
        return os.path.relpath(os.path.join(self.boundary, place), self.here)

    def read(self, path: str) -> bytes:
        _, found = self._follow(self._locate(path))
        if found.kind != "file":
            raise LeftOut(path, "is a folder" if found.kind == "folder" else f"is {SUBMODULE}")
        return self._read_object(path, found.name)

    def _find_tree(self, revision: str) -> str:
        if revision.startswith("^"):  # git takes it for all commits but these
            raise RevisionMissing(f"{self.argument}: no such revision", revision)
        try:
            return _ask_tree(self.boundary, revision)
        except Failed as failure:
            known = self._try("--symbolic", "--branches", "--tags").split()
            said = [line for line in failure.lines if line.startswith("fatal: ")] or [str(failure)]  # not its warnings
            if any("dereferences to blob type" in line for line in failure.lines):
                raise InputMissing(f"{self.argument}: {revision} names a file, not a commit") from None
            if "Needed a single revision" not in said[0]:
                reason = said[0].removeprefix("fatal: ") + (f": {_LACKS_MUCH}" if _PARTIAL in said[0] else "")
            elif self._try("--verify", "--end-of-options", f"{revision}^{{commit}}"):
                reason = _LACKS_MUCH  # git 2.47 says no more of a tree that is missing
            elif known or self._try("--verify", "--end-of-options", "HEAD"):
                reason = "no such revision in this clone. CI jobs often clone only one commit: fetch the revision first"
            else:
                reason = "the repository has no commits yet"
            raise RevisionMissing(f"{self.argument}: {reason}", revision, known) from None
        except ValueError:  # a zero byte
            raise InputMissing(f"{self.argument}: no such revision") from None

    def _try(self, *words: str) -> str:
        """As _parse; empty where git makes nothing of the names."""
        try:
            return _parse(self.boundary, *words)
        except Failed:
            return ""

    def _list(self, folder: _Listed, place: str) -> dict[str, _Listed]:
        """What is in a folder. Raises InputMissing."""
        if folder.name not in self._folders:
            found = self._folders[folder.name] = {}
            try:
                data = self._read_object(place or ".", folder.name, b"tree")
            except LeftOut as left:
                raise InputMissing(f"{self.argument}: git cannot list the files: {left}") from None
            end = 0
            while end < len(data):
                mode, _, rest = data[end : data.find(b"\0", end)].partition(b" ")
                digest = end + len(mode) + len(rest) + 2
                end = digest + len(folder.name) // 2
                name = rest.decode("utf-8", "surrogateescape")
                # Trees can hold names that git would not write to a disk.
                if name in ("", ".", "..") or "/" in name or end > len(data):
                    shown = f"{place}/{name}".lstrip("/")
                    raise InputMissing(f"{self.argument}: the path {shown} is one that no folder can have")
                found[name] = _Listed(_KINDS.get(mode, "file"), data[digest:end].hex())
        return self._folders[folder.name]

    def _locate(self, path: str) -> str:
        """The path from the top of the repository, empty for the top. Raises LeftOut outside of it."""
        whole = os.path.normpath(os.path.join(self.here, path))
        if not is_below(whole, self.boundary):
            start = whole
            while not lexists(start):
                start = os.path.dirname(start)
            whole = os.path.normpath(realpath(start) + whole[len(start) :])
        if not is_below(whole, self.boundary):
            raise LeftOut(path, f"is outside of the repository {self.boundary}")
        place = os.path.relpath(whole, self.boundary)
        return "" if place == "." else place

    def _follow(self, place: str) -> tuple[str, _Listed]:
        """The place without links, and what is there. Raises LeftOut outside the repository, else FileNotFoundError."""
        for _ in range(_MOST_LINKS):
            if len(place) > MOST_CHARACTERS:
                raise FileNotFoundError(place)
            reached, found = "", self._top
            steps = place.split("/") if place else []
            while steps and found.kind == "folder":
                inner = self._list(found, reached).get(steps[0])
                if inner is None:
                    raise FileNotFoundError(place)
                reached, found = f"{reached}/{steps.pop(0)}".lstrip("/"), inner
            if found.kind != "link":
                if steps:
                    raise FileNotFoundError(place)
                return place, found
            target = self._read_object(reached, found.name).decode("utf-8", "surrogateescape")
            if len(target) > MOST_CHARACTERS:
                raise FileNotFoundError(place)
            place = os.path.normpath(os.path.join(os.path.dirname(reached), target, *steps))
            if target.startswith("/") or place.startswith("../") or place == "..":
                raise LeftOut(reached, f"is a link that leaves {self.boundary}")
            place = "" if place == "." else place
        raise LeftOut(place, "is a link to itself")

    def _read_object(self, path: str, name: str, kind: bytes = b"blob") -> bytes:
        if self._reader is None:
            self._reader = start(*_spell_command(self.boundary, "cat-file", "--batch"))
        asked, answers = self._reader.stdin, self._reader.stdout
        assert asked is not None
        assert answers is not None
        try:
            asked.write(f"{name}\n".encode())
            asked.flush()
            if not has_output(self._reader, _MOST_SECONDS):
                reason = f"cannot be read: git had not answered after {_MOST_SECONDS:g} seconds"
                raise LeftOut(path, reason, severe=True)
            head = answers.readline().split()
            if len(head) != 3 or head[1] != kind:
                raise BrokenPipeError
            size = int(head[2])
            self.refuse_large(path, size)
            data = answers.read(size + 1)
            if len(data) <= size:  # git came upon something that is broken
                raise BrokenPipeError
            return data[:-1]
        except BrokenPipeError:
            self._stop()
            reason = f"is not in this clone, which has only a part of {self.argument}; {_GET_THE_REST}"
            raise LeftOut(path, reason, severe=True) from None
        except LeftOut:
            self._stop()
            raise

    def _stop(self) -> None:
        """The next object is asked of a new process: this one has ended, or is in the middle of an answer."""
        if self._reader is not None:
            self._reader.kill()
            self._reader.communicate()
            self._reader = None


def name_tree(text: str) -> str:
    """The name of the tree of a revision, "" without one. `text`: the repository, and in the next line the revision."""
    repository, _, revision = text.partition("\n")
    try:
        return _ask_tree(repository, revision)
    except (Failed, InputMissing, ValueError):
        return ""


def _ask_tree(repository: str, revision: str) -> str:
    return _parse(repository, "--verify", "--end-of-options", f"{revision}^{{tree}}").strip()


def _parse(repository: str, *words: str) -> str:
    """What git makes of the names of revisions. Raises Failed."""
    command = _spell_command(repository, "rev-parse", *words)
    return run(*command, seconds=_MOST_SECONDS).decode("utf-8", "replace")


def _spell_command(repository: str, *words: str) -> tuple[list[str], dict[str, str]]:
    """A command of git, and its environment: the caller's, without what would point it to another repository."""
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    command = ["git", "--no-pager", *settings, "-C", repository, *words]
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    kept = {name: value for name, value in os.environ.items() if name.startswith(_KEPT)}
    return command, {**own, **kept, **_ENVIRONMENT, "GIT_CEILING_DIRECTORIES": os.path.dirname(repository)}
