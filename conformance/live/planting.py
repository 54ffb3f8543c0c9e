"""Planted obstacles: a gang that would start, and one thing in its way. krmfn names it without asking a scheduler, and
on the control plane the gang never starts. The same gang without obstacle does."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from conformance.live.claims import Claim, Step, Value, ask_json, spell_cluster, write_manifests
from conformance.live.gangs import make_node
from conformance.live.obstacles import CLEAR, OBSTACLES, Obstacle, make_object
from conformance.scheduler.cluster import clean, create, list_pods, wait_quiet
from conformance.scheduler.plane import Plane
from conformance.scheduler.pods import expand
from conformance.scheduler.verdicts import link_of
from conformance.versions import read_releases
from krmfn.releases.release import find_release

PLANTED: Final = "planted obstacles"


def select(obstacles: Sequence[Obstacle], release: str) -> list[Obstacle]:
    """Those that a release knows."""
    has = find_release(release).has
    return [obstacle for obstacle in obstacles if has(obstacle.needs) and not has(obstacle.unless)]


def make_nodes() -> list[Value]:
    """The cluster."""
    rows: tuple[tuple[str, Value, Value, Value], ...] = (
        ("n1", {"rack": "r1", "generation": "3"}, {"cpu": "8"}, {}),
        ("n2", {"rack": "r1", "generation": "4"}, {"cpu": "8"}, {}),
        (
            "n3",
            {"rack": "r2"},
            {"cpu": "16", "nvidia.com/gpu": "8"},
            {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        ),
        ("n4", {"rack": "r2", "disk": "x"}, {"cpu": "32"}, {"unschedulable": True}),
    )
    more = {"memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    return [make_node(name, labels, {**more, **amounts}, spec) for name, labels, amounts, spec in rows]


def make_gang(obstacle: Obstacle, release: str) -> list[Value]:
    """The manifests of the gang, with the obstacle in its way."""
    box = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}, **obstacle.box}
    versions = read_releases(previews=True)[release].served.get("PodGroup")
    link, groups = _write_group(obstacle, versions[-1]) if versions else _write_workload(obstacle)
    spec = {"restartPolicy": "Never", "containers": [box], **link, **obstacle.pod}
    template = {"metadata": {"labels": {"app": "g"}}, "spec": spec}
    job = {"parallelism": obstacle.pods, "completions": obstacle.pods, "template": template}
    return copy.deepcopy([*groups, *obstacle.more, make_object("batch/v1", "Job", "g", "ml", spec=job)])


def _write_group(obstacle: Obstacle, version: str) -> tuple[Value, list[Value]]:
    """The link of the pods, and the PodGroup."""
    spec = {"schedulingPolicy": {"gang": {"minCount": obstacle.pods}}, **obstacle.group}
    group = make_object(f"scheduling.k8s.io/{version}", "PodGroup", "g", "ml", spec=spec)
    return {"schedulingGroup": {"podGroupName": obstacle.link}}, [group]


def _write_workload(obstacle: Obstacle) -> tuple[Value, list[Value]]:
    """The link of the pods, and the Workload that is the group: it has a policy and nothing else."""
    policy = obstacle.group.get("schedulingPolicy", {"gang": {"minCount": obstacle.pods}})
    spec = {"podGroups": [{"name": "g", "policy": policy}]}
    workload = make_object("scheduling.k8s.io/v1alpha1", "Workload", "g", "ml", spec=spec)
    return {"workloadRef": {"name": obstacle.link, "podGroup": "g"}}, [workload]


def ask(obstacle: Obstacle, release: str, gates: Mapping[str, bool]) -> Value:
    """What `krmfn fit` proves about the gang, in a cluster with these gates. Raises RuntimeError without an answer."""
    with TemporaryDirectory() as folder:
        space = {"metadata": {"name": "ml", "labels": dict(obstacle.labels)}}
        stored = [*obstacle.stored, *([{"apiVersion": "v1", "kind": "Namespace", **space}] if obstacle.labels else ())]
        listed = sorted({value["kind"] for value in stored} | {"Node", "Pod", "PriorityClass"})
        spec = {"items": [*make_nodes(), *stored], "listed": listed, "schedulers": ["default-scheduler"]}
        facts = make_object("krmfn.dev/v1alpha1", "ClusterFacts", "cluster", spec=spec)
        cluster = Path(folder, "cluster.json")
        cluster.write_text(json.dumps(facts))
        manifests = write_manifests(Path(folder, "gang.yaml"), make_gang(obstacle, release))
        options = ("--as-is", "--prove", "--cluster", str(cluster), *spell_cluster(release, gates))
        answer = ask_json("fit", manifests, *options)
    found: Value = answer["gangs"][0]
    return found


def list_obstacles(release: str) -> Iterator[Step]:
    """Each obstacle that a release knows by itself, and the gangs without any."""
    for obstacle in select((*CLEAR, *OBSTACLES), release):
        yield partial(_prove, obstacle=obstacle)


def _prove(plane: Plane, obstacle: Obstacle) -> Claim:
    clean(plane, plane.applied)
    values = make_gang(obstacle, plane.release.name)
    groups = [value for value in values if value["kind"] != "Job"]
    plane.applied = [*obstacle.stored, *groups]
    told = ask(obstacle, plane.release.name, plane.gates)
    create(plane, [*make_nodes(), *obstacle.stored])
    label(plane, obstacle.labels)
    refused = create(plane, [*groups, *(pod for value in values for pod in expand(value))])
    label(plane, dict.fromkeys(obstacle.labels))
    wait_quiet(plane, 2)
    pods = [pod for pod in list_pods(plane) if link_of(pod)]
    bound = sum(bool(pod["spec"].get("nodeName")) for pod in pods)
    words = next((text.partition(": ")[2] for text in refused.values()), "")
    seen = f"{bound} of {obstacle.pods} pods run{f'; refused: {words[:120]}' if words else ''}"
    rule = f" ({told['rule']})" if told.get("rule") else ""
    never = told["verdict"] == "never"
    kept = (bound == obstacle.pods and not never) if obstacle in CLEAR else (bound == 0 and never)
    return Claim(PLANTED, obstacle.title, f"{told['verdict']}{rule}", seen, kept)


def label(plane: Plane, labels: Mapping[str, str | None]) -> None:
    """Changes the labels of the gang's namespace; None takes one away."""
    if labels:
        change = {"metadata": {"labels": dict(labels)}}
        plane.client.patch("/api/v1/namespaces/ml", change, "application/merge-patch+json")
        time.sleep(0.5)  # until admission has seen it
