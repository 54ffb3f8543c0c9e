"""Job, CronJob and JobSet: which Jobs get no gang, because they are none or because the Job controller creates it, what
runs of a CronJob share, and which Jobs of a set wait for others. The rest is in the files of the kinds.

Source: the controllers of Jobs and CronJobs, and `batch/v1` validation of Kubernetes 1.35 to 1.37, KEP-5547;
kubernetes-sigs/jobset `api/jobset/v1alpha2/jobset_types.go`, `pkg/webhooks/jobset_webhook.go`, KEP-969.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.exclusive import find_exclusive
from krmfn.model.gotext import parse_int
from krmfn.model.marks import KUEUE_MINIMUM
from krmfn.model.tree import Composite, Group, Leaf, leaves
from krmfn.model.values import as_text
from krmfn.sources.interpreter import multiply, read_roles
from krmfn.sources.manifest import Manifest

_SPEC: Path = ("spec",)
_OF_CRON: Path = ("spec", "jobTemplate", "spec")
_POLICY: Path = ("spec", "concurrencyPolicy")


def read_job(manifest: Manifest) -> Group | None:
    """The tree of a Job; None if it gets no gang from us."""
    return _read_leaf(manifest) if _is_gang(manifest, _SPEC) else None


def read_cronjob(manifest: Manifest) -> Group | None:
    """The tree of a CronJob; None if it gets no gang, or if runs may overlap: they would share one PodGroup."""
    if not _is_gang(manifest, _OF_CRON):
        return None
    policy = manifest.text(_POLICY, "Allow")
    if policy == "Allow" and manifest.decline("runs-share-gang", _POLICY, "overlapping", proposed="Forbid"):
        return None
    leaf = _read_leaf(manifest)
    if leaf and policy == "Replace":
        manifest.tell("runs-share-gang", _POLICY, "replaced", proposed="Forbid")
    return leaf


def read_jobset(manifest: Manifest) -> Group | None:
    """The tree of a JobSet; None if exclusive placement keeps its pods from starting together."""
    group = read_roles(manifest)
    if not isinstance(group, Composite) or _waits_for_first(manifest, leaves(group)):
        return None
    # JobSets create Indexed Jobs by default.
    return group._replace(children=tuple(_keep_number(manifest, leaf, "Indexed") for leaf in leaves(group)))


def _is_gang(manifest: Manifest, spec: Path) -> bool:
    """Whether the JobSpec at `spec` gets a gang from us: because somebody requests it, or by its nature."""
    if not manifest.require(spec) or manifest.is_elsewhere() or (spec == _SPEC and _schedules_itself(manifest)):
        return False
    return manifest.options.requested or _is_gang_by_nature(manifest, spec)


def _read_leaf(manifest: Manifest) -> Leaf | None:
    """The leaf that the file of the kind describes. A suspended Job is read as if it ran: its group must exist when it
    resumes."""
    leaf = read_roles(manifest)
    if not isinstance(leaf, Leaf):
        return None
    minimum = parse_int(as_text(manifest.value, "metadata", "annotations", KUEUE_MINIMUM))
    # Kueue may admit fewer pods than the parallelism.
    least = leaf.pods if minimum is None or minimum < 0 else min(minimum, leaf.pods)
    job = manifest.leaf("job", leaf.templates[0], least)
    return _keep_number(manifest, job._replace(number=leaf.number), "NonIndexed")


def _keep_number(manifest: Manifest, leaf: Leaf, mode: str) -> Leaf:
    """The leaf, without `number` unless its pods always have all numbers from 0 on: they are indexed, and none is
    replaced by one with another index. `mode` is the completion mode of Jobs that have none."""
    spec = leaf.templates[0].path[:-1]
    indexed = manifest.text((*spec, "completionMode"), mode) == "Indexed"
    whole = manifest.get((*spec, "completions")) in (None, manifest.count((*spec, "parallelism"), 1))
    return leaf if indexed and whole else leaf._replace(number="")


def _schedules_itself(manifest: Manifest) -> bool:
    """Whether `spec.scheduling` makes the Job controller create Workload and PodGroup (1.37, gate WorkloadWithJob).

    A link in the template would turn that off silently, so the two are never written together.
    """
    path = ("spec", "scheduling")
    if manifest.get(path) is None or not manifest.settings.release.has("job-scheduling"):
        return False
    if manifest.settings.feature_gates.get("WorkloadWithJob") is False:
        return False  # the API server drops the field
    return manifest.decline("job-own-scheduling", path)


def _is_gang_by_nature(manifest: Manifest, spec: Path) -> bool:
    """Whether the pods of a Job that `select: All` selects are a gang; single pods and work queues are not."""
    if manifest.counting:  # all pods are counted, those of a gang or not
        return True
    if manifest.get((*spec, "completions")) is None and manifest.count((*spec, "parallelism"), 1) > 1:
        return not manifest.decline("job-no-gang", (*spec, "parallelism"), "queue")
    if multiply(manifest, manifest.kind.templates[0].factors or (), ()) == 1:
        return not manifest.decline("job-no-gang", (*spec, "parallelism"))
    return True


def _waits_for_first(manifest: Manifest, every: tuple[Leaf, ...]) -> bool:
    """Whether the other pods of a Job are created when its first has a node: it never gets one if it waits for them."""
    for leaf in every:
        exclusive = find_exclusive(manifest.value, leaf.templates[0].path) if leaf.pods > leaf.replicas else None
        if exclusive is None or not exclusive.waits:
            continue
        rule = "ordered-start-deadlock" if manifest.options.requested else "ordered-start"
        return manifest.decline(rule, exclusive.path, "exclusive")
    return False
