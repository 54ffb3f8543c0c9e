"""What `krmfn fit` says of a cluster that it knows from a dump, and what the scheduler of that cluster does then."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from conformance.live.claims import Claim, Step, Value, ask_json, spell_cluster, write_manifests
from conformance.live.gangs import make_node
from conformance.scheduler.cluster import LeftOver, clean, create, list_pods, remove, wait_quiet
from conformance.scheduler.decide import decide
from conformance.scheduler.made.scenario import PROFILES, choose_profile, make_scenario
from conformance.scheduler.made.sources import add_groups
from conformance.scheduler.plane import Plane
from conformance.scheduler.pods import expand
from conformance.scheduler.replay import replay_one
from conformance.scheduler.verdicts import link_of

PREDICTED = "what would run"
UNSEEN = "made-up scenarios"
#: Seeds from here on are in no record.
FIRST = 1_000_000


class Case(NamedTuple):
    """A Job of `pods` pods; `spec` is added to its pod template. `verdicts` are what fit has to say with a simulator,
    and without; `starts`, whether the gang starts beside what runs already, and whether in the empty cluster."""

    title: str
    pods: int
    cpu: str
    spec: Mapping[str, object]
    verdicts: tuple[str, str]
    starts: tuple[bool, bool]


_NEVER, _RUNS, _WAITS = ("never", "never"), ("runs", "open"), ("waits", "open")
_ZONE = "topology.kubernetes.io/zone"


def _keep_apart(name: str) -> Mapping[str, object]:
    term = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


#: The cluster: two nodes of 8 CPUs in zone a, of which 6 are taken on one; one of 16 CPUs in zone b that only those
#: who tolerate `gpu` may use; one of 4 CPUs that is cordoned.
CASES = (
    Case("fits beside what runs", 3, "2", {}, _RUNS, (True, True)),
    Case("one pod larger than every node", 2, "17", {}, _NEVER, (False, False)),
    Case("more than all nodes together", 9, "2", {}, _NEVER, (False, False)),
    Case("room that a running pod holds", 8, "2", {}, _WAITS, (False, True)),
    Case("tolerates the taint", 2, "7", {"tolerations": [{"key": "gpu", "operator": "Exists"}]}, _RUNS, (True, True)),
    Case("a selector that no node has", 2, "1", {"nodeSelector": {"disk": "ssd"}}, _NEVER, (False, False)),
    Case("a selector of the cordoned node", 2, "1", {"nodeSelector": {"pool": "old"}}, _NEVER, (False, False)),
    Case("one pod a node, too few nodes", 3, "1", _keep_apart("g7"), _NEVER, (False, False)),
    Case("one pod a node, enough nodes", 2, "1", _keep_apart("g8"), _RUNS, (True, True)),
    Case("a zone behind a taint", 2, "1", {"nodeSelector": {_ZONE: "b"}}, _NEVER, (False, False)),
)


def _make_nodes() -> list[Value]:
    rows: tuple[tuple[str, str, str, Value], ...] = (
        ("a1", "a", "8", {}),
        ("a2", "a", "8", {}),
        ("b1", "b", "16", {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}),
        ("c1", "c", "4", {"unschedulable": True}),
    )
    return [
        make_node(
            name,
            {_ZONE: zone, "pool": "old" if zone == "c" else "new"},
            {"cpu": cpu, "memory": "64Gi", "pods": "110"},
            spec,
        )
        for name, zone, cpu, spec in rows
    ]


def _make_pod(name: str, node: str, cpu: str) -> Value:
    box = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, "namespace": "data"}
    spec = {"nodeName": node, "containers": [box]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _make_job(name: str, case: Case) -> Value:
    box = {"name": "c", "image": "i", "resources": {"requests": {"cpu": case.cpu}}}
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"restartPolicy": "Never", "containers": [box], **case.spec},
    }
    metadata = {"name": name, "namespace": "ml", "annotations": {"krmfn.dev/gang": "true"}}
    spec = {"parallelism": case.pods, "completions": case.pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def list_trials(simulator: bool) -> Iterator[Step]:
    """Every case by itself: fit reads the cluster as kubectl prints it; then the gang is applied, and once more when
    what ran there is gone."""
    for number, case in enumerate(CASES):
        yield partial(_try, number=number, case=case, simulator=simulator)


def _try(plane: Plane, number: int, case: Case, simulator: bool) -> Claim:
    clean(plane, plane.applied)
    plane.applied = []
    held = _make_pod("held", "a1", "6")
    create(plane, [*_make_nodes(), held])
    objects = add_groups([_make_job(f"g{number}", case)], plane.release.name, dict(plane.gates))
    with TemporaryDirectory() as folder:
        dump = Path(folder, "dump.json")
        dump.write_text(json.dumps(_dump(plane)))
        manifests = write_manifests(Path(folder, "all.yaml"), objects)
        proved = () if simulator else ("--prove",)
        options = ("--cluster", str(dump), *spell_cluster(plane.release.name, plane.gates), *proved)
        answer = ask_json("fit", "--as-is", manifests, *options)
    (gang,) = answer["gangs"]
    plane.applied = [value for value in objects if value["kind"] != "Job"]
    beside = _start(plane, objects)
    remove(plane, held)
    wait_quiet(plane, 2)
    alone = _is_started(plane, objects)
    expected = case.verdicts[0 if simulator else 1]
    seen = f"{'starts' if beside else 'does not start'}; in the empty cluster it {'does' if alone else 'does not'}"
    kept = gang["verdict"] == expected and (beside, alone) == case.starts
    return Claim(PREDICTED, case.title, gang["verdict"], seen, kept)


def _dump(plane: Plane) -> Value:
    """What `kubectl get nodes,pods,priorityclasses -A -o json` prints."""
    items: list[Value] = []
    for path, version, kind in (
        ("/api/v1/nodes", "v1", "Node"),
        ("/api/v1/pods", "v1", "Pod"),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", "scheduling.k8s.io/v1", "PriorityClass"),
    ):
        listed = plane.client.get(path).body["items"]
        items += [{"apiVersion": version, "kind": kind, **each} for each in listed]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _start(plane: Plane, objects: Sequence[Value]) -> bool:
    groups = [value for value in objects if value["kind"] != "Job"]
    refused = create(plane, [*groups, *(pod for value in objects for pod in expand(value))], fieldValidation="Strict")
    wait_quiet(plane, 2)
    if refused:
        raise RuntimeError(str(refused))
    return _is_started(plane, objects)


def _is_started(plane: Plane, objects: Sequence[Value]) -> bool:
    """Whether all pods of the gang have a node. Raises RuntimeError where some have."""
    mine = [pod for pod in list_pods(plane) if link_of(pod)]
    bound = sum(bool(pod["spec"].get("nodeName")) for pod in mine)
    if bound not in (0, len(mine)):
        raise RuntimeError(f"{bound} of {len(mine)} pods of a gang have a node")
    return bound > 0


def prove_unseen(plane: Plane, count: int) -> Iterator[Claim]:
    """Scenarios that are in no record: of what is proved never to start nothing starts, alone in the empty cluster
    neither."""
    never = ran = missed = 0
    wrong: list[str] = []
    for seed in _list_seeds(plane.release.name, count):
        for verdict in replay_one(_decide(plane, seed)):
            never += verdict.decided == "never" and bool(verdict.claims)
            missed += verdict.decided == "never" and not verdict.claims
            ran += verdict.decided == "ran"
            if verdict.decided == "ran" and verdict.claims:
                wrong.append(f"{verdict.scenario} {verdict.root}: {', '.join(verdict.claims)}")
    seen = f"{never} of them never start, {ran} others do; {missed} never start of which nothing was said"
    claimed = f"{never + len(wrong)} groups of {count} scenarios never start"
    yield Claim(
        UNSEEN, f"seeds from {FIRST + 1:,} on", claimed, "; ".join((seen, *wrong)), not wrong and never > 0 < ran
    )


def _list_seeds(release: str, count: int) -> Iterator[int]:
    """Seeds of scenarios with the gates of this plane."""
    wanted = [row[0] for row in PROFILES[release]].index("all")
    fitting = (seed for seed in itertools.count(FIRST + 1) if choose_profile(release, seed) == wanted)
    yield from itertools.islice(fitting, count)


def _decide(plane: Plane, seed: int) -> Value:
    """As decide(), with more patience: on a busy machine what the last scenario left is gone a moment later."""
    for _ in range(4):
        with contextlib.suppress(LeftOver):
            return decide(plane, make_scenario(plane.release.name, seed))
    return decide(plane, make_scenario(plane.release.name, seed))
