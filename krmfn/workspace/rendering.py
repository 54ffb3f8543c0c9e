"""Kustomizations as kustomize renders them, of the work tree or of a revision.

kustomize works on a copy (`staging`), with an environment in which it finds no program and no network. The one function
that runs is this program itself, unless others were allowed by name.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from krmfn.krm.records import NamedTuple
from krmfn.model.showing import HIDDEN
from krmfn.workspace.disk import find_here
from krmfn.workspace.overlays import NotRendered
from krmfn.workspace.processes import Background, Failed, find_program
from krmfn.workspace.staging import Stage
from krmfn.workspace.trees import Tree

#: Nobody answers there: what kustomize would fetch fails at once.
_NOWHERE = "http://127.0.0.1:9"
_PLUGINS = ("--enable-alpha-plugins", "--enable-exec")
#: Nothing that people build takes as long, and a CI job should end with a word about the reason.
_MOST_SECONDS = 300.0
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
#: Where kustomize begins to quote what it could not read.
_QUOTES = re.compile("loading KV pairs:?|with config:?")
_INSTALL = "Install kustomize 5.0 or newer, or check the files as they are with --no-render."


class Rendered(NamedTuple):
    """What kustomize printed, with annotations that say where each object comes from.

    `copied` are the files that it was built from, without links; `configurations` those of krmfn that were used.
    """

    data: bytes
    copied: frozenset[str]
    configurations: tuple[dict[str, Any], ...]


def render(tree: Tree, folder: str, allowed: Sequence[str] = ()) -> Rendered:
    """The kustomization in a folder of a tree. `allowed` are the programs, besides krmfn, that it may run.

    Raises NotRendered.
    """
    (_, done) = next(render_all(tree, [folder], allowed))
    if isinstance(done, NotRendered):
        raise done
    return done


def render_all(
    tree: Tree, folders: Iterable[str], allowed: Sequence[str] = ()
) -> Generator[tuple[str, Rendered | NotRendered], None, None]:
    """Each folder and its kustomization, or the reason why it is not rendered; as many at a time as there are
    processors. What render() says holds for each."""
    kustomize = find_program("kustomize")
    if not kustomize:
        reason = NotRendered("needs kustomize, which is not on the PATH", _INSTALL)
        yield from ((folder, reason) for folder in folders)
        return
    programs = {os.path.realpath(find_program(path) or path): os.path.realpath(path) for path in allowed}
    with _ending_together(), tempfile.TemporaryDirectory(prefix="krmfn-") as temporary:
        root = os.path.realpath(temporary)
        waiting: deque[tuple[str, Build | NotRendered]] = deque()
        rest = iter(folders)
        try:
            while True:
                # One more than there are processors: a copy is made while the others are built.
                for folder in islice(rest, max(0, (os.cpu_count() or 1) + 1 - len(waiting))):
                    try:
                        waiting.append((folder, Build(tree, folder, kustomize, programs, root)))
                    except NotRendered as reason:
                        waiting.append((folder, reason))
                if not waiting:
                    return
                folder, build = waiting[0]
                done = build if isinstance(build, NotRendered) else build.end()
                waiting.popleft()
                yield folder, done
        finally:
            for _, build in waiting:
                if isinstance(build, Build):
                    build.kill()


class Build:
    """kustomize at work on a copy of a kustomization."""

    def __init__(
        self, tree: Tree, folder: str, kustomize: str, programs: dict[str, str], root: str, plain: bool = False
    ) -> None:
        """Makes the copy below `root` and starts kustomize. `plain` ones run no function, and do not say where objects
        come from. Raises NotRendered."""
        self._place = place = tempfile.mkdtemp(dir=root)
        self._copied: set[str] = set()

        def render_plainly(path: str) -> bytes:
            inner = Build(tree, path, kustomize, {}, root, plain=True).end()
            if isinstance(inner, NotRendered):
                raise inner
            self._copied.update(inner.copied)
            return inner.data

        self._stage = stage = Stage(tree, place, _write_program(root), {} if plain else programs, render_plainly)
        try:
            built = stage.add(folder, top=not plain)
            if plain and stage.runs:
                raise NotRendered(f"lists the kustomization {folder} as functions, which runs functions itself")
            flags = _PLUGINS if stage.runs else ()
            environment = dict(os.environ) if stage.runs_others else _spell_environment(root)
            self._running = Background([kustomize, "build", *flags, built], environment, place)
        except OSError as error:
            raise NotRendered(f"cannot be copied: {error.strerror}") from None

    def end(self) -> Rendered | NotRendered:
        """What kustomize printed, or why it did not. The copy is gone then."""
        stage = self._stage
        try:
            data = self._running.end(_MOST_SECONDS)
        except Failed as failure:
            said = _tell(failure, self._place)
            if stage.makes_secrets and (found := _QUOTES.search(said)):
                said = f"{said[: found.end()]} {HIDDEN}"
            return NotRendered(f"cannot be built by kustomize: {said}")
        finally:
            shutil.rmtree(self._place, ignore_errors=True)
        return Rendered(data, frozenset(stage.copied | self._copied), tuple(stage.configurations))

    def kill(self) -> None:
        """Ends kustomize, whatever it is at."""
        self._running.kill()


@contextmanager
def _ending_together() -> Iterator[None]:
    """A signal that ends this program ends kustomize, too, and takes the copy along."""
    caught: list[int] = []

    def stop(number: int, _frame: object) -> None:
        caught.append(number)
        raise KeyboardInterrupt

    kept = []
    if threading.current_thread() is threading.main_thread():  # the one that signals come to
        kept = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in kept:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in kept:
            signal.signal(number, signal.SIG_DFL)
        if caught:
            signal.raise_signal(caught[0])


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
    return {**homes, **proxies, "LC_ALL": "C.UTF-8"}


def _tell(failure: Failed, place: str) -> str:
    """What kustomize said, with the names of the user's files."""
    lines = [line for line in failure.lines if line.startswith("Error:")] or failure.lines[-1:] or [str(failure)]
    text = lines[0].removeprefix("Error: ").replace(place + os.sep, "/").replace(place, "/")
    # The way there names every kustomization between; what went wrong comes last, and is the same for all of them.
    inner = text.rpartition("recursed accumulation of path ")[2]
    text = inner.partition("': ")[2] if inner is not text and "': " in inner else text
    return text.replace(find_here() + os.sep, "")
