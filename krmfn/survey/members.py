"""Where pod templates are in the kinds that nobody has to be a source for, and how many pods each makes.

For kinds with a source (RayCluster, Job and their relatives) the counts come from the sources, through `from_tree`; the
table here only says where their templates are, so that a link in an object that no source read is still seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from krmfn.model.findings import Member
from krmfn.model.tree import Group, Path, leaves
from krmfn.survey.values import as_int, as_list, as_mapping, dig

if TYPE_CHECKING:
    from krmfn.krm.item import Item

#: Template path, pods or None, path of the count, all below the object.
Found = tuple[Path, int | None, Path]


def from_tree(items: Sequence[Item], group: Group) -> tuple[Member, ...]:
    """The members of a tree as a source read it; `items[owner]` is the object a pod template came from."""
    return tuple(
        Member(items[template.owner], template.path, template.pods, template.count_path)
        for leaf in leaves(group)
        for template in leaf.templates
    )


def from_item(item: Item) -> tuple[Member, ...]:
    """The pod templates of `item`; empty for kinds that hold none."""
    find = _KINDS.get((item.ref.group, item.kind))
    return tuple(Member(item, *found) for found in find(item.value)) if find else ()


def is_known(group: str, kind: str) -> bool:
    """Whether objects of this kind hold pod templates."""
    return (group, kind) in _KINDS


def _count(value: object, default: int) -> int | None:
    if value is None:
        return default
    number = as_int(value)
    return None if number is None else max(number, 0)


def _pod(_: Mapping[str, Any]) -> Iterator[Found]:
    yield (), 1, ()


def _replicas(manifest: Mapping[str, Any]) -> Iterator[Found]:
    yield ("spec", "template"), _count(dig(manifest, "spec", "replicas"), 1), ("spec", "replicas")


def _unknown(*path: str) -> Callable[[Mapping[str, Any]], Iterator[Found]]:
    def find(manifest: Mapping[str, Any]) -> Iterator[Found]:
        if dig(manifest, *path) is not None:
            yield path, None, path

    return find


def _ray(base: Path) -> Callable[[Mapping[str, Any]], Iterator[Found]]:
    def find(manifest: Mapping[str, Any]) -> Iterator[Found]:
        cluster = as_mapping(dig(manifest, *base))
        if "headGroupSpec" in cluster:
            yield (*base, "headGroupSpec", "template"), None, (*base, "headGroupSpec")
        for index, _ in enumerate(as_list(cluster.get("workerGroupSpecs"))):
            group = (*base, "workerGroupSpecs", index)
            yield (*group, "template"), None, (*group, "replicas")

    return find


def _jobset(manifest: Mapping[str, Any]) -> Iterator[Found]:
    for index, job in enumerate(as_list(dig(manifest, "spec", "replicatedJobs"))):
        base: Path = ("spec", "replicatedJobs", index)
        spec = as_mapping(dig(job, "template", "spec"))
        replicas, width = _count(dig(job, "replicas"), 1), _count(spec.get("parallelism"), 1)
        completions = as_int(spec.get("completions"))
        pods = None if replicas is None or width is None else replicas * min(width, completions or width)
        yield (*base, "template", "spec", "template"), pods, (*base, "replicas")


def _leader_worker_set(manifest: Mapping[str, Any]) -> Iterator[Found]:
    base: Path = ("spec", "leaderWorkerTemplate")
    template = as_mapping(dig(manifest, *base))
    replicas, size = _count(dig(manifest, "spec", "replicas"), 1), _count(template.get("size"), 1)
    known = replicas is not None and size is not None
    if "leaderTemplate" in template:
        yield (*base, "leaderTemplate"), replicas, ("spec", "replicas")
        yield (*base, "workerTemplate"), (replicas or 0) * ((size or 1) - 1) if known else None, (*base, "size")
    else:
        yield (*base, "workerTemplate"), (replicas or 0) * (size or 1) if known else None, (*base, "size")


def _replica_specs(*fields: str, default: int = 1) -> Callable[[Mapping[str, Any]], Iterator[Found]]:
    def find(manifest: Mapping[str, Any]) -> Iterator[Found]:
        for field in fields:
            for role, spec in as_mapping(dig(manifest, "spec", field)).items():
                base: Path = ("spec", field, role)
                count = 1 if role == "Launcher" else _count(dig(spec, "replicas"), default)
                yield (*base, "template"), count, (*base, "replicas")

    return find


def _volcano_job(manifest: Mapping[str, Any]) -> Iterator[Found]:
    for index, task in enumerate(as_list(dig(manifest, "spec", "tasks"))):
        base: Path = ("spec", "tasks", index)
        yield (*base, "template"), _count(dig(task, "replicas"), 1), (*base, "replicas")


def _spark(manifest: Mapping[str, Any]) -> Iterator[Found]:
    for role, path in (("driver", ()), ("executor", ("instances",))):
        base: Path = ("spec", role)
        if dig(manifest, *base, "template") is not None:
            pods = 1 if role == "driver" else _count(dig(manifest, *base, "instances"), 1)
            yield (*base, "template"), pods, base + path


def _training_runtime(manifest: Mapping[str, Any]) -> Iterator[Found]:
    for path, _, count in _jobset({"spec": dig(manifest, "spec", "template", "spec")}):
        yield ("spec", "template", *path), None, ("spec", "template", *count)


_KINDS: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], Iterator[Found]]] = {
    ("", "Pod"): _pod,
    ("", "ReplicationController"): _replicas,
    ("apps", "Deployment"): _replicas,
    ("apps", "ReplicaSet"): _replicas,
    ("apps", "StatefulSet"): _replicas,
    ("apps", "DaemonSet"): _unknown("spec", "template"),
    ("batch", "Job"): _unknown("spec", "template"),
    ("batch", "CronJob"): _unknown("spec", "jobTemplate", "spec", "template"),
    ("ray.io", "RayCluster"): _ray(("spec",)),
    ("ray.io", "RayJob"): _ray(("spec", "rayClusterSpec")),
    ("ray.io", "RayService"): _ray(("spec", "rayClusterConfig")),
    ("ray.io", "RayCronJob"): _ray(("spec", "jobTemplate", "rayClusterSpec")),
    ("jobset.x-k8s.io", "JobSet"): _jobset,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
    ("trainer.kubeflow.org", "TrainingRuntime"): _training_runtime,
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): _training_runtime,
    ("kubeflow.org", "PyTorchJob"): _replica_specs("pytorchReplicaSpecs"),
    ("kubeflow.org", "TFJob"): _replica_specs("tfReplicaSpecs"),
    ("kubeflow.org", "XGBoostJob"): _replica_specs("xgbReplicaSpecs"),
    ("kubeflow.org", "JAXJob"): _replica_specs("jaxReplicaSpecs"),
    ("kubeflow.org", "PaddleJob"): _replica_specs("paddleReplicaSpecs"),
    ("kubeflow.org", "MPIJob"): _replica_specs("mpiReplicaSpecs", default=0),
    ("sparkoperator.k8s.io", "SparkApplication"): _spark,
    ("batch.volcano.sh", "Job"): _volcano_job,
}
