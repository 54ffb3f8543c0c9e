"""Which gangs Volcano starts: its real scheduler is asked about made-up queues, groups, pods and nodes.

The scheduler is a Go module that is downloaded; the types that it needs (volcano.sh/apis of the same release) are not:
their sources are read from a clone of Volcano's repository, which `$KRMFN_VOLCANO` names, or are fetched from GitHub.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from conformance.build import cache_folder, run_go, unpack_sources
from conformance.clusters import GPU, SPACE, ask, make_node, make_pod_spec, name_object
from conformance.ending import end
from conformance.storage import Record, write_records
from conformance.versions import HERE

RECORDED: Final = HERE / "data" / "volcano.jsonl.xz"
PROGRAM: Final = HERE / "go" / "volcano"
VERSION: Final = "1.15.1"
_MODULE: Final = "volcano.sh/volcano"
_REPOSITORY: Final = "https://github.com/volcano-sh/volcano"
_TYPES: Final = "staging/src/volcano.sh/apis"
_TASK: Final = "volcano.sh/task-spec"
_LINK: Final = "scheduling.k8s.io/group-name"
_PLUGINS: Final = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: {queues}
    {hierarchy}
  - name: nodeorder
  - name: network-topology-aware
"""


def build() -> Path:
    """The program, built in the cache folder. Raises BuildFailed; cold about ten minutes on two cores."""
    folder = cache_folder() / "modules" / f"volcano-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    described = json.loads(run_go(["mod", "download", "-json", f"{_MODULE}@v{VERSION}"], HERE))
    upstream = Path(described["GoMod"]).read_text()
    (folder / "go.mod").write_text(_write_module(upstream))
    shutil.copy(Path(described["Dir"]) / "go.sum", folder / "go.sum")
    (folder / "go.sum").chmod(0o644)
    for file in PROGRAM.glob("*.go"):
        shutil.copy(file, folder)
    unpack_sources(_REPOSITORY, f"v{VERSION}", (_TYPES,), folder)
    target = cache_folder() / "bin" / f"volcano-{VERSION}"
    target.parent.mkdir(parents=True, exist_ok=True)
    run_go(["build", "-mod=mod", "-trimpath", "-o", str(target), "."], folder)
    return target


def _write_module(upstream: str) -> str:
    """A go.mod with all that Volcano's own one requires and replaces: Go reads replacements of the main module only."""
    language = re.search(r"^go \S+$", upstream, re.M)
    blocks = re.findall(r"^(?:require|replace) \(.*?^\)$", upstream, re.M | re.S)
    return "\n\n".join(
        ["module scheduler", language[0] if language else "", f"require {_MODULE} v{VERSION}", *blocks, ""]
    )


def make_worlds(seed: int, count: int) -> Iterator[Record]:
    """Clusters with queues, nodes and groups that wait; about half of the groups can start."""
    for number in range(count):
        yield _World(Random(f"volcano/{seed}/{number}")).make()


class _World:
    """One made-up cluster. Everything is drawn from one generator of random numbers."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.hierarchy = chance.random() < 0.6
        self.tiers = chance.random() < 0.3

    def make(self) -> Record:
        nodes = [make_node(self.chance, number) for number in range(self.chance.randint(2, 5))]
        queues = list(self._make_queues())
        leaves = [each["metadata"]["name"] for each in queues if each["metadata"]["name"] not in ("root", "org")]
        groups, pods = [], []
        for number in range(self.chance.randint(2, 4)):
            group, members = self._make_group(f"g{number}", self.chance.choice(leaves))
            groups.append(group)
            pods += members
        return {
            "conf": _PLUGINS.format(
                queues="capacity" if self.hierarchy else "proportion",
                hierarchy="enableHierarchy: true" if self.hierarchy else "enabledOverused: true",
            ),
            "queues": queues,
            "podGroups": groups,
            "pods": pods,
            "nodes": nodes,
            "hyperNodes": list(self._make_tiers(nodes)) if self.tiers else [],
        }

    def _make_queues(self) -> Iterator[Record]:
        yield _queue("root", {})
        yield _queue("default", {"parent": "root"})
        if self.hierarchy:
            yield _queue("org", {"parent": "root", **self._limits(16)})
        for number in range(self.chance.randint(1, 3)):
            parent = {"parent": self.chance.choice(("org", "root"))} if self.hierarchy else {}
            state = "Closed" if self.chance.random() < 0.06 else "Open"
            yield _queue(f"q{number}", {**parent, **self._limits(12)}, state)

    def _limits(self, most: int) -> Record:
        """What a queue may use, deserves and is sure of, each at most the one before."""
        chance = self.chance
        spec: Record = {"weight": chance.choice((1, 2, 4))}
        cpu = chance.randint(2, most)
        if chance.random() < 0.7:
            spec["capability"] = {"cpu": str(cpu)}
            if chance.random() < 0.4:
                spec["capability"][GPU] = str(chance.choice((0, 1, 2, 4)))
            if chance.random() < 0.3:
                spec["capability"]["memory"] = f"{chance.choice((4, 8, 16))}Gi"
        if chance.random() < 0.4:
            spec["deserved"] = {"cpu": str(chance.randint(1, cpu))}
            if chance.random() < 0.6:
                sure = chance.randint(1, int(spec["deserved"]["cpu"]))
                spec["guarantee"] = {"resource": {"cpu": str(sure)}}
        return spec

    def _make_group(self, name: str, queue: str) -> tuple[Record, list[Record]]:
        chance = self.chance
        pods = [self._make_pod(name, number) for number in range(chance.randint(1, 6))]
        least = max(1, len(pods) + chance.choice((-2, -1, 0, 0, 0, 0, 0, 1)))
        spec: Record = {"minMember": least, "queue": queue}
        if chance.random() < 0.5:
            spec["minResources"] = _add(pods[:least])
        if chance.random() < 0.25:
            spec["minTaskMember"] = {task: chance.randint(1, 3) for task in chance.sample(("master", "worker"), 1)}
        if chance.random() < 0.25:
            policy = {"name": "slices", "subGroupSize": chance.randint(1, 3), "minSubGroups": chance.randint(1, 3)}
            spec["subGroupPolicy"] = [{**policy, "matchLabelKeys": ["slice"]}]
        if self.tiers and chance.random() < 0.7:
            spec["networkTopology"] = {"mode": "hard", "highestTierAllowed": chance.choice((1, 1, 2))}
        group = name_object("scheduling.volcano.sh/v1beta1", "PodGroup", name)
        group |= {"spec": spec, "status": {"phase": "Pending"}}
        group["metadata"] |= {"namespace": SPACE, "uid": f"group-{name}"}
        return group, pods

    def _make_pod(self, group: str, number: int) -> Record:
        chance = self.chance
        spec = make_pod_spec(chance, "volcano")
        pod = name_object("v1", "Pod", f"{group}-{number}", {"slice": str(number // 2)})
        notes = {_LINK: group, _TASK: "master" if number == 0 else "worker"}
        pod["metadata"] |= {"namespace": SPACE, "uid": f"pod-{group}-{number}", "annotations": notes}
        return pod | {"spec": spec, "status": {"phase": "Pending"}}

    def _make_tiers(self, nodes: Sequence[Record]) -> Iterator[Record]:
        """Two racks in tier 1, below one HyperNode in tier 2."""
        names = [each["metadata"]["name"] for each in nodes]
        cut = self.chance.randint(1, len(names) - 1)
        for rack, part in (("rack-a", names[:cut]), ("rack-b", names[cut:])):
            yield _hyper(rack, 1, "Node", part)
        yield _hyper("spine", 2, "HyperNode", ["rack-a", "rack-b"])


def _hyper(name: str, tier: int, kind: str, members: Sequence[str]) -> Record:
    chosen = [{"type": kind, "selector": {"exactMatch": {"name": each}}} for each in members]
    return name_object("topology.volcano.sh/v1alpha1", "HyperNode", name) | {"spec": {"tier": tier, "members": chosen}}


def _queue(name: str, spec: Record, state: str = "Open") -> Record:
    made = name_object("scheduling.volcano.sh/v1beta1", "Queue", name)
    return made | {"spec": {"weight": 1, "reclaimable": True, **spec}, "status": {"state": state}}


def _add(pods: Sequence[Record]) -> Record:
    """What pods request together, in the units of `_make_pod`."""
    wanted = [each["spec"]["containers"][0]["resources"]["requests"] for each in pods]
    cores = [each["cpu"] for each in wanted if each]
    cpu = sum(int(each[:-1]) if each.endswith("m") else 1000 * int(each) for each in cores)
    memory = sum(int(each["memory"][:-2]) for each in wanted if each)
    devices = sum(int(each.get(GPU, 0)) for each in wanted)
    return {"cpu": f"{cpu}m", "memory": f"{memory}Gi", **({GPU: str(devices)} if devices else {})}


def list_objects(record: Record) -> list[dict[str, Any]]:
    """What a dump of the cluster holds when Volcano has tried everything: with the statuses that it wrote."""
    answer = record["answer"]
    groups, pods = [], []
    for group in record["podGroups"]:
        said = answer["groups"][group["metadata"]["name"]]
        groups.append({**group, "status": {key: said[key] for key in ("phase", "conditions") if key in said}})
    for pod in record["pods"]:
        said = answer["pods"][pod["metadata"]["name"]]
        placed = {"nodeName": said["node"]} if said.get("node") else {}
        status = {"phase": "Running" if placed else "Pending", "conditions": said.get("conditions", [])}
        pods.append({**pod, "spec": {**pod["spec"], **placed}, "status": status})
    conf = name_object("v1", "ConfigMap", "volcano-scheduler-configmap")
    conf["metadata"]["namespace"] = "volcano-system"
    conf["data"] = {"volcano-scheduler.conf": record["conf"]}
    return [*record["nodes"], *record["queues"], *record["hyperNodes"], *groups, *pods, conf]


def main(words: Sequence[str]) -> int:
    """Makes up the worlds, asks, and writes what came of them."""
    write_records(RECORDED, ask(build(), list(make_worlds(1, 200))))
    return 0


if __name__ == "__main__":
    end(main)
