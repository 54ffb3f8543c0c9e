"""Made-up worlds of queues: a seed gives ClusterQueues with flavors, quotas, cohorts and policies, their nodes and
LocalQueues, and jobs that wait in them (`jobs.py`).

All names start with the world's own prefix, so that many worlds share one control plane. Amounts are small, so that
about half of the jobs are admitted. Must not know Kueue's answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final

from conformance.kueue.jobs import make_jobs
from conformance.kueue.rig import make

Value = dict[str, Any]

#: Levels of the topologies: the last one is that of a node.
LEVELS: Final = ("example.com/block", "example.com/rack", "kubernetes.io/hostname")
GPU: Final = "example.com/gpu"


class World:
    """What is made so far, and what the rest of the generator chooses from."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, Random(f"kueue {seed}")
        self.prefix = f"w{seed}"
        self.space = self.prefix
        #: One of five worlds shares by weight: the manager is set up for it as a whole.
        self.configuration = "fair" if seed % 5 == 4 else "default"
        self.objects: list[Value] = []
        self.flavors: list[Value] = []
        self.queues: list[Value] = []
        self.locals: list[str] = []
        self.priorities: list[str] = []
        self.resources: list[str] = []
        self.topology = ""
        self.levels: Sequence[str] = LEVELS

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def name(self, word: str) -> str:
        return f"{self.prefix}-{word}"


def make_world(seed: int) -> World:
    """All objects of a world in the order in which they are created."""
    world = World(seed)
    labels = {"team": world.random.choice(("ml", "ml", "data"))}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.space, "labels": labels}}
    world.objects.append(space)
    world.resources = world.random.choice((["cpu"], ["cpu", "memory"], ["cpu", GPU], ["cpu", "memory", GPU]))
    if world.chance(0.25):
        _make_topology(world)
    _make_flavors(world)
    _make_priorities(world)
    checks = _make_checks(world)
    cohorts = _make_cohorts(world)
    _make_queues(world, cohorts, checks)
    _make_locals(world)
    jobs = make_jobs(world)
    if world.chance(0.1):  # jobs that were there before any queue
        world.objects[1:1] = jobs
    else:
        world.objects += jobs
    return world


def _make_topology(world: World) -> None:
    """Nodes in blocks and racks, which only the flavors of this world select."""
    random = world.random
    world.levels = random.choice((LEVELS, LEVELS[1:], LEVELS[:2]))
    world.topology = world.name("topology")
    spec = {"levels": [{"nodeLabel": level} for level in world.levels]}
    world.objects.append(make("Topology", world.topology, spec))
    cpu = random.choice((2, 4, 8))
    for block in range(random.choice((1, 2))):
        for rack in range(random.choice((1, 2))):
            for number in range(random.choice((1, 2, 3))):
                name = f"{world.prefix}-n{block}{rack}{number}"
                amounts = {"cpu": str(cpu), "memory": f"{cpu * 4}Gi", GPU: str(cpu), "pods": "20"}
                places = {LEVELS[0]: f"b{block}", LEVELS[1]: f"b{block}r{rack}", LEVELS[2]: name}
                world.objects.append(_make_node(name, {**places, "world": world.prefix}, amounts))


def _make_node(name: str, labels: Value, amounts: Value) -> Value:
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def _make_flavors(world: World) -> None:
    random = world.random
    for number in range(random.choice((1, 1, 2, 2, 3))):
        spec: Value = {}
        if world.topology and (number == 0 or world.chance(0.5)):
            spec = {"topologyName": world.topology, "nodeLabels": {"world": world.prefix}}
        elif world.chance(0.6):
            spec["nodeLabels"] = {"pool": random.choice(("a", "b", "c"))}
        if world.chance(0.15):
            spec["nodeTaints"] = [
                {
                    "key": "spot",
                    "value": "true",
                    "effect": random.choice(("NoSchedule", "NoSchedule", "PreferNoSchedule")),
                }
            ]
            if world.chance(0.3):
                spec["tolerations"] = [{"key": "spot", "operator": "Exists"}]
        flavor = make("ResourceFlavor", world.name(f"flavor{number}"), spec)
        world.flavors.append(flavor)
    # One is missing now and then: queues that name it are not active.
    missing = world.chance(0.04)
    world.objects += world.flavors[: len(world.flavors) - missing]


def _make_priorities(world: World) -> None:
    for name, value in (("low", -10), ("high", 100)) if world.chance(0.6) else ():
        world.priorities.append(world.name(name))
        row = make("WorkloadPriorityClass", world.name(name), {})
        del row["spec"]
        world.objects.append({**row, "value": value, "description": name})


def _make_checks(world: World) -> list[str]:
    """AdmissionChecks whose controller nobody plays; what it would write is in the status of those that are active."""
    names: list[str] = []
    for number in range(world.random.choice((1, 2)) if world.chance(0.12) else 0):
        name = world.name(f"check{number}")
        check = make("AdmissionCheck", name, {"controllerName": "example.com/checker"})
        if world.chance(0.85):
            condition = {"type": "Active", "status": "True", "reason": "Active", "message": "ready"}
            check["status"] = {"conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
        if world.chance(0.97):
            world.objects.append(check)
        names.append(name)
    return names


def _make_cohorts(world: World) -> list[str]:
    """Names that queues can take; a cohort without an object is one, too."""
    random = world.random
    kind = random.choice(("none", "implicit", "implicit", "object", "tree"))
    root, left, right = (world.name(word) for word in ("root", "left", "right"))
    if kind in ("none", "implicit"):
        return [] if kind == "none" else [root]
    shared = [_make_group(world, world.flavors[:1], (0, 2, 4), cohort=True)] if world.chance(0.4) else []
    weights = {"fairSharing": {"weight": random.choice(("1", "2", "0.5"))}} if world.configuration == "fair" else {}
    world.objects.append(make("Cohort", root, {"resourceGroups": shared} if shared else {}))
    if kind == "object":
        return [root]
    for name in (left, right):
        own = [_make_group(world, world.flavors[:1], (0, 2), cohort=True)] if world.chance(0.3) else []
        spec: Value = {"parentName": root, **weights, **({"resourceGroups": own} if own else {})}
        world.objects.append(make("Cohort", name, spec))
    return [left, right]


def _make_group(world: World, flavors: list[Value], amounts: tuple[int, ...], cohort: bool = False) -> Value:
    """Quotas of all resources in these flavors."""
    random, rows = world.random, []
    for flavor in flavors:
        entries = []
        for resource in world.resources:
            amount = random.choice(amounts)
            unit = "Gi" if resource == "memory" else ""
            entry: Value = {"name": resource, "nominalQuota": f"{amount * (4 if unit else 1)}{unit}"}
            if cohort or world.chance(0.35):
                share = world.chance(0.5)
                if share and not cohort:
                    entry["borrowingLimit"] = f"{random.choice((0, 1, 2, 4)) * (4 if unit else 1)}{unit}"
                if not cohort and world.chance(0.5):
                    entry["lendingLimit"] = f"{random.choice((0, min(1, amount), amount)) * (4 if unit else 1)}{unit}"
            entries.append(entry)
        rows.append({"name": flavor["metadata"]["name"], "resources": entries})
    return {"coveredResources": list(world.resources), "flavors": rows}


def _make_queues(world: World, cohorts: list[str], checks: list[str]) -> None:
    random = world.random
    for number in range(random.choice((1, 2, 2, 3)) if cohorts else random.choice((1, 1, 2))):
        count = random.randint(1, len(world.flavors))
        group = _make_group(
            world, random.sample(world.flavors, count), (2, 4, 4, 6, 8, 8, 12) if world.chance(0.9) else (0, 2)
        )
        spec: Value = {"resourceGroups": [group]}
        if not world.chance(0.02):
            spec["namespaceSelector"] = {}
        if cohorts:
            spec["cohortName"] = random.choice(cohorts)
        else:  # limits of loans are refused without a cohort
            for row in group["flavors"]:
                for entry in row["resources"]:
                    entry.pop("borrowingLimit", None)
                    entry.pop("lendingLimit", None)
        spec |= _choose_policies(world, bool(cohorts))
        if checks and world.chance(0.7):
            rows: list[Value] = [{"name": name} for name in checks]
            if world.chance(0.3):
                rows[0]["onFlavors"] = [group["flavors"][0]["name"]]
            spec["admissionChecksStrategy"] = {"admissionChecks": rows}
        world.queues.append(make("ClusterQueue", world.name(f"queue{number}"), spec))
    world.objects += world.queues


def _choose_policies(world: World, cohort: bool) -> Value:
    """What is set beside quotas."""
    random = world.random
    spec: Value = {}
    if world.chance(0.6):
        spec["queueingStrategy"] = random.choice(("StrictFIFO", "BestEffortFIFO"))
    if world.chance(0.05):
        spec["stopPolicy"] = random.choice(("Hold", "HoldAndDrain"))
    if world.chance(0.12):
        spec["namespaceSelector"] = {"matchLabels": {"team": "ml"}}
    if world.chance(0.5):
        preemption: Value = {
            "withinClusterQueue": random.choice(("Never", "LowerPriority", "LowerOrNewerEqualPriority"))
        }
        if cohort:
            preemption["reclaimWithinCohort"] = random.choice(("Never", "Any", "LowerPriority"))
            if preemption["reclaimWithinCohort"] != "Never" and world.chance(0.3):
                borrow: Value = {"policy": "LowerPriority"}
                if world.chance(0.5):
                    borrow["maxPriorityThreshold"] = random.choice((-10, 0, 50))
                preemption["borrowWithinCohort"] = borrow
        spec["preemption"] = preemption
    if world.chance(0.3):
        fungible = {"whenCanBorrow": random.choice(("MayStopSearch", "TryNextFlavor"))}
        spec["flavorFungibility"] = {**fungible, "whenCanPreempt": random.choice(("MayStopSearch", "TryNextFlavor"))}
    if world.configuration == "fair":
        spec["fairSharing"] = {"weight": random.choice(("1", "1", "2", "0.5", "0"))}
    return spec


def _make_locals(world: World) -> None:
    for number, queue in enumerate(world.queues):
        spec: Value = {"clusterQueue": queue["metadata"]["name"]}
        if world.chance(0.04):
            spec["clusterQueue"] = world.name("absent")
        if world.chance(0.04):
            spec["stopPolicy"] = "Hold"
        name = f"local{number}"
        world.locals.append(name)
        world.objects.append(make("LocalQueue", name, spec, world.space))
