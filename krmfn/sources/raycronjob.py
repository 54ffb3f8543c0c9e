"""RayCronJob (ray.io/v1): the tree of the cluster that every run brings; all runs share one gang.

`spec.jobTemplate` is a RayJobSpec itself, so no label reaches a run and no operator makes a gang for it.
Source: kuberay v1.7.0 `apis/ray/v1/raycronjob_types.go`.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.tree import Group
from krmfn.sources.kuberay import check_name
from krmfn.sources.manifest import Manifest
from krmfn.sources.rayfields import prune
from krmfn.sources.rayjob import read_rayjob_spec

JOB: Path = ("spec", "jobTemplate")
#: KubeRay adds a dash and the minutes of Unix time for the RayJob, whose limit is 47.
NAME_LIMIT = 36


def read_raycronjob(manifest: Manifest) -> Group | None:
    """The tree of a RayCronJob. It has no concurrency policy, so nothing keeps runs from sharing the gang at once."""
    check_name(manifest, NAME_LIMIT)
    prune(manifest)
    group = read_rayjob_spec(manifest, JOB)
    if group is None:
        return None
    message = "runs may overlap, and they share one gang: the pods of one run then fill the gang of the next"
    if manifest.options.requested:
        hint = "Make sure that a run ends before the next one starts."
        manifest.note("runs-share-gang", ("spec", "schedule"), message, hint)
        return group
    message = f"no gang unless asked for: {message}"
    hint = 'Annotate it krmfn.dev/gang: "true" if a run always ends before the next one starts.'
    return None if manifest.decline("runs-share-gang", ("spec", "schedule"), message, hint) else group
