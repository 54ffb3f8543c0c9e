"""Recorded worlds as `krmfn fit` reads them: files of jobs and a dump of the cluster; and what the simulator of Kueue
answered when it was asked about some of them, so that the join is tested where the simulator is not.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from conformance.kueue.byhand import HAND_WORLDS
from conformance.kueue.record import JOBS, read_all
from conformance.kueue.rig import CONFIGURATIONS, FRAMEWORKS
from krmfn.config import read_settings
from krmfn.krm import Stream
from krmfn.pipeline import foresee
from krmfn.workspace.simulator import simulate

Value = Mapping[str, Any]

ANSWERS: Final = Path(__file__).resolve().parent / "answers.json.xz"

#: Preemption, with fair sharing and without; topologies, an AdmissionCheck, and many that wait.
SEEDS: Final = (1, 3, 4, 7, 13, 39, 111, 115)


def split(record: Value) -> tuple[list[Value], list[Value]]:
    """The jobs of a world, and what else the API server took, with the configuration of the manager."""
    jobs, rest = [], []
    for value in record["objects"]:
        if value["kind"] in JOBS:
            jobs.append(value)
        elif f"{value['kind']}/{value['metadata']['name']}" not in record["refused"]:
            rest.append(value)
    settings = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "integrations": {"frameworks": list(FRAMEWORKS)},
        **CONFIGURATIONS[record["configuration"]],
    }
    metadata = {"name": "kueue-manager-config", "namespace": "kueue-system"}
    data = {"controller_manager_config.yaml": json.dumps(settings)}
    return jobs, [*rest, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}]


def spell(values: Iterable[Value]) -> str:
    """Objects as a file."""
    return "---\n".join(json.dumps(value) + "\n" for value in values)


def list_worlds(seeds: Iterable[int]) -> Iterator[tuple[str, Sequence[Value], Sequence[Value]]]:
    """By name the jobs of a world and its cluster: recorded ones by seed, and those written by hand."""
    wanted = set(seeds)
    yield from ((str(record["seed"]), *split(record)) for record in read_all() if record["seed"] in wanted)
    yield from ((name, *make()) for name, make in HAND_WORLDS.items())


def record_answers(program: str, seeds: Iterable[int]) -> int:
    """Writes what the simulator answers about these worlds, and those written by hand, by name; how many there are.
    Raises Unable."""
    found = {}
    for name, jobs, rest in list_worlds(seeds):
        asked: list[Value] = []

        def ask(question: Value, asked: list[Value] = asked) -> list[dict[str, Any]]:
            results = simulate(program, {"now": "2026-01-01T00:00:00Z", **question})
            asked.extend(json.loads(json.dumps(results)))  # what is read of them is changed
            return results

        cluster = {"items": rest, "listed": sorted({str(value["kind"]) for value in rest})}
        spec = {"kubernetes": {"version": "1.37"}, "cluster": cluster}
        settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})
        foresee(Stream.parse(spell(jobs).encode()).items, settings, None, ask)
        found[name] = asked
    ANSWERS.write_bytes(lzma.compress(json.dumps(found, separators=(",", ":")).encode(), preset=9))
    return len(found)


def read_answers() -> Mapping[str, list[dict[str, Any]]]:
    """What was answered, by the name of the world."""
    return dict(json.loads(lzma.decompress(ANSWERS.read_bytes())))
