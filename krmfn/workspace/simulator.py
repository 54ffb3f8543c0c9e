"""The scheduler as a program: finds the simulator of a release and asks it. See simulator/README.md."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from krmfn.krm.sharing import prepare_start
from krmfn.workspace.processes import Failed, find_program, run
from krmfn.workspace.trees import InputMissing

#: So many processes at most: each holds the whole cluster.
_MOST = 4
#: The programs are called by release, so that several can be installed.
NAME = "krmfn-simulator-"


def find_simulator(release: str, given: str = "") -> str:
    """The program for a release: `given` (a file, or a folder with one for each release), else from the PATH. Empty
    when there is none. Raises InputMissing when `given` leads nowhere."""
    if not given:
        return find_program(NAME + release)
    place = os.path.join(given, NAME + release) if os.path.isdir(given) else given
    if not os.access(place, os.X_OK):
        raise InputMissing(f"--simulator {given}: no program {place}")
    return os.path.abspath(place)


def simulate(program: str, question: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The results of the question's trials, in order. Trials know nothing of each other: each processor takes a share.
    Raises Failed when the program ends with an error."""
    from concurrent.futures import ThreadPoolExecutor  # threads that wait for processes

    trials = list(question["trials"])
    shares = max(1, min(os.cpu_count() or 1, len(trials), _MOST))
    parts = [{**question, "trials": trials[share::shares]} for share in range(shares)]
    prepare_start()  # only the main thread can
    with ThreadPoolExecutor(shares) as pool:
        answers = list(pool.map(lambda part: _simulate(program, part), parts))
    return [answers[number % shares][number // shares] for number in range(len(trials))]


def _simulate(program: str, question: Mapping[str, Any]) -> list[dict[str, Any]]:
    out, _ = run([program], {"PATH": os.environ.get("PATH", "")}, stdin=json.dumps(question).encode())
    try:
        trials: list[dict[str, Any]] = json.loads(out)["trials"]
        if len(trials) == len(question["trials"]):
            return trials
    except (ValueError, TypeError, KeyError):
        pass
    raise Failed([f"{program} is not a krmfn-simulator: its answer cannot be read"]) from None


__all__ = ["NAME", "Failed", "find_simulator", "simulate"]
