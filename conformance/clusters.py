"""Parts of made-up clusters that several oracles draw: nodes, what pods request, and how objects are named; and how a
scheduler in one process is asked about them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

from conformance.storage import Record

GPU: Final = "nvidia.com/gpu"
SPACE: Final = "ml"
ZONE: Final = "topology.kubernetes.io/zone"


def name_object(version: str, kind: str, name: str, labels: Mapping[str, str] | None = None) -> Record:
    """The head of an object."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **({"labels": labels} if labels else {})}}


def make_node(chance: Random, number: int) -> Record:
    """A ready node in one of two zones, with devices every second time, and now and then a taint."""
    has = {"cpu": str(chance.choice((4, 8, 16))), "memory": f"{chance.choice((16, 32))}Gi", "pods": "20"}
    if chance.random() < 0.5:
        has[GPU] = str(chance.choice((2, 4, 8)))
    spec: Record = {}
    if chance.random() < 0.2:
        spec["taints"] = [{"key": "team", "value": "a", "effect": "NoSchedule"}]
    labels = {"kubernetes.io/hostname": f"n{number}", ZONE: chance.choice("ab")}
    ready = [{"type": "Ready", "status": "True"}]
    status = {"capacity": has, "allocatable": has, "conditions": ready}
    return name_object("v1", "Node", f"n{number}", labels) | {"spec": spec, "status": status}


def make_pod_spec(chance: Random, scheduler: str) -> Record:
    """The spec of a pod: what it requests, where it may be, what it tolerates."""
    requests = {"cpu": chance.choice(("500m", "1", "2", "2", "4")), "memory": chance.choice(("1Gi", "2Gi"))}
    if chance.random() < 0.25:
        requests[GPU] = str(chance.choice((1, 2, 4)))
    if chance.random() < 0.05:
        requests = {}
    devices = {GPU: requests[GPU]} if GPU in requests else {}
    main = {"name": "main", "image": "train", "resources": {"requests": requests, "limits": devices}}
    spec: Record = {"schedulerName": scheduler, "containers": [main]}
    if chance.random() < 0.15:
        spec["nodeSelector"] = {ZONE: chance.choice("abc")}
    if chance.random() < 0.3:
        spec["tolerations"] = [{"key": "team", "operator": "Exists"}]
    return spec


def ask(program: Path, worlds: Sequence[Record]) -> list[Record]:
    """The worlds, each with what the scheduler did: `answer`, as the program's main.go describes it."""
    asked = "".join(json.dumps(world) + "\n" for world in worlds)
    done = subprocess.run([program], input=asked, text=True, capture_output=True, check=True)
    answers = map(json.loads, done.stdout.splitlines())
    return [{**world, "answer": answer} for world, answer in zip(worlds, answers, strict=True)]
