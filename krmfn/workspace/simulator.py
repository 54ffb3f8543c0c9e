"""The simulators of kube-scheduler and of Kueue, asked about trials in processes beside this one.

A simulator is a program for one release, so that several can be installed. See simulator/README.md.
"""

from __future__ import annotations

import json
import os
from typing import Any

from krmfn.krm.sharing import prepare_start
from krmfn.model.values import Fields, Value
from krmfn.workspace.processes import Failed, find_program, run
from krmfn.workspace.trees import InputMissing
from krmfn.workspace.witness import isdir, note

#: What the names of simulators begin with; the release follows.
SIMULATORS = "krmfn-simulator-"
#: How many processes of one simulator run at most: each has the whole cluster in its memory.
_MOST_PROCESSES = 4
#: A simulator gives up a trial after five minutes; one that goes on will not end.
_MOST_SECONDS = 360.0
_DOMAINS = [{"labels": {}, "pods": 0}]
_PODS = [{"name": "", "count": 0, "flavors": [""], "labels": {}, "tolerations": [{}], "domains": _DOMAINS}]
_JOBS = [{"job": "", "state": "", "order": 0, "choice": True, "preempts": [""], "podSets": _PODS}]
#: What a result of Kueue's simulator contains: an example of each type.
_OF_KUEUE: Any = {"jobs": _JOBS, "workloads": [{}], "queues": [{}]}


class SimulatorFailed(InputMissing):
    """The simulator at the path `program` did not answer."""

    def __init__(self, program: str, reason: str) -> None:
        """`reason` follows the path in the message."""
        super().__init__(f"{program}{reason}")
        self.program = program


def find_simulator(release: str, given: str = "") -> str:
    """The path of the simulator for a release; empty when there is none. It is looked for at `given`, a file or a
    folder with simulators, or else on the PATH. That of Kueue is looked for on the PATH, too, when it is not in the
    folder `given`, or `given` is a file: that one is a scheduler's. Raises InputMissing when there is no program at
    `given`."""
    place = os.path.join(given, SIMULATORS + release) if isdir(given) else given
    if not given or (release.startswith("kueue") and (place == given or not os.access(place, os.X_OK))):
        return find_program(SIMULATORS + release)
    note("file of a program", place)
    if not os.access(place, os.X_OK):
        raise InputMissing(f"--simulator {given}: no program {place}")
    return os.path.abspath(place)


def simulate(program: str, question: Value) -> list[Fields]:
    """The results of the trials of a question, in their order. Trials are independent: each process takes a share.

    Raises SimulatorFailed.
    """
    from concurrent.futures import ThreadPoolExecutor  # threads that wait for processes

    trials = list(question["trials"])
    shares = max(1, min(os.cpu_count() or 1, len(trials), _MOST_PROCESSES))
    parts = [{**question, "trials": trials[share::shares]} for share in range(shares)]
    prepare_start()  # only the main thread can
    with ThreadPoolExecutor(shares) as pool:
        answers = list(pool.map(lambda part: _simulate_share(program, part), parts))
    return [answers[number % shares][number // shares] for number in range(len(trials))]


def _simulate_share(program: str, question: Value) -> list[Fields]:
    names, asked = [trial["name"] for trial in question["trials"]], json.dumps(question).encode()
    try:
        out = run([program], {"PATH": os.environ.get("PATH", "")}, None, asked, _MOST_SECONDS * len(names))
        results: list[Fields] = json.loads(out)["trials"]
        if [result["name"] for result in results] == names and all(map(_is_readable, results)):
            return results
    except Failed as failure:
        crash = (line for line in failure.lines if line.startswith(("panic:", "fatal error:")))
        raise SimulatorFailed(program, f": {next(crash, failure)}") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise SimulatorFailed(program, " is not a krmfn-simulator: its answer cannot be read")


def _is_readable(result: Fields) -> bool:
    """Whether a result has what is read of it: a scheduler's says something of each pod."""
    return _fits(result, _OF_KUEUE if "jobs" in result else {"pods": {name: {} for name in result["pods"]}})


def _fits(value: object, shape: object) -> bool:
    """Whether a value has the types of a shape, which has an example of each."""
    if isinstance(value, dict) and isinstance(shape, dict):
        return all(key in value and _fits(value[key], each) for key, each in shape.items())
    if isinstance(value, list) and isinstance(shape, list):
        return all(_fits(each, shape[0]) for each in value)
    return type(value) is type(shape)
