"""git: the one gate to it. Files of a revision are read from the objects; nothing is checked out, fetched or run.

A repository can bring configuration, attributes, hooks and bare repositories in its folders, all of which make git
run programs. So git starts at the top of the work tree that was found from outside, does only what reads objects
(rev-parse, ls-tree, cat-file), and is told on its command line that nothing else is wanted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from subprocess import Popen

from krmfn.workspace.disk import find_here, find_top, is_below
from krmfn.workspace.processes import Failed, has_output, read, run, start
from krmfn.workspace.trees import (
    GIT,
    MOST_BYTES,
    MOST_CHARACTERS,
    SUBMODULE,
    TOO_LARGE,
    FolderEntry,
    InputMissing,
    LeftOut,
    RevisionMissing,
    Tree,
)

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
_LINK, _MODULE = "120000", "160000"
_MOST_LINKS = 40
#: To find a revision, or an object; and to list all of them, on a slow disk. A named pipe among git's own files would
#: make git wait without end.
_MOST_SECONDS = 30
_MOST_SECONDS_OF_LIST = 300
#: About a million files. A few trees that hold each other ten times name more than any disk has.
_MOST_LISTED = 128 * 2**20


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
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        self.repository = self.boundary = find_top(folder)
        if not self.repository:
            shown = "the working directory" if path == "." else path
            raise RevisionMissing(f"{argument}: {shown} is not in a git repository", revision)
        super().__init__(here, self.repository)
        self._tree = self._find_tree(revision)
        self._files: dict[str, tuple[str, str]] = {}  # path from the top -> mode, object
        self._folders: dict[str, list[FolderEntry]] = {"": []}
        self._list()
        self._reader: Popen[bytes] | None = None

    def miss(self, path: str, what: str = "file or folder") -> InputMissing:
        """The error for a path that leads to nothing, which names it from the top as git does."""
        missed = super().miss(path, what)
        top = os.path.relpath(find_here(), self.repository)
        full = path if top.startswith("..") or os.path.isabs(path) else os.path.normpath(os.path.join(top, path))
        return InputMissing(str(missed).replace(path, full, 1), missed.word, missed.known)

    def close(self) -> None:
        """Ends the process that reads objects."""
        if self._reader is not None:
            self._reader.communicate()
            self._reader = None

    def kind(self, path: str) -> str:
        try:
            place = self._follow(self._locate(path))
        except (LeftOut, FileNotFoundError):
            return ""
        return "folder" if place in self._folders else "file" if self._files[place][0] != _MODULE else ""

    def entries(self, folder: str) -> Iterator[FolderEntry]:
        try:
            yield from self._folders.get(self._follow(self._locate(folder)), ())
        except (LeftOut, FileNotFoundError):
            return

    def resolve(self, path: str) -> str:
        return self._spell(self._follow(self._locate(path)))

    def read(self, path: str) -> bytes:
        place = self._follow(self._locate(path))
        mode, name = self._files.get(place, ("", ""))
        if not mode:
            raise LeftOut(path, "is a folder")
        if mode == _MODULE:
            raise LeftOut(path, f"is {SUBMODULE}")
        return self._read_object(path, name)

    def _find_tree(self, revision: str) -> str:
        if not revision:
            raise InputMissing(f"{self.argument}: no revision: write git:main, git:HEAD~1 or git:v1.2:base")
        try:
            out = self._ask("rev-parse", "--verify", "--end-of-options", f"{revision}^{{tree}}")
        except Failed as failure:
            if self._finds("rev-parse", "--verify", "--end-of-options", f"{revision}^{{blob}}"):
                raise InputMissing(f"{self.argument}: {revision} names a file, not a commit") from None
            if failure.lines and "Needed a single revision" not in failure.lines[-1]:
                reason = _tell(failure)
            elif self._finds("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"):
                reason = _LACKS_MUCH  # git 2.47 says no more of a tree that is missing
            elif self._finds("rev-list", "--max-count=1", "--all", "--reflog"):
                reason = "no such revision in this clone. CI jobs often clone only one commit: fetch the revision first"
            else:
                reason = "the repository has no commits yet"
            raise RevisionMissing(f"{self.argument}: {reason}", revision, self._list_names()) from None
        except ValueError:  # a zero byte
            raise InputMissing(f"{self.argument}: no such revision") from None
        return out.decode().strip()

    def _ask(self, *words: str) -> bytes:
        return run(self._command(*words), self._environment(), seconds=_MOST_SECONDS)[0]

    def _finds(self, *words: str) -> bool:
        """Whether a git command succeeds and prints something."""
        try:
            return bool(self._ask(*words))
        except Failed:
            return False

    def _list_names(self) -> list[str]:
        """The branches and tags."""
        try:
            out = self._ask("rev-parse", "--symbolic", "--branches", "--tags")
        except Failed:
            return []
        return out.decode("utf-8", "replace").split()

    def _list(self) -> None:
        command = self._command("ls-tree", "-r", "-t", "-z", "--full-tree", self._tree)
        try:
            out = read(command, self._environment(), _MOST_LISTED, _MOST_SECONDS_OF_LIST)
        except Failed as failure:
            raise InputMissing(f"{self.argument}: git cannot list the files: {_tell(failure)}") from None
        if len(out) > _MOST_LISTED:
            raise InputMissing(f"{self.argument}: the repository has too many files: the list is longer than 128 MiB")
        for line in out.decode("utf-8", "surrogateescape").split("\0"):
            head, _, path = line.partition("\t")
            if not path:
                continue
            mode, kind, name = head.split()
            folder, _, base = path.rpartition("/")
            # Trees can hold names that git would not write to a disk.
            if base in (".", "..") or path.startswith("/") or folder not in self._folders:
                raise InputMissing(f"{self.argument}: the path {path} is one that no folder can have")
            if kind == "tree":
                self._folders[path] = []
                shown = "folder"
            else:
                self._files[path] = (mode, name)
                shown = "link" if mode == _LINK else SUBMODULE if mode == _MODULE else "file"
            self._folders[folder].append(FolderEntry(base, shown))

    def _locate(self, path: str) -> str:
        """The path from the top of the repository, empty for the top. Raises LeftOut outside of it."""
        whole = os.path.normpath(os.path.join(self.here, path))
        if not is_below(whole, self.repository):
            start = whole
            while not os.path.lexists(start):
                start = os.path.dirname(start)
            whole = os.path.normpath(os.path.realpath(start) + whole[len(start) :])
        if not is_below(whole, self.repository):
            raise LeftOut(path, f"is outside of the repository {self.repository}")
        place = os.path.relpath(whole, self.repository).replace(os.sep, "/")
        return "" if place == "." else place

    def _spell(self, place: str) -> str:
        return os.path.relpath(os.path.join(self.repository, place), self.here).replace(os.sep, "/")

    def _follow(self, place: str) -> str:
        """The place without links. Raises LeftOut where one leaves the repository, FileNotFoundError at a dead end."""
        for _ in range(_MOST_LINKS):
            if place in self._folders:
                return place
            if len(place) > MOST_CHARACTERS:
                raise FileNotFoundError(place)
            link = place
            while link and link not in self._files:
                link = link.rpartition("/")[0]
            if link == place and self._files[link][0] != _LINK:
                return place
            if not link or self._files[link][0] != _LINK:
                raise FileNotFoundError(place)
            target = self._read_object(link, self._files[link][1]).decode("utf-8", "surrogateescape")
            if len(target) > MOST_CHARACTERS:
                raise FileNotFoundError(place)
            place = os.path.normpath(os.path.join(os.path.dirname(link), target) + place[len(link) :])
            if target.startswith("/") or place.startswith("../") or place == "..":
                raise LeftOut(link, f"is a link that leaves {self.repository}")
            place = "" if place == "." else place
        raise LeftOut(place, "is a link to itself")

    def _read_object(self, path: str, name: str) -> bytes:
        if self._reader is None:
            self._reader = start(self._command("cat-file", "--batch"), self._environment())
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
            if len(head) != 3 or head[1] != b"blob":
                raise BrokenPipeError
            size = int(head[2])
            if size > MOST_BYTES:
                raise LeftOut(path, TOO_LARGE, severe=True)
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

    def _command(self, *words: str) -> list[str]:
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        return ["git", "--no-pager", *settings, "-C", self.repository, *words]

    def _environment(self) -> dict[str, str]:
        """The caller's, without what would point git to another repository."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        kept = {name: value for name, value in os.environ.items() if name.startswith(_KEPT)}
        return {**own, **kept, **_ENVIRONMENT, "GIT_CEILING_DIRECTORIES": os.path.dirname(self.repository)}


def _tell(failure: Failed) -> str:
    """Why git failed, after its warnings."""
    said = next((line for line in failure.lines if line.startswith("fatal: ")), str(failure)).removeprefix("fatal: ")
    return f"{said}: {_LACKS_MUCH}" if _PARTIAL in said else said
