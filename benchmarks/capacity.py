"""`./dev bench capacity`: what the proofs cost that a gang never starts, by nodes, gangs and kinds of both.

`./dev bench simulator`: what the scheduler in one process costs, where `krmfn-simulator-<release>` is installed. Every
row runs in a process of its own. Knows how large clusters look, not how the work is done.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

#: Nodes, gangs, pods of all gangs, kinds of nodes, kinds of pods; the seconds and bytes that a row may take at most.
ROWS: tuple[tuple[int, int, int, int, int], ...] = (
    *((1250, 25, 2500, 10, 10), (2500, 50, 5000, 10, 10), (5000, 100, 10000, 10, 10)),
    *((5000, 100, 10000, 40, 10), (5000, 100, 10000, 10, 40), (5000, 100, 10000, 40, 40)),
)
SIMULATED: tuple[tuple[int, int, int, int, int], ...] = (
    *((10, 2, 20, 2, 2), (100, 4, 200, 5, 4), (1000, 20, 2000, 10, 10), (1000, 100, 2000, 10, 10)),
)
SECONDS, BYTES = 3.0, 300_000_000
RELEASE = "1.37"


def make_nodes(count: int, kinds: int) -> Iterator[dict[str, Any]]:
    """Nodes of several sizes, in racks of sixteen."""
    for number in range(count):
        kind = number % kinds
        labels = {"pool": f"p{kind}", "rack": f"r{number // 16}", "kubernetes.io/hostname": f"n{number}"}
        amounts = {"cpu": str(32 + kind), "memory": "256Gi", "nvidia.com/gpu": "8", "pods": "110"}
        metadata = {"name": f"n{number}", "labels": labels}
        yield {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}


def make_gangs(count: int, pods: int, kinds: int) -> Iterator[dict[str, Any]]:
    """Jobs with their groups; every second gang has to be in one rack, and every tenth is too large for one."""
    for number in range(count):
        kind = number % kinds
        name, size = f"g{number}", pods // count
        requests = {"cpu": f"{1000 + kind}m", "memory": "8Gi"}
        box = {"name": "c", "image": "i", "resources": {"requests": requests}}
        group: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": size}}}
        if number % 2:
            group["schedulingConstraints"] = {"topology": [{"key": "rack"}]}
        if number % 10 == 9:
            box["resources"] = {"requests": {"cpu": f"{20000 + kind}m", "memory": "8Gi"}}
        metadata = {"name": name, "namespace": "ml"}
        yield {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": metadata,
            "spec": group,
        }
        spec = {"restartPolicy": "Never", "schedulingGroup": {"podGroupName": name}, "containers": [box]}
        counts = {"parallelism": size, "completions": size, "completionMode": "Indexed"}
        yield {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata,
            "spec": {**counts, "template": {"spec": spec}},
        }


def prove(row: tuple[int, int, int, int, int]) -> dict[str, float]:
    """Seconds of the processor for the stage `scheduler` from parsed objects on, bytes of the whole process."""
    from krmfn.config import read_settings
    from krmfn.krm import Item
    from krmfn.pipeline import find_all

    nodes, gangs, pods, node_kinds, pod_kinds = row
    items = [Item.new(value) for value in make_gangs(gangs, pods, pod_kinds)]
    cluster = {"items": list(make_nodes(nodes, node_kinds))}
    spec = {"kubernetes": {"version": RELEASE}, "cluster": cluster}
    given = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "metadata": {"name": "a"}, "spec": spec}
    settings = read_settings(given)
    start = time.process_time()
    found = list(find_all(items, settings, None, ("scheduler",), "apply"))
    seconds = time.process_time() - start
    told = sum(finding.rule in ("nodes-too-small", "pod-too-large") for finding in found)
    return {"seconds": seconds, "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "told": told}


def simulate(row: tuple[int, int, int, int, int]) -> dict[str, float]:
    """Seconds of the processor for one trial with all pods, bytes of the simulator."""
    from krmfn.config import read_settings
    from krmfn.forecast.question import ask
    from krmfn.forecast.roster import call_roll
    from krmfn.krm import Item
    from krmfn.survey.census import take_census
    from krmfn.survey.counting import count_members
    from krmfn.survey.gangs import list_present
    from krmfn.workspace.simulator import find_simulator, simulate

    nodes, gangs, pods, node_kinds, pod_kinds = row
    items = [Item.new(value) for value in make_gangs(gangs, pods, pod_kinds)]
    settings = read_settings(None)._replace(cluster={"items": list(make_nodes(nodes, node_kinds))})
    members, _ = count_members(list_present(items), items, settings)
    census = take_census(items, members, None, settings.cluster)
    roster = call_roll(census)
    question = ask(census, roster, settings, [{"name": "a", "seed": 0}])
    answer = simulate(find_simulator(RELEASE), question)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    placed = sum(bool(place.get("node")) for place in answer[0]["pods"].values())
    return {"seconds": used.ru_utime + used.ru_stime, "bytes": used.ru_maxrss * 1024, "told": placed}


def main(kind: str) -> int:
    """Prints the table; 1 when a bound of the proofs is not kept."""
    rows = ROWS if kind == "capacity" else SIMULATED
    last = "never" if kind == "capacity" else "placed"
    print(f"| nodes | gangs | pods | kinds of nodes | kinds of pods | seconds | MB | {last} |")
    print("|---|---|---|---|---|---|---|---|")
    missed = 0
    for row in rows:
        words = [sys.executable, "-m", "benchmarks.capacity", kind, json.dumps(row)]
        done = subprocess.run(words, capture_output=True, check=False, text=True)
        if done.returncode:
            print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
            return 1
        found = json.loads(done.stdout)
        kept = kind != "capacity" or (found["seconds"] <= SECONDS and found["bytes"] <= BYTES)
        missed += not kept
        cells = [f"{number:,}" for number in row] + [f"{found['seconds']:.2f}", f"{found['bytes'] / 1e6:.0f}"]
        print(f"| {' | '.join(cells)}{'' if kept else ' (missed)'} | {found['told']:.0f} |", flush=True)
    return min(missed, 1)


if __name__ == "__main__":
    measure = prove if sys.argv[1] == "capacity" else simulate
    print(json.dumps(measure(tuple(json.loads(sys.argv[2])))))
