"""`krmfn why` through the process: what is well, what is in the way, and objects that are not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Call
from tests.cli.test_fit import make_job, make_node, make_pod


@pytest.fixture
def dump(tmp_path: Path, krmfn: Call) -> list[dict[str, Any]]:
    """A cluster with a Job of two pods of which none has a node yet, and what its events say."""
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(make_job("train", 2, 1)))
    generated = list(yaml.safe_load_all(krmfn("generate", "-q", "job.yaml").out))
    pods = []
    for number in range(2):
        pod = make_pod(f"train-{number}", "", {"apiVersion": "batch/v1", "kind": "Job"})
        pod["metadata"]["ownerReferences"][0]["name"] = "train"
        pod["spec"] = {"schedulingGroup": {"podGroupName": "job-train"}, "containers": pod["spec"]["containers"]}
        pods.append(pod)
    event = make_event("Job", "train", "FailedCreate", "exceeded quota: team")
    return [make_node("gpu-1", "a"), *generated, *pods, event]


def make_event(kind: str, name: str, reason: str, message: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": kind, "namespace": "ml", "name": name},
        "type": "Warning",
        "reason": reason,
        "message": message,
    }


def write(folder: Path, values: list[dict[str, Any]]) -> None:
    (folder / "dump.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": values}))


def find(values: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(value for value in values if value["kind"] == kind)


@pytest.mark.parametrize(
    "word", ["job/train", "jobs/ml/train", "podgroup/job-train", "po/train-1", "workload/job-train"]
)
def test_all_is_well_from_every_side(word: str, dump: list[dict[str, Any]], tmp_path: Path, krmfn: Call) -> None:
    for pod in (value for value in dump if value["kind"] == "Pod"):
        pod["spec"]["nodeName"] = "gpu-1"
    write(tmp_path, dump)
    done = krmfn("why", word, "--cluster", "dump.yaml", "--prove")
    assert done.code == 0
    assert "2 of 2 pods have a node" in done.out
    assert "All is well." in done.out


def test_pods_that_are_older_than_the_link(dump: list[dict[str, Any]], tmp_path: Path, krmfn: Call) -> None:
    pod = next(value for value in dump if value["kind"] == "Pod")
    del pod["spec"]["schedulingGroup"]
    pod["spec"]["nodeName"] = "gpu-1"
    write(tmp_path, dump)
    done = krmfn("why", "job/train", "--cluster", "dump.yaml", "--prove")
    assert "0 of 2 pods have a node, 1 exist; they are in the gang ml/job-train; 1 more pod is not in it" in done.out
    older = "the group waits for 2 pods, but 1 exist: 1 pod was created before the link, and so not in the group"
    assert older in done.out
    assert "Delete the Job and create it again" in done.out


def test_pods_that_finished(dump: list[dict[str, Any]], tmp_path: Path, krmfn: Call) -> None:
    next(value for value in dump if value["kind"] == "Pod")["status"] = {"phase": "Succeeded"}
    write(tmp_path, dump)
    done = krmfn("why", "job/train", "--cluster", "dump.yaml", "--prove")
    assert "the group waits for 2 pods, but 1 exist beside 1 finished pod, which the scheduler does not" in done.out
    assert "Lower minCount of the group to 1." in done.out


def test_a_pod_that_is_missing(dump: list[dict[str, Any]], tmp_path: Path, krmfn: Call) -> None:
    write(tmp_path, [value for value in dump if value["metadata"]["name"] != "train-1"])
    done = krmfn("why", "job/train", "--cluster", "dump.yaml", "--prove")
    assert done.code == 1
    assert "the group waits for 2 pods, but 1 exist" in done.out
    assert "FailedCreate: exceeded quota: team" in done.out


def test_a_group_that_is_missing(dump: list[dict[str, Any]], tmp_path: Path, krmfn: Call) -> None:
    write(tmp_path, [value for value in dump if value["kind"] != "PodGroup"])
    done = krmfn("why", "pod/train-0", "--cluster", "dump.yaml", "--prove", "-o", "json")
    answer = json.loads(done.out)
    assert (answer["well"], answer["rule"]) == (False, "group-missing")


def test_what_does_not_fit(dump: list[dict[str, Any]], tmp_path: Path, krmfn: Call) -> None:
    find(dump, "Node")["status"]["allocatable"]["cpu"] = "1"
    write(tmp_path, dump)
    done = krmfn("why", "job/train", "--cluster", "dump.yaml", "--prove")
    assert "Cause: 0/1 nodes are available: 1 Insufficient cpu" in done.out
    assert "Way out: " in done.out
    assert "[pod-too-large]" in done.out


def test_a_gate_and_a_suspended_job(dump: list[dict[str, Any]], tmp_path: Path, krmfn: Call) -> None:
    find(dump, "Pod")["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    write(tmp_path, dump)
    assert "scheduling gate example.com/wait" in krmfn("why", "job/train", "--cluster", "dump.yaml", "--prove").out
    find(dump, "Job")["spec"]["suspend"] = True
    write(tmp_path, [value for value in dump if value["kind"] != "Pod"])
    assert "Job train is suspended" in krmfn("why", "job/train", "--cluster", "dump.yaml", "--prove").out


def test_mistakes(dump: list[dict[str, Any]], tmp_path: Path, krmfn: Call) -> None:
    write(tmp_path, dump)
    for words, said in (
        (["job/train"], "--cluster is missing"),
        (["train", "--cluster", "dump.yaml"], "write KIND/NAME"),
        (["job/other", "--cluster", "dump.yaml"], "no such object"),
    ):
        done = krmfn("why", *words)
        assert (done.code, said in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("reason", "way_out"),
    [
        ("PodGroupError", "Give all pods and groups of the gang one scheduler"),
        ("SchedulerError", "Check the log of the scheduler"),
        ("Unschedulable", ""),
        ("Scheduled", ""),
    ],
)
def test_what_the_scheduler_says_of_a_group(
    reason: str, way_out: str, dump: list[dict[str, Any]], tmp_path: Path, krmfn: Call
) -> None:
    """A reason that time does not heal is the cause; the other ones stand behind what is certain."""
    status = {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": reason, "message": "it says so"}
    find(dump, "PodGroup")["status"] = {"conditions": [status]}
    write(tmp_path, dump)
    done = krmfn("why", "job/train", "--cluster", "dump.yaml", "--prove")
    assert ("Cause: the scheduler does not accept PodGroup job-train: it says so" in done.out) == bool(way_out)
    assert way_out in done.out
    assert f"{reason}: it says so" in done.out


@pytest.mark.parametrize(
    ("kind", "condition", "reason", "said"),
    [
        # 1.37 has one reason for all; 1.38 tells apart what time does not heal.
        ("PodGroup", "PodGroupInitiallyScheduled", "SchedulerError", "all pods should have the same priority"),
        ("PodGroup", "PodGroupScheduled", "PodGroupError", "it says so"),
        ("PodGroup", "CompositePodGroupInitiallyScheduled", "CompositePodGroupError", "it says so"),
    ],
)
def test_a_group_that_the_scheduler_does_not_accept(
    kind: str, condition: str, reason: str, said: str, dump: list[dict[str, Any]], tmp_path: Path, krmfn: Call
) -> None:
    status = {"type": condition, "status": "False", "reason": reason, "message": said}
    find(dump, kind)["status"] = {"conditions": [status]}
    write(tmp_path, dump)
    done = krmfn("why", "job/train", "--cluster", "dump.yaml", "--prove")
    assert f"Cause: the scheduler does not accept PodGroup job-train: {said}" in done.out
    assert "one priority and one" in " ".join(done.out.split())


def test_what_may_happen_later_is_no_cause(dump: list[dict[str, Any]], tmp_path: Path, krmfn: Call) -> None:
    """A Job whose retried pods would starve, before the scheduler has looked at any of them."""
    write(tmp_path, [value for value in dump if value["kind"] != "Event"])
    assert "[retry-starves]" in krmfn("validate", "dump.yaml", "--select", "retry-starves").out
    done = krmfn("why", "job/train", "--cluster", "dump.yaml", "--prove")
    assert "Cause: the scheduler has not tried to place its pods yet" in done.out
    off = krmfn("why", "job/train", "--cluster", "dump.yaml", "--prove", "--feature-gates", "GenericWorkload=false")
    assert "[cluster-gate-off]" in off.out


def test_conditions_that_later_releases_add(dump: list[dict[str, Any]], tmp_path: Path, krmfn: Call) -> None:
    """Whatever a controller says of a group is shown, also under a name that is not known."""
    said = {"type": "PodGroupDeferred", "status": "True", "reason": "Waiting", "message": "its siblings are late"}
    find(dump, "PodGroup")["status"] = {"conditions": [said]}
    write(tmp_path, dump)
    done = krmfn("why", "job/train", "--cluster", "dump.yaml", "--prove")
    assert "PodGroupDeferred is True (Waiting): its siblings are late" in done.out


def make_foreign(
    kind: str, version: str, condition: dict[str, str], owner: dict[str, str], key: str = "conditions"
) -> dict[str, Any]:
    """What a controller made for `owner`, with one condition below status.`key`."""
    meta = {"name": "g", "namespace": "ml", "ownerReferences": [{**owner, "controller": True}]}
    return {"apiVersion": version, "kind": kind, "metadata": meta, "status": {key: [condition]}}


JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "train"}
UNSCHEDULABLE = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": "2/2 tasks wait"}


def test_what_kueue_says_of_a_suspended_job(tmp_path: Path, krmfn: Call) -> None:
    job = make_job("train", 2, 1)
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    job["spec"]["suspend"] = True
    said = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "2 more needed in flavor gpu"}
    workload = make_foreign("Workload", "kueue.x-k8s.io/v1beta1", said, JOB)
    write(tmp_path, [make_node("gpu-1", "a"), job, workload])
    for word in ("job/ml/train", "jobs.batch/train", "job.v1.batch/ml/train", "wl/g", "workloads.kueue.x-k8s.io/ml/g"):
        done = krmfn("why", word, "--cluster", "dump.yaml", "--prove")
        assert done.code == 1
        assert "Cause: Kueue does not start Job train: 2 more needed in flavor gpu" in done.out, word


@pytest.mark.parametrize(
    ("version", "name", "key", "kind"),
    [
        ("scheduling.volcano.sh/v1beta1", "Volcano", "conditions", "Unschedulable"),
        ("scheduling.run.ai/v2alpha2", "KAI", "schedulingConditions", "UnschedulableOnNodePool"),
    ],
)
def test_what_another_scheduler_says_of_its_group(
    version: str, name: str, key: str, kind: str, tmp_path: Path, krmfn: Call
) -> None:
    job = make_job("train", 2, 1)
    pod = make_pod("train-0", "", {"apiVersion": "batch/v1", "kind": "Job"})
    pod["metadata"]["ownerReferences"][0]["name"] = "train"
    pod["spec"]["schedulerName"] = job["spec"]["template"]["spec"]["schedulerName"] = name.lower()
    group = make_foreign("PodGroup", version, {**UNSCHEDULABLE, "type": kind}, JOB, key)
    write(tmp_path, [make_node("gpu-1", "a"), job, pod, group])
    for word in ("pod/ml/train-0", "job/train"):
        done = krmfn("why", word, "--cluster", "dump.yaml", "--prove")
        said = " ".join(done.out.split())
        assert f"{name} does not start PodGroup g: NotEnoughResources: 2/2 tasks wait" in said, word


@pytest.mark.parametrize(
    ("version", "name", "annotation"),
    [
        ("scheduling.volcano.sh/v1beta1", "volcano", "scheduling.k8s.io/group-name"),
        ("scheduling.run.ai/v2alpha2", "kai-scheduler", "pod-group-name"),
    ],
)
def test_a_pod_without_owner_is_in_the_group_that_it_names(
    version: str, name: str, annotation: str, tmp_path: Path, krmfn: Call
) -> None:
    pod = make_pod("p0", "", {"apiVersion": "v1", "kind": "Node"})
    del pod["metadata"]["ownerReferences"]
    pod["metadata"]["annotations"] = {annotation: "g"}
    pod["spec"]["schedulerName"] = name
    group = make_foreign("PodGroup", version, UNSCHEDULABLE, JOB)
    del group["metadata"]["ownerReferences"]
    stranger = make_foreign("PodGroup", version, {**UNSCHEDULABLE, "message": "another"}, JOB)
    stranger["metadata"] = {"name": "h", "namespace": "ml"}
    write(tmp_path, [make_node("gpu-1", "a"), pod, group, stranger])
    for word in ("pod/ml/p0", "po/p0", "podgroup/ml/g"):
        said = " ".join(krmfn("why", word, "--cluster", "dump.yaml", "--prove").out.split())
        assert "does not start PodGroup g: NotEnoughResources: 2/2 tasks wait" in said, word
        assert "0 of 1 pods have a node, 1 exist" in said, word
        assert "another" not in said


@pytest.mark.parametrize(
    "word", ["vcjob/ml/j", "vj/j", "job.batch.volcano.sh/ml/j", "jobs.v1alpha1.batch.volcano.sh/j"]
)
def test_a_job_of_volcano_by_its_names(word: str, tmp_path: Path, krmfn: Call) -> None:
    meta = {"name": "j", "namespace": "ml"}
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": meta, "spec": {"tasks": []}}
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j"}
    group = make_foreign("PodGroup", "scheduling.volcano.sh/v1beta1", UNSCHEDULABLE, owner)
    write(tmp_path, [make_job("j", 1, 1), job, group])
    done = krmfn("why", word, "--cluster", "dump.yaml", "--prove")
    assert "Volcano does not start PodGroup g" in done.out


def test_what_is_proved_of_a_queue_stands_before_the_words_of_suspension(tmp_path: Path, krmfn: Call) -> None:
    job = make_job("train", 2, 1)
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    job["spec"]["suspend"] = True
    job["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "16"}}
    flavor = {"name": "default", "resources": [{"name": "cpu", "nominalQuota": "16"}]}
    queues: list[dict[str, Any]] = [
        {"kind": "ResourceFlavor", "metadata": {"name": "default"}},
        {
            "kind": "ClusterQueue",
            "metadata": {"name": "all"},
            "spec": {
                "namespaceSelector": {},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
            },
        },
        {"kind": "LocalQueue", "metadata": {"name": "team", "namespace": "ml"}, "spec": {"clusterQueue": "all"}},
    ]
    write(tmp_path, [make_node("gpu-1", "a"), job, *({"apiVersion": "kueue.x-k8s.io/v1beta1", **q} for q in queues)])
    done = krmfn("why", "job/ml/train", "--cluster", "dump.yaml", "--prove", "-o", "json")
    answer = json.loads(done.out)
    assert answer["rule"] == "kueue-queue-too-small", answer
    assert answer["change"]
