"""Made-up jobs of a world: Jobs, JobSets, RayJobs and RayClusters that name its queues.

Must not know Kueue's answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from conformance.kueue.worlds import World

Value = dict[str, Any]

QUEUE: Final = "kueue.x-k8s.io/queue-name"
PRIORITY: Final = "kueue.x-k8s.io/priority-class"
MINIMUM: Final = "kueue.x-k8s.io/job-min-parallelism"
SECONDS: Final = "kueue.x-k8s.io/max-exec-time-seconds"
_TOPOLOGY: Final = "kueue.x-k8s.io/podset-{}-topology"


def make_jobs(world: World) -> list[Value]:
    """Two to eight jobs."""
    makers = (_make_job, _make_job, _make_job, _make_job, _make_job_set, _make_ray_job, _make_ray_cluster)
    return [
        world.random.choice(makers)(world, f"j{number}") for number in range(world.random.choice((2, 3, 4, 4, 5, 6, 8)))
    ]


def _make_head(world: World, version: str, kind: str, name: str) -> Value:
    labels = {}
    if not world.chance(0.02):
        labels[QUEUE] = world.random.choice(world.locals)
    if world.chance(0.03):
        labels[QUEUE] = "absent"
    if world.priorities and world.chance(0.5):
        labels[PRIORITY] = world.random.choice(world.priorities)
    if world.chance(0.05):
        labels[SECONDS] = "3600"
    metadata = {"name": name, "namespace": world.space, "labels": labels}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _make_pod(world: World, never: bool = True) -> Value:
    """A template of pods with requests of some of the world's resources, and what flavors are compared with."""
    random = world.random
    requests: Value = {}
    for resource in world.resources:
        if resource == "cpu" or world.chance(0.7):
            amount = random.choice(("1", "1", "2", "500m")) if resource == "cpu" else random.choice(("1", "1", "2"))
            requests[resource] = f"{int(amount) * 2}Gi" if resource == "memory" else amount
    if world.chance(0.03):
        requests["example.com/other"] = "1"
    extended = {name: amount for name, amount in requests.items() if "/" in name}
    box: Value = {"name": "c", "image": "i", "resources": {"requests": requests}}
    if extended:
        box["resources"]["limits"] = extended
    spec: Value = {"containers": [box], **({"restartPolicy": "Never"} if never else {})}
    if world.chance(0.2):
        spec["nodeSelector"] = {"pool": random.choice(("a", "b", "c"))}
    if world.chance(0.5):
        spec["tolerations"] = [{"key": "spot", "operator": "Exists"}]
    template: Value = {"spec": spec}
    if world.chance(0.6 if world.topology else 0.02):
        how = random.choice(("required", "required", "preferred", "unconstrained"))
        level = random.choice(world.levels) if world.chance(0.95) else "example.com/block"
        annotation = {_TOPOLOGY.format(how): "true" if how == "unconstrained" else level}
        template["metadata"] = {"annotations": annotation}
    return template


def _make_job(world: World, name: str) -> Value:
    pods = world.random.choice((1, 1, 2, 2, 3, 4, 6, 10))
    job = _make_head(world, "batch/v1", "Job", name)
    if pods > 1 and world.chance(0.3):
        least = world.random.randint(1, pods - 1) if not world.chance(0.05) else pods
        job["metadata"]["annotations"] = {MINIMUM: str(least)}
    spec: Value = {"parallelism": pods, "completions": pods, "template": _make_pod(world)}
    if world.chance(0.5):
        spec["suspend"] = True
    return {**job, "spec": spec}


def _make_job_set(world: World, name: str) -> Value:
    rows = []
    for role in ("driver", "workers")[-world.random.choice((1, 2)) :]:
        pods = 1 if role == "driver" else world.random.choice((1, 2, 3))
        replicas = 1 if role == "driver" else world.random.choice((1, 1, 2))
        job = {"parallelism": pods, "completions": pods, "template": _make_pod(world)}
        rows.append({"name": role, "replicas": replicas, "template": {"spec": job}})
    return {**_make_head(world, "jobset.x-k8s.io/v1alpha2", "JobSet", name), "spec": {"replicatedJobs": rows}}


def _make_cluster(world: World) -> Value:
    group: Value = {"groupName": "workers", "rayStartParams": {}, "template": _make_pod(world, never=False)}
    group["replicas"] = group["minReplicas"] = group["maxReplicas"] = world.random.choice((1, 2, 3))
    head = {"rayStartParams": {}, "template": _make_pod(world, never=False)}
    return {"rayVersion": "2.46.0", "headGroupSpec": head, "workerGroupSpecs": [group]}


def _make_ray_job(world: World, name: str) -> Value:
    spec = {"entrypoint": "python a.py", "shutdownAfterJobFinishes": True, "rayClusterSpec": _make_cluster(world)}
    return {**_make_head(world, "ray.io/v1", "RayJob", name), "spec": {**spec, "suspend": True}}


def _make_ray_cluster(world: World, name: str) -> Value:
    return {**_make_head(world, "ray.io/v1", "RayCluster", name), "spec": _make_cluster(world)}
