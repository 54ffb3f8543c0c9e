"""`krmfn why` on what controllers made for an object that waits in Kueue: its Workload is the first cause, whoever is
asked about, and whether the owner is in the dump or not. The words of Kueue are those of the recorded situations."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from conformance.kueue.live import read_states
from tests.scheduler.inside import krmfn

Value = dict[str, Any]
FULL: Final = next(row for row in read_states() if row["state"] == "queue full")
PENDING: Final = next(row for row in read_states() if row["state"] == "check pending")
GATE: Final = [{"name": "kueue.x-k8s.io/admission"}]


class Link(NamedTuple):
    """An object of a chain of owners."""

    version: str
    kind: str
    spec: Value


JOB: Final = Link("batch/v1", "Job", {"suspend": True, "parallelism": 3})
SETS: Final = Link("jobset.x-k8s.io/v1alpha2", "JobSet", {"suspend": True, "replicatedJobs": []})
POD: Final = Link("v1", "Pod", {"schedulingGates": GATE, "containers": [{"name": "c", "image": "i"}]})
#: The object that has the queue first, then what controllers make of it.
CHAINS: Final = {
    "JobSet": (SETS, JOB),
    "TrainJob": (
        Link("trainer.kubeflow.org/v1alpha1", "TrainJob", {"suspend": True, "runtimeRef": {"name": "r"}}),
        SETS,
        JOB,
    ),
    "RayJob": (
        Link("ray.io/v1", "RayJob", {"suspend": True, "rayClusterSpec": {}}),
        Link("ray.io/v1", "RayCluster", {"suspend": True, "headGroupSpec": {}}),
    ),
    "AppWrapper": (Link("workload.codeflare.dev/v1beta2", "AppWrapper", {"suspend": True, "components": []}), JOB),
    "LeaderWorkerSet": (
        Link("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"leaderWorkerTemplate": {"workerTemplate": {}}}),
        Link("apps/v1", "StatefulSet", {"replicas": 1, "template": {}}),
        POD,
    ),
    "StatefulSet": (Link("apps/v1", "StatefulSet", {"replicas": 1, "template": {}}), POD),
    "CronJob": (Link("batch/v1", "CronJob", {"schedule": "@daily"}), JOB),
}
#: What Kueue only owns, and does not control.
OWNED: Final = ("LeaderWorkerSet", "StatefulSet")


def make_chain(name: str) -> tuple[list[Value], list[Value]]:
    """The objects of a chain, and all others of the cluster: the Workload of the Job is now that of the owner."""
    chain: list[Value] = []
    for number, (version, kind, spec) in enumerate(CHAINS[name]):
        metadata: Value = {"name": f"train{'-0' * number}", "namespace": "ml"}
        if chain:
            metadata["ownerReferences"] = [refer(chain[-1])]
        chain.append({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
    queued = chain[1] if name == "CronJob" else chain[0]  # its Jobs have the queue
    queued["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "main"}
    others = [copy.deepcopy(each) for each in FULL["items"] if is_other(each)]
    for each in others:
        if each["kind"] == "Workload" and each["metadata"]["name"].startswith("job-train"):
            each["metadata"]["ownerReferences"] = [refer(queued)]
            if name in OWNED:
                del each["metadata"]["ownerReferences"][0]["controller"]
    return chain, others


def is_other(value: Value) -> bool:
    """Whether an object of the recorded cluster is none of the Job that waits."""
    return value["kind"] != "PodGroup" and (value["kind"], value["metadata"]["name"]) != ("Job", "train")


def refer(value: Value) -> Value:
    return {
        "apiVersion": value["apiVersion"],
        "kind": value["kind"],
        "name": value["metadata"]["name"],
        "uid": "u",
        "controller": True,
    }


def ask(word: str, items: list[Value], folder: Path) -> Value:
    dump = folder / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    done = krmfn("why", word, "--cluster", str(dump), "--prove", "--kubernetes", "1.37", "-o", "json")
    answer: Value = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("name", CHAINS)
def test_what_kueue_says_of_the_owner_is_the_cause_of_all_below_it(name: str, tmp_path: Path) -> None:
    chain, others = make_chain(name)
    for each in chain:
        word = f"{each['kind'].lower()}/ml/{each['metadata']['name']}"
        answer = ask(word, [*chain, *others], tmp_path)
        assert "insufficient unused quota for cpu in flavor default" in answer["cause"], word
        assert "Wait for Job other to finish" in answer["change"], word


@pytest.mark.parametrize("name", CHAINS)
def test_an_owner_that_is_not_in_the_dump_is_found_by_its_workload(name: str, tmp_path: Path) -> None:
    chain, others = make_chain(name)
    lowest = chain[-1]
    word = f"{lowest['kind'].lower()}/ml/{lowest['metadata']['name']}"
    missing = chain[:1] if name != "LeaderWorkerSet" else chain[1:2]
    answer = ask(word, [each for each in (*chain, *others) if each not in missing], tmp_path)
    if name == "LeaderWorkerSet":  # two steps are missing between the pod and the Workload
        assert "scheduling gate kueue.x-k8s.io/admission" in answer["cause"]
    else:
        assert "insufficient unused quota for cpu" in answer["cause"]


def test_nobody_is_told_to_resume_what_an_owner_suspends(tmp_path: Path) -> None:
    chain, others = make_chain("JobSet")
    items = [chain[1], *(each for each in others if each["kind"] != "Workload")]
    answer = ask("job/ml/train-0", items, tmp_path)
    assert answer["cause"] == "Job train-0 is suspended: no pods are created"
    assert answer["change"] == "Add the JobSet train to the data: it decides when the Job runs."


def test_pods_of_a_group_in_kueue_have_the_workload_of_its_name(tmp_path: Path) -> None:
    """Its only owner is the first pod."""
    pods = []
    for number in range(2):
        metadata = {"name": f"p{number}", "namespace": "ml", "labels": {"kueue.x-k8s.io/pod-group-name": "g"}}
        pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": POD.spec})
    others = [copy.deepcopy(each) for each in FULL["items"] if is_other(each)]
    for each in others:
        if each["kind"] == "Workload" and each["metadata"]["name"].startswith("job-train"):
            each["metadata"] |= {"name": "g", "ownerReferences": [{**refer(pods[0]), "controller": False}]}
    for name in ("p0", "p1"):
        assert "insufficient unused quota for cpu" in ask(f"pod/ml/{name}", [*pods, *others], tmp_path)["cause"]


#: Conditions of a ProvisioningRequest as the Cluster Autoscaler writes them (type, status, reason, message), and words
#: of the cause and of the change; None where the nodes are there, and the check itself is told.
REQUESTS: Final = {
    "untouched": ([], "no autoscaler has looked at its request for nodes", "--enable-provisioning-requests"),
    "accepted": (
        [
            ("Accepted", "True", "Accepted", "ProvisioningRequest was accepted by ClusterAutoscaler."),
            ("Provisioned", "False", "CapacityIsNotFound", "Capacity is not found, CA will try to find it later."),
        ],
        "is Accepted: CapacityIsNotFound: Capacity is not found",
        "limits of its node pools",
    ),
    "failed": (
        [
            ("Accepted", "True", "Accepted", "ProvisioningRequest was accepted by ClusterAutoscaler."),
            ("Failed", "True", "FailedToBookCapacity", "Couldn't book capacity"),
        ],
        "is Failed: FailedToBookCapacity: Couldn't book capacity",
        "raise the limit of a node pool that fits",
    ),
    "revoked": (
        [
            ("Provisioned", "True", "CapacityIsFound", "Capacity is found in the cluster."),
            ("CapacityRevoked", "True", "CapacityRevoked", "Nodes were removed"),
        ],
        "is CapacityRevoked: CapacityRevoked: Nodes were removed",
        "Set spec.active: true in the Workload",
    ),
    "expired": (
        [
            ("Provisioned", "True", "CapacityIsFound", "Capacity is found in the cluster."),
            ("BookingExpired", "True", "CapacityReservationTimeExpired", "Capacity reservation time has expired."),
        ],
        "is BookingExpired: CapacityReservationTimeExpired",
        "other AdmissionChecks",
    ),
    "provisioned": (
        [("Provisioned", "True", "CapacityIsProvisioned", "Capacity is provisioned.")],
        "the AdmissionCheck capacity is Pending",
        "remove the check",
    ),
}


def make_request(workload: str, attempt: int, conditions: list[tuple[str, str, str, str]]) -> Value:
    keys = ("type", "status", "reason", "message")
    owner = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": workload, "controller": True}
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": f"{workload}-capacity-{attempt}", "namespace": "ml", "ownerReferences": [owner]},
        "spec": {"provisioningClassName": "check-capacity.autoscaling.x-k8s.io"},
        "status": {"conditions": [dict(zip(keys, each, strict=True)) for each in conditions]},
    }


@pytest.mark.parametrize("state", REQUESTS)
def test_the_condition_of_a_provisioning_request_is_told_first(state: str, tmp_path: Path) -> None:
    conditions, words, change = REQUESTS[state]
    items = copy.deepcopy(PENDING["items"])
    (check,) = (each for each in items if each["kind"] == "AdmissionCheck")
    check["spec"]["controllerName"] = "kueue.x-k8s.io/provisioning-request"
    (workload,) = (each["metadata"]["name"] for each in items if each["kind"] == "Workload")
    failed = make_request(workload, 9, [("Failed", "True", "Old", "an earlier attempt")])
    newest = make_request(workload, 10, conditions)
    for word in ("job/ml/train", f"wl/ml/{workload}"):
        answer = ask(word, [*items, newest, failed], tmp_path)
        assert words in answer["cause"]
        assert change in answer["change"]
    other = {**newest, "metadata": {**newest["metadata"], "namespace": "other"}}
    assert "the AdmissionCheck capacity" in ask("job/ml/train", [*items, other], tmp_path)["cause"]
