"""Dumps of clusters, as `kubectl get nodes,pods,jobs,podgroups -A -o json` prints them: nodes and pods with all that
kubelets and the server write into them, and two gangs that wait; and what krmfn takes to read them.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import programs
from benchmarks.capacity import make_gangs
from benchmarks.clock import Program, run_once

_WHEN = "2026-03-01T12:00:00Z"


def write_dump(path: Path, nodes: int, pods: int, kinds: int = 20) -> None:
    """The text of a dump: pods of `kinds` workloads on the nodes in turns, every tenth one of a DaemonSet."""
    with path.open("w", encoding="utf-8") as stream:
        stream.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        between = ""
        for value in _list_objects(nodes, pods, kinds):
            text = json.dumps(value, indent=4, sort_keys=True).replace("\n", "\n        ")
            stream.write(f"{between}        {text}")
            between = ",\n"
        stream.write('\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n')


def _list_objects(nodes: int, pods: int, kinds: int) -> Iterator[dict[str, Any]]:
    for number in range(nodes):
        yield _make_node(number, kinds)
    for number in range(pods):
        yield _make_pod(number, nodes, kinds)
    for number, value in enumerate(make_gangs(2, 64, 1)):
        yield {**value, "metadata": _describe(value["metadata"]["name"], number, "ml")}


def _describe(name: str, number: int, space: str = "") -> dict[str, Any]:
    """What the server writes into every object's metadata."""
    uid = f"7d0c3a52-6f1e-4c8e-9b1f-{number:012x}"
    metadata = {"name": name, "uid": uid, "resourceVersion": str(10**6 + number), "creationTimestamp": _WHEN}
    return {**metadata, "namespace": space} if space else metadata


def _make_node(number: int, kinds: int) -> dict[str, Any]:
    name, zone = f"n{number}", f"z{number % 3}"
    labels = {
        **{"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name},
        **{"topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "r1", "rack": f"r{number // 16}"},
        **{"node.kubernetes.io/instance-type": f"type-{number % kinds}", "pool": f"p{number % kinds}"},
    }
    amounts = {"cpu": str(32 + number % kinds), "memory": "263855064Ki", "nvidia.com/gpu": "8", "pods": "110"}
    amounts |= {"ephemeral-storage": "1920208784Ki", "hugepages-1Gi": "0", "hugepages-2Mi": "0"}
    beats = {"lastHeartbeatTime": _WHEN, "lastTransitionTime": _WHEN}
    conditions = [
        {"type": kind, "status": "True" if kind == "Ready" else "False", "reason": f"Kubelet{kind}", **beats}
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    images = [
        {"names": [f"registry.example/team/image-{each}@sha256:{each:064x}"], "sizeBytes": 10**8 + each}
        for each in range(20)
    ]
    address = f"10.{number // 65536}.{number // 256 % 256}.{number % 256}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {**_describe(name, number), "labels": labels, "annotations": {"volumes.example/attach": "true"}},
        "spec": {"podCIDR": f"{address}/24", "providerID": f"example:///{zone}/{name}"},
        "status": {
            **{"addresses": [{"address": address, "type": "InternalIP"}, {"address": name, "type": "Hostname"}]},
            **{"allocatable": amounts, "capacity": amounts, "conditions": conditions, "images": images},
            "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.37.0", "osImage": "Linux", "machineID": name},
        },
    }


def _make_pod(number: int, nodes: int, kinds: int) -> dict[str, Any]:
    """One pod that runs."""
    workload, daemon = number % kinds, number % 10 == 0
    owner: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet" if daemon else "ReplicaSet",
        "name": f"app-{workload}",
    }
    labels = {"app.kubernetes.io/name": f"app-{workload}", "app.kubernetes.io/part-of": "shop", "tier": "backend"}
    owner |= {"controller": True, "blockOwnerDeletion": True, "uid": f"7d0c3a52-6f1e-4c8e-9b1f-{workload:012x}"}
    metadata = {**_describe(f"app-{workload}-{number:06x}", number, f"team-{workload}"), "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "generateName": f"app-{workload}-", "ownerReferences": [owner]},
        "spec": {**_make_spec(workload), "nodeName": f"n{number * 7 % nodes}"},
        "status": _make_status(number),
    }


def _make_spec(workload: int) -> dict[str, Any]:
    """With the defaults of the server, and what admission adds."""
    environment = [{"name": f"SETTING_{each}", "value": f"value-{each}"} for each in range(4)]
    requests = {"cpu": f"{100 + workload}m", "memory": "256Mi"}
    box = {
        **{"name": "main", "image": "registry.example/team/image:1.2.3", "imagePullPolicy": "IfNotPresent"},
        **{"args": ["--listen=:8080", "--verbose"], "env": environment, "ports": [{"containerPort": 8080}]},
        **{"resources": {"requests": requests, "limits": {"memory": "256Mi"}}},
        **{"readinessProbe": {"httpGet": {"path": "/ready", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10}},
        **{"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}],
    }
    tolerated = [
        {"effect": "NoExecute", "key": f"node.kubernetes.io/{key}", "operator": "Exists", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
    ]
    return {
        **{"containers": [box], "dnsPolicy": "ClusterFirst", "enableServiceLinks": True, "priority": 0},
        **{"preemptionPolicy": "PreemptLowerPriority", "restartPolicy": "Always", "schedulerName": "default-scheduler"},
        **{"securityContext": {}, "serviceAccount": "default", "serviceAccountName": "default"},
        **{"terminationGracePeriodSeconds": 30, "tolerations": tolerated},
        "volumes": [{"name": "token", "projected": {"defaultMode": 420, "sources": sources}}],
    }


def _make_status(number: int) -> dict[str, Any]:
    conditions = [
        {"lastProbeTime": None, "lastTransitionTime": _WHEN, "status": "True", "type": kind}
        for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    image = "registry.example/team/image"
    state: dict[str, Any] = {
        "containerID": f"containerd://{number:064x}",
        "image": f"{image}:1.2.3",
        "imageID": f"{image}@sha256:1",
    }
    state |= {"name": "main", "ready": True, "restartCount": 0, "started": True}
    address = f"10.{number // 65536}.{number // 256 % 256}.{number % 256}"
    return {
        **{"conditions": conditions, "hostIP": address, "podIP": address, "podIPs": [{"ip": address}]},
        **{"containerStatuses": [{**state, "state": {"running": {"startedAt": _WHEN}}}]},
        **{"phase": "Running", "qosClass": "Burstable", "startTime": _WHEN},
    }


#: Nodes, pods, and what each command on a dump of these may take at most, in seconds of the processor and bytes.
ROWS: tuple[tuple[int, int, float], ...] = ((1_500, 15_000, 0.1), (15_000, 150_000, 1))
SECONDS = {"facts": 20.0, "fit --prove": 20.0, "why": 3.0}
#: What starting, and a cluster without pods, takes.
START, BYTES = 0.5, 2_000_000_000


def main() -> int:
    """Prints the table; 1 when a bound is not kept. The bounds of the smaller dump are a tenth: time is linear."""
    print("| command | nodes | pods | MB of JSON | seconds | MB |\n|---|---|---|---|---|---|")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        dump, job = Path(folder, "dump.json"), Path(folder, "job.yaml")
        job.write_text("".join(f"---\n{json.dumps(value)}\n" for value in make_gangs(2, 64, 1)))
        for nodes, pods, part in ROWS:
            write_dump(dump, nodes, pods)
            commands = {
                "facts": programs.krmfn("facts", str(dump)),
                "fit --prove": programs.krmfn("fit", "--prove", str(job), "--cluster", str(dump)),
                "why": programs.krmfn("why", "job/ml/g0", "--prove", "--cluster", str(dump)),
            }
            for name, command in commands.items():
                run = run_once(Program(command), allowed=(0, 1))
                kept = run.processor <= SECONDS[name] * part + START and run.memory <= BYTES
                missed += not kept
                size = f"{dump.stat().st_size / 1e6:,.0f}"
                cells = f"{nodes:,} | {pods:,} | {size} | {run.processor:.2f}{'' if kept else ' (missed)'}"
                print(f"| `{name}` | {cells} | {run.memory / 1e6:,.0f} |", flush=True)
    return min(missed, 1)
