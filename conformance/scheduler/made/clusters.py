"""Made-up clusters: nodes of different sizes in racks and zones, what else is stored in them, and pods that run."""

from __future__ import annotations

from random import Random
from typing import Any

Value = dict[str, Any]

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
RACK = "example.com/rack"
HOST = "kubernetes.io/hostname"

#: CPUs, memory in GiB, GPUs.
SIZES = ((2, 4, 0), (4, 8, 0), (4, 16, 0), (8, 16, 0), (8, 32, 4), (16, 64, 0), (16, 64, 8), (32, 128, 8))
#: PriorityClasses that every cluster has.
CLASSES: tuple[tuple[str, int, str], ...] = (
    ("high", 1000, "PreemptLowerPriority"),
    ("low", 10, "PreemptLowerPriority"),
    ("patient", 500, "Never"),
)
TAINTS = (
    {"key": "dedicated", "value": "train", "effect": "NoSchedule"},
    {"key": "nvidia.com/gpu", "effect": "NoSchedule"},
    {"key": "maintenance", "value": "soon", "effect": "NoExecute"},
    {"key": "slow", "effect": "PreferNoSchedule"},
    {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
)


def make_nodes(random: Random) -> list[Value]:
    """Between two and eleven nodes in one to three pools, spread over zones and racks."""
    zones, racks = random.choice((1, 1, 2, 2, 3)), random.choice((1, 1, 2, 3))
    zoned, racked, region = random.random() < 0.85, random.random() < 0.75, random.random() < 0.4
    nodes: list[Value] = []
    large = random.random() < 0.08  # now and then several racks of the same
    for pool in range(random.choice((1, 1, 2, 2, 3))):
        cpus, memory, gpus = random.choice(SIZES)
        slots = random.choice(("110",) * 7 + ("2", "3", "5"))
        taints = [dict(random.choice(TAINTS))] if random.random() < 0.25 else []
        storage = random.random() < 0.2
        count = random.randint(1, 4) if nodes else random.randint(2, 5)
        for _ in range(count * 5 if large else count):
            number = len(nodes) + 1
            labels = {HOST: f"n{number}", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
            labels |= {"pool": "abc"[pool], "gen": str(pool * 2 + 1)}
            if number % 2:
                labels["disk"] = "ssd"
            if region:
                labels[REGION] = "r1" if number % 4 else "r2"
            zone, rack = "abc"[number % zones], number // zones % racks + 1
            if zoned and random.random() < 0.97:
                labels[ZONE] = zone
            if racked and random.random() < 0.95:
                labels[RACK] = f"{zone}{rack}"
            allocatable = {"cpu": str(cpus), "memory": f"{memory}Gi", "pods": slots}
            if random.random() < 0.1:  # as kubelets write it when they keep something for themselves
                allocatable |= {"cpu": f"{cpus * 1000 - 60}m", "memory": f"{memory * 2**20 - 655360}Ki"}
            if gpus:
                allocatable["nvidia.com/gpu"] = str(gpus)
            if storage:
                allocatable |= {"ephemeral-storage": "20Gi", "hugepages-2Mi": "512Mi"}
            spec: Value = {}
            if taints and random.random() < 0.9:
                spec["taints"] = taints
            if random.random() < 0.06:
                spec["unschedulable"] = True
                spec["taints"] = [
                    *spec.get("taints", []),
                    {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
                ]
            status = {
                "capacity": allocatable,
                "allocatable": allocatable,
                "conditions": [{"type": "Ready", "status": "True"}],
            }
            nodes.append(
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}", "labels": labels}}
                | {"spec": spec, "status": status}
            )
    return nodes


def make_stored(random: Random, nodes: list[Value]) -> list[Value]:
    """Classes that are always there; quotas, limits, volumes and a runtime class now and then."""
    stored: list[Value] = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        | {"value": value, "preemptionPolicy": policy}
        for name, value, policy in CLASSES
    ]
    heavy = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "heavy"}, "handler": "heavy"}
    stored.append(heavy | {"overhead": {"podFixed": {"cpu": "500m", "memory": "256Mi"}}})
    if random.random() < 0.5:
        pinned = random.choice([{"pool": "a"}, {"pool": "b"}, {"disk": "ssd"}])
        stored.append({**heavy, "metadata": {"name": "pinned"}, "scheduling": {"nodeSelector": pinned}})
    space = {"namespace": "ml"}
    if random.random() < 0.1:
        cpus = sum(_cpus(node) for node in nodes)
        hard = random.choice(
            (
                {"requests.cpu": str(random.randint(2, cpus))},
                {"limits.memory": f"{random.randint(2, 64)}Gi"},
                {"pods": str(random.randint(2, 12))},
                {"requests.nvidia.com/gpu": str(random.randint(1, 8))},
                {"cpu": str(random.randint(2, cpus)), "memory": "64Gi"},
            )
        )
        quota: Value = {"hard": hard}
        scope = random.random()
        if scope < 0.15:
            quota["scopes"] = [random.choice(("BestEffort", "NotBestEffort", "Terminating", "NotTerminating"))]
            quota["hard"] = {"pods": str(random.randint(2, 8))}
        elif scope < 0.3:
            expression = {"scopeName": "PriorityClass", "operator": "In", "values": [random.choice(("high", "low"))]}
            quota["scopeSelector"] = {"matchExpressions": [expression]}
        stored.append(
            {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team", **space}, "spec": quota}
        )
    if random.random() < 0.08:
        limit: Value = random.choice(
            (
                {"type": "Container", "max": {"cpu": str(random.randint(1, 8))}},
                {"type": "Container", "default": {"memory": "2Gi"}, "defaultRequest": {"cpu": "500m", "memory": "1Gi"}},
                {"type": "Pod", "max": {"cpu": str(random.randint(1, 10)), "memory": "24Gi"}},
                {"type": "Container", "min": {"memory": "128Mi"}},
            )
        )
        limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "sizes", **space}}
        stored.append({**limits, "spec": {"limits": [limit]}})
    stored += _volumes(random, nodes)
    return stored


def _volumes(random: Random, nodes: list[Value]) -> list[Value]:
    """Claims by name: `bound` to a volume of one zone, `waits` for its first consumer, `pending`, `single`."""
    if random.random() >= 0.6:
        return []
    space = {"namespace": "ml"}
    zone = random.choice([node["metadata"]["labels"].get(ZONE, "a") for node in nodes])
    host = random.choice(nodes)["metadata"]["name"]
    key, place = random.choice(((ZONE, zone), (HOST, host), (ZONE, "nowhere")))
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": [place]}]}]
    bound = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    made: list[Value] = []

    def claim(name: str, modes: list[str], storage: str, volume: str = "", notes: dict[str, str] | None = None) -> None:
        spec: Value = {"accessModes": modes, "resources": {"requests": {"storage": "1Gi"}}}
        spec["storageClassName"] = storage
        if volume:
            spec["volumeName"] = volume
        metadata = {"name": name, **space, "annotations": notes or {}}
        made.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})

    for name, mode in (("later", "WaitForFirstConsumer"), ("now", "Immediate")):
        storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
        provisioner = "kubernetes.io/no-provisioner" if name == "later" else "example.com/disk"
        made.append({**storage, "provisioner": provisioner, "volumeBindingMode": mode})
    volume: Value = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pinned"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "now",
            "hostPath": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "ml", "name": "bound"},
        },
    }
    made.append(volume)
    claim("bound", ["ReadWriteMany"], "now", "pinned", bound)
    claim("pending", ["ReadWriteMany"], "now")
    claim("waits", ["ReadWriteOnce"], "later")
    single = {**volume["spec"], "accessModes": ["ReadWriteOncePod"]}
    single.pop("nodeAffinity")
    single["claimRef"] = {**volume["spec"]["claimRef"], "name": "single"}
    made.append({**volume, "metadata": {"name": "single"}, "spec": single})
    claim("single", ["ReadWriteOncePod"], "now", "single", bound)
    return made


def make_running(random: Random, nodes: list[Value]) -> list[Value]:
    """Pods that are there already, on a third of the clusters: they take part of some nodes."""
    if random.random() < 0.65:
        return []
    pods = []
    for node in nodes:
        if random.random() < 0.5:
            continue
        cpus = max(1, _cpus(node) // random.choice((2, 4, 8)))
        resources = {"requests": {"cpu": str(cpus), "memory": "256Mi"}}
        spec = {
            "containers": [{"name": "c", "image": "registry.example/app", "resources": resources}],
            "nodeName": node["metadata"]["name"],
        }
        if random.random() < 0.4:
            spec["priorityClassName"] = random.choice(("low", "high"))
        metadata = {"name": f"there-{node['metadata']['name']}", "namespace": "data", "labels": {"app": "there"}}
        pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    return pods


def _cpus(node: Value) -> int:
    text: str = node["status"]["allocatable"]["cpu"]
    return int(text[:-1]) // 1000 if text.endswith("m") else int(text)
