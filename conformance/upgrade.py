"""Rehearses the upgrade of a control plane over one etcd: with groups left, and with what `krmfn upgrade` prints.

The scripts run as they are printed, with kubectl; what the old and the new programs then answer is the record.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from conformance.accept import widest_profile
from conformance.client import NoAnswer
from conformance.scheduler.plane import Plane, attach, open_store
from conformance.versions import HERE
from krmfn.releases.release import find_release, list_steps

DATA = HERE / "data" / "upgrade"
GATE = "AllowUnsafeMalformedObjectDeletion"
READY_SECONDS = 150.0  # an API server that cannot read a kind may become ready when it stops waiting for its cache
REQUEST = {"containers": [{"name": "main", "image": "train", "resources": {"requests": {"cpu": "1"}}}]}
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "default", "annotations": {"krmfn.dev/gang": "true"}},
    "spec": {
        **{"completions": 3, "parallelism": 3, "completionMode": "Indexed"},
        "template": {"spec": {**REQUEST, "restartPolicy": "Never"}},
    },
}


def rehearse(old: str, new: str) -> dict[str, Any]:
    """What was observed: with the printed commands; from one release to the next also with everything left, and with
    each kind left alone."""
    told = follow(old, new)
    stopping = () if len(list_steps(find_release(old), find_release(new))) > 1 else ("", *widest_profile(old).served)
    left = {kind: leave(old, new, kind) for kind in stopping}
    return {"from": old, "to": new, "left": left, "told": told}


def leave(old: str, new: str, kind: str) -> dict[str, Any]:
    """The upgrade with all groups left, or those of one kind; then the printed repair."""
    with prepare(old) as (store, folder):
        with attach(store, old, gates_of(old)) as plane:
            start_job(plane, folder, old)
            scripts = print_scripts(folder, old, new)
            for other in widest_profile(old).served:
                if kind and other != kind:
                    run(plane, folder, "\n".join(line for line in scripts["before"] if f" {other.lower()}." in line))
        with attach(store, new, gates_of(new), patient=False) as plane:
            seen = observe(plane, new)
        with attach(store, old, gates_of(old), patient=False) as plane:
            back = is_whole(plane, old)
        more = {GATE: True} if any(GATE in line for line in scripts["repair"]) else {}
        with attach(store, new, {**gates_of(new), **more}, patient=False) as plane:
            wait_api(plane)
            chosen = [line for line in scripts["repair"] if not kind or f"/{kind.lower()}s/" in line]
            repaired = run(plane, folder, "\n".join(chosen))
            after = observe(plane, new, "after")
        return {**seen, "back": back, "repair": repaired, "repaired": after}


def follow(old: str, new: str) -> dict[str, Any]:
    """The upgrade with the printed commands; what became of the pods that ran."""
    with prepare(old) as (store, folder):
        with attach(store, old, gates_of(old)) as plane:
            start_job(plane, folder, old)
            scripts = print_scripts(folder, old, new)
            before = run(plane, folder, "\n".join(scripts["before"]))
            ran = members_of(plane)
        *between, _ = list_steps(find_release(old), find_release(new))
        passed = {}
        for step in between:
            with attach(store, step.name, gates_of(step.name), patient=False) as plane:
                passed[step.name] = observe(plane, step.name, f"between-{step.name.replace('.', '-')}")
        with attach(store, new, gates_of(new), patient=False) as plane:
            seen = observe(plane, new)
            kept = members_of(plane) == ran
            plane.client.post("/api/v1/namespaces/default/pods", create_pod("train-more", find_release(new).link))
            after = run(plane, folder, "\n".join(scripts["after"]))
            gang = wait_until(lambda: is_gang_bound(plane, new), 60)
            end = {"gang": gang, "again": observe(plane, new, "again")}
        with attach(store, old, gates_of(old), patient=False) as plane:
            back = is_whole(plane, old)
        commands = {phase: [line for line in lines if line[:1] not in ("#", "")] for phase, lines in scripts.items()}
        return {
            **{"commands": commands, "before": before, **seen, "pods kept": kept, "after": after, **end},
            "between": passed,
            "back": back,
        }


@contextlib.contextmanager
def prepare(name: str) -> Iterator[tuple[Any, Path]]:
    with tempfile.TemporaryDirectory(prefix="upgrade-") as folder, open_store() as store:
        yield store, Path(folder)


def gates_of(name: str) -> Mapping[str, bool]:
    """All gates of groups, without the one by which the Job controller makes groups of its own."""
    return {gate: True for gate in widest_profile(name).gates if gate != "WorkloadWithJob"}


def start_job(plane: Plane, folder: Path, release: str) -> None:
    """A Job with its generated groups, applied, until its pods are bound; and the kubeconfig."""
    (folder / "job.yaml").write_text(yaml.safe_dump(JOB))
    create_node(plane)
    problem = run(plane, folder, f"krmfn generate -q --kubernetes {release} job.yaml > train.yaml && rm job.yaml")
    problem = problem or run(plane, folder, "kubectl apply --filename=train.yaml")
    if problem or not wait_until(lambda: sum(bool(node) for _, node in pods_of(plane).values()) == 3, 30):
        raise RuntimeError(f"the Job does not run: {problem or pods_of(plane)}")


def print_scripts(folder: Path, old: str, new: str) -> dict[str, list[str]]:
    scripts = {}
    for phase in ("before", "after", "repair"):
        words = [sys.executable, "-m", "krmfn", "upgrade", "-q", "--kubernetes", old, "--to", new, "--only", phase]
        done = subprocess.run([*words, "train.yaml"], cwd=folder, capture_output=True, text=True, check=False)
        scripts[phase] = done.stdout.splitlines()
    return scripts


def run(plane: Plane, folder: Path, script: str) -> str:
    """ "" when every command of a script went well, else what it said on stderr."""
    (folder / "kubeconfig").write_text(plane.kubeconfig())
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": search, "KUBECONFIG": str(folder / "kubeconfig")}
    done = subprocess.run(
        ["sh", "-e"], input=script, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.stderr.strip() if done.returncode else ""


def observe(plane: Plane, release: str, name: str = "late") -> dict[str, Any]:
    """What answers: readiness, lists and deletions of groups, and whether a new pod without a group is bound."""
    served = widest_profile(release).served
    api = is_ready(plane, READY_SECONDS)
    root = f"/apis/scheduling.k8s.io/{max(served['Workload'])}"
    lists = {kind: plane.client.get(f"{root}/{kind.lower()}s").status for kind in ("Workload", "PodGroup")}
    plane.client.post("/api/v1/namespaces/default/pods", create_pod(name))
    bound = wait_until(lambda: bool(pods_of(plane).get(name, ("", ""))[1]), 30)
    return {"API server ready": api, "lists": lists, "plain pod bound": bound}


def create_node(plane: Plane) -> None:
    size = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    status = {"capacity": size, "allocatable": size, "conditions": [{"type": "Ready", "status": "True"}]}
    value = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}, "status": status}
    plane.client.post("/api/v1/nodes", value)


def create_pod(name: str, link: tuple[str, ...] = ()) -> dict[str, Any]:
    """A pod, with `link` a member of the group of the Job."""
    value: Any = "job-train" if link else {}
    for field in reversed(link):
        value = {field: value}
    spec = {**REQUEST, **value}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def pods_of(plane: Plane) -> dict[str, tuple[str, str]]:
    """Name -> uid and node."""
    items = plane.client.get("/api/v1/namespaces/default/pods").body["items"]
    return {pod["metadata"]["name"]: (pod["metadata"]["uid"], pod["spec"].get("nodeName", "")) for pod in items}


def members_of(plane: Plane) -> dict[str, tuple[str, str]]:
    """The pods of the Job."""
    return {name: found for name, found in pods_of(plane).items() if name.startswith("train-")}


def is_gang_bound(plane: Plane, release: str) -> bool:
    """Whether the new group is placed, by its condition, and the pod that waited for it is bound."""
    version = max(widest_profile(release).served["PodGroup"])
    answer = plane.client.get(f"/apis/scheduling.k8s.io/{version}/namespaces/default/podgroups/job-train")
    conditions = answer.body.get("status", {}).get("conditions", []) if answer.status == 200 else []
    placed = any(each["type"].endswith("Scheduled") and each["status"] == "True" for each in conditions)
    return placed and bool(members_of(plane)["train-more"][1])


def is_whole(plane: Plane, release: str) -> bool:
    """Whether an API server is ready and can list the groups that it serves."""
    served = widest_profile(release).served
    root = f"/apis/scheduling.k8s.io/{max(served['Workload'])}"
    return is_ready(plane, 45) and all(plane.client.get(f"{root}/{kind.lower()}s").status == 200 for kind in served)


def wait_api(plane: Plane) -> None:
    wait_until(lambda: plane.client.get("/api/v1/namespaces/default").status == 200, 60)


def is_ready(plane: Plane, seconds: float) -> bool:
    return wait_until(lambda: plane.client.get("/readyz").status == 200, seconds)


def wait_until(holds: Any, seconds: float) -> bool:
    """Whether `holds` came true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(NoAnswer):
            if holds():
                return True
        time.sleep(0.3)
    return False


def write_rehearsal(old: str, new: str) -> Path:
    """Rehearses and writes the record."""
    if not shutil.which("kubectl"):
        raise RuntimeError("kubectl is not installed: https://kubernetes.io/docs/tasks/tools/")
    DATA.mkdir(exist_ok=True)
    path = DATA / f"{old}-{new}.json"
    path.write_text(json.dumps(rehearse(old, new), indent=1) + "\n")
    return path
