"""Runs oracles: which there are, what a seed stands for, what a run has found. Must not know what they check."""

from __future__ import annotations

import importlib
import random
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
#: Cases of an oracle in the ordinary tests, unless it says otherwise.
CASES = 200
#: So many cases are prepared together.
BATCH = 100
#: Seconds after which a run says again how far it is.
PROGRESS = 60
_interrupts: list[int] = []


class Oracle(NamedTuple):
    """What holds, in words, and how one case is checked; `missing` says why it cannot be, empty when it can.

    `check_many` gives the checks of many cases, for an oracle that asks a program about all of them at once. `record`
    keeps answers of the programs that are asked, and `replay` compares with them where they are not there."""

    name: str
    text: str
    check: Callable[[random.Random], None]
    check_many: Callable[[list[random.Random]], list[Callable[[], None]]] | None
    cases: int
    versions: Callable[[], dict[str, str]]
    missing: Callable[[], str]
    replay: Callable[[], None] | None
    record: Callable[[], None] | None


class Failure(NamedTuple):
    """A case that did not hold: `python -m tests.fuzz NAME --seed SEED` shows it again."""

    oracle: str
    seed: int
    error: str


class Summary(NamedTuple):
    """What a run of one oracle came to: seeds from `first` on, one for each case."""

    oracle: Oracle
    first: int
    cases: int
    failures: tuple[Failure, ...]
    seconds: float


def list_oracles() -> Iterator[Oracle]:
    """Every module beside this one that has a `check`, by name."""
    for path in sorted(HERE.glob("*.py")):
        if path.stem.startswith(("_", "test_")) or "\ndef check(" not in path.read_text(encoding="utf-8"):
            continue
        module = importlib.import_module(f"{__package__}.{path.stem}")
        yield Oracle(
            path.stem,
            (module.__doc__ or "").partition("\n")[0],
            module.check,
            getattr(module, "check_many", None),
            getattr(module, "CASES", CASES),
            getattr(module, "versions", dict),
            getattr(module, "missing", str),
            getattr(module, "replay", None),
            getattr(module, "record", None),
        )


def run_case(oracle: Oracle, seed: int) -> Failure | None:
    """One case; the same seed makes the same one."""
    return _judge(oracle, seed, partial(oracle.check, _randomize(oracle, seed)))


def _randomize(oracle: Oracle, seed: int) -> random.Random:
    return random.Random(f"{oracle.name} {seed}")


def _judge(oracle: Oracle, seed: int, check: Callable[[], None]) -> Failure | None:
    try:
        check()
    except Exception:
        return Failure(oracle.name, seed, traceback.format_exc())
    return None


def _list_checks(oracle: Oracle, first: int, cases: int | None) -> Iterator[tuple[int, Callable[[], None]]]:
    """The seeds from the first one on, each with its check."""
    last = None if cases is None else first + cases
    while last is None or first < last:
        seeds = range(first, first + BATCH if last is None else min(first + BATCH, last))
        randoms = [_randomize(oracle, seed) for seed in seeds]
        checks = oracle.check_many(randoms) if oracle.check_many else [partial(oracle.check, each) for each in randoms]
        yield from zip(seeds, checks, strict=True)
        first += BATCH


def run(
    oracle: Oracle,
    first: int,
    cases: int | None,
    seconds: float | None,
    most: int = 20,
    say: Callable[[str], None] = lambda text: None,
) -> Summary:
    """Cases from a seed on, until there are `cases`, `seconds` have passed, `most` have failed, or an interrupt was
    caught. `say` gets each failure when it is found, and now and then how far the run is."""
    begin = said = time.monotonic()
    failures: list[Failure] = []
    done = 0
    for seed, check in _list_checks(oracle, first, cases):
        now = time.monotonic()
        if now - said > PROGRESS:
            said = now
            say(f"{oracle.name}: {done:,} cases from {first:,}, {len(failures)} found, {now - begin:.0f} s")
        if _interrupts or len(failures) >= most or (seconds is not None and now - begin > seconds):
            break
        failure = _judge(oracle, seed, check)
        done += 1
        if failure:
            failures.append(failure)
            say(f"--- python -m tests.fuzz {failure.oracle} --seed {failure.seed}\n{failure.error}")
    return Summary(oracle, first, done, tuple(failures), time.monotonic() - begin)


def catch_interrupts() -> list[int]:
    """From here on a signal ends the run after the case under way; the list holds those that have come.

    Code under test would take the usual KeyboardInterrupt for its own."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: _interrupts.append(number))
    return _interrupts
