"""Which gangs KAI starts: its real scheduler is asked about made-up queues, groups, pods and nodes.

KAI is not a Go module that a proxy hands out: its sources are read from a clone of its repository, which `$KRMFN_KAI`
names, or are fetched from GitHub.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from conformance.build import cache_folder, run_go, unpack_sources
from conformance.clusters import SPACE, ZONE, ask, make_node, make_pod_spec, name_object
from conformance.ending import end
from conformance.storage import Record, write_records
from conformance.versions import HERE

RECORDED: Final = HERE / "data" / "kai.jsonl.xz"
SHARES: Final = HERE / "data" / "shares.jsonl.xz"
PROGRAM: Final = HERE / "go" / "kai"
VERSION: Final = "0.17.0"
_REPOSITORY: Final = "https://github.com/kai-scheduler/KAI-Scheduler"
_RACK: Final = "example.com/rack"
_SUB_GROUP: Final = "kai.scheduler/subgroup-name"
#: The PriorityClasses of its Helm chart: pods below 100 can be preempted.
_PRIORITIES: Final = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}


def build() -> Path:
    """The program, built in the cache folder. Raises BuildFailed; cold about ten minutes on two cores."""
    folder = cache_folder() / "modules" / f"kai-{VERSION}"
    target = cache_folder() / "bin" / f"kai-{VERSION}"
    if not (folder / "go.mod").exists():
        unpack_sources(_REPOSITORY, f"v{VERSION}", ("go.mod", "go.sum", "pkg"), folder)
    shutil.copytree(PROGRAM, folder / "cmd" / "krmfn", dirs_exist_ok=True)
    run_go(["build", "-o", str(target), "./cmd/krmfn"], folder)
    return target


def make_worlds(seed: int, count: int) -> Iterator[Record]:
    """Clusters with queues, nodes and groups that wait; about half of the groups can start."""
    for number in range(count):
        yield _KaiWorld(Random(f"kai/{seed}/{number}")).make()


class _KaiWorld:
    """One made-up cluster. Everything is drawn from one generator of random numbers."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.racks = chance.random() < 0.3

    def make(self) -> Record:
        nodes = [make_node(self.chance, number) for number in range(self.chance.randint(2, 5))]
        for node in nodes if self.racks else ():
            node["metadata"]["labels"][_RACK] = self.chance.choice(("r1", "r2"))
        queues = list(self._make_queues())
        parents = {each["spec"].get("parentQueue") for each in queues}
        leaves = [name for each in queues if (name := each["metadata"]["name"]) not in parents]
        groups, pods = [], []
        for number in range(self.chance.randint(2, 4)):
            queue = self.chance.choice(leaves) if self.chance.random() < 0.95 else self.chance.choice(("org", "gone"))
            group, members = self._make_group(f"g{number}", queue)
            groups.append(group)
            pods += members
        levels = [{"nodeLabel": each} for each in (ZONE, _RACK)]
        topology = name_object("kai.scheduler/v1alpha1", "Topology", "racks") | {"spec": {"levels": levels}}
        return {
            "queues": queues,
            "podGroups": groups,
            "pods": pods,
            "nodes": nodes,
            "priorityClasses": [
                name_object("scheduling.k8s.io/v1", "PriorityClass", name) | {"value": value}
                for name, value in _PRIORITIES.items()
            ],
            "topologies": [topology] if self.racks else [],
        }

    def _make_queues(self) -> Iterator[Record]:
        yield _queue("org", self._limits(16))
        for number in range(self.chance.randint(1, 3)):
            above = {"parentQueue": "org"} if self.chance.random() < 0.94 else {}
            yield _queue(f"q{number}", {**above, **self._limits(12)})

    def _limits(self, most: int) -> Record:
        """What a queue is sure of and may use; -1 is without end, and what is not written is nothing."""
        chance = self.chance
        if chance.random() < 0.04:
            return {}
        cpu = chance.randint(2, most) * 1000
        rows = {
            "cpu": {"quota": chance.choice((-1, cpu, cpu // 2, 0)), "limit": chance.choice((-1, -1, cpu))},
            "memory": {"quota": chance.choice((-1, -1, 8000)), "limit": chance.choice((-1, -1, 16000))},
            "gpu": {"quota": chance.choice((-1, 2, 4)), "limit": chance.choice((-1, -1, 4))},
        }
        for row in rows.values():
            row["overQuotaWeight"] = chance.choice((0, 1, 2))
            for word in ("quota", "limit"):
                if chance.random() < 0.03:
                    del row[word]
        if chance.random() < 0.05:
            del rows[chance.choice(("cpu", "memory", "gpu"))]
        return {"resources": rows}

    def _make_group(self, name: str, queue: str) -> tuple[Record, list[Record]]:
        chance = self.chance
        count = chance.randint(1, 6)
        least = max(1, count + chance.choice((-2, -1, 0, 0, 0, 0, 0, 1)))
        spec: Record = {"queue": queue, "minMember": least}
        parts: Sequence[str] = ()
        if chance.random() < 0.25:
            parts = ("head", "workers")
            spec["subGroups"] = [
                {"name": part, "minMember": chance.choice((1, 1, 2, max(1, count - 1)))} for part in parts
            ]
            spec["minSubGroup"] = chance.choice((1, 2, 2))
            del spec["minMember"]
        if chance.random() < 0.6:
            spec["priorityClassName"] = chance.choice((*_PRIORITIES, "gone"))
        if chance.random() < 0.2:
            spec["preemptibility"] = chance.choice(("preemptible", "non-preemptible"))
        if self.racks and chance.random() < 0.6:
            level = chance.choice(("requiredTopologyLevel", "requiredTopologyLevel", "preferredTopologyLevel"))
            spec["topologyConstraint"] = {"topology": "racks", level: chance.choice((ZONE, _RACK))}
        group = name_object("scheduling.run.ai/v2alpha2", "PodGroup", name)
        group["metadata"] |= {"namespace": SPACE, "uid": f"group-{name}"}
        pods = [self._make_pod(name, queue, number, parts) for number in range(count)]
        return group | {"spec": spec}, pods

    def _make_pod(self, group: str, queue: str, number: int, parts: Sequence[str]) -> Record:
        labels = {"kai.scheduler/queue": queue}
        if parts and self.chance.random() < 0.95:
            labels[_SUB_GROUP] = parts[min(number, 1)]
        pod = name_object("v1", "Pod", f"{group}-{number}", labels)
        notes = {"pod-group-name": group}
        pod["metadata"] |= {"namespace": SPACE, "uid": f"pod-{group}-{number}", "annotations": notes}
        return pod | {"spec": make_pod_spec(self.chance, "kai-scheduler"), "status": {"phase": "Pending"}}


def _queue(name: str, spec: Record) -> Record:
    return name_object("scheduling.run.ai/v2", "Queue", name) | {"spec": spec}


def list_objects(record: Record) -> list[dict[str, Any]]:
    """What a dump of the cluster holds when KAI has tried: with the conditions that it wrote."""
    answer = record["answer"]
    groups, pods = [], []
    for group in record["podGroups"]:
        said = answer["groups"][group["metadata"]["name"]]
        groups.append({**group, "status": {"schedulingConditions": said.get("conditions", [])}})
    for pod in record["pods"]:
        node = answer["pods"].get(pod["metadata"]["name"])
        placed = {"nodeName": node} if node else {}
        pods.append({**pod, "spec": {**pod["spec"], **placed}, "status": {"phase": "Running" if node else "Pending"}})
    facts = [each for part in ("nodes", "queues", "priorityClasses", "topologies") for each in record[part]]
    return [*facts, *groups, *pods]


#: Values of annotations: numbers as Go reads them, as Python does, and none.
_NUMBERS: Final = (
    *("0.5", "1", "0", "0.25", "1.5", "-0.5", ".5", "5e-1", "0.5 ", "+0.5", "0x1p-2", "0_5", "half", "", "NaN", "Inf"),
    *("2", "4096", "007", "-1", "2Gi", "1e3", "99999999999999999999"),
)


def make_shares(seed: int, count: int) -> Iterator[Record]:
    """Pods that ask for parts of GPUs, or for whole ones, or for both."""
    chance = Random(f"shares/{seed}")
    chances = {"gpu-fraction": 0.5, "gpu-memory": 0.4, "gpu-fraction-num-devices": 0.3, "mps": 0.2}
    for number in range(count):
        notes = {
            name: chance.choice(("true", "false", "yes") if name == "mps" else _NUMBERS)
            for name, often in chances.items()
            if chance.random() < often
        }
        whole = {"resources": {"limits": {"nvidia.com/gpu": chance.choice((0, 1))}}} if chance.random() < 0.2 else {}
        pod = name_object("v1", "Pod", f"p{number}")
        pod["metadata"] |= {"namespace": SPACE, "annotations": notes}
        boxes = [{"name": "a", "image": "b"}, {"name": "c", "image": "d", **whole}]
        yield pod | {"spec": {"schedulerName": "kai-scheduler", "containers": boxes[:: chance.choice((1, -1))]}}


def ask_shares(program: Path, pods: Sequence[Record]) -> list[Record]:
    """The pods with what the webhook says of them, empty where they are taken."""
    line = json.dumps({"shares": pods}) + "\n"
    done = subprocess.run([program], input=line, capture_output=True, text=True, check=True)
    return [{"object": pod, "told": told} for pod, told in zip(pods, json.loads(done.stdout), strict=True)]


def main(words: Sequence[str]) -> int:
    """Makes up the worlds and the pods, asks, and writes what came of them; with `shares` of the pods alone."""
    program = build()
    if list(words) != ["shares"]:
        write_records(RECORDED, ask(program, list(make_worlds(1, 300))))
    write_records(SHARES, ask_shares(program, list(make_shares(1, 400))))
    return 0


if __name__ == "__main__":
    end(main)
