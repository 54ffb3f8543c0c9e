"""Other programs: the one module that starts them. They are git, kustomize, helm, krmfn-renderer and the simulators."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from krmfn.krm.sharing import prepare_start
from krmfn.workspace.sandbox import cut_network, limit_memory
from krmfn.workspace.trees import InputMissing, NotRendered
from krmfn.workspace.witness import note

if TYPE_CHECKING:
    from subprocess import Popen

#: The program that builds kustomizations as kustomize does, many in one process. See renderer/README.md.
RENDERER = "krmfn-renderer"
#: The signals that ask a program to end.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def hold_signals() -> Iterator[None]:
    """Delay SIGNALS that come within a block until its end."""
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
    """A program ended with another status than 0, or too late. `lines` are those of its stderr that are not empty."""

    def __init__(self, lines: Sequence[str], status: int = -1, out: bytes = b"") -> None:
        """The message is the last line; `out` is its stdout."""
        super().__init__(lines[-1] if lines else f"exit status {status}")
        self.lines, self.status, self.out = lines, status, out


def run(
    words: Sequence[str],
    environment: Mapping[str, str],
    folder: str | None = None,
    stdin: bytes = b"",
    seconds: float | None = None,
) -> bytes:
    """Run a program to its end, with `stdin` on its standard input. Returns its stdout.

    Raises Failed, also for a program that is still running after `seconds`, and InputMissing when it cannot be started.
    """
    import subprocess

    prepare_start()
    try:
        done = subprocess.run(
            words, cwd=folder, env=environment, input=stdin, capture_output=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise _time_out(seconds) from None
    except FileNotFoundError:
        raise InputMissing(f"{words[0]} is not on the PATH") from None
    except OSError as error:
        raise InputMissing(f"{words[0]} cannot be started: {error.strerror}") from None
    if done.returncode:
        raise Failed(_list_lines(done.stderr), done.returncode, done.stdout)
    return done.stdout


def start(words: Sequence[str], environment: Mapping[str, str], folder: str | None = None) -> Popen[bytes]:
    """Start a program to talk to over its stdin and stdout; its stderr is lost. Raises OSError."""
    import subprocess

    prepare_start()
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)


def has_output(process: Popen[bytes], seconds: float) -> bool:
    """Wait until a program has printed something or has ended, at most `seconds`: whether it has."""
    from select import select

    assert process.stdout is not None
    return bool(select([process.stdout], [], [], seconds)[0])


class Background:
    """A program that runs beside this one. It writes into files: a pipe that nobody reads would stop it."""

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        root: str,
        most_memory: int,
        offline: bool = False,
    ) -> None:
        """Start it in `folder`, with its output in temporary files below `root`. On Linux it gets at most `most_memory`
        bytes (0: no limit), and no network if it is `offline`. Raises NotRendered where the network cannot be taken
        away, and InputMissing when it cannot be started."""
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
                preexec_fn=cut_network if offline and sys.platform == "linux" else None,  # noqa: PLW1509  # no lock is held then
            )
        except subprocess.SubprocessError:  # preexec_fn raised
            self._close()
            message = "needs helm without a network, and this system does not let krmfn take it away"
            raise NotRendered(message, "Use Linux with seccomp, or check the output of helm template.") from None
        except OSError as error:
            self._close()
            raise InputMissing(f"{words[0]} cannot be started: {error.strerror}") from None
        if most_memory:
            limit_memory(self._process.pid, most_memory)

    def end(self, seconds: float) -> bytes:
        """Wait for its end and return its stdout. Raises Failed, also after `seconds`, when it is killed."""
        import subprocess

        try:
            status = self._process.wait(seconds)
            for stream in (self._out, self._err):
                stream.seek(0)
            if status:
                raise Failed(_list_lines(self._err.read()), status)
            return self._out.read()
        except subprocess.TimeoutExpired:
            raise _time_out(seconds) from None
        finally:
            self.kill()

    def kill(self) -> None:
        """Make sure that it has ended."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._close()

    def _close(self) -> None:
        self._out.close()
        self._err.close()


class Renderer:
    """A process of RENDERER, which does one build after the other."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], root: str, most_memory: int) -> None:
        """Start it; `words` are the program and the kustomize in whose place it builds. It ends at once where that
        consists of other modules. For the rest see Background. Raises InputMissing when it cannot be started."""
        from tempfile import NamedTemporaryFile

        self._out = NamedTemporaryFile(dir=root, buffering=0)  # noqa: SIM115  # kill does
        try:
            self._process = start(words, environment, root)
        except OSError as error:
            raise InputMissing(f"{words[0]} cannot be started: {error.strerror}") from None
        limit_memory(self._process.pid, most_memory)

    def ask(self, words: Sequence[str]) -> None:
        """Begin a build, with the arguments of `kustomize build`."""
        question = json.dumps({"words": words, "out": self._out.name}).encode() + b"\n"
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended: `end` says so
            self._process.stdin.write(question)
            self._process.stdin.flush()

    def end(self, seconds: float) -> bytes:
        """Wait for the end of the build and return what was built. Raises Failed with the error of kustomize, also when
        it is not done after `seconds`, which kills the process; InputMissing when that has ended by itself."""
        assert self._process.stdout is not None
        if not has_output(self._process, seconds):
            self.kill()
            raise _time_out(seconds)
        answer = self._process.stdout.readline()
        if not answer.endswith(b"\n"):
            raise InputMissing("krmfn-renderer has ended")
        if said := json.loads(answer)["error"]:
            raise Failed(_list_lines(said.encode()), 1)
        self._out.seek(0)
        return self._out.read()

    @property
    def is_running(self) -> bool:
        """Whether it can be asked again."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Make sure that it has ended."""
        self._process.kill()
        self._process.communicate()
        self._out.close()


def _time_out(seconds: float | None) -> Failed:
    return Failed([f"it had not finished after {seconds:g} seconds"])


def _list_lines(said: bytes) -> list[str]:
    return [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()]


def find_program(name: str) -> str:
    """The path of a program on the PATH, empty when there is none. Notes for the cache that it was looked for."""
    import shutil

    note("program", name)
    return os.path.abspath(found) if (found := shutil.which(name)) else ""
