"""Many repositories, each checked in a process of its own as its CI would, and a folder that remembers the run."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import NamedTuple

from krmfn.model.values import Names
from krmfn.workspace.disk import Disk
from krmfn.workspace.processes import Failed, run
from krmfn.workspace.replacing import FileChange, replace
from krmfn.workspace.trees import InputMissing

#: A repository that takes longer is one that failed.
_MOST_SECONDS = 3600.0
_JOURNAL = "unfinished.jsonl"
_REPORTS = "reports"


class FleetMember(NamedTuple):
    """A line of a fleet. `folder` is a work tree or a bare repository; without a `revision` a work tree is checked as
    it is, and a bare repository at HEAD. `options` are those of `krmfn validate`, which are given as in its folder."""

    name: str
    folder: str
    owner: str = ""
    revision: str = ""
    paths: Names = (".",)
    configuration: str = ""
    options: Names = ()

    @property
    def file(self) -> str:
        """The name of its report: another one when something else is to be checked."""
        digest = sha256(repr(self).encode("utf-8", "surrogatepass")).hexdigest()
        return f"{re.sub('[^A-Za-z0-9._]+', '-', self.name)[:80]}-{digest[:8]}.json"


class Visit(NamedTuple):
    """What came of a repository: its report as JSON (empty: none), exit status, why it failed, and how long it took."""

    report: bytes
    status: int
    failure: str
    seconds: float


def check(repository: FleetMember) -> Visit:
    """Checks a repository. Whatever is wrong with it is in what is returned."""
    started = time.monotonic()
    report, status, failure = b"", 0, ""
    try:
        with _enter(repository) as (folder, words):
            options = [*repository.options]
            options += ["--config", repository.configuration] if repository.configuration else []
            # -P and no relative path: nothing in a repository is taken for a module of ours.
            command = [sys.executable, "-P", "-m", "krmfn", "validate", "-o", "json", *options, *words]
            modules = os.pathsep.join(os.path.abspath(path) for path in sys.path if path)
            report = run(command, {**os.environ, "PYTHONPATH": modules}, folder, seconds=_MOST_SECONDS)
    except Failed as failed:
        report, status = failed.out, failed.status
        if status != 1 or not report:
            said = [line.removeprefix("krmfn: ") for line in failed.lines]
            failure = "a file cannot be read" if status == 2 and report else said[-1] if said else str(failed)
    except InputMissing as missing:
        status, failure = 2, str(missing)
    except OSError as error:
        status, failure = 2, f"{repository.folder}: {error.strerror}"
    return Visit(report, status, failure, time.monotonic() - started)


@contextmanager
def _enter(repository: FleetMember) -> Iterator[tuple[str, list[str]]]:
    """The folder to be in, and what to check there. A bare repository gets an empty work tree, which lasts as long."""
    folder, revision = repository.folder, repository.revision
    if not os.path.isdir(folder):
        raise InputMissing(f"{folder}: no such folder")
    is_bare = all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))
    is_bare = is_bare and not os.path.lexists(os.path.join(folder, ".git"))
    revision = revision or ("HEAD" if is_bare else "")
    words = [f"git:{revision}:{path}".removesuffix(":.") if revision else path for path in repository.paths]
    if not is_bare:
        yield folder, words
        return
    with tempfile.TemporaryDirectory(prefix="krmfn-") as temporary:
        with open(os.path.join(temporary, ".git"), "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(f"gitdir: {os.path.realpath(folder)}\n")
        yield temporary, words


class Logbook:
    """The folder of a run: the reports, and what is done, so that a run that was ended goes on where it stopped."""

    def __init__(self, folder: str) -> None:
        """Begins a run, or goes on with one that has not come to its end. Raises OSError."""
        self._folder = folder
        self._journal = os.path.join(folder, _JOURNAL)
        os.makedirs(os.path.join(folder, _REPORTS), exist_ok=True)
        self._done = dict(self._list_done())
        if not os.path.exists(self._journal):
            for name in os.listdir(os.path.join(folder, _REPORTS)):
                os.remove(os.path.join(folder, _REPORTS, name))

    def find(self, repository: FleetMember) -> Visit | None:
        """What came of a repository before this run was ended; None where it was not reached or gave no report."""
        known = self._done.get(repository.file)
        report = self.read(os.path.join(_REPORTS, repository.file)) if known else None
        return known._replace(report=report) if known and report else None

    def keep(self, repository: FleetMember, visit: Visit) -> None:
        """Remembers what came of a repository."""
        if visit.report:
            self.write({os.path.join(_REPORTS, repository.file): visit.report})
            line = {"file": repository.file, **visit._asdict()}
            del line["report"]
            with open(self._journal, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(line) + "\n")

    def read(self, name: str) -> bytes | None:
        """A file of the folder, None where there is none."""
        return Disk(self._folder).find(os.path.join(self._folder, name))

    def write(self, files: Mapping[str, bytes]) -> None:
        """Writes files of the folder, all or none. Raises WriteFailed."""
        replace(FileChange(os.path.join(self._folder, name), self.read(name), data) for name, data in files.items())

    def end(self) -> None:
        """The run has come to its end: the next one begins anew."""
        if os.path.exists(self._journal):
            os.remove(self._journal)

    def _list_done(self) -> Iterator[tuple[str, Visit]]:
        for line in (self.read(_JOURNAL) or b"").splitlines():
            try:
                done = json.loads(line)
                yield str(done["file"]), Visit(b"", int(done["status"]), str(done["failure"]), float(done["seconds"]))
            except (ValueError, TypeError, KeyError, OverflowError, RecursionError):  # the last line of a killed run
                continue
