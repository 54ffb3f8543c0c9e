"""Gangs of other projects' kinds that do not start, each for one reason, and the change of the cluster that starts
them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from conformance.kueue.situations import RACK, SPACE, Change, make_node, make_nodes

Value = dict[str, Any]
#: An image that no kubelet can pull.
MISSING: Final = "registry.example.com/missing:1"


class Stuck(NamedTuple):
    """`objects` are created, then `after` is done; `changes` mend it. `again`: what was created last is deleted and
    created again with them. So many `pods` have a node when the gang runs."""

    name: str
    operator: str
    objects: Sequence[Value]
    changes: Sequence[Change]
    after: Sequence[Change] = ()
    again: bool = False
    pods: int = 3


def make_pods(linked: bool, image: str = "train", **spec: Any) -> Value:
    """A template of pods of one cpu."""
    box = {"name": "main", "image": image, "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    link = {"schedulingGroup": {"podGroupName": "train"}} if linked else {}
    return {"spec": {"restartPolicy": "Never", "containers": [box], **link, **spec}}


def make_group() -> Value:
    spec = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    metadata = {"name": "train", "namespace": SPACE}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec}


def make_quota(name: str, counted: str, hard: int) -> Value:
    """A quota with the status that its controller would write: it does not run here."""
    spec = {"hard": {counted: str(hard)}}
    metadata = {"name": name, "namespace": SPACE}
    status = {**spec, "used": {counted: "0"}}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec, "status": status}


def make_job_set(leader: Value, workers: Value, replicas: int = 1, **spec: Any) -> Value:
    """A JobSet of a leader and two workers, in one Job or in two."""

    def make(name: str, pods: Value, count: int, number: int) -> Value:
        job = {"parallelism": number, "completions": number, "backoffLimit": 0, "template": pods}
        return {"name": name, "replicas": count, "template": {"spec": job}}

    jobs = [make("leader", leader, 1, 1), make("workers", workers, replicas, 2 // replicas)]
    metadata: Value = {"name": "train", "namespace": SPACE}
    body = {"replicatedJobs": jobs, **spec}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": body}


def _list_job_sets() -> Iterator[Stuck]:
    linked, alone = make_pods(True), make_pods(False)
    plain = [*make_nodes(), make_group()]
    yield Stuck(
        "JobSet suspended",
        "jobset",
        [*plain, make_job_set(linked, linked, suspend=True)],
        [Change("JobSet", "train", {"spec": {"suspend": False}})],
    )
    yield Stuck(
        "JobSet waits for its first Job",
        "jobset",
        [
            *make_nodes(),
            make_job_set(
                make_pods(False, nodeSelector={RACK: "r9"}), alone, startupPolicy={"startupPolicyOrder": "InOrder"}
            ),
        ],
        [Change("Node", "n1", {"metadata": {"labels": {RACK: "r9"}}})],
    )
    yield Stuck(
        "JobSet has failed",
        "jobset",
        [*plain, make_job_set(linked, linked, failurePolicy={"maxRestarts": 0})],
        [Change("JobSet", "train", {})],
        [Change("Pod", "train-workers-0-", {"status": {"phase": "Failed"}}, status=True)],
        again=True,
    )
    yield Stuck(
        "quota on the Jobs of a JobSet",
        "jobset",
        [make_quota("jobs", "count/jobs.batch", 1), *plain, make_job_set(linked, linked)],
        [Change("ResourceQuota", "jobs", None)],
    )
    exclusive = make_job_set(linked, linked, replicas=2)
    exclusive["metadata"]["annotations"] = {"alpha.jobset.sigs.k8s.io/exclusive-topology": RACK}
    yield Stuck(
        "JobSet with a rack for each Job",
        "jobset",
        [*plain, exclusive],
        [Change("Node", "", make_node("n3", "r3", "8"))],
    )


def make_worker_set(leader: Value, workers: Value, size: int = 3, replicas: int = 1, **spec: Any) -> Value:
    """A LeaderWorkerSet of a leader and two workers."""
    both = {"size": size, "leaderTemplate": leader, "workerTemplate": workers}
    metadata: Value = {"name": "train", "namespace": SPACE}
    body = {"replicas": replicas, "leaderWorkerTemplate": both, **spec}
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": metadata, "spec": body}


def _list_worker_sets() -> Iterator[Stuck]:
    alone, linked = make_pods(False, restartPolicy="Always"), make_pods(True, restartPolicy="Always")
    lost, fit = (make_pods(False, image, restartPolicy="Always") for image in (MISSING, "train"))
    yield Stuck(
        "LeaderWorkerSet waits for a leader without image",
        "lws",
        [*make_nodes(), make_worker_set(lost, alone, startupPolicy="LeaderReady")],
        [Change("LeaderWorkerSet", "train", {"spec": {"leaderWorkerTemplate": {"leaderTemplate": fit}}})],
    )
    yield Stuck(
        "gang of a LeaderWorkerSet that waits for its leader",
        "lws",
        [*make_nodes(), make_group(), make_worker_set(linked, linked, startupPolicy="LeaderReady")],
        [
            Change("LeaderWorkerSet", "train", {"spec": {"startupPolicy": "LeaderCreated"}}),
            Change("Pod", "train-0", None),  # its controller looks at pods only
        ],
    )
    yield Stuck(
        "LeaderWorkerSet larger than the nodes",
        "lws",
        [make_node("n1", "r1", "1"), make_node("n2", "r2", "1"), make_group(), make_worker_set(linked, linked)],
        [Change("Node", "", make_node("n3", "r3", "8"))],
    )
    yield Stuck(
        "quota on the StatefulSets of a LeaderWorkerSet",
        "lws",
        [make_quota("sets", "count/statefulsets.apps", 1), *make_nodes(), make_worker_set(alone, alone)],
        [Change("ResourceQuota", "sets", None)],
    )
    exclusive = make_worker_set(alone, alone, size=1, replicas=3)
    exclusive["metadata"]["annotations"] = {"leaderworkerset.sigs.k8s.io/exclusive-topology": RACK}
    yield Stuck(
        "LeaderWorkerSet with a rack for each replica",
        "lws",
        [*make_nodes(), exclusive],
        [Change("Node", "", make_node("n3", "r3", "8"))],
    )


def make_cluster(head: Value, workers: Value) -> Value:
    """The spec of a Ray cluster of a head and two workers."""
    sizes = {"groupName": "workers", "replicas": 2, "minReplicas": 2, "maxReplicas": 2}
    groups = [{**sizes, "rayStartParams": {}, "template": workers}]
    return {"headGroupSpec": {"rayStartParams": {}, "template": head}, "workerGroupSpecs": groups}


def make_ray(kind: str, spec: Value) -> Value:
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": "train", "namespace": SPACE}, "spec": spec}


_UNNAMED: Final = {"headGroupSpec": {"template": {"spec": {"schedulerName": None}}}}


def _list_ray() -> Iterator[Stuck]:
    pods = make_pods(False, restartPolicy="Always")
    cluster = make_ray("RayCluster", make_cluster(pods, pods))
    yield Stuck(
        "RayCluster larger than the nodes",
        "kuberay",
        [make_node("n1", "r1", "1"), make_node("n2", "r2", "1"), cluster],
        [Change("Node", "", make_node("n3", "r3", "8"))],
    )
    job = {"entrypoint": "train", "submissionMode": "HTTPMode", "rayClusterSpec": make_cluster(pods, pods)}
    yield Stuck(
        "RayJob suspended",
        "kuberay",
        [*make_nodes(), make_ray("RayJob", {**job, "suspend": True, "shutdownAfterJobFinishes": True})],
        [Change("RayJob", "train", {"spec": {"suspend": False}})],
    )
    yield Stuck(
        "quota on the pods of a RayCluster",
        "kuberay",
        [make_quota("pods", "pods", 1), *make_nodes(), cluster],
        [Change("ResourceQuota", "pods", None)],
    )
    elsewhere = make_pods(False, restartPolicy="Always", schedulerName="volcano")
    whole = {**make_cluster(elsewhere, elsewhere), "upgradeStrategy": {"type": "Recreate"}}
    yield Stuck(
        "RayCluster for a scheduler that is not there",
        "kuberay",
        [*make_nodes(), make_ray("RayCluster", whole)],
        [
            Change(
                "RayCluster", "train", {"spec": {**_UNNAMED, "workerGroupSpecs": cluster["spec"]["workerGroupSpecs"]}}
            )
        ],
    )


STUCK: Final = (*_list_job_sets(), *_list_worker_sets(), *_list_ray())
