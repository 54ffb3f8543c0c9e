"""Several files replaced as one: whoever looks at a file, at any moment, sees the old text or the new one.

All new texts are on the disk before the first file changes its name, so a full disk or a file that cannot be written
leaves everything as it was. What a kill leaves between two names, the next run completes: it makes the same plan again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from krmfn.workspace.disk import Disk
from krmfn.workspace.processes import hold_signals
from krmfn.workspace.trees import KUSTOMIZATIONS, InputMissing, LeftOut, WriteFailed


class FileChange(NamedTuple):
    """A file before and after; None where there is none."""

    path: str
    old: bytes | None
    new: bytes | None


class _Writing(NamedTuple):
    change: FileChange
    real: str  # the file itself, where the path is a link
    beside: str  # its new text, until it gets the name


@contextmanager
def lock(paths: Sequence[str], say: Callable[[str], None]) -> Iterator[None]:
    """Keeps other runs from writing into the repositories or folders of `paths` until the end of the block.

    Waits for the run that is at it, and tells so with `say`. Where a file system has no locks there is none.
    """
    held = []
    try:
        for folder in sorted({Disk(path).boundary for path in paths}):
            number = _lock_folder(folder, say)
            held += [] if number is None else [number]
        yield
    finally:
        for number in held:
            os.close(number)


def replace(changes: Iterable[FileChange]) -> None:
    """Write all files, or none. Call it under `lock`. Raises WriteFailed."""
    steps = [_prepare(change) for change in changes]
    try:
        for step in steps:
            if step.change.new is not None:
                _write_beside(step, step.change.new)
        _rename(sorted(steps, key=_rank))
    finally:
        for step in steps:
            with suppress(OSError):
                os.remove(step.beside)


def _rank(step: _Writing) -> int:
    # The kustomization first: when it lists a file that is not there yet, a build fails, and nobody applies a half.
    old, new = step.change.old, step.change.new
    if os.path.basename(step.real) in KUSTOMIZATIONS:
        return 0
    return 3 if new is None else 1 if old is None else 2


def _prepare(change: FileChange) -> _Writing:
    path = change.path
    tree = Disk(path)
    try:
        if os.path.lexists(path):
            real, found = tree.resolve(path), tree.read(path)
        else:
            tree.resolve(os.path.dirname(path) or ".")
            real, found = os.path.abspath(path), None
    except LeftOut as left:
        raise WriteFailed(f"{path} is not written: it {left.reason}. Nothing was written") from None
    except FileNotFoundError:
        reason = "it is a link to nothing" if os.path.lexists(path) else "its folder does not exist"
        raise WriteFailed(f"{path} is not written: {reason}. Nothing was written") from None
    if found != change.old:
        raise WriteFailed(f"{path} was changed while krmfn was running. Nothing was written; run krmfn again")
    if found is not None and not os.access(real, os.W_OK):
        raise WriteFailed(f"{path} is read-only. Nothing was written")
    folder, name = os.path.split(real)
    return _Writing(change, real, os.path.join(folder, f".{name}.krmfn-new"))


def _write_beside(step: _Writing, data: bytes) -> None:
    try:
        with suppress(FileNotFoundError):
            os.remove(step.beside)
        number = os.open(step.beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        with open(number, "wb") as stream:
            if step.change.old is not None:
                _copy_rights(step.real, step.beside, number)
            stream.write(data)
            stream.flush()
            os.fsync(number)
    except OSError as error:
        raise WriteFailed(f"{step.change.path} cannot be written: {error.strerror}. Nothing was written") from None


def _copy_rights(path: str, beside: str, number: int) -> None:
    """Mode, extended attributes and access control lists. The times are those of the writing that follows."""
    from shutil import copystat

    status = os.stat(path)
    os.fchmod(number, stat.S_IMODE(status.st_mode))
    with suppress(OSError):
        copystat(path, beside)
    for owner in ((-1, status.st_gid), (status.st_uid, -1)):  # a group may be allowed where a user is not
        with suppress(OSError):
            os.fchown(number, *owner)


def _rename(steps: Sequence[_Writing]) -> None:
    done = []
    try:
        with hold_signals():  # between two names is the one moment at which the set is neither old nor new
            for step in steps:
                if step.change.new is None:
                    os.remove(step.real)
                else:
                    os.replace(step.beside, step.real)
                done.append(step.change.path)
        for folder in {os.path.dirname(step.real) for step in steps}:
            number = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(number)
            finally:
                os.close(number)
    except OSError as error:
        failed = steps[len(done)].change.path if len(done) < len(steps) else steps[0].change.path
        written = f"Written were {', '.join(done)}; run krmfn again" if done else "Nothing was written"
        raise WriteFailed(f"{failed} cannot be written: {error.strerror}. {written}") from None


def _lock_folder(folder: str, say: Callable[[str], None]) -> int | None:
    import fcntl

    try:
        number = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InputMissing(f"{folder}: {error.strerror}") from None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"waiting for another krmfn that writes in {folder}")
        fcntl.flock(number, fcntl.LOCK_EX)
    except OSError:
        os.close(number)
        return None
    return number
