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
from krmfn.workspace.processes import SimulatorFailed, simulate

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
    try:
        (answer,) = simulate(program, make_question(record))
    except SimulatorFailed as failure:
        raise Unable(str(failure)) from None
    jobs = [value for value in record["objects"] if value["kind"] in JOBS]
    simulated = read_answers(answer["workloads"], jobs)
    for job, real in record["answers"].items():
        yield Pair(record["seed"], job, real, simulated[job])
