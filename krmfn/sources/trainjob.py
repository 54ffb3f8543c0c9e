"""TrainJob (trainer.kubeflow.org/v1alpha1): the steps of its training runtime, linked when their pods are created.

The runtime has the pod templates and is shared, so the group's name goes into a patch of the runtime that only this
TrainJob makes. The trainer makes a JobSet of both, and that is what is read here.
Source: kubeflow/trainer v2.2.0 and v2.3.0 `pkg/runtime/core/trainingruntime.go`, `pkg/runtime/framework/plugins`
(`jobset`, `mpi`, `plainml`, `torch`).
"""

from __future__ import annotations

from typing import Any

from krmfn.krm.editing import edit_copy
from krmfn.krm.errors import EditRefused
from krmfn.krm.paths import Path
from krmfn.krm.results import DEFAULT_NAMESPACE, ResourceRef
from krmfn.model.marks import PATCHER
from krmfn.model.tree import Composite, Group, leaves
from krmfn.model.values import Fields, Value, as_list, as_mapping, dig
from krmfn.sources.job import read_jobset
from krmfn.sources.manifest import Manifest

_GROUP = "trainer.kubeflow.org"
_RUNTIME: Path = ("spec", "runtimeRef")
_NODES: Path = ("spec", "trainer", "numNodes")
_PATCHES: Path = ("spec", "runtimePatches")
#: From a patch to its replicated jobs, and from one of them to its pod template.
_JOBS: Path = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
_TEMPLATE: Path = ("template", "spec", "template")
_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
_STEPS = ("dataset-initializer", "model-initializer", "trainer")
#: The container that trains, and in an MPI runtime the replicated job of the workers.
_NODE = "node"


def read_trainjob(manifest: Manifest) -> Group | None:
    """The steps of the runtime, as the replicated jobs of a JobSet; None without the runtime."""
    if manifest.is_elsewhere():
        return None
    runtime = _find_runtime(manifest)
    if runtime is None or not (manifest.counting or _can_patch(manifest, runtime)):
        return None
    jobs = [
        _scale(manifest, runtime, job) for job in runtime.list_paths(("spec", "template", "spec", "replicatedJobs"))
    ]
    spec = {**as_mapping(runtime.get(("spec", "template", "spec"))), "replicatedJobs": jobs}
    name = manifest.ref.name
    ref = ResourceRef("jobset.x-k8s.io/v1alpha2", "JobSet", name, manifest.ref.namespace)
    options = None if manifest.counting else manifest.options
    value = {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": {"name": name}, "spec": spec}
    inner = Manifest(value, ref, options, manifest.settings._replace(link="Bridge"))
    group = read_jobset(inner)
    for note in (*runtime.notes, *inner.notes):  # what is said of the runtime stands nowhere in this manifest
        manifest.notes.append(note._replace(path=_RUNTIME))
    return _move(manifest, runtime, inner, group) if group else None


def _find_runtime(manifest: Manifest) -> Manifest | None:
    """The runtime that the TrainJob names: without it nobody knows which pods there are."""
    name, kind = manifest.text((*_RUNTIME, "name")), manifest.text((*_RUNTIME, "kind"), "ClusterTrainingRuntime")
    if not name:
        manifest.note("field-missing", (*_RUNTIME, "name"), "is required")
        return None
    space = (manifest.ref.namespace or DEFAULT_NAMESPACE) if kind == "TrainingRuntime" else ""
    found = manifest.find(_GROUP, kind, space, name)
    if found is None:
        resource = f"{kind.lower()}s"
        manifest.decline("training-runtime-missing", (*_RUNTIME, "name"), runtime=kind, name=name, resource=resource)
        return None
    return Manifest(found, ResourceRef(f"{_GROUP}/v1alpha1", kind, name, space), None, manifest.settings)


def _can_patch(manifest: Manifest, runtime: Manifest) -> bool:
    """Whether a group of ours can be linked to the pods: nobody else makes one, and the patch reaches them."""
    for policy in ("coscheduling", "volcano"):
        if runtime.get(("spec", "podGroupPolicy", policy)) is not None:
            manifest.tell("own-scheduling", _RUNTIME, "runtime", name=runtime.ref.name, policy=policy)
            return False
    if not manifest.bridged:
        hint = "Set link: Auto and apply the output of krmfn bridge, or use podGroupPolicy of the runtime."
        manifest.pass_over("all TrainJobs share the pod templates of the training runtime", hint)
        return False
    version = manifest.settings.operators.get("trainer")
    if version is not None and version < (2, 2):
        found = ".".join(map(str, version))
        hint = "Upgrade to Kubeflow Trainer 2.2, or use podGroupPolicy of the runtime."
        manifest.pass_over(f"Kubeflow Trainer {found} has no runtimePatches, which annotate its pods", hint)
        return False
    if version is None:
        manifest.tell("link-needs-version", _PATCHES, "TrainJob")
    return True


def _scale(manifest: Manifest, runtime: Manifest, path: Path) -> Fields:
    """A replicated job of the runtime with the pods and the resources that this TrainJob gives it."""
    job = as_mapping(runtime.get(path))
    template = as_mapping(job, "template")
    spec = as_mapping(template, "spec")
    step = as_mapping(template, "metadata", "labels").get(_STEP)
    policy = runtime.get(("spec", "mlPolicy"))
    as_node = dig(policy, "mpi", "runLauncherAsNode") is True
    pods = spec.get("parallelism", 1)
    if step == "trainer" and policy is not None:
        pods = as_mapping(policy).get("numNodes", 1)
    pods = max(pods, 1) if isinstance(pods, int) else pods  # as Trainer does with the numbers of a runtime
    if _is_scaled(manifest, runtime, job):
        pods = manifest.count(_NODES, 1)
        pods = max(pods - 1, 1) if as_node else pods  # the launcher is the other one
    pod = spec.get("template")
    resources = manifest.get(("spec", "trainer", "resourcesPerNode"))
    trains = step == "trainer" or (as_node and job.get("name") == _NODE)
    if isinstance(resources, dict) and policy is not None and trains:
        pod = _size(as_mapping(pod), resources)
    scaled = {**spec, "parallelism": pods, "completions": pods, "template": pod}
    replicas = {"replicas": 1} if step in _STEPS else {}
    return {**job, **replicas, "template": {**template, "spec": scaled}}


def _is_scaled(manifest: Manifest, runtime: Manifest, job: Value) -> bool:
    """Whether numNodes of the TrainJob decides how many pods the job has: in an MPI runtime that of the workers."""
    if manifest.get(_NODES) is None:
        return False
    if runtime.get(("spec", "mlPolicy", "mpi")) is not None:
        return bool(job.get("name") == _NODE)
    steps = [
        runtime.get((*path, "name"))
        for path in runtime.list_paths(("spec", "template", "spec", "replicatedJobs"))
        if runtime.get((*path, "template", "metadata", "labels", _STEP)) == "trainer"
    ]
    return steps[:1] == [job.get("name")]  # Trainer takes the first


def _size(pod: Value, resources: Value) -> Value:
    """The pod template with the resources of the TrainJob over those of the container that trains."""
    spec = as_mapping(pod, "spec")
    sized = []
    for box in filter(as_mapping, as_list(spec, "containers")):
        if box.get("name") == _NODE:
            old, kinds = as_mapping(box, "resources"), ("requests", "limits")
            merged = {key: {**as_mapping(old, key), **as_mapping(resources, key)} for key in kinds}
            sized.append({**box, "resources": merged})
        else:
            sized.append(box)
    return {**pod, "spec": {**spec, "containers": sized}} if sized else pod


def _move(manifest: Manifest, runtime: Manifest, jobset: Manifest, group: Group) -> Group | None:
    """The tree with its pod templates in a patch of ours; from now on the manifest is read as if it held them whole."""
    entry = _find_entry(manifest, _PATCHES, "manager", PATCHER)
    moved = []
    try:
        for leaf in leaves(group):
            theirs = leaf.templates[0].path
            job = _find_entry(manifest, (*entry, *_JOBS), "name", leaf.name)
            place = (*job, *_TEMPLATE)
            beside = (((*entry, "manager"), PATCHER), ((*job, "name"), leaf.name))
            for path, name in beside:
                _put(manifest, path, name)
            given = as_mapping(manifest.get(place), "metadata", "annotations")  # more of a patch is not read here
            metadata = {**as_mapping(jobset.get(theirs), "metadata")}
            metadata |= {"annotations": {**as_mapping(metadata, "annotations"), **given}} if given else {}
            _put(manifest, place, {**jobset.get(theirs), "metadata": metadata})
            scaled = _is_scaled(manifest, runtime, jobset.get(theirs[:3]))
            template = leaf.templates[0]._replace(
                path=place, count_path=_NODES if scaled else _RUNTIME, bridged=True, beside=beside
            )
            number = leaf.number.rpartition(" + ")[2] if leaf.replicas == 1 else ""
            moved.append(leaf._replace(templates=(template,), replicas=1, by="", number=number))
    except EditRefused as refused:
        manifest.note("field-type", _PATCHES, str(refused))
        return None
    apart = isinstance(group, Composite) and group.min_group_count is None
    return Composite("trainjob", tuple(moved), None if apart else len(moved))


def _put(manifest: Manifest, path: Path, value: Any) -> None:
    manifest.value = edit_copy(manifest.value, path, 0, value)


def _find_entry(manifest: Manifest, path: Path, key: str, name: str) -> Path:
    """The place of the entry of a list that has this key, or of the one that is to be appended."""
    entries = manifest.list_paths(path)
    found = next((entry for entry in entries if manifest.get((*entry, key)) == name), None)
    return found or (*path, len(as_list(manifest.get(path))))
