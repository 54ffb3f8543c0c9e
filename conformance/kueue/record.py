"""Asks the manager about made-up worlds, many at a time, and writes down what it decided.

The jobs of a world come one after the other, each when nothing moves any more, so that the answer does not depend on
how fast the machine is. Worlds share a control plane and know nothing of each other.
"""

from __future__ import annotations

import json
import lzma
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from conformance.kueue.answers import read_answers
from conformance.kueue.build import VERSION
from conformance.kueue.rig import KUEUE, Rig, start
from conformance.kueue.worlds import World, make_world

Value = dict[str, Any]

RECORDED: Final = Path(__file__).resolve().parent / "recorded"
#: The manager tries again what it put back one second after something changed; timestamps have whole seconds.
_CALM_SECONDS: Final = 1.2
_LAST_SECONDS: Final = 2.5
_PATIENCE_SECONDS: Final = 30.0
JOBS: Final = ("Job", "JobSet", "RayJob", "RayCluster")
_PLURALS: Final[Mapping[str, str]] = {
    **{"Namespace": "namespaces", "Node": "nodes", "ResourceFlavor": "resourceflavors", "Topology": "topologies"},
    **{"WorkloadPriorityClass": "workloadpriorityclasses", "AdmissionCheck": "admissionchecks", "Cohort": "cohorts"},
    **{"ClusterQueue": "clusterqueues", "LocalQueue": "localqueues", "Job": "jobs", "JobSet": "jobsets"},
    **{"RayJob": "rayjobs", "RayCluster": "rayclusters"},
}


def find_path(value: Mapping[str, Any], name: str = "") -> str:
    """The path of an object's collection, or of the object."""
    version = value["apiVersion"]
    root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    space = value["metadata"].get("namespace")
    inside = f"/namespaces/{space}" if space else ""
    plural = _PLURALS.get(value["kind"], value["kind"].lower() + "s")
    return f"{root}{inside}/{plural}" + (f"/{name}" if name else "")


def create(rig: Rig, value: Mapping[str, Any]) -> str:
    """Creates an object with its status; what was said when it is refused."""
    answer = rig.client.post(find_path(value), value)
    if not answer.accepted:
        return str(answer.body.get("message", answer.body) if isinstance(answer.body, dict) else answer.body)
    if "status" in value:
        path = find_path(value, value["metadata"]["name"]) + "/status"
        rig.client.patch(path, {"status": value["status"]}, "application/merge-patch+json")
    return ""


def wait_calm(rig: Rig, seconds: float = _CALM_SECONDS) -> bool:
    """Waits until nothing is written for so long, or no decision changes for a while longer: the head of a strict queue
    is tried again and again, and its message changes between flavors. Whether it was within half a minute."""
    end = time.monotonic() + _PATIENCE_SECONDS
    revision, decided = "", None
    written = changed = time.monotonic()
    while time.monotonic() < end:
        now = rig.client.get(f"{KUEUE}/topologies?limit=1").body["metadata"]["resourceVersion"]
        if now != revision:
            revision, written = now, time.monotonic()
            decisions = _list_decisions(rig)
            if decisions != decided:
                decided, changed = decisions, time.monotonic()
        elif time.monotonic() - written > seconds:
            return True
        if time.monotonic() - changed > 2.5 * seconds:
            return True
        time.sleep(0.1)
    return False


def _list_decisions(rig: Rig) -> Value:
    """Where every Workload stands."""
    return {
        value["metadata"]["uid"]: (
            value["spec"].get("active"),
            value.get("status", {}).get("admission"),
            [(each["type"], each["status"]) for each in value.get("status", {}).get("conditions", ())],
        )
        for value in rig.client.get(f"{KUEUE}/workloads").body["items"]
    }


def list_steps(world: World) -> Iterator[list[Value]]:
    """Objects that are created without a pause: a job is the last of its step, and a LocalQueue when jobs wait."""
    step: list[Value] = []
    waiting = False
    for value in world.objects:
        step.append(value)
        waiting = waiting or value["kind"] in JOBS
        if value["kind"] in JOBS or (waiting and value["kind"] == "LocalQueue"):
            yield step
            step = []
    if step:
        yield step


def ask_worlds(rig: Rig, worlds: Sequence[World]) -> list[Value]:
    """What the manager decides in these worlds, which it must be set up for."""
    waiting = {world.seed: list(list_steps(world)) for world in worlds}
    refused: dict[int, dict[str, str]] = {world.seed: {} for world in worlds}
    while any(waiting.values()):
        for seed, steps in waiting.items():
            for value in steps.pop(0) if steps else ():
                if said := create(rig, value):
                    refused[seed][f"{value['kind']}/{value['metadata']['name']}"] = said
        wait_calm(rig)
    calm = wait_calm(rig, _LAST_SECONDS)
    records = [_read(rig, world, refused[world.seed]) for world in worlds]
    for world in worlds:
        remove(rig, world.objects)
    if not calm:
        records = [{**record, "calm": False} for record in records]
    return records


def _read(rig: Rig, world: World, refused: Mapping[str, str]) -> Value:
    workloads = rig.client.get(f"{KUEUE}/namespaces/{world.space}/workloads").body["items"]
    jobs = [each for each in world.objects if each["kind"] in JOBS]
    answers = read_answers(workloads, jobs)
    for key, said in refused.items():
        if f"{world.space}/{key}" in answers:
            answers[f"{world.space}/{key}"] = {"admitted": False, "refused": said}
    queues = {}
    for value in world.objects:
        if (
            value["kind"] in ("ClusterQueue", "LocalQueue")
            and f"{value['kind']}/{value['metadata']['name']}" not in refused
        ):
            status = rig.client.get(find_path(value, value["metadata"]["name"])).body.get("status", {})
            for each in status.get("conditions", ()):
                row = [each["status"], each["reason"], each["message"]]
                queues[f"{value['kind']}/{value['metadata']['name']}/{each['type']}"] = row
    return {
        "seed": world.seed,
        "kueue": VERSION,
        "configuration": world.configuration,
        "objects": world.objects,
        "answers": answers,
        "queues": queues,
        "refused": dict(refused),
    }


def remove(rig: Rig, values: Sequence[Value]) -> None:
    """Deletes what was created, the last first; finalizers fall when nothing uses an object any more."""
    for value in reversed(values):
        path = find_path(value, value["metadata"]["name"])
        rig.client.send("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        if value["kind"] == "Namespace":
            rig.client.put(f"{path}/finalize", {**value, "spec": {"finalizers": []}})


def record(seeds: Iterable[int], batch: int) -> Iterator[Value]:
    """The records of these seeds, those of one configuration after those of another."""
    by_setup: dict[str, list[World]] = {}
    for seed in seeds:
        world = make_world(seed)
        by_setup.setdefault(world.configuration, []).append(world)
    with start() as rig:
        for setup, worlds in by_setup.items():
            with rig.manage(setup):
                for first in range(0, len(worlds), batch):
                    yield from ask_worlds(rig, worlds[first : first + batch])
                    wait_calm(rig)


def write(path: Path, records: Iterable[Value]) -> None:
    """One JSON object a line, by seed, compressed."""
    rows = sorted(records, key=lambda each: int(each["seed"]))
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode(), preset=9))


def read_all(folder: Path = RECORDED) -> Iterator[Value]:
    """All records."""
    for path in sorted(folder.glob("*.jsonl.xz")):
        yield from (json.loads(line) for line in lzma.decompress(path.read_bytes()).splitlines())
