"""What a run has asked the file system, and the answers: who gets the same answers again does the same again.

Whatever `disk`, `git` and `processes` learn from outside is noted here, before they look. Only while somebody watches
is it written down.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from krmfn.model.kept import find, is_used, keep

#: A kind of question and a path, or something else that it is about; with the answer.
Answers: TypeAlias = "dict[tuple[str, str], str]"

#: Those of the run that is watched, and of the parts of it that are.
_watched: list[Answers] = []


@contextmanager
def watch() -> Iterator[Answers]:
    """A block whose questions are written down."""
    answers: Answers = {}
    _watched.append(answers)
    try:
        yield answers
    finally:
        _watched.remove(answers)


def note_data(path: str, data: bytes) -> None:
    """As `note`, for a file that was read."""
    if _watched:
        note("data", path, hashlib.sha256(data).hexdigest())


def note(kind: str, text: str, answer: str | None = None) -> str:
    """Write down what the answer to a question is now, which is looked for unless it is given: the one that the run
    that is watched has got first. What changes between that and a second look is found out by `recall`."""
    question, run = (kind, text), _watched[0] if _watched else {}
    for answers in _watched:
        if question not in answers:
            known = run.get(question) if answer is None else answer
            answers[question] = ANSWERS[kind](text) if known is None else known
    return run.get(question, "")


def recall(kind: str, named: bytes, make: Callable[[], Any]) -> Any:
    """What `make` gives, plain data that follows from its name and from what it asks: as an earlier run made it, where
    this run would be given the same answers. None is not kept."""
    if not (is_used() and _watched):
        return make()
    known = find(kind, named)
    if known is not None and all(note(*question) == answer for question, answer in known[0].items()):
        return known[1]
    with watch() as asked:
        made = make()
    if made is not None:
        keep(kind, named, (asked, made))
    return made


def realpath(path: str) -> str:
    """The path without links."""
    real = os.path.realpath(path)
    note("real", path, real)
    return real


def lexists(path: str) -> bool:
    """Whether something is there, a link to nothing included."""
    note("there", path)
    return os.path.lexists(path)


def isdir(path: str) -> bool:
    """Whether a folder is there, or a link to one."""
    note("leads to", path)
    return os.path.isdir(path)


def isfile(path: str) -> bool:
    """Whether an ordinary file is there, or a link to one."""
    note("leads to", path)
    return os.path.isfile(path)


def find_kind(path: str) -> int:
    """What is at a path, as stat.S_IFMT says it, links not followed; 0 for nothing."""
    try:
        kind = stat.S_IFMT(os.lstat(path).st_mode)
    except (OSError, ValueError):  # a zero byte in the name
        kind = 0
    note("kind", path, oct(kind) if kind else "")
    return kind


def spell_program(path: str) -> str:
    """Which program is at a path: another one has another size or time."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{os.path.realpath(path)} {status.st_size} {status.st_mtime_ns}"


def _spell_kind(status: os.stat_result) -> str:
    return oct(stat.S_IFMT(status.st_mode))


def _ask_kind(path: str, look: Callable[[str], os.stat_result] = os.lstat) -> str:
    try:
        return _spell_kind(look(path))
    except (OSError, ValueError):
        return ""


def _ask_entries(path: str) -> str:
    """The names in a folder, with their kinds."""
    try:
        with os.scandir(path) as found:
            return repr(sorted((each.name, _spell_kind(each.stat(follow_symlinks=False))) for each in found))
    except OSError:
        return ""


def digest(path: str) -> str:
    """The digest of a file that is neither a link nor a pipe, as `Disk.read` opens it."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        with open(number, "rb") as stream:
            # A dump of a cluster can have gigabytes: it is not held as a whole.
            return hashlib.file_digest(stream, "sha256").hexdigest() if stat.S_ISREG(os.fstat(number).st_mode) else ""
    except (OSError, ValueError):
        return ""


def _ask_program(name: str) -> str:
    import shutil

    return spell_program(shutil.which(name) or "")


#: Who answers a kind of question, about files here.
ANSWERS: dict[str, Callable[[str], str]] = {
    "real": os.path.realpath,
    "there": lambda path: str(os.path.lexists(path)),
    "leads to": lambda path: _ask_kind(path, os.stat),
    "kind": _ask_kind,
    "entries": _ask_entries,
    "data": digest,
    "program": _ask_program,
    "file of a program": spell_program,
}
