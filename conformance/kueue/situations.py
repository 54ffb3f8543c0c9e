"""Jobs that Kueue does not start, each for one reason, and the change of the cluster that starts them.

Every situation is the same queue with one thing in the way. `live.py` brings them about, writes down what the cluster
then shows, and makes the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from conformance.kueue.jobs import QUEUE, SECONDS
from conformance.kueue.rig import make

Value = dict[str, Any]

SPACE: Final = "ml"
RACK: Final = "example.com/rack"
CHECK: Final = "example.com/checker"
GPU: Final = "example.com/gpu"


class Change(NamedTuple):
    """What mends a situation: a merge patch of an object (`kind`, `name`), None deletes it; without a name `patch` is
    an object to create. `status` patches its status."""

    kind: str
    name: str
    patch: Value | None
    status: bool = False


Maker = Callable[["Parts"], None]


class Situation(NamedTuple):
    """`make` puts one thing in the way, `changes` take it away. `again`: the Job is deleted, and created again with
    them. `seconds` go by until the situation is there."""

    name: str
    make: Maker
    changes: tuple[Change, ...]
    configuration: str = "default"
    again: bool = False
    seconds: float = 0.0


class Parts:
    """The objects of the usual situation, in which the Job starts: three pods of one cpu, a quota of four, two
    nodes."""

    def __init__(self) -> None:
        self.before: list[Value] = []
        self.flavor = make("ResourceFlavor", "default", {})
        self.queue = make(
            "ClusterQueue", "team", {"namespaceSelector": {}, "resourceGroups": [make_group("default", "4")]}
        )
        self.local = make("LocalQueue", "main", {"clusterQueue": "team"}, SPACE)
        self.job = make_job("train", 3)
        #: What is done when the Job is there.
        self.after: list[Change] = []
        self.without: set[str] = set()

    def list_objects(self) -> list[Value]:
        """In the order of creation; the Job is the last."""
        listed = [self.flavor, *self.before, self.queue, self.local]
        kept = [each for each in listed if each["kind"] not in self.without]
        return [*make_nodes(), *kept, make_pod_group(), self.job]


def make_group(flavor: str, cpu: str, **limits: str) -> Value:
    """Quotas of one flavor."""
    rows = [{"name": "cpu", "nominalQuota": cpu, **limits}, {"name": "memory", "nominalQuota": "64Gi"}]
    return {"coveredResources": ["cpu", "memory"], "flavors": [{"name": flavor, "resources": rows}]}


def make_job(name: str, pods: int, cpu: str = "1", **labels: str) -> Value:
    """A Job of a gang that names the queue."""
    box = {"name": "main", "image": "train", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    spec: Value = {"restartPolicy": "Never", "containers": [box]}
    if name == "train":
        spec["schedulingGroup"] = {"podGroupName": "train"}
    job: Value = {"parallelism": pods, "completions": pods, "suspend": True, "template": {"spec": spec}}
    metadata = {"name": name, "namespace": SPACE, "labels": {QUEUE: "main", **labels}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job}


def make_pod_group() -> Value:
    metadata = {"name": "train", "namespace": SPACE}
    spec = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec}


def make_nodes() -> list[Value]:
    """Two nodes in two racks."""
    return [make_node("n1", "r1", "8"), make_node("n2", "r2", "8")]


def make_node(name: str, rack: str, cpu: str) -> Value:
    """A node that is ready."""
    amounts = {"cpu": cpu, "memory": "64Gi", "pods": "110", GPU: "8"}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", RACK: rack}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def _set_quota(cpu: str, **limits: str) -> Change:
    return Change("ClusterQueue", "team", {"spec": {"resourceGroups": [make_group("default", cpu, **limits)]}})


def _make_check(active: bool) -> Value:
    check = make("AdmissionCheck", "capacity", {"controllerName": CHECK})
    if active:
        row = {"type": "Active", "status": "True", "reason": "Active", "message": "ready"}
        check["status"] = {"conditions": [{**row, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    return check


def _queue_too_small(parts: Parts) -> None:
    parts.queue["spec"]["resourceGroups"] = [make_group("default", "2")]


def _queue_full(parts: Parts) -> None:
    parts.before.append(make_job("other", 3))


def _cohort_full(parts: Parts) -> None:
    spec = {"namespaceSelector": {}, "cohortName": "all", "resourceGroups": [make_group("default", "2")]}
    parts.queue["spec"] |= {"cohortName": "all", "resourceGroups": [make_group("default", "2")]}
    other = make_job("other", 2)
    other["metadata"]["labels"][QUEUE] = "lender"
    parts.before += [
        make("ClusterQueue", "lender", spec),
        make("LocalQueue", "lender", {"clusterQueue": "lender"}, SPACE),
        other,
    ]


def _borrows_nothing(parts: Parts) -> None:
    spec = {"namespaceSelector": {}, "cohortName": "all", "resourceGroups": [make_group("default", "8")]}
    group = make_group("default", "2", borrowingLimit="0")
    parts.queue["spec"] |= {"cohortName": "all", "resourceGroups": [group]}
    parts.before.append(make("ClusterQueue", "lender", spec))


def _taint(parts: Parts) -> None:
    parts.flavor["spec"] = {"nodeTaints": [{"key": "spot", "value": "true", "effect": "NoSchedule"}]}


def _selector(parts: Parts) -> None:
    parts.flavor["spec"] = {"nodeLabels": {RACK: "r1"}}
    parts.job["spec"]["template"]["spec"]["nodeSelector"] = {RACK: "r2"}


def _no_local(parts: Parts) -> None:
    parts.without.add("LocalQueue")


def _no_queue(parts: Parts) -> None:
    parts.without.add("ClusterQueue")


def _no_flavor(parts: Parts) -> None:
    parts.without.add("ResourceFlavor")


def _queue_stopped(parts: Parts) -> None:
    parts.queue["spec"]["stopPolicy"] = "Hold"


def _local_stopped(parts: Parts) -> None:
    parts.local["spec"]["stopPolicy"] = "Hold"


def _drained(parts: Parts) -> None:
    parts.after.append(Change("ClusterQueue", "team", {"spec": {"stopPolicy": "HoldAndDrain"}}))


def _check(parts: Parts, active: bool = True) -> None:
    parts.before.append(_make_check(active))
    parts.queue["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": "capacity"}]}


def _check_inactive(parts: Parts) -> None:
    _check(parts, active=False)


def _check_rejected(parts: Parts) -> None:
    _check(parts)
    row = {"name": "capacity", "state": "Rejected", "message": "no capacity of this kind is sold here"}
    row["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    parts.after.append(Change("Workload", "train", {"status": {"admissionChecks": [row]}}, status=True))


def _check_missing(parts: Parts) -> None:
    _check(parts)
    parts.before.clear()


def _behind_head(parts: Parts) -> None:
    parts.queue["spec"]["queueingStrategy"] = "StrictFIFO"
    parts.before.append(make_job("head", 6))


def _preempted(parts: Parts) -> None:
    parts.queue["spec"]["preemption"] = {"withinClusterQueue": "LowerPriority"}
    row = make("WorkloadPriorityClass", "urgent", {})
    del row["spec"]
    parts.before.append({**row, "value": 1000, "description": "urgent"})
    urgent = make_job("urgent", 3, **{"kueue.x-k8s.io/priority-class": "urgent"})
    parts.after.append(Change("Job", "", urgent))


def _never_ready(parts: Parts) -> None:
    """The pods have nodes, and without a kubelet they never become ready."""


def _rack(parts: Parts) -> None:
    """No node has the labels of the flavor."""
    _use_racks(parts, {"pool": "train"})


def _use_racks(parts: Parts, labels: Value) -> None:
    parts.before.append(make("Topology", "racks", {"levels": [{"nodeLabel": RACK}]}))
    parts.flavor["spec"] = {"topologyName": "racks", "nodeLabels": labels}
    annotations = {"kueue.x-k8s.io/podset-required-topology": RACK}
    parts.job["spec"]["template"]["metadata"] = {"annotations": annotations}


def _rack_full(parts: Parts) -> None:
    """Three pods of three cpu fit nowhere together: a rack has eight."""
    _use_racks(parts, {"kubernetes.io/os": "linux"})
    parts.queue["spec"]["resourceGroups"] = [make_group("default", "40")]
    parts.job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3"


def _namespace(parts: Parts) -> None:
    parts.queue["spec"]["namespaceSelector"] = {"matchLabels": {"team": "data"}}


def _elsewhere(parts: Parts) -> None:
    parts.job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"


def _time_over(parts: Parts) -> None:
    parts.job["metadata"]["labels"][SECONDS] = "1"


def _not_covered(parts: Parts) -> None:
    box = parts.job["spec"]["template"]["spec"]["containers"][0]
    box["resources"] = {"requests": {"cpu": "1", GPU: "1"}, "limits": {GPU: "1"}}


def _limit_range(parts: Parts) -> None:
    row = {"type": "Container", "max": {"cpu": "500m"}}
    metadata = {"name": "small", "namespace": SPACE}
    parts.before.append({"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": [row]}})


def _deactivated(parts: Parts) -> None:
    _queue_full(parts)
    parts.after.append(Change("Workload", "train", {"spec": {"active": False}}))


def _list_situations() -> Iterator[Situation]:
    """In the order in which they are brought about."""

    def queue(name: str, make: Maker, spec: Value, *more: Change) -> Situation:
        return Situation(name, make, (Change("ClusterQueue", "team", {"spec": spec}), *more))

    def flavor(name: str, make: Maker, spec: Value) -> Situation:
        return Situation(name, make, (Change("ResourceFlavor", "default", {"spec": spec}),))

    large = {"resourceGroups": [make_group("default", "16")]}
    unchecked: Value = {"admissionChecksStrategy": None}
    start = Change("Workload", "train", {"spec": {"active": True}})
    without_other = (Change("Job", "other", None),)
    usual = Parts()
    yield queue("queue too small", _queue_too_small, {"resourceGroups": [make_group("default", "4")]})
    yield Situation("queue full", _queue_full, without_other)
    yield Situation("cohort full", _cohort_full, without_other)
    yield queue(
        "borrowing limit", _borrows_nothing, {"resourceGroups": [make_group("default", "2", borrowingLimit="4")]}
    )
    yield flavor("taint not tolerated", _taint, {"nodeTaints": None})
    yield flavor("no flavor for the selector", _selector, {"nodeLabels": None})
    yield Situation("no LocalQueue", _no_local, (Change("LocalQueue", "", usual.local),))
    yield Situation("no ClusterQueue", _no_queue, (Change("ClusterQueue", "", usual.queue),))
    yield Situation("no ResourceFlavor", _no_flavor, (Change("ResourceFlavor", "", usual.flavor),))
    yield queue("ClusterQueue stopped", _queue_stopped, {"stopPolicy": "None"})
    yield Situation(
        "LocalQueue stopped", _local_stopped, (Change("LocalQueue", "main", {"spec": {"stopPolicy": "None"}}),)
    )
    yield queue("ClusterQueue drained", _drained, {"stopPolicy": "None"})
    yield queue("check pending", _check, unchecked)
    yield queue("check without controller", _check_inactive, unchecked)
    yield queue("check missing", _check_missing, unchecked)
    # Set active again, the Workload stays evicted where its check is gone: Kueue makes a new one.
    yield queue("check rejected", _check_rejected, unchecked, Change("Workload", "train", None))
    yield queue("behind the head of StrictFIFO", _behind_head, {"queueingStrategy": "BestEffortFIFO"})
    yield queue("preempted", _preempted, large)
    yield Situation("not ready in time", _never_ready, (), "ready", seconds=8)
    yield Situation(
        "no node with the labels of the flavor",
        _rack,
        (Change("Node", "n1", {"metadata": {"labels": {"pool": "train"}}}),),
    )
    yield Situation("required rack too small", _rack_full, (Change("Node", "", make_node("n3", "r1", "8")),))
    yield queue("namespace not selected", _namespace, {"namespaceSelector": {"matchLabels": {"team": "ml"}}})
    yield Situation("MultiKueue", _elsewhere, (Change("Job", "train", {"spec": {"managedBy": None}}),), again=True)
    yield Situation(
        "maximum execution time",
        _time_over,
        (Change("Job", "train", {"metadata": {"labels": {SECONDS: None}}}),),
        again=True,
        seconds=4,
    )
    covered = make_group("default", "4")
    covered["coveredResources"].append(GPU)
    covered["flavors"][0]["resources"].append({"name": GPU, "nominalQuota": "8"})
    yield queue("resource not covered", _not_covered, {"resourceGroups": [covered]})
    yield Situation("LimitRange", _limit_range, (Change("LimitRange", "small", None),))
    yield queue("deactivated", _deactivated, large, start)


SITUATIONS: Final = tuple(_list_situations())
