"""Job (batch/v1): one leaf. Also reads the JobSpec inside other kinds.

Source: the Job controller and `batch/v1` validation of Kubernetes 1.35 to 1.37, KEP-5547.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.gotext import parse_int
from krmfn.model.tree import Group, Leaf
from krmfn.sources.manifest import Manifest

CONTROLLER = "kubernetes.io/job-controller"
#: Kueue may admit a Job with fewer pods, down to this annotation (partial admission).
KUEUE_MINIMUM = "kueue.x-k8s.io/job-min-parallelism"
SPEC: Path = ("spec",)


def read_job(manifest: Manifest) -> Group | None:
    """The tree of a Job. Nothing for a Job that forms its gang itself (`spec.scheduling`), or is no gang unasked."""
    if not manifest.require(SPEC) or is_job_elsewhere(manifest, SPEC) or _schedules_itself(manifest):
        return None
    if not manifest.options.requested and not is_gang_by_nature(manifest, SPEC):
        return None
    return read_job_leaf(manifest, SPEC, "job")


def read_job_leaf(manifest: Manifest, spec: Path, name: str) -> Leaf | None:
    """The leaf of the JobSpec at `spec`, or None with an info when it has no pods.

    A suspended Job is read as if it ran, because its group must exist when it resumes.
    """
    pods = count_job_pods(manifest, spec)
    template = manifest.template((*spec, "template"), pods, (*spec, "parallelism"))
    if template is None or manifest.refused:
        return None
    if pods == 0:
        where = "parallelism" if manifest.get((*spec, "parallelism")) == 0 else "completions"
        message = f"{where} is 0: there are no pods to schedule as a group"
        manifest.note("group-without-pods", (*spec, where), message)
        return None
    return manifest.leaf(name, template, _read_minimum(manifest, pods))


def count_job_pods(manifest: Manifest, spec: Path) -> int:
    """How many pods of the JobSpec at `spec` exist at once: parallelism (1), but not more than completions."""
    parallelism = manifest.count((*spec, "parallelism"), 1)
    completions = manifest.count((*spec, "completions"), parallelism)
    for key, value in (("parallelism", parallelism), ("completions", completions)):
        if value < 0:
            manifest.note("count-negative", (*spec, key), f"{key} is {value}", "Use 0 or more.")
    return max(min(parallelism, completions), 0)


def _read_minimum(manifest: Manifest, pods: int) -> int:
    """The lower bound of a Job: Kueue's, where it may admit less than parallelism."""
    least = parse_int(manifest.annotation(KUEUE_MINIMUM))
    return pods if least is None or least < 0 else min(least, pods)


def is_job_elsewhere(manifest: Manifest, spec: Path) -> bool:
    """Whether `managedBy` gives the Job to another controller, which makes no pods in this cluster."""
    path = (*spec, "managedBy")
    owner = manifest.text(path)
    if owner in ("", CONTROLLER):
        return False
    message = f"another controller, {owner}, has this Job: the Job controller makes no pods here"
    manifest.note("managed-elsewhere", path, message)
    return True


def _schedules_itself(manifest: Manifest) -> bool:
    """Whether `spec.scheduling` makes the Job controller create Workload and PodGroup (1.37, gate WorkloadWithJob).

    A link in the template would switch that off without a word, so the two are never written together.
    """
    path = ("spec", "scheduling")
    if manifest.get(path) is None or not manifest.settings.release.has("job-scheduling"):
        return False
    if manifest.settings.feature_gates.get("WorkloadWithJob") is False:
        return False  # the API server drops the field
    message = "the Job controller creates the groups of this Job itself: nothing is generated"
    return manifest.decline(
        "job-own-scheduling", path, message, "Remove spec.scheduling to have krmfn write them instead."
    )


def is_gang_by_nature(manifest: Manifest, spec: Path) -> bool:
    """Whether pods of the Job belong together. Swept in by `select: All`, single pods and work queues do not."""
    if manifest.get((*spec, "completions")) is None and manifest.count((*spec, "parallelism"), 1) > 1:
        message = (
            "a Job without completions is a work queue, whose pods do not need each other: no gang unless asked for"
        )
        hint = 'Annotate it krmfn.dev/gang: "true" to have one.'
        return not manifest.decline("job-no-gang", (*spec, "parallelism"), message, hint)
    if count_job_pods(manifest, spec) == 1:
        return not manifest.decline("job-no-gang", (*spec, "parallelism"), "a Job of a single pod needs no gang")
    return True
