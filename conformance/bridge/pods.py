"""Pods as operators create them, with the labels that they put on, and pods that ask wrongly. Knows no policy.

Labels: mpi-operator v0.6.0 `pkg/controller/mpi_job_controller.go`, lws v0.8.0 `pkg/controllers` and `pkg/webhooks`,
jobset v0.11.1 `pkg/controllers/jobset_controller.go`, kuberay v1.6.2 `controllers/ray/common/pod.go`.
"""

from __future__ import annotations

from random import Random
from typing import Any

Value = dict[str, Any]

ASK, BY = "krmfn.dev/pod-group", "krmfn.dev/pod-group-by"
LWS = "leaderworkerset.sigs.k8s.io"
INDEX = {
    "lws": f"{LWS}/group-index",
    "jobset": "jobset.sigs.k8s.io/job-index",
    "ray": "ray.io/worker-group-replica-index",
}
SPACES = ("ml", "plain", "kube-system")
_NAMES = ("train", "rayjob-a", "a.b", "x" * 63, "x" * 253, "Train", "tr_ain", "", "-a", "a\nb", "ä", "0")
_KEYS = ("", "app", "a/b", INDEX["lws"], INDEX["jobset"], "no such", "a\nb", "-", "x" * 70)
#: Numbers of slices, as krmfn writes them and as it does not.
_SLICES = (
    *("app / 4", "(app*4 + a/b) / 16", "(app + a/b) / 1", "app / 0", "(app*x + a/b) / 2", "app / 9999999999", " / 2"),
    *("app*3 / 4", "app / 4 / 2", "(app*999999999 + a/b*999999999) / 3", "app*4 + a/b / 16", "(app) / 2", "app /2"),
)


def make_pod(chance: Random, number: int) -> Value:
    """A pod of an operator that asks as krmfn writes it, or one with anything in its annotations."""
    name = f"pod-{number}"
    labels, annotations = _of_operator(chance) if chance.random() < 0.5 else _of_anybody(chance)
    metadata: Value = {"name": name, "namespace": chance.choice(SPACES)}
    if labels or chance.random() < 0.2:
        metadata["labels"] = labels
    if annotations or chance.random() < 0.2:
        metadata["annotations"] = annotations
    # twice the same variable: a pod may have that, and a merge of typed lists could not be done
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    spec: Value = {"containers": [{"name": "main", "image": "registry.example.com/a:1", "env": env}]}
    if chance.random() < 0.2:
        spec["schedulingGroup"] = {"podGroupName": chance.choice(("train", "other"))}
    if LWS + "/name" in labels and BY in annotations:
        metadata["name"] = f"serve-{chance.randrange(4)}"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def label_leader(metadata: Value) -> str:
    """The label of its group that LeaderWorkerSet's webhook gives to a leader without one; "" for other pods."""
    labels = metadata.get("labels") or {}
    is_leader = labels.get(f"{LWS}/worker-index") == "0" and INDEX["lws"] not in labels
    return str(metadata["name"]).rpartition("-")[2] if is_leader else ""


def _of_operator(chance: Random) -> tuple[Value, Value]:
    index = str(chance.randrange(12))
    kind = chance.choice(("mpi", "lws", "lws-leader", "jobset", "ray", "ray-head", "ray-cleanup", "job", "multislice"))
    if kind == "job":
        completion = "batch.kubernetes.io/job-completion-index"
        return {completion: index}, {ASK: "job-train-ai-rack", BY: f"{completion} / 4"}
    if kind == "multislice":
        host = {"ray.io/replica-host-index": str(chance.randrange(4))}
        number = f"({INDEX['ray']}*4 + ray.io/replica-host-index) / {chance.choice((2, 8, 16))}"
        return {INDEX["ray"]: index} | host, {ASK: "raycluster-demo-tpu", BY: number}
    if kind == "mpi":
        labels = {"training.kubeflow.org/job-name": "allreduce", "training.kubeflow.org/replica-index": index}
        return labels, {ASK: "mpijob-allreduce"}
    if kind.startswith("lws"):
        # the set's webhook gives the leader its index: the policy has to look again after it
        labels = {f"{LWS}/name": "serve"} | ({} if kind == "lws-leader" else {INDEX["lws"]: index})
        worker = {f"{LWS}/worker-index": "0" if kind == "lws-leader" else "1"}
        return labels | worker, {ASK: "leaderworkerset-serve", BY: INDEX["lws"], f"{LWS}/size": "4"}
    if kind == "jobset":
        labels = {"jobset.sigs.k8s.io/jobset-name": "train", INDEX["jobset"]: index}
        return labels, {ASK: "jobset-train-workers", BY: INDEX["jobset"]}
    labels = {"ray.io/cluster": "demo", "ray.io/node-type": "head" if kind == "ray-head" else "worker"}
    if kind == "ray":
        return labels | {INDEX["ray"]: index}, {ASK: "raycluster-demo-tpu", BY: INDEX["ray"]}
    if kind == "ray-cleanup":
        labels["ray.io/node-type"] = "redis-cleanup"
    return labels, {ASK: "raycluster-demo"}


def _of_anybody(chance: Random) -> tuple[Value, Value]:
    values = ("0", "7", "12", "x", "", "A_b", "123456789", "1234567890")
    labels = {key: chance.choice(values) for key in chance.sample(("app", "a/b"), chance.randrange(3))}
    annotations = {}
    if chance.random() < 0.8:
        annotations[ASK] = chance.choice(_NAMES)
    if chance.random() < 0.5:
        annotations[BY] = chance.choice((*_KEYS, *_SLICES))
    return labels, annotations
