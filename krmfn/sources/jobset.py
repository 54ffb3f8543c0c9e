"""JobSet (jobset.x-k8s.io/v1alpha2): a composite of its replicated jobs.

All Jobs of a replicated job share one pod template, so that a group per Job needs the link bridge.
Source: kubernetes-sigs/jobset `api/jobset/v1alpha2/jobset_types.go`, `pkg/webhooks/jobset_webhook.go`, KEP-969.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.exclusive import find_exclusive
from krmfn.model.tree import Composite, Group, Leaf
from krmfn.sources.job import count_job_pods
from krmfn.sources.manifest import Manifest

_JOBS: Path = ("spec", "replicatedJobs")
_INDEX = "jobset.sigs.k8s.io/job-index"
_STARTUP: Path = ("spec", "startupPolicy", "startupPolicyOrder")


def read_jobset(manifest: Manifest) -> Group | None:
    """The tree of a JobSet. Replicated jobs that start one after the other do not wait for each other's pods."""
    if manifest.is_elsewhere():
        return None
    leaves = [leaf for path in manifest.list_paths(_JOBS) if (leaf := _read_replicated_job(manifest, path))]
    if not leaves or _follows(manifest, leaves):
        return None
    total = sum(leaf.pods for leaf in leaves)
    if not manifest.fits(total, _JOBS):
        return None
    if len(leaves) > 1 and _is_ordered(manifest):
        message = "the replicated jobs start one after the other, so each is a separate gang"
        manifest.note("ordered-start", _JOBS, message)
        return Composite("jobset", tuple(leaves), None)
    return Composite("jobset", tuple(leaves), len(leaves))


def _read_replicated_job(manifest: Manifest, path: Path) -> Leaf | None:
    name = manifest.text((*path, "name"))
    if not name:
        manifest.note("field-missing", (*path, "name"), "a replicated job needs a name")
    replicas = manifest.count((*path, "replicas"), 1, least=0)
    job = (*path, "template", "spec")
    if replicas < 0:
        return None
    pods = replicas * count_job_pods(manifest, job)
    if not manifest.fits(pods, (*path, "replicas")):
        return None
    template = manifest.template((*job, "template"), pods, (*path, "replicas"))
    if template and pods == 0:
        message = f"replicated job {name} has no pods: it is left out of the gang"
        manifest.note("group-without-pods", (*path, "replicas"), message)
        return None
    return manifest.leaf(name, template, pods)._replace(replicas=replicas, by=_INDEX) if template else None


def _follows(manifest: Manifest, leaves: list[Leaf]) -> bool:
    """Whether the other pods of a job are created only after its first has a node, which a gang of them never gets."""
    for leaf in leaves:
        exclusive = find_exclusive(manifest.value, leaf.templates[0].path) if leaf.pods > leaf.replicas else None
        if exclusive is None or not exclusive.waits:
            continue
        message = (
            "exclusive placement creates the other pods of a job only after its first pod has a node, but in a gang "
            "the first pod waits for them"
        )
        hint = "Remove the annotation, and set a topology key for the gang (krmfn.dev/topology-key)."
        rule = "ordered-start-deadlock" if manifest.options.requested else "ordered-start"
        return manifest.decline(rule, exclusive.path, message, hint)
    return False


def _is_ordered(manifest: Manifest) -> bool:
    return manifest.text(_STARTUP) == "InOrder" or any(
        manifest.get((*path, "dependsOn")) for path in manifest.list_paths(_JOBS)
    )
