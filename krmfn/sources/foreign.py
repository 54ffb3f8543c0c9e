"""Kinds of pods that no group in Git can be linked to, with the reason: they are explained, never generated for.

Source: the CustomResourceDefinitions and controllers of the projects, at the commits that the mapping page names.
"""

from __future__ import annotations

from collections.abc import Mapping

from krmfn.model.tree import Group
from krmfn.sources.manifest import Manifest

#: (group, kind) -> (why nothing is generated, what to do).
REASONS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("kubeflow.org", "MPIJob"): (
        "the CRD of mpi-operator drops the link in pod templates, and the older kubeflow.org/v1 is not supported",
        "Use its own gang scheduling (Volcano or scheduler-plugins), or a JobSet.",
    ),
    ("trainer.kubeflow.org", "TrainJob"): (
        "a TrainJob has no pod template: they are in the training runtime, which all TrainJobs share",
        "Use its podGroupPolicy, or a JobSet.",
    ),
    ("sparkoperator.k8s.io", "SparkApplication"): (
        "executors are made by the driver, so a gang of both can never start, and Spark is not known to keep the link",
        "Use batchScheduler of the Spark operator.",
    ),
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"): (
        "executors are made by the driver, so a gang of both can never start, and Spark is not known to keep the link",
        "Use batchScheduler of the Spark operator.",
    ),
    ("argoproj.io", "Workflow"): (
        "the steps of a workflow are pods that are made one after the other",
        "Let a step create a Job, JobSet or RayJob, and make that one a gang.",
    ),
    ("batch.volcano.sh", "Job"): (
        "Volcano schedules this kind as a gang itself, and does not read the groups of Kubernetes",
        "",
    ),
    ("grove.io", "PodCliqueSet"): (
        "its CRD drops the link in pod templates; Grove makes its own gangs",
        "",
    ),
}


def explain_foreign(manifest: Manifest) -> Group | None:
    """Leave the reason as a note."""
    reason, hint = REASONS[manifest.ref.group, manifest.ref.kind]
    rule = "kind-not-supported" if manifest.options.requested else "kind-passed-over"
    manifest.note(rule, ("kind",), f"nothing is generated for a {manifest.ref.kind}: {reason}", hint)
    return None
