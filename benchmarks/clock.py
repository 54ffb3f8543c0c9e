"""Runs programs and says how long they took and how much memory they held at most. Must not know what they are."""

import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple


class Program(NamedTuple):
    """A command, and the file it reads from stdin (nothing when None). `alone`: on one processor."""

    command: Sequence[str]
    stdin: Path | None = None
    alone: bool = False


class Run(NamedTuple):
    """Wall time, processor time of all its processes in seconds, peak resident memory of the largest one in bytes."""

    seconds: float
    processor: float
    memory: int


#: With bytecode, as installed programs have it, also where somebody switched it off for a checkout.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Failed(Exception):
    """A measured program did not succeed: its numbers would mean nothing."""


class Missing(Failed):
    """A program is not there and cannot be built here: the row cannot be measured."""


def run_once(program: Program, allowed: Collection[int] = (0,)) -> Run:
    """One run, its output thrown away. Raises Failed with the program's stderr when its exit status is not allowed."""
    with open(program.stdin or os.devnull, "rb") as stdin, open(os.devnull, "wb") as null:
        begin = time.perf_counter()
        with _stay_on_one() if program.alone else nullcontext():
            child = subprocess.Popen(program.command, stdin=stdin, stdout=null, stderr=subprocess.PIPE, env=ENVIRONMENT)
        assert child.stderr is not None
        complaint = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
    code = child.returncode = os.waitstatus_to_exitcode(status)
    if code not in allowed:
        raise Failed(f"{' '.join(program.command)}: exit {code}\n{complaint.decode(errors='replace')[:2000]}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit)


@contextmanager
def _stay_on_one() -> Iterator[None]:
    """What is started meanwhile stays on one processor, where the system can see to it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [min(usual)])
    try:
        yield
    finally:
        os.sched_setaffinity(0, usual)


def run_in_turns(programs: Mapping[str, Program], rounds: int) -> dict[str, Run]:
    """The best time and memory of each program over `rounds` rounds, in each of which every program runs once.

    The best and not the mean, because other work on the machine only ever adds. One more round goes before: it fills
    the file caches and lets Python write its bytecode.
    """
    runs: dict[str, list[Run]] = {name: [] for name in programs}
    for count in range(rounds + 1):
        for name, program in programs.items():
            run = run_once(program)
            if count:
                runs[name].append(run)
    return {
        name: Run(min(r.seconds for r in taken), min(r.processor for r in taken), min(r.memory for r in taken))
        for name, taken in runs.items()
    }
