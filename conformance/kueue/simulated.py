"""What krmfn-simulator-kueue answers about recorded worlds, beside what the manager on a real API server decided.

`disagreements.json` lists where the two differ about who is admitted, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from conformance.ending import Unable
from conformance.kueue.answers import read_answers
from conformance.kueue.record import JOBS, list_steps
from conformance.kueue.rig import CONFIGURATIONS, FRAMEWORKS
from conformance.kueue.worlds import World
from krmfn.survey.control_plane import find_time
from krmfn.workspace.simulator import SimulatorFailed, simulate

Value = dict[str, Any]

DISAGREEMENTS: Final = Path(__file__).resolve().parent / "disagreements.json"
#: What must be the same of an admitted job.
_PARTS: Final = ("flavors", "counts", "domains")


class Pair(NamedTuple):
    """A job: what the manager decided, and what the simulator did."""

    seed: int
    job: str
    real: Mapping[str, Any]
    simulated: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.seed} {self.job}"

    @property
    def agrees(self) -> bool:
        """Whether both admit it, or neither."""
        return bool(self.real["admitted"] == self.simulated["admitted"])

    @property
    def differing(self) -> list[str]:
        """What of its place differs, where both admit it."""
        if not (self.real["admitted"] and self.simulated["admitted"]):
            return []
        return [part for part in _PARTS if self.real[part] != self.simulated[part]]


def read_disagreements() -> Mapping[str, str]:
    """Jobs about which the two differ, by seed and name, each with the reason."""
    return dict(json.loads(DISAGREEMENTS.read_text()))


def make_question(record: Mapping[str, Any]) -> Value:
    """The recorded world as it was created: a job waits until nothing moves any more."""
    world = World(record["seed"])
    world.objects = record["objects"]
    settings = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "integrations": {"frameworks": list(FRAMEWORKS)},
        **CONFIGURATIONS[record["configuration"]],
    }
    trials = [{"name": "world", "steps": list(list_steps(world))}]
    return {"configuration": settings, "steps": [], "trials": trials, "now": "2026-01-01T00:00:00Z"}


def compare(program: str, record: Mapping[str, Any]) -> Iterator[Pair]:
    """Each job of a recorded world. Raises Unable."""
    (answer,) = _ask(program, make_question(record))
    jobs = [value for value in record["objects"] if value["kind"] in JOBS]
    simulated = read_answers(answer["workloads"], jobs)
    for job, real in record["answers"].items():
        yield Pair(record["seed"], job, real, simulated[job])


def resume(program: str, record: Mapping[str, Any]) -> Iterator[Pair]:
    """The same in two halves: what Kueue made of all jobs but the last one is a dump, without these jobs, and the last
    one comes. A Workload of the dump that makes room is evicted as if the cluster ran its job. Raises Unable."""
    question = make_question(record)
    (trial,) = question["trials"]
    steps = trial["steps"]
    cut = max(number for number, step in enumerate(steps) if step[-1]["kind"] in JOBS)
    (before,) = _ask(program, {**question, "trials": [{**trial, "steps": steps[:cut]}]})
    made = {each["metadata"]["name"]: each["metadata"]["ownerReferences"] for each in before["workloads"]}
    there = [value for step in steps[:cut] for value in step if value["kind"] not in JOBS]
    queues = [value for value in there if value["kind"].endswith("Queue")]
    if not queues:  # they come after the jobs: nothing is decided before the last one
        return
    others = [value for value in there if value not in queues]
    later = [[*others, *before["workloads"], *queues], *steps[cut:]]  # as krmfn fit does
    time = find_time(before["workloads"]) or question["now"]  # nothing was decided, where none has a Workload
    settings = {key: value for key, value in question["configuration"].items() if key != "waitForPodsReady"}
    again = {**question, "configuration": settings, "now": time, "trials": [{**trial, "steps": later}]}
    (after,) = _ask(program, again)
    for workload in after["workloads"]:
        workload["metadata"].setdefault("ownerReferences", made.get(workload["metadata"]["name"], []))
    jobs = [value for value in record["objects"] if value["kind"] in JOBS]
    simulated = read_answers(after["workloads"], jobs)
    for job, real in record["answers"].items():
        yield Pair(record["seed"], job, real, simulated[job])


def _ask(program: str, question: Mapping[str, Any]) -> list[Value]:
    """The results of the trials. Raises Unable."""
    try:
        return simulate(program, question)
    except SimulatorFailed as failure:
        raise Unable(str(failure)) from None
