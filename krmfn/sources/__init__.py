"""From one manifest to its tree of groups: one module per input kind, listed in `SOURCES`.

To add a kind:

1. Write `krmfn/sources/<kind>.py` with a function `read_<kind>(manifest: Manifest) -> Group | None`. It reads through
   the Manifest (typed access, the API server's defaults for absent fields, notes) and returns a Leaf or a Composite
   whose names are the user's own. The number of pods is that which the kind's controller creates; cite the source.
2. Where there is nothing to schedule as a group, leave a note that says why and return None. What the controller would
   refuse is a note whose rule has severity error: then there is no tree, whatever is returned.
3. Add the rules you need to `rules.py`, as rows.
4. Add the row to `SOURCES` below, and the kind's worked examples to `tests/sources/`.

Sources know neither targets nor checks.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing spells it, without the 10 ms that importing it costs every build
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from krmfn.config import GangOptions, Settings
    from krmfn.krm.results import ResourceRef
    from krmfn.model.tree import Group
    from krmfn.sources.manifest import Manifest, Reading

    Source = Callable[[Manifest], Group | None]

__all__ = ["SOURCES", "count_pods", "find_source", "read_tree"]

#: (API group, kind) -> module and function below this package. A module is imported when its kind turns up, because
#: most runs meet two or three kinds and every run pays for imports.
SOURCES: Mapping[tuple[str, str], str] = {
    ("", "Pod"): "pod.read_pod",
    ("apps", "Deployment"): "deployment.read_deployment",
    ("apps", "ReplicaSet"): "deployment.read_replicaset",
    ("apps", "StatefulSet"): "statefulset.read_statefulset",
    ("batch", "CronJob"): "cronjob.read_cronjob",
    ("batch", "Job"): "job.read_job",
    ("jobset.x-k8s.io", "JobSet"): "jobset.read_jobset",
    ("kubeflow.org", "JAXJob"): "trainingoperator.read_trainingjob",
    ("kubeflow.org", "PaddleJob"): "trainingoperator.read_trainingjob",
    ("kubeflow.org", "PyTorchJob"): "trainingoperator.read_trainingjob",
    ("kubeflow.org", "TFJob"): "trainingoperator.read_trainingjob",
    ("kubeflow.org", "XGBoostJob"): "trainingoperator.read_trainingjob",
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): "leaderworkerset.read_leaderworkerset",
    ("ray.io", "RayCluster"): "raycluster.read_raycluster",
    ("ray.io", "RayCronJob"): "raycronjob.read_raycronjob",
    ("ray.io", "RayJob"): "rayjob.read_rayjob",
    ("ray.io", "RayService"): "rayservice.read_rayservice",
    ("workload.codeflare.dev", "AppWrapper"): "appwrapper.read_appwrapper",
    # These are only explained: no group in Git can be linked to their pods.
    ("argoproj.io", "Workflow"): "foreign.explain_foreign",
    ("batch.volcano.sh", "Job"): "foreign.explain_foreign",
    ("grove.io", "PodCliqueSet"): "foreign.explain_foreign",
    ("kubeflow.org", "MPIJob"): "foreign.explain_foreign",
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"): "foreign.explain_foreign",
    ("sparkoperator.k8s.io", "SparkApplication"): "foreign.explain_foreign",
    ("trainer.kubeflow.org", "TrainJob"): "foreign.explain_foreign",
}


def read_tree(value: Mapping[str, Any], ref: ResourceRef, options: GangOptions, settings: Settings) -> Reading:
    """The tree of the manifest `value`, whose (group, kind) must be in SOURCES, and the notes on the way.

    Without a tree one of the notes says why. With a note whose rule is an error there is no tree.
    """
    from krmfn.sources.manifest import Manifest, Reading

    manifest = Manifest(value, ref, options, settings)
    metadata = value.get("metadata")
    if not ref.name and isinstance(metadata, dict) and metadata.get("generateName"):
        message = f"the name of this {ref.kind} is made up by the API server: no group can be named after it"
        manifest.note("generated-name", ("metadata", "generateName"), message, "Give it a metadata.name.")
        return Reading(None, tuple(manifest.notes))
    return _read(manifest)


def count_pods(value: Mapping[str, Any], ref: ResourceRef, settings: Settings) -> Reading:
    """The tree of all pods that the manifest makes, whether they get a gang or not, and what its controller refuses.

    Notes that only explain why there is no gang are not among the notes.
    """
    from krmfn.sources.manifest import Manifest

    return _read(Manifest(value, ref, None, settings))


def _read(manifest: Manifest) -> Reading:
    from krmfn.sources.manifest import Reading

    group = find_source(manifest.ref)(manifest)
    if group is None and not manifest.notes:
        manifest.note("group-without-pods", ("spec",), f"nothing in this {manifest.ref.kind} asks for pods")
    return Reading(None if manifest.refused else group, tuple(manifest.notes))


def find_source(ref: ResourceRef) -> Source:
    """The function that reads resources of the group and kind of `ref`. Raises KeyError for a kind not in SOURCES."""
    from importlib import import_module

    module, _, function = SOURCES[ref.group, ref.kind].partition(".")
    source: Source = getattr(import_module(f"krmfn.sources.{module}"), function)
    return source
