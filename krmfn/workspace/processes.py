"""Other programs: the one module that starts them. Five are started: git, kustomize, helm,
krmfn-renderer and the simulator."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from krmfn.krm.sharing import prepare_start
from krmfn.model.values import Fields, Value
from krmfn.workspace.trees import MOST_BYTES, InputMissing, NotRendered
from krmfn.workspace.witness import isdir, note

if TYPE_CHECKING:
    from subprocess import Popen


#: The simulators are called by release, so that several can be installed. See simulator/README.md.
SIMULATORS = "krmfn-simulator-"
#: Builds kustomizations as kustomize does, many in one process. See renderer/README.md.
RENDERER = "krmfn-renderer"
#: So many processes of one at most: each holds the whole cluster.
_MOST = 4
#: A simulator gives up a trial after five minutes; one that goes on has come to no end.
_MOST_SECONDS = 360.0
#: Nobody answers there: what a program would fetch fails at once.
_NOWHERE = "http://127.0.0.1:9"
#: By machine: how seccomp(2) knows it, and the number of its socket(2). Both are in the headers of Linux.
_SOCKETS = {
    "x86_64": (0xC000003E, 41),
    "aarch64": (0xC00000B7, 198),
    "ppc64le": (0xC0000015, 326),
    "riscv64": (0xC00000F3, 198),
    "s390x": (0x80000016, 359),
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def hold_signals() -> Iterator[None]:
    """A block that no signal ends in the middle: those that come meanwhile count at its end."""
    caught = []
    try:
        kept = {number: signal.signal(number, lambda number, _: caught.append(number)) for number in SIGNALS}
    except ValueError:  # not the main thread, which is the one that is interrupted
        kept = {}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
        for each in caught:
            signal.raise_signal(each)


class Failed(Exception):
    """A program ended with another status than 0. `lines` is what it said, without empty lines."""

    def __init__(self, lines: Sequence[str], status: int = -1, out: bytes = b"") -> None:
        """The message is the last line; `out` is what was printed all the same."""
        super().__init__(lines[-1] if lines else f"exit status {status}")
        self.lines, self.status, self.out = lines, status, out


def run(
    words: Sequence[str],
    environment: Mapping[str, str],
    folder: str | None = None,
    stdin: bytes = b"",
    seconds: float | None = None,
) -> bytes:
    """Run a program to its end, with `stdin` on its standard input: its output.

    Raises Failed, also for a program that is still at work after `seconds`, and InputMissing when there is none.
    """
    import subprocess

    prepare_start()
    try:
        done = subprocess.run(
            words, cwd=folder, env=environment, input=stdin, capture_output=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise _tell_late(seconds) from None
    except FileNotFoundError:
        raise InputMissing(f"{words[0]} is not on the PATH") from None
    except OSError as error:
        raise InputMissing(f"{words[0]} cannot be started: {error.strerror}") from None
    if done.returncode:
        raise Failed(_split(done.stderr), done.returncode, done.stdout)
    return done.stdout


def has_output(process: Popen[bytes], seconds: float) -> bool:
    """Whether a program has printed something, or has ended, before `seconds` are over."""
    from select import select

    assert process.stdout is not None
    return bool(select([process.stdout], [], [], seconds)[0])


class Background:
    """A program at work beside this one. It writes into files, because a pipe that nobody reads would stop it."""

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        root: str,
        most_memory: int,
        offline: bool = False,
    ) -> None:
        """Starts it in `folder`; its output goes to files below `root`, which end with it. Where the system can see to
        it, it gets no more bytes of memory than `most_memory` and writes no larger file than is read. If it is
        `offline`, it gets no network on Linux, or raises NotRendered. Raises InputMissing when
        there is no such program."""
        import subprocess
        import tempfile

        self._out, self._err = (tempfile.TemporaryFile(dir=root) for _ in range(2))  # noqa: SIM115  # _close does
        null = subprocess.DEVNULL
        prepare_start()
        try:
            self._process = subprocess.Popen(
                words,
                cwd=folder,
                env=environment,
                stdin=null,
                stdout=self._out,
                stderr=self._err,
                preexec_fn=_cut if offline and sys.platform == "linux" else None,  # noqa: PLW1509  # no lock is held then
            )
        except subprocess.SubprocessError:  # of what is called before it starts
            self._close()
            message = "needs helm without a network, and this system does not let krmfn take it away"
            raise NotRendered(message, "Use Linux with seccomp, or check the output of helm template.") from None
        except OSError as error:
            self._close()
            raise InputMissing(f"{words[0]} cannot be started: {error.strerror}") from None
        if most_memory:
            _limit(self._process.pid, most_memory)

    def end(self, seconds: float) -> bytes:
        """Waits for its end: what it wrote. Raises Failed, also when it is still at work after `seconds`."""
        import subprocess

        try:
            status = self._process.wait(seconds)
            for stream in (self._out, self._err):
                stream.seek(0)
            if status:
                raise Failed(_split(self._err.read()), status)
            return self._out.read()
        except subprocess.TimeoutExpired:
            raise _tell_late(seconds) from None
        finally:
            self.kill()

    def kill(self) -> None:
        """Makes sure that it has ended."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._close()

    def _close(self) -> None:
        self._out.close()
        self._err.close()


class Renderer:
    """krmfn-renderer (see renderer/README.md), which is asked for one build after the other."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], root: str, most_memory: int) -> None:
        """Starts it; `words` are the program and the kustomize in whose place it builds: where that is built of other
        modules, it ends. For the rest see Background. Raises InputMissing when it cannot be started."""
        from tempfile import NamedTemporaryFile

        self._out = NamedTemporaryFile(dir=root, buffering=0)  # noqa: SIM115  # kill does
        try:
            self._process = start(words, environment, root)
        except OSError as error:
            raise InputMissing(f"{words[0]} cannot be started: {error.strerror}") from None
        _limit(self._process.pid, most_memory)

    def ask(self, words: Sequence[str]) -> None:
        """Begins a build, with arguments of `kustomize build`."""
        question = json.dumps({"words": words, "out": self._out.name}).encode() + b"\n"
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended, as `end` will find
            self._process.stdin.write(question)
            self._process.stdin.flush()

    def end(self, seconds: float) -> bytes:
        """Waits for the end of the build: what was built. Raises Failed with what kustomize says, also when it is still
        at work after `seconds`, which ends the program; InputMissing when it has ended by itself."""
        assert self._process.stdout is not None
        if not has_output(self._process, seconds):
            self.kill()
            raise _tell_late(seconds)
        answer = self._process.stdout.readline()
        if not answer.endswith(b"\n"):
            raise InputMissing("krmfn-renderer has ended")
        if said := json.loads(answer)["error"]:
            raise Failed(_split(said.encode()), 1)
        self._out.seek(0)
        return self._out.read()

    @property
    def is_running(self) -> bool:
        """Whether it can be asked again."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Makes sure that it has ended."""
        self._process.kill()
        self._process.communicate()
        self._out.close()


def start(words: Sequence[str], environment: Mapping[str, str], folder: str | None = None) -> Popen[bytes]:
    """Start a program to talk to: bytes on its stdin and stdout, and its stderr nowhere."""
    import subprocess

    prepare_start()
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)


def _tell_late(seconds: float | None) -> Failed:
    return Failed([f"it had not finished after {seconds:g} seconds"])


def _limit(process: int, most_memory: int) -> None:
    import resource

    if sys.platform == "linux":
        with suppress(OSError):  # it has ended, or has less already
            resource.prlimit(process, resource.RLIMIT_AS, (most_memory, most_memory))
            resource.prlimit(process, resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))


def _cut() -> None:
    """What a new process on Linux calls to have no sockets, ever again: seccomp(2), which needs no rights. It is an
    error, with which no program starts, if one can be opened all the same."""
    import ctypes
    import errno
    import socket
    import struct

    refuse = 0x50000 | errno.EACCES
    machine, call = _SOCKETS[os.uname().machine]
    lines = [
        (0x20, 0, 0, 4),  # of another architecture, whose calls have other numbers
        (0x15, 0, 5, machine),
        (0x20, 0, 0, 0),  # the call: for a socket, for a queue in which one can be asked for, or of x32
        (0x15, 3, 0, call),
        (0x15, 2, 0, 425),
        (0x35, 1, 0, 0x40000000),
        (0x06, 0, 0, 0x7FFF0000),
        (0x06, 0, 0, refuse),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    control, nothing = ctypes.CDLL(None).prctl, ctypes.c_ulong(0)
    control(38, ctypes.c_ulong(1), nothing, nothing, nothing)  # no more rights for what is started
    control(22, ctypes.c_ulong(2), struct.pack("HP", len(lines), ctypes.addressof(code)))
    try:
        socket.socket().close()
    except PermissionError:
        return
    raise OSError(errno.EPERM, "a socket could be opened")


def _split(said: bytes) -> list[str]:
    return [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()]


def isolate(root: str, homes: Sequence[str] = ()) -> dict[str, str]:
    """No program on the PATH (git, docker, helm), no home folder with plugins, no way into the network. `homes` are the
    program's own names for such folders; that of all is a new one below `root`."""
    import tempfile

    empty = tempfile.mkdtemp(dir=root)
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), _NOWHERE)
    folders = dict.fromkeys(("PATH", "HOME", "XDG_CONFIG_HOME", "KUSTOMIZE_PLUGIN_HOME", "TMPDIR", *homes), empty)
    return {**folders, **proxies, "LC_ALL": "C.UTF-8"}


def find_program(name: str) -> str:
    """The path of a program on the PATH, empty when there is none."""
    import shutil

    note("program", name)
    return os.path.abspath(found) if (found := shutil.which(name)) else ""


class SimulatorFailed(InputMissing):
    """A simulator, whose path comes first in the message, did not answer."""


def find_simulator(release: str, given: str = "") -> str:
    """The program for a release: `given` (a file, or a folder with one for each release), else from the PATH. Empty
    when there is none. That of Kueue may be missing in the folder, and is no `given` file: then it is from the PATH.
    Raises InputMissing when `given` leads nowhere."""
    place = os.path.join(given, SIMULATORS + release) if isdir(given) else given
    if not given or (release.startswith("kueue") and (place == given or not os.access(place, os.X_OK))):
        return find_program(SIMULATORS + release)
    note("file of a program", place)
    if not os.access(place, os.X_OK):
        raise InputMissing(f"--simulator {given}: no program {place}")
    return os.path.abspath(place)


def simulate(program: str, question: Value) -> list[Fields]:
    """The results of the question's trials, in order. Trials know nothing of each other: each processor takes a share.
    Raises SimulatorFailed."""
    from concurrent.futures import ThreadPoolExecutor  # threads that wait for processes

    trials = list(question["trials"])
    shares = max(1, min(os.cpu_count() or 1, len(trials), _MOST))
    parts = [{**question, "trials": trials[share::shares]} for share in range(shares)]
    prepare_start()  # only the main thread can
    with ThreadPoolExecutor(shares) as pool:
        answers = list(pool.map(lambda part: _simulate(program, part), parts))
    return [answers[number % shares][number // shares] for number in range(len(trials))]


def _simulate(program: str, question: Value) -> list[Fields]:
    names, asked = [trial["name"] for trial in question["trials"]], json.dumps(question).encode()
    try:
        out = run([program], {"PATH": os.environ.get("PATH", "")}, None, asked, _MOST_SECONDS * len(names))
        trials: list[Fields] = json.loads(out)["trials"]
        shapes = [_OF_KUEUE if "jobs" in each else {"pods": {key: {} for key in each["pods"]}} for each in trials]
        if [trial["name"] for trial in trials] == names and all(map(_fits, trials, shapes)):
            return trials
    except Failed as failure:
        crash = (line for line in failure.lines if line.startswith(("panic:", "fatal error:")))
        raise SimulatorFailed(f"{program}: {next(crash, failure)}") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise SimulatorFailed(f"{program} is not a krmfn-simulator: its answer cannot be read")


def _fits(value: object, shape: object) -> bool:
    """Whether a value has the types of a shape, which has an example of each."""
    if isinstance(value, dict) and isinstance(shape, dict):
        return all(key in value and _fits(value[key], each) for key, each in shape.items())
    if isinstance(value, list) and isinstance(shape, list):
        return all(_fits(each, shape[0]) for each in value)
    return type(value) is type(shape)


_DOMAINS = [{"labels": {}, "pods": 0}]
_PODS = [{"name": "", "count": 0, "flavors": [""], "labels": {}, "tolerations": [{}], "domains": _DOMAINS}]
_JOBS = [{"job": "", "state": "", "order": 0, "choice": True, "preempts": [""], "podSets": _PODS}]
_OF_KUEUE: Any = {"jobs": _JOBS, "workloads": [{}], "queues": [{}]}
