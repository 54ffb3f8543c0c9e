"""Kustomizations as kustomize renders them, of the work tree or of a revision.

kustomize works on a copy (`staging`), with an environment in which it finds no program and no network. The one function
that runs is this program itself, unless others were allowed by name.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

from krmfn.model.showing import HIDDEN
from krmfn.workspace.aside import Aside
from krmfn.workspace.disk import find_here
from krmfn.workspace.overlays import NotRendered
from krmfn.workspace.patches import drop_patch, find_patch, supply_values
from krmfn.workspace.processes import Background, Failed, find_program
from krmfn.workspace.staging import Stage
from krmfn.workspace.trees import MOST_BYTES, Tree

#: A word that is in no file, the same in the copies of all states.
_WORD = os.urandom(8).hex()
#: Nobody answers there: what kustomize would fetch fails at once.
_NOWHERE = "http://127.0.0.1:9"
_PLUGINS = ("--enable-alpha-plugins", "--enable-exec")
#: Nothing that people build takes as long, and a CI job should end with a word about the reason.
_MOST_SECONDS = 300.0
#: kustomize itself takes 1.3 GB of addresses, and a large build some hundred MB.
_MOST_MEMORY = 4 * 2**30
_OUT_OF_MEMORY = ("out of memory", "cannot allocate memory", "SIGXFSZ", "file too large")
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
#: kustomize lives for a moment: to collect its garbage less often saves up to 40 % of its time, where there is memory.
_MEMORY = {"GOGC": "400", "GOMEMLIMIT": "400MiB"}
#: Where kustomize begins to quote what it could not read: of anything, and of Secrets.
_QUOTES = re.compile(
    r"JSON patch from|with config:?|node contents:?|out of bounds for value|ID conflict:?"
    r"|missing metadata\.name(?= in object)|(?=map\[)"
)
_QUOTES_SECRETS = re.compile(rf"loading KV pairs:?|{_QUOTES.pattern}")
#: kustomize tries a file as a folder after all, and says in the end that it is none.
_TRIED_AS_FOLDER = r"accumulating resources: accumulation err='(.*)': must build at directory: .*"
_INSTALL = "Install kustomize 5.0 or newer, or check the files as they are with --no-render."


class Rendered(NamedTuple):
    """What kustomize printed, with annotations that say where each object comes from, and with marks for the schemas
    that are `aside`.

    `copied` are the files that it was built from, without links; `configurations` those of krmfn that were used.
    `left_out` says what is not in it, because it cannot be had here. `brought` are the files that are not below the
    folder of the kustomization that names them, seen from the outermost one.
    """

    data: bytes
    copied: frozenset[str]
    configurations: tuple[dict[str, Any], ...]
    aside: Aside
    left_out: tuple[NotRendered, ...] = ()
    brought: tuple[str, ...] = ()


def render(tree: Tree, folder: str, allowed: Sequence[str] = ()) -> Rendered:
    """The kustomization in a folder of a tree. `allowed` are the programs, besides krmfn, that it may run.

    Raises NotRendered.
    """
    (_, done) = next(render_all(tree, [folder], allowed))
    if isinstance(done, NotRendered):
        raise done
    return done


def render_all(
    tree: Tree,
    folders: Iterable[str],
    allowed: Sequence[str] = (),
    free: Collection[str] = (),
    partly: bool = False,
    added: Mapping[str, Sequence[str]] = {},
    done: dict[bytes, bytes] | None = None,
) -> Generator[tuple[str, Rendered | NotRendered], None, None]:
    """Each folder and its kustomization, or the reason why it is not rendered; as many at a time as there are
    processors. What render() says holds for each. The `free` ones may use files that are not below their folder.
    `partly`: all are, and what cannot be had and only adds objects is left out. `added` are components besides those
    that a folder's kustomization lists. `done` is what kustomize printed for other states, by the digest of the copy:
    what would be built of the same files is not built again."""
    kustomize = find_program("kustomize")
    if reason := _find_obstacle(kustomize):
        yield from ((folder, reason) for folder in folders)
        return
    programs = {os.path.realpath(find_program(path) or path): os.path.realpath(path) for path in allowed}
    with _Signals() as signals, tempfile.TemporaryDirectory(prefix="krmfn-") as temporary:
        root = os.path.realpath(temporary)
        waiting: deque[tuple[str, Build | NotRendered]] = deque()
        aside = Aside(_WORD)
        workshop = _Workshop(tree, (kustomize, "build"), programs, root, signals, partly, set(), aside, added, done)
        rest = iter(folders)
        try:
            while True:
                # One more than there are processors: a copy is made while the others are built.
                for folder in islice(rest, max(0, (os.cpu_count() or 1) + 1 - len(waiting))):
                    try:
                        build = Build(workshop, folder, free=partly or folder in free)
                        waiting.append((folder, build))
                        build.start()
                    except NotRendered as reason:
                        if waiting and waiting[-1][0] == folder:  # it could not be started
                            waiting.pop()
                        waiting.append((folder, reason))
                if not waiting:
                    return
                folder, first = waiting[0]
                result = first if isinstance(first, NotRendered) else first.end()
                waiting.popleft()
                yield folder, result
        finally:
            for _, each in waiting:
                if isinstance(each, Build):
                    each.kill()


def _find_obstacle(kustomize: str) -> NotRendered | None:
    """What is missing to render anything."""
    if not kustomize:
        return NotRendered("needs kustomize, which is not on the PATH", _INSTALL)
    try:
        tempfile.gettempdir()
    except OSError:  # in a read-only container
        return NotRendered("needs a folder for temporary files, and there is none", "Set TMPDIR to one.")
    return None


class _Workshop(NamedTuple):
    """What the builds of a call share. `lost` are the patches that one of them did without, by folder and target."""

    tree: Tree
    command: Sequence[str]
    programs: dict[str, str]
    root: str
    signals: _Signals
    partly: bool
    lost: set[tuple[str, str]]
    aside: Aside
    added: Mapping[str, Sequence[str]]
    done: dict[bytes, bytes] | None


class Build:
    """kustomize at work on a copy of a kustomization."""

    def __init__(
        self,
        workshop: _Workshop,
        folder: str,
        *,
        free: bool,
        depth: int = 0,
        known: dict[str, Rendered | NotRendered] | None = None,
    ) -> None:
        """Makes the copy below the workshop's root. `known` are the inner builds that were made for the same outer one,
        each of which is used `depth` levels below it; None for an outer one. Inner ones run no function, leave nothing
        out, and do not say where objects come from. Raises NotRendered."""
        plain = known is not None
        self._workshop = workshop = (
            workshop._replace(programs={}, partly=False, lost=set(), added={}) if plain else workshop
        )
        self._place = place = tempfile.mkdtemp(dir=workshop.root)
        self._copied: set[str] = set()
        self._running: Background | None = None
        self._digest = b""
        done_before = {} if known is None else known

        def render_plainly(path: str, depth: int) -> bytes:
            if path not in done_before:  # 20 folders, each using the next one twice, are a million uses
                inner = Build(workshop, path, free=free, depth=depth, known=done_before)
                try:
                    inner.start()
                    done_before[path] = inner.end()
                finally:
                    inner.kill()
            done = done_before[path]
            if isinstance(done, NotRendered):
                raise done
            self._copied.update(done.copied)
            return done.aside.restore(done.data)

        program = _write_program(workshop.root)
        self._stage = stage = Stage(
            workshop.tree, place, program, workshop.programs, render_plainly, workshop.aside, free, workshop.partly
        )
        try:
            components = workshop.added.get(folder, ())
            self._built = built = stage.add(folder, top=not plain, depth=depth, components=components)
            stage.finish()
            self._supplied = supply_values(stage.emptied, stage.files)
            self._drop_lost()
        except OSError as error:
            raise NotRendered(f"cannot be copied: {error.strerror}") from None
        if plain and stage.runs:
            raise NotRendered(f"lists the kustomization {folder} as functions, which runs functions itself")
        self._words = [*workshop.command, *(_PLUGINS if stage.runs else ()), built]

    def start(self) -> None:
        """Starts kustomize, unless another state has the same copy. Raises NotRendered."""
        if self._workshop.done is not None and not self._stage.runs:
            self._digest = self._summarize()
            if self._digest in self._workshop.done:
                return
        self._run()

    def _summarize(self) -> bytes:
        """The digest of what kustomize would be started with: its words, and all files of the copy."""
        found = hashlib.sha256(repr([word.removeprefix(self._place) for word in self._words]).encode())
        for path in self._stage.files:
            with open(path, "rb") as stream:
                data = stream.read()
            found.update(repr((path.removeprefix(self._place), len(data))).encode())
            found.update(data)
        return found.digest()

    def _run(self) -> None:
        environment = {**os.environ, **_MEMORY} if self._stage.runs_others else _spell_environment(self._workshop.root)
        try:
            root = self._workshop.root
            out, err = (tempfile.TemporaryFile(dir=root) for _ in range(2))  # noqa: SIM115  # Background closes them
        except OSError as error:
            raise NotRendered(f"cannot be copied: {error.strerror}") from None
        with self._workshop.signals.hold():  # who is killed between a start and its being known leaves kustomize behind
            most = 0 if self._stage.runs_others else _MOST_MEMORY
            self._running = Background(self._words, environment, self._place, out, err, most)

    def end(self) -> Rendered | NotRendered:
        """What kustomize printed, or why it did not. The copy is gone then."""
        stage = self._stage
        try:
            data = self._end()
        except Failed as failure:
            if stage.left_out:  # perhaps for lack of it
                return stage.left_out[0]
            said = _tell(failure, self._place)
            if found := (_QUOTES_SECRETS if stage.makes_secrets else _QUOTES).search(said):
                said = f"{said[: found.end()]} {HIDDEN}"
            return NotRendered(f"cannot be built by kustomize: {said}")
        except NotRendered as reason:
            return reason
        finally:
            shutil.rmtree(self._place, ignore_errors=True)
        for copy, original in stage.brought.items():  # in the annotations that say where objects come from
            copied, own = (os.fsencode(os.path.relpath(path, self._built)) for path in (copy, original))
            data = data.replace(b"path: " + copied, b"path: " + own)
        brought = tuple(sorted({os.path.relpath(path, self._built) for path in stage.brought.values()}))
        files = frozenset(stage.copied | self._copied)
        return Rendered(data, files, tuple(stage.configurations), self._workshop.aside, tuple(stage.left_out), brought)

    def _end(self) -> bytes:
        """What kustomize prints in the end. Patches of what is left out change nothing else, and are taken away one by
        one as kustomize complains of them. Raises Failed and NotRendered."""
        known = self._workshop.done if self._digest else None
        if known is not None and self._digest in known:
            return known[self._digest]
        while True:
            assert self._running is not None
            try:
                data = self._running.end(_MOST_SECONDS)
                if known is not None:
                    known[self._digest] = data
                return data
            except Failed as failure:
                known = None  # other builds have to do without what this one does without
                found = find_patch(failure.lines, self._built) if self._stage.left_out else None
                if found and drop_patch(*found):
                    self._workshop.lost.add((found[0].removeprefix(self._place), found[1]))
                    self._drop_lost()
                elif self._supplied:  # perhaps a literal has that name
                    self._supplied = supply_values(self._stage.emptied, ())
                else:
                    raise
            self._run()

    def _drop_lost(self) -> None:
        for folder, target in sorted(self._workshop.lost) if self._stage.left_out else ():
            drop_patch(self._place + folder, target)

    def kill(self) -> None:
        """Ends kustomize, whatever it is at."""
        if self._running:
            self._running.kill()


class _Signals:
    """A signal that ends this program ends kustomize, too, and takes the copy along."""

    def __enter__(self) -> _Signals:
        """From here on such a signal raises KeyboardInterrupt."""
        self._caught: list[int] = []
        self._held = False
        self._kept = {}
        if threading.current_thread() is threading.main_thread():  # the one that signals come to
            usual = (signal.SIG_DFL, signal.default_int_handler)
            self._kept = {number: found for number in _SIGNALS if (found := signal.getsignal(number)) in usual}
        for number in self._kept:
            signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        """The program ends as the signal wants it."""
        for number, handler in self._kept.items():
            signal.signal(number, handler)
        ends = [number for number in self._caught if number != signal.SIGINT]
        if ends:
            signal.raise_signal(ends[0])

    @contextmanager
    def hold(self) -> Iterator[None]:
        """A block that no signal ends in the middle."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._caught:
            raise KeyboardInterrupt

    def _stop(self, number: int, _frame: object) -> None:
        self._caught.append(number)
        if not self._held:
            raise KeyboardInterrupt


def _write_program(root: str) -> str:
    """A program that is this krmfn, run by this Python, wherever kustomize starts it. It never fails: what it would
    refuse is found again by whoever checks its output."""
    path = os.path.join(root, "krmfn")
    if not os.path.exists(path):
        import krmfn

        home = os.path.dirname(os.path.dirname(os.path.abspath(krmfn.__file__)))
        code = f"import sys; sys.path.insert(0, {home!r}); from krmfn.function import main; sys.exit(3 * (main() == 3))"
        # -I: neither PYTHONPATH nor the working directory decides what is imported.
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -c {shlex.quote(code)}\n")
        os.chmod(path, 0o700)
    return path


def _spell_environment(root: str) -> dict[str, str]:
    """No program on the PATH (git, docker, helm), no home folder with plugins, no way into the network."""
    empty = os.path.join(root, "empty")
    os.makedirs(empty, exist_ok=True)
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), _NOWHERE)
    homes = dict.fromkeys(("PATH", "HOME", "XDG_CONFIG_HOME", "KUSTOMIZE_PLUGIN_HOME", "TMPDIR"), empty)
    return {**homes, **proxies, **_MEMORY, "LC_ALL": "C.UTF-8"}


def _tell(failure: Failed, place: str) -> str:
    """What kustomize said, with the names of the user's files."""
    if any(word in line for line in failure.lines for word in _OUT_OF_MEMORY):
        most, file = _MOST_MEMORY // 2**30, MOST_BYTES // 2**20
        return f"it needs more than {most} GiB of memory, or writes more than {file} MiB"
    lines = [line for line in failure.lines if line.startswith("Error:")] or failure.lines[-1:] or [str(failure)]
    text = lines[0].removeprefix("Error: ").removesuffix(" with config: `")
    text = text.replace(place + os.sep, "/").replace(place, "/")
    # The way there names every kustomization between; what went wrong comes last, and is the same for all of them.
    inner = text.rpartition("recursed accumulation of path ")[2]
    text = inner.partition("': ")[2] if inner is not text and "': " in inner else text
    text = re.sub(_TRIED_AS_FOLDER, r"\1", text)
    return text.replace(find_here() + os.sep, "")
