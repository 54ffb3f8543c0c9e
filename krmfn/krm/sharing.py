"""Runs a function on many things in several processes, which are forks of this one.

Nothing is forked before `allow` is called. The console script calls it, because its process has one thread. In a
library, a fork could wait for a lock that a thread of the caller holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Made = TypeVar("Made")
#: More processes make a run little faster, and each takes memory.
_MOST_PROCESSES = 4
#: How many things a process has to get: a fork takes some 20 ms, and has to save more.
_LEAST_THINGS = 500
#: How many parts the work has for each process: a slow one does fewer, and the wait for the last part is short.
_PARTS_EACH = 64
#: The process that may fork, which its forks may not.
_allowed: set[int] = set()


def allow() -> None:
    """Let this process fork from now on."""
    _allowed.add(os.getpid())


def prepare_start() -> None:
    """Call this before a process is started, or a thread that will start one. Where the caller of the console script
    ignores SIGCHLD, the exit codes of processes would be lost; a library leaves the signal unchanged."""
    if os.getpid() in _allowed:
        import signal

        if hasattr(signal, "SIGCHLD") and signal.getsignal(signal.SIGCHLD) != signal.SIG_DFL:  # Windows has none
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def share(work: Callable[[Any], Any], things: Sequence[Any], meanwhile: Callable[[], None] | None = None) -> list[Any]:
    """What `work` returns for each thing, in the order of the things. This process calls `meanwhile` while forks have
    begun with the things, and then helps them.

    `work` and `meanwhile` must not change what the other reads, `work` nothing that is read later, and what it returns
    can be pickled. What a fork did not finish, for lack of memory or because `work` raised, is done again here: so the
    errors are those of one process.
    """
    processes = _count_processes(len(things))
    if processes < 2:
        made = list(map(work, things))
        if meanwhile:
            meanwhile()
        return made
    from contextlib import suppress

    size = -(-len(things) // (_PARTS_EACH * processes))  # rounded up: at most 256 parts, numbered by one byte
    parts = [things[start : start + size] for start in range(0, len(things), size)]
    queue, entry = os.pipe()
    os.write(entry, bytes(range(len(parts))))
    os.close(entry)
    copies: list[_Copy] = []
    prepare_start()
    try:
        with suppress(OSError):  # no descriptor is left
            while len(copies) < processes - 1:
                copies.append(_Copy(work, parts, queue))
        if meanwhile:
            meanwhile()
        done = _pull(lambda part: list(map(work, part)), parts, queue, os.getppid())
        for copy in copies:
            done |= copy.read()
        return [each for number, part in enumerate(parts) for each in done.get(number) or map(work, part)]
    finally:
        os.close(queue)
        for copy in copies:
            copy.end()


def _pull(do: Callable[[Any], Made], parts: Sequence[Any], queue: int, parent: int) -> dict[int, Made]:
    """Do the parts whose numbers this process reads from the pipe `queue`, which all processes share. Ends early if the
    process that waits for this one, `parent`, is gone."""
    done = {}
    while os.getppid() == parent and (number := os.read(queue, 1)):
        done[number[0]] = do(parts[number[0]])
    return done


def _count_processes(things: int) -> int:
    if things < 2 * _LEAST_THINGS or os.getpid() not in _allowed:
        return 1
    if not hasattr(os, "fork") or not hasattr(os, "sched_getaffinity"):  # Linux has both
        return 1
    return min(len(os.sched_getaffinity(0)), things // _LEAST_THINGS, _MOST_PROCESSES)


class _Copy:
    """A fork that does parts until none is left, sends what it made through a pipe, and ends. Where the system refuses
    to fork, it does nothing."""

    def __init__(self, work: Callable[[Any], Any], parts: Sequence[Sequence[Any]], queue: int) -> None:
        import pickle

        self._load = pickle.loads
        self._process = 0
        self._reader, writer = os.pipe()
        here = os.getpid()
        try:
            self._process = os.fork()
            if not self._process:
                os.close(self._reader)  # so that writing fails once the first process is gone
                # Each part is packed before the next is taken: the first process does not wait for that at the end.
                done = _pull(lambda part: pickle.dumps(list(map(work, part))), parts, queue, here)
                rest = memoryview(pickle.dumps(done))
                while rest:
                    rest = rest[os.write(writer, rest) :]
                os._exit(0)
        except OSError:
            pass
        finally:  # whatever has happened, a copy tells nobody of it, and flushes nothing of the first process
            if os.getpid() != here:
                os._exit(1)
        os.close(writer)

    def read(self) -> dict[int, list[Any]]:
        """What it made, by the numbers of the parts; nothing if it failed. Call this once."""
        with os.fdopen(self._reader, "rb", closefd=False) as stream:
            data = stream.read()
        if not self._process:
            return {}
        process, self._process = self._process, 0
        done: dict[int, bytes] = self._load(data) if os.waitpid(process, 0)[1] == 0 else {}
        return {number: self._load(part) for number, part in done.items()}

    def end(self) -> None:
        """Stop the process, unless `read` has waited for its end."""
        os.close(self._reader)
        if self._process:
            import signal

            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
