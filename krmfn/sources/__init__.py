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

from collections.abc import Callable, Mapping
from typing import Any

from krmfn.config import GangOptions, Settings
from krmfn.krm.results import ResourceRef
from krmfn.sources.cronjob import read_cronjob
from krmfn.sources.deployment import read_deployment, read_replicaset
from krmfn.sources.foreign import REASONS, explain_foreign
from krmfn.sources.job import read_job
from krmfn.sources.jobset import read_jobset
from krmfn.sources.leaderworkerset import read_leaderworkerset
from krmfn.sources.manifest import Manifest, Reading
from krmfn.sources.pod import read_pod
from krmfn.sources.raycluster import read_raycluster
from krmfn.sources.raycronjob import read_raycronjob
from krmfn.sources.rayjob import read_rayjob
from krmfn.sources.rayservice import read_rayservice
from krmfn.sources.rules import RULES
from krmfn.sources.statefulset import read_statefulset
from krmfn.sources.trainingoperator import ROLES, read_trainingjob
from krmfn.tree import Group

__all__ = ["RULES", "SOURCES", "Reading", "Source", "count_pods", "read_tree"]

Source = Callable[[Manifest], Group | None]

SOURCES: Mapping[tuple[str, str], Source] = {
    ("", "Pod"): read_pod,
    ("apps", "Deployment"): read_deployment,
    ("apps", "ReplicaSet"): read_replicaset,
    ("apps", "StatefulSet"): read_statefulset,
    ("batch", "CronJob"): read_cronjob,
    ("batch", "Job"): read_job,
    ("jobset.x-k8s.io", "JobSet"): read_jobset,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): read_leaderworkerset,
    ("ray.io", "RayCluster"): read_raycluster,
    ("ray.io", "RayCronJob"): read_raycronjob,
    ("ray.io", "RayJob"): read_rayjob,
    ("ray.io", "RayService"): read_rayservice,
    **{("kubeflow.org", kind): read_trainingjob for kind in ROLES},
    **dict.fromkeys(REASONS, explain_foreign),
}


def count_pods(value: Mapping[str, Any], ref: ResourceRef, settings: Settings) -> Reading:
    """The tree of all pods that the manifest makes, whether they get a gang or not, and what its controller refuses.

    Notes that only explain why there is no gang are not among the notes.
    """
    return _read(Manifest(value, ref, None, settings))


def read_tree(value: Mapping[str, Any], ref: ResourceRef, options: GangOptions, settings: Settings) -> Reading:
    """The tree of the manifest `value`, whose (group, kind) must be in SOURCES, and the notes on the way.

    Without a tree one of the notes says why. With a note whose rule is an error there is no tree.
    """
    manifest = Manifest(value, ref, options, settings)
    if not ref.name and value.get("metadata", {}).get("generateName"):
        message = f"the name of this {ref.kind} is made up by the API server: no group can be named after it"
        manifest.note("generated-name", ("metadata", "generateName"), message, "give it a metadata.name")
        return Reading(None, tuple(manifest.notes))
    return _read(manifest)


def _read(manifest: Manifest) -> Reading:
    ref = manifest.ref
    group = SOURCES[ref.group, ref.kind](manifest)
    if group is None and not manifest.notes:
        manifest.note("group-without-pods", ("spec",), f"nothing in this {ref.kind} asks for pods")
    return Reading(None if manifest.refused else group, tuple(manifest.notes))
