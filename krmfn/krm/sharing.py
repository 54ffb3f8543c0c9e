"""The same work on many things, shared among processes that are copies of this one.

Nothing is shared before `allow` is called: the console script does so, whose process has one thread and nobody else's
state. In a library a copy could wait for a lock that a thread of the caller holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Made = TypeVar("Made")
#: More processes make a run little faster, and each takes memory.
_MOST = 4
#: A copy has to save more time than making it takes: some 20 ms.
_LEAST = 500
#: Parts of the work for each process: who is slow, or begins late, does fewer. What the last one takes is waited for.
_TURNS = 64
#: The process that may copy itself, not its copies.
_allowed: set[int] = set()


def allow() -> None:
    """This process may copy itself from now on."""
    _allowed.add(os.getpid())


def prepare_start() -> None:
    """To be called before a process is started, or a thread that will start one. Some callers ignore the end of
    processes, and how one ended would be lost; a library leaves that as it is."""
    if os.getpid() in _allowed:
        import signal

        if hasattr(signal, "SIGCHLD") and signal.getsignal(signal.SIGCHLD) != signal.SIG_DFL:  # Windows has none
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def share(work: Callable[[Any], Any], things: Sequence[Any], meanwhile: Callable[[], None] | None = None) -> list[Any]:
    """What `work` makes of each thing, in the order of the things. `meanwhile` is what else is to be done: this process
    does it while copies have begun with the things, and then helps them.

    Neither changes anything that the other needs, nor `work` what is needed later, and what it makes can be pickled.
    What a copy did not end, for want of memory or because `work` raised something, is done again here: errors are those
    of one process.
    """
    processes = _count_processes(len(things))
    if processes < 2:
        made = list(map(work, things))
        if meanwhile:
            meanwhile()
        return made
    from contextlib import suppress

    size = -(-len(things) // (_TURNS * processes))  # a byte tells the parts apart
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
    """Does the parts whose numbers come out of a pipe, from which others take some, too; no more of them once the
    process that waits for this one is gone."""
    done = {}
    while os.getppid() == parent and (number := os.read(queue, 1)):
        done[number[0]] = do(parts[number[0]])
    return done


def _count_processes(things: int) -> int:
    if things < 2 * _LEAST or os.getpid() not in _allowed:
        return 1
    if not hasattr(os, "fork") or not hasattr(os, "sched_getaffinity"):  # Linux has both
        return 1
    return min(len(os.sched_getaffinity(0)), things // _LEAST, _MOST)


class _Copy:
    """A process that does parts as long as there are some, sends what it made, and ends. Where no process can be made
    it does nothing."""

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
        """What it made of which parts; nothing where it did not come to its end. To be called once."""
        with os.fdopen(self._reader, "rb", closefd=False) as stream:
            data = stream.read()
        if not self._process:
            return {}
        process, self._process = self._process, 0
        done: dict[int, bytes] = self._load(data) if os.waitpid(process, 0)[1] == 0 else {}
        return {number: self._load(part) for number, part in done.items()}

    def end(self) -> None:
        """Stop it where nobody waits for it any more."""
        os.close(self._reader)
        if self._process:
            import signal

            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
