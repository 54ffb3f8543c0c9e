"""The files of the user, as they are on the disk. Reading never leaves the boundary through a link, and never waits
for a pipe or a device."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from copy import copy
from functools import cache

from krmfn.workspace import witness
from krmfn.workspace.trees import FolderEntry, InputMissing, LeftOut, Tree

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}
#: A path with more folders is resolved as a whole, not folder by folder: Python's stack is finite.
_MOST_FOLDERS = 100
#: What shells make of `<(command)`, and the names of this process's own streams.
_STREAMS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def find_here() -> str:
    """The working directory without links. Raises InputMissing when somebody has deleted it."""
    try:
        return witness.realpath(os.getcwd())
    except FileNotFoundError:
        raise InputMissing("the working directory was deleted; change to another one") from None


def find_top(folder: str) -> str:
    """The nearest folder, `folder` or above it, that holds `.git`; empty when there is none. Without links."""
    here = witness.realpath(folder)
    while not witness.lexists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return ""
        here = above
    return here


class Disk(Tree):
    """The work tree around a path that the user named.

    Links may not leave the boundary: the repository; outside of one the working directory, or else the folder itself.
    """

    def __init__(self, start: str) -> None:
        """`start` is a file or folder, there or not."""
        here = find_here()
        folder = os.sep
        for part in os.path.normpath(os.path.join(here, start)).split(os.sep)[1:]:
            below = os.path.join(folder, part)
            # A link that the user's system has is followed; one that a repository has brought decides nothing.
            if not witness.isdir(below) or (
                stat.S_ISLNK(witness.find_kind(below)) and (is_below(folder, here) or find_top(folder))
            ):
                break
            folder = witness.realpath(below)
        self.repository = find_top(folder)
        super().__init__(here, self.repository or (here if is_below(folder, here) else folder))
        self._forget()

    def _forget(self) -> None:
        # A run looks for a file thirty times: where paths lead without links, what is there, and the bytes of files.
        self._met: dict[str, str] = {}
        self._find_kind = cache(witness.find_kind)
        self._data: dict[str, bytes] = {}

    def look_again(self) -> Disk:
        """The same tree without what it remembers of the disk."""
        other = copy(self)
        other._forget()
        return other

    def resolve(self, path: str) -> str:
        real = self._follow(path)
        if not is_below(real, self.boundary):
            named = os.path.normpath(os.path.join(self.here, path))
            if is_below(named, self.boundary):
                raise LeftOut(path, f"is a link that leaves {self.boundary}")
            way = "" if self.repository else "; without a git repository, run krmfn from a folder that contains both"
            raise LeftOut(path, f"is outside of {self.boundary}{way}")
        if real not in self.unsaved and not self._find_kind(real):
            raise FileNotFoundError(path)
        return real

    def _follow(self, path: str) -> str:
        """The path without links."""
        if path not in self._met:
            folder, name = os.path.split(path)
            real = ""
            if name not in ("", os.curdir, os.pardir) and path.count(os.sep) < _MOST_FOLDERS:
                real = os.path.join(self._follow(folder), name)
            if not real or stat.S_ISLNK(self._find_kind(real)):
                real = witness.realpath(path)
            self._met[path] = real
        return self._met[path]

    def kind(self, path: str) -> str:
        try:
            real = self.resolve(path)
        except (LeftOut, OSError, ValueError):
            return ""
        if real in self.unsaved:
            return "file"
        return {stat.S_IFREG: "file", stat.S_IFDIR: "folder"}.get(self._find_kind(real), "")

    def entries(self, folder: str) -> Iterator[FolderEntry]:
        try:
            real = self.resolve(folder)
            witness.note("entries", real)
            for each in self.unsaved:  # of a new file, the editor has all there is
                if os.path.dirname(each) == real and not witness.lexists(each):
                    yield FolderEntry(os.path.basename(each), "file")
            with os.scandir(real) as found:
                for entry in found:
                    yield FolderEntry(entry.name, _spell_kind(entry))
        except (LeftOut, FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self.left_out.append(LeftOut(folder, f"cannot be read: {error.strerror}", severe=True))

    def read(self, path: str) -> bytes:
        try:
            real = self.resolve(path)
            known = self.unsaved.get(real, self._data.get(real))
            if known is not None:
                return known
        except ValueError:  # a zero byte in the name
            raise FileNotFoundError(path) from None
        try:
            data = self._read(path, real)
        except (LeftOut, OSError) as error:
            witness.note("data", real)
            if isinstance(error, (LeftOut, FileNotFoundError)):
                raise
            raise LeftOut(path, f"cannot be read: {error.strerror}", severe=True) from None
        witness.note_data(real, data)
        self._data[real] = data
        return data

    def _read(self, path: str, real: str) -> bytes:
        """A file's bytes. Raises LeftOut and OSError."""
        # Not following: what resolve() has seen is no link. Not blocking: a pipe is refused and not waited for.
        number = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            status = os.fstat(number)
            if not stat.S_ISREG(status.st_mode):
                raise LeftOut(path, f"is {_KINDS.get(stat.S_IFMT(status.st_mode), 'not a file')}")
            self.refuse_large(path, status.st_size)
            with open(number, "rb", closefd=False) as stream:
                return stream.read()
        finally:
            os.close(number)


def read_stream(path: str) -> bytes | None:
    """The bytes of a stream that this process was given, as in `<(kustomize build)`; None for any other path."""
    if not path.startswith(_STREAMS):
        return None
    try:
        with open(path, "rb") as stream:
            if stat.S_ISCHR(os.fstat(stream.fileno()).st_mode) and not stream.isatty():
                raise InputMissing(f"{path} is a device, not a stream of manifests")
            return stream.read()
    except OSError as error:
        raise InputMissing(f"{path}: {error.strerror}") from None


def is_below(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or lies in it. Looks at the names only."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _spell_kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    if entry.is_file(follow_symlinks=False):
        return "file"
    mode = entry.stat(follow_symlinks=False).st_mode
    return _KINDS.get(stat.S_IFMT(mode), "not a file")
