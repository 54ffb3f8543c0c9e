"""A tree of files as commands read it, on disk or in a revision of git: what both can do, and what they leave out.

Paths are spelled as the user named them, relative to the working directory, so that two states compare. Nothing is read
that is outside of the tree's boundary, and nothing that is not an ordinary file; what is left out for that is told.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from krmfn.krm.records import NamedTuple

GIT = "git:"
SUFFIXES = (".yaml", ".yml", ".json")
#: No manifest is larger; what is, would only exhaust the memory.
MOST_BYTES = 2**30


class ManifestFile(NamedTuple):
    """A file's bytes. `path` is spelled as the user named it (`-` for stdin), with slashes."""

    path: str
    data: bytes


class InputMissing(Exception):
    """An argument names nothing that can be read. The message says which, and what would be accepted."""


class WriteFailed(Exception):
    """Files could not be written. The message says why, and which were."""


class LeftOut(Exception):
    """A file that is there and is not read. `severe`: somebody has to do something about it."""

    def __init__(self, path: str, reason: str, severe: bool = False) -> None:
        """`reason` follows the path in a message."""
        super().__init__(f"{path} {reason}")
        self.path = path
        self.reason = reason
        self.severe = severe


class Entry(NamedTuple):
    """A name in a folder. `kind` is "file", "folder", "link", or else words for what it is, such as "a named pipe"."""

    name: str
    kind: str


class Tree:
    """Files below a boundary. What walking left out is in `left_out`, in the order in which it was met."""

    #: How a message says which tree it is, after a path of it.
    where = ""

    def __init__(self, here: str, top: str) -> None:
        """`here` is the working directory, `top` the repository or else the boundary; both without links."""
        self.here = here
        self.top = top
        self.left_out: list[LeftOut] = []

    def kind(self, path: str) -> str:
        """What a path leads to: "file", "folder", or "" for nothing that is read. Links within the boundary count."""
        raise NotImplementedError

    def entries(self, folder: str) -> Iterable[Entry]:
        """What is in a folder, in any order; nothing where it is none."""
        raise NotImplementedError

    def read(self, path: str) -> bytes:
        """A file's bytes. Raises LeftOut where it is not read, and FileNotFoundError where it is not there."""
        raise NotImplementedError

    def resolve(self, path: str) -> str:
        """The path without links. Raises LeftOut where they leave the boundary, FileNotFoundError where they end."""
        raise NotImplementedError

    def find(self, path: str) -> bytes | None:
        """A file's bytes, None where there is none that is read."""
        try:
            return self.read(path)
        except (LeftOut, FileNotFoundError):
            return None

    def walk(self, folder: str) -> list[str]:
        """The manifests below a folder, sorted: files with one of SUFFIXES. What is hidden is passed over; links to
        files are followed, links to folders are not."""
        found: list[str] = []
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            for name, kind in self.entries(here):
                if name.startswith("."):
                    continue
                path = os.path.normpath(os.path.join(here, name)).replace(os.sep, "/")
                if kind == "folder":
                    waiting.append(path)
                elif name.endswith(SUFFIXES) and self._is_read(path, kind):
                    found.append(path)
        return sorted(found)

    def _is_read(self, path: str, kind: str) -> bool:
        if kind == "file":
            return True
        try:
            if kind != "link":
                raise LeftOut(path, f"is {kind}")
            leads = self.kind(self.resolve(path))
            if not leads:
                raise LeftOut(path, "is a link to nothing that can be read")
            return leads == "file"
        except LeftOut as left:
            self.left_out.append(LeftOut(path, left.reason, left.severe))
        except FileNotFoundError:
            self.left_out.append(LeftOut(path, "is a link to nothing"))
        return False
