"""Clusters at work, written by hand, and jobs that come: one thing each that recorded worlds have not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from conformance.kueue.rig import make
from conformance.kueue.situations import RACK, SPACE, make_group, make_job, make_nodes, make_pod_group

Value = dict[str, Any]
_PRIORITY: Final = "kueue.x-k8s.io/priority-class"
_REQUIRED: Final = "kueue.x-k8s.io/podset-required-topology"
_TIME: Final = "2026-01-01T00:00:00Z"


class HandWorld(NamedTuple):
    """Jobs that come, and a dump of the cluster."""

    jobs: Sequence[Mapping[str, Any]]
    dump: Sequence[Mapping[str, Any]]


def _make_queue(flavor: Value | None = None, **spec: Any) -> list[Value]:
    groups = {"namespaceSelector": {}, "resourceGroups": [make_group("default", "4")], **spec}
    local = make("LocalQueue", "main", {"clusterQueue": "team"}, SPACE)
    return [*make_nodes(), make("ResourceFlavor", "default", flavor or {}), make("ClusterQueue", "team", groups), local]


def _make_running(name: str, pods: int, priority: int) -> list[Value]:
    """A Workload that is admitted, as the manager leaves it, and the pods of its Job, which the dump does not have."""
    job = make_job(name, pods)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"job-{name}", "controller": True}
    template = {"spec": job["spec"]["template"]["spec"]}
    spec = {
        "queueName": "main",
        "priority": priority,
        "podSets": [{"name": "main", "count": pods, "template": template}],
    }
    workload = make("Workload", f"job-{name}", {**spec, "active": True}, SPACE)
    labels = {"kueue.x-k8s.io/job-uid": f"job-{name}"}
    workload["metadata"] |= {"uid": f"workload-{name}", "labels": labels, "creationTimestamp": _TIME}
    workload["metadata"]["ownerReferences"] = [owner]
    usage = {"cpu": str(pods), "memory": f"{pods}Gi"}
    assigned = {"name": "main", "count": pods, "flavors": dict.fromkeys(usage, "default"), "resourceUsage": usage}
    rows = [{"type": each, "status": "True", "reason": each} for each in ("QuotaReserved", "Admitted")]
    conditions = [{**row, "message": "", "lastTransitionTime": _TIME} for row in rows]
    workload["status"] = {
        "admission": {"clusterQueue": "team", "podSetAssignments": [assigned]},
        "conditions": conditions,
    }
    made = []
    for number in range(pods):
        metadata = {
            "name": f"{name}-{number}",
            "namespace": SPACE,
            "labels": {"job-name": name},
            "ownerReferences": [owner],
        }
        pod = {**template["spec"], "nodeName": "n1"}
        made.append(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod, "status": {"phase": "Running"}}
        )
    return [workload, *made]


def _preempt() -> HandWorld:
    """What runs makes room for what is more urgent."""
    policy = {"withinClusterQueue": "LowerPriority"}
    high = {**make("WorkloadPriorityClass", "high", {}), "value": 100}
    del high["spec"]
    return HandWorld(
        [make_job("urgent", 3, **{_PRIORITY: "high"})],
        [*_make_queue(preemption=policy), high, *_make_running("slow", 3, 0)],
    )


def _stay_admitted() -> HandWorld:
    """A job of the files that runs already keeps its quota, although something more urgent waits for it."""
    eager = _make_running("eager", 3, 100)[0]
    del eager["status"]
    return HandWorld([make_job("slow", 3)], [*_make_queue(), eager, *_make_running("slow", 3, 0)])


def _ask_for_nodes(cls: str = "best-effort-atomic-scale-up") -> HandWorld:
    """Kueue asks an autoscaler for nodes before it starts anything; the node pool can grow."""
    config = make("ProvisioningRequestConfig", "grow", {"provisioningClassName": f"{cls}.autoscaling.x-k8s.io"})
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "grow"}
    check = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": parameters}
    queue = _make_queue(
        admissionChecksStrategy={"admissionChecks": [{"name": "nodes"}]}, resourceGroups=[make_group("default", "64")]
    )
    labels = {"kubernetes.io/os": "linux"}
    pool = {"name": "big", "max": 6, "labels": labels, "allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110"}}
    facts = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "ClusterFacts", "metadata": {"name": "pools"}}
    dump = [*queue, config, make("AdmissionCheck", "nodes", check), {**facts, "spec": {"nodePools": [pool]}}]
    return HandWorld([make_pod_group(), make_job("train", 3, "6")], dump)


def _ask_whether() -> HandWorld:
    """The same with a request that adds no nodes."""
    return _ask_for_nodes("check-capacity")


def _stay_in_rack() -> HandWorld:
    """All pods in one rack, of which one has room; the other one has the pods of a Job that runs."""
    labels = {"kubernetes.io/os": "linux"}
    queue = _make_queue({"topologyName": "racks", "nodeLabels": labels}, resourceGroups=[make_group("default", "64")])
    topology = make("Topology", "racks", {"levels": [{"nodeLabel": RACK}, {"nodeLabel": "kubernetes.io/hostname"}]})
    job = make_job("work", 3, "2")
    job["spec"]["template"]["metadata"] = {"annotations": {_REQUIRED: RACK}}
    pods = [each for each in _make_running("other", 6, 0) if each["kind"] == "Pod"]
    return HandWorld([job], [topology, *queue, *pods])


#: By name.
HAND_WORLDS: Final[Mapping[str, Callable[[], HandWorld]]] = {
    "preempts": _preempt,
    "stays admitted": _stay_admitted,
    "asks for nodes": _ask_for_nodes,
    "asks whether there are nodes": _ask_whether,
    "stays in a rack": _stay_in_rack,
}
