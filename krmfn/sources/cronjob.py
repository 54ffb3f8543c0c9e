"""CronJob (batch/v1): one leaf for the Job of every run; all runs share one gang.

Source: `batch/v1` and the CronJob controller of Kubernetes 1.35 to 1.37, KEP-5547.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.tree import Group
from krmfn.sources.job import is_gang_by_nature, read_job_leaf
from krmfn.sources.manifest import Manifest

JOB: Path = ("spec", "jobTemplate", "spec")
_POLICY: Path = ("spec", "concurrencyPolicy")


def read_cronjob(manifest: Manifest) -> Group | None:
    """The tree of a CronJob. None where runs may overlap: two of them would share one gang and one minCount."""
    if not manifest.require(JOB) or manifest.is_elsewhere():
        return None
    if not manifest.options.requested and not is_gang_by_nature(manifest, JOB):
        return None
    policy = manifest.text(_POLICY, "Allow")
    if policy == "Allow":
        message = "runs may overlap (concurrencyPolicy Allow) and would share one gang: nothing is generated"
        if manifest.decline("runs-share-gang", _POLICY, message, "Set concurrencyPolicy: Forbid.", "Forbid"):
            return None
    leaf = read_job_leaf(manifest, JOB)
    if leaf and policy == "Replace":
        message = "the pods of a replaced run count while they terminate: the next run may start incomplete"
        manifest.note("runs-share-gang", _POLICY, message, "Set concurrencyPolicy: Forbid.", proposed="Forbid")
    return leaf
