"""The same work on many things, shared among processes that are copies of this one.

Nothing is shared before `allow` is called: the console script does so, whose process has one thread and nobody else's
state. In a library a copy could wait for a lock that a thread of the caller holds.
"""

from __future__ import annotations

import os

from krmfn.krm.types import Any, Callable, Sequence

#: More processes make a run little faster, and each takes memory.
_MOST = 4
#: A copy has to save more time than making it takes: some 20 ms.
_LEAST = 500
#: The process that may copy itself, not its copies.
_allowed: set[int] = set()


def allow() -> None:
    """This process may copy itself from now on."""
    _allowed.add(os.getpid())


def pays(things: int) -> bool:
    """Whether work on so many things is shared."""
    return _count_processes(things) > 1


def share(work: Callable[[Any], Any], things: Sequence[Any]) -> list[Any]:
    """What `work` makes of each thing, in the order of the things.

    `work` changes nothing that is needed later, and what it makes can be pickled. What a copy did not end, for want of
    memory or because `work` raised something, is done again here: errors are those of one process.
    """
    processes = _count_processes(len(things))
    if processes < 2:
        return list(map(work, things))
    parts = [things[place::processes] for place in range(processes)]
    copies: list[_Copy] = []
    try:
        for part in parts[1:]:
            copies.append(_Copy(work, part))
        made: list[Any] = [None] * len(things)
        made[::processes] = map(work, parts[0])
        for place, copy in enumerate(copies, 1):
            made[place::processes] = copy.read() or map(work, parts[place])
        return made
    finally:
        for copy in copies:
            copy.end()


def _count_processes(things: int) -> int:
    if things < 2 * _LEAST or os.getpid() not in _allowed:
        return 1
    if not hasattr(os, "fork") or not hasattr(os, "sched_getaffinity"):  # Linux has both
        return 1
    return min(len(os.sched_getaffinity(0)), things // _LEAST, _MOST)


class _Copy:
    """A process that does its part, sends what it made, and ends. Where no process can be made it does nothing."""

    def __init__(self, work: Callable[[Any], Any], things: Sequence[Any]) -> None:
        import pickle

        self._load = pickle.loads
        self._process = 0
        self._reader, writer = os.pipe()
        here = os.getpid()
        try:
            self._process = os.fork()
            if not self._process:
                os.close(self._reader)  # so that writing fails once the first process is gone
                rest = memoryview(pickle.dumps(list(map(work, things)), pickle.HIGHEST_PROTOCOL))
                while rest:
                    rest = rest[os.write(writer, rest) :]
                os._exit(0)
        except OSError:
            pass
        finally:  # whatever has happened, a copy tells nobody of it, and flushes nothing of the first process
            if os.getpid() != here:
                os._exit(1)
        os.close(writer)

    def read(self) -> list[Any] | None:
        """What it made; None where it did not come to its end. To be called once."""
        with os.fdopen(self._reader, "rb", closefd=False) as stream:
            data = stream.read()
        if not self._process:
            return None
        process, self._process = self._process, 0
        made: list[Any] | None = self._load(data) if os.waitpid(process, 0)[1] == 0 else None
        return made

    def end(self) -> None:
        """Stop it where nobody waits for it any more."""
        os.close(self._reader)
        if self._process:
            import signal

            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
