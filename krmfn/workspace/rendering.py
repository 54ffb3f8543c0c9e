"""Kustomizations as kustomize renders them, of the work tree or of a revision.

kustomize, or krmfn-renderer in its place, works on a copy (`staging`), with an environment in which it finds no
program and no network. The one function that runs is this program itself, unless others were allowed by name.
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
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from krmfn.model.kept import Printed
from krmfn.model.showing import HIDDEN
from krmfn.model.values import Fields, Names
from krmfn.workspace.disk import Disk, find_here
from krmfn.workspace.helm import Helm
from krmfn.workspace.processes import RENDERER, SIGNALS, Background, Failed, Renderer, find_program, hold_signals
from krmfn.workspace.sandbox import isolate
from krmfn.workspace.staging import Stage
from krmfn.workspace.trees import MOST_BYTES, InputMissing, NotRendered, Tree
from krmfn.workspace.witness import recall, spell_program
from krmfn.workspace.world import Rendering

_PLUGINS = ("--enable-alpha-plugins", "--enable-exec")
#: Nothing that people build takes as long, and a CI job should end with a word about the reason.
_MOST_SECONDS = 300.0
#: kustomize itself takes 1.3 GB of addresses, and a large build some hundred MB.
_MOST_MEMORY = 4 * 2**30
_OUT_OF_MEMORY = ("out of memory", "cannot allocate memory", "SIGXFSZ", "file too large")
#: kustomize lives for a moment: to collect its garbage less often saves up to 40 % of its time, where there is memory.
_MEMORY = {"GOGC": "400", "GOMEMLIMIT": "400MiB"}
#: Where kustomize begins to quote what it could not read: of anything, and of Secrets.
_QUOTES = re.compile(
    r"JSON patch from|with config:?|node contents:?|out of bounds for value|ID conflict:?"
    r"|missing metadata\.name(?= in object)|(?=map\[)"
)
_QUOTES_SECRETS = re.compile(rf"loading KV pairs:?|{_QUOTES.pattern}")
#: kustomize tries a file as a folder after all, and says in the end that it is not one.
_TRIED_AS_FOLDER = r"accumulating resources: accumulation err='(.*)': must build at directory: .*"
_INSTALL = "Install kustomize 5.0 or newer, or check the files as they are with --no-render."


class Rendered(NamedTuple):
    """What kustomize printed, with annotations that say where each object comes from.

    `copied` are the files that it was built from, without links; `configurations` those of krmfn that were used.
    `left_out` says what is not in it, because it cannot be had here. `brought` are the files that are not below the
    folder of the kustomization that names them, seen from the outermost one. `ran_in` are the folders whose
    kustomizations list the configurations, `templates` the files of charts, as the annotations spell them.
    """

    data: bytes
    copied: Collection[str]
    configurations: Sequence[Fields]
    left_out: Sequence[NotRendered] = ()
    brought: Names = ()
    ran_in: Names = ()
    templates: Collection[str] = ()


def render_all(
    tree: Tree,
    folders: Iterable[str],
    wanted: Rendering,
    free: Collection[str] = (),
    added: Mapping[str, Sequence[str]] = {},
) -> Generator[tuple[str, Rendered | NotRendered], None, None]:
    """Each folder and its kustomization, or the reason why it is not rendered; as many at a time as there are
    processors. The `free` ones may use files that are not below their folder; where rendering is not required all may,
    and what cannot be had and only adds objects is left out. `added` are components besides those that a folder's
    kustomization lists. What kustomize printed for other states is in `wanted.done`, by the digest of the copy: what
    would be built of the same files is not built again."""
    kustomize = find_program("kustomize")
    if reason := _find_obstacle(kustomize):
        yield from ((folder, reason) for folder in folders)
        return
    programs = {os.path.realpath(find_program(path) or path): os.path.realpath(path) for path in wanted.allowed}
    with end_with_signals(), tempfile.TemporaryDirectory(prefix="krmfn-") as temporary:
        root = os.path.realpath(temporary)
        waiting: deque[tuple[str, Build | Rendered | NotRendered]] = deque()
        known = Printed() if wanted.done is None else wanted.done
        partly, helm = not wanted.required, wanted.helm
        renderer = [path, kustomize] if (path := find_program(RENDERER)) else []
        spelled = tuple(map(spell_program, (kustomize, *renderer)))
        workshop = _Workshop(tree, kustomize, renderer, spelled, programs, root, partly, added, known, [], [], helm)
        rest = iter(folders)
        # One more than there are processors: a copy is made while the others are built.
        free_places = (os.cpu_count() or 1) + 1
        try:
            while True:
                while free_places and (folder := next(rest, None)):
                    begun = _begin(workshop, folder, free=partly or folder in free)
                    free_places -= isinstance(begun, Build)
                    waiting.append((folder, begun))
                if not waiting:
                    return
                folder, built = waiting.popleft()
                if isinstance(built, Build):
                    built = built.end()
                    free_places += 1
                yield folder, built
        finally:
            for each in workshop.running:
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
    """What the builds of a call share. `running` are all that were started, `idle` the renderers that wait; `renderer`
    is how one is started, empty when there is none; `spelled` says which programs these are."""

    tree: Tree
    kustomize: str
    renderer: list[str]
    spelled: Names
    programs: dict[str, str]
    root: str
    partly: bool
    added: Mapping[str, Sequence[str]]
    done: Printed
    running: list[Background | Renderer]
    idle: list[Renderer]
    helm: Helm | None = None


def _begin(workshop: _Workshop, folder: str, *, free: bool) -> Build | Rendered | NotRendered:
    """A build that runs, or what is known without one: what would be built of the same files is not planned again."""
    tree, planned = workshop.tree, []

    def plan() -> Any:
        own = tree.look_again() if isinstance(tree, Disk) else tree
        planned.append(Build(workshop._replace(tree=own), folder, free=free))
        return planned[0].spell()

    try:
        if isinstance(tree, Disk) and workshop.helm is None:
            named = workshop.spelled, workshop.programs, tree.here, tree.boundary, folder, free, workshop.partly
            known = recall("plan", repr((*named, workshop.added.get(folder))).encode("utf-8", "surrogatepass"), plan)
            if not planned and known[0] in workshop.done:
                digest, copied, left_out = known
                return Rendered(workshop.done[digest], copied, (), [*map(_read_reason, left_out)])
        if not planned:
            plan()
        build = planned[0]
        return build if build.start() else build.end()
    except NotRendered as reason:
        return reason
    except OSError as error:
        return NotRendered(f"cannot be copied: {error.strerror}")


def _read_reason(spelled: Fields) -> NotRendered:
    """What is left out, as Build.spell has it."""
    reason = NotRendered(spelled.pop("reason"))
    vars(reason).update(spelled)
    return reason


class Build:
    """kustomize at work on a copy of a kustomization."""

    def __init__(self, workshop: _Workshop, folder: str, *, free: bool) -> None:
        """Plans the copy below the workshop's root. Raises NotRendered and OSError."""
        self._workshop = workshop
        self._place = place = tempfile.mkdtemp(dir=workshop.root)
        self._running: Background | Renderer | None = None
        program = _write_program(workshop.root)
        self._stage = stage = Stage(
            workshop.tree, place, program, workshop.programs, free, workshop.partly, workshop.helm
        )
        self._built = stage.add(folder, components=workshop.added.get(folder, ()))
        stage.finish()
        self._words = [workshop.kustomize, "build", *(_PLUGINS if stage.runs else ()), self._built]
        self._digest = b"" if stage.runs else self._summarize()

    def spell(self) -> tuple[Any, ...] | None:
        """What makes `Rendered` of what is printed, as plain data: the digest, the files, and what is left out. None
        where it is called by names that only this run has."""
        stage = self._stage
        if stage.runs or stage.brought or stage.templates:
            return None
        return self._digest, stage.copied, [vars(each) | {"reason": str(each)} for each in stage.left_out]

    def start(self) -> bool:
        """Make the copy and start kustomize; False if another state or run has built the same. Raises OSError."""
        if self._digest in self._workshop.done:
            return False
        for path, data in self._stage.files.items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as stream:
                stream.write(data)
        self._stage.files.clear()
        self._start()
        return True

    def _summarize(self) -> bytes:
        """The digest of what kustomize would be started with: the program, its words, and all files of the copy."""
        named = self._workshop.spelled, [word.removeprefix(self._place) for word in self._words]
        found = hashlib.sha256(repr(named).encode())
        for path, data in sorted(self._stage.files.items()):
            found.update(repr((path.removeprefix(self._place), len(data))).encode())
            found.update(data)
        return found.digest()

    def _start(self) -> None:
        shop, root = self._workshop, self._workshop.root
        is_theirs = self._stage.runs_others
        environment = {**(os.environ if is_theirs else isolate(root)), **_MEMORY}
        with hold_signals():  # who is killed between a start and its being known leaves kustomize behind
            if shop.renderer and not self._stage.runs and self._built.isprintable():  # else no JSON
                with suppress(InputMissing):
                    if not shop.idle:
                        shop.idle.append(Renderer(shop.renderer, environment, root, _MOST_MEMORY))
                        shop.running.append(shop.idle[-1])
                    self._running = renderer = shop.idle.pop()
                    renderer.ask(self._words[2:])
                    return
            most = 0 if is_theirs else _MOST_MEMORY
            self._running = Background(self._words, environment, self._place, root, most)
            shop.running.append(self._running)

    def _wait(self, running: Background | Renderer) -> bytes:
        try:
            return running.end(_MOST_SECONDS)
        except InputMissing:  # another kustomize than its own, or a build that it did not survive
            self._workshop.renderer.clear()
            self._start()
        finally:
            if isinstance(running, Renderer) and running.is_running:
                self._workshop.idle.append(running)
        assert isinstance(self._running, Background)  # no renderer is left
        return self._running.end(_MOST_SECONDS)

    def end(self) -> Rendered | NotRendered:
        """What kustomize printed, or why it did not. The copy is gone then."""
        stage = self._stage
        try:
            data = self._wait(self._running) if self._running else self._workshop.done[self._digest]
        except Failed as failure:
            if stage.left_out:  # perhaps for lack of it
                return min(stage.left_out, key=lambda each: bool(each.sort)).of_whole()
            said = _tell(failure, self._place)
            if found := (_QUOTES_SECRETS if stage.makes_secrets else _QUOTES).search(said):
                said = f"{said[: found.end()]} {HIDDEN}"
            return NotRendered(f"cannot be built by kustomize: {said}")
        finally:
            shutil.rmtree(self._place, ignore_errors=True)
        if self._digest:
            self._workshop.done[self._digest] = data
        moved = {**stage.brought, **stage.templates}
        for copy, original in moved.items():  # in the annotations that say where objects come from
            copied, own = (os.fsencode(os.path.relpath(path, self._built)) for path in (copy, original))
            data = data.replace(b"path: " + copied, b"path: " + own)
        brought = tuple(sorted({os.path.relpath(path, self._built) for path in stage.brought.values()}))
        templates = {os.path.relpath(path, self._built) for path in stage.templates.values()}
        return Rendered(
            data, stage.copied, stage.configurations, stage.left_out, brought, tuple(stage.ran_in), templates
        )


@contextmanager
def end_with_signals() -> Iterator[None]:
    """A signal that ends this program raises KeyboardInterrupt in the block, which ends kustomize and takes the copy
    along. Then the program ends as the signal wants it."""
    caught = []

    def stop(number: int, _frame: object) -> None:
        caught.append(number)
        raise KeyboardInterrupt

    kept = {}
    if threading.current_thread() is threading.main_thread():  # the one that signals come to
        usual = (signal.SIG_DFL, signal.default_int_handler)
        kept = {number: found for number in SIGNALS if (found := signal.getsignal(number)) in usual}
    for number in kept:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
        for each in [each for each in caught if each != signal.SIGINT][:1]:
            signal.raise_signal(each)


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
