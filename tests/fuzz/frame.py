"""Runs oracles: which there are, what a seed stands for, what a run has found. Must not know what they check."""

from __future__ import annotations

import importlib
import random
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
#: Cases of an oracle in the ordinary tests, unless it says otherwise.
CASES = 200


class Oracle(NamedTuple):
    """What holds, in words, and how one case is checked; `missing` says why it cannot be, empty when it can.

    `record` keeps answers of the programs that are asked, and `replay` compares with them where they are not there."""

    name: str
    text: str
    check: Callable[[random.Random], None]
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
            getattr(module, "CASES", CASES),
            getattr(module, "versions", dict),
            getattr(module, "missing", str),
            getattr(module, "replay", None),
            getattr(module, "record", None),
        )


def run_case(oracle: Oracle, seed: int) -> Failure | None:
    """One case; the same seed makes the same one."""
    try:
        oracle.check(random.Random(f"{oracle.name} {seed}"))
    except Exception:
        return Failure(oracle.name, seed, traceback.format_exc())
    return None


def run(oracle: Oracle, first: int, cases: int | None, seconds: float | None, most: int = 20) -> Summary:
    """Cases from a seed on, until there are `cases`, `seconds` have passed, or `most` have failed."""
    begin = time.monotonic()
    failures: list[Failure] = []
    done = 0
    while (cases is None or done < cases) and len(failures) < most:
        if seconds is not None and time.monotonic() - begin > seconds:
            break
        failure = run_case(oracle, first + done)
        done += 1
        if failure:
            failures.append(failure)
    return Summary(oracle, first, done, tuple(failures), time.monotonic() - begin)
