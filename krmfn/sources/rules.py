"""The rules behind the notes of sources. Their pages are in docs/rules."""

from __future__ import annotations

from collections.abc import Mapping

from krmfn.krm.results import Severity
from krmfn.krm.types import Final
from krmfn.model.findings import Rule


def _row(id: str, severity: Severity, sentence: str, needs: str = "") -> Rule:
    return Rule(id, "operator", severity, sentence, needs)


RULES: Final[tuple[Rule, ...]] = (
    _row("count-type", "error", "A field that decides the number of pods is not a whole number."),
    _row("count-overflow", "error", "The number of pods does not fit into 32 bits."),
    _row("count-negative", "error", "A field that decides the number of pods is negative."),
    _row("field-type", "error", "A field that the gang depends on has the wrong type."),
    _row("field-missing", "error", "A field that the pods need is missing."),
    _row("generated-name", "warning", "A gang cannot be generated for a resource with generateName."),
    _row("elastic-minimum", "warning", "An elastic job can run with one worker, so its gang has a quorum of one."),
    _row("scheduler-elsewhere", "warning", "The pods use a scheduler that ignores the groups of Kubernetes."),
    _row("value-unknown", "info", "A value is a placeholder, so krmfn did not check what depends on it."),
    _row("group-without-pods", "info", "A group without pods is left out of the gang."),
    _row(
        "managed-elsewhere", "info", "Another controller manages the resource, so no pods are created in this cluster."
    ),
    _row("ray-name", "error", "KubeRay refuses the name of a Ray resource."),
    _row("min-above-max", "error", "minReplicas of a worker group is greater than its maxReplicas."),
    _row("suspend-with-autoscaling", "error", "A worker group is suspended although the cluster uses the autoscaler."),
    _row("group-name-duplicate", "error", "Two worker groups of a cluster have the same groupName."),
    _row("group-name-reserved", "error", "A worker group has the reserved name headgroup."),
    _row("group-name-invalid", "error", "A groupName is not a valid label value."),
    _row("autoscaling-skipped", "warning", "No gang is generated for a cluster that uses the autoscaler."),
    _row("field-pruned", "warning", "The API server drops a field that ray.io/v1alpha1 does not have."),
    _row("field-unknown", "warning", "A field of a Ray resource is unknown, probably misspelled."),
    _row("bridge-not-possible", "error", "The gang needs the link bridge, but the configuration does not allow it."),
    _row("link-pruned", "warning", "The CRD of a resource drops the field that links its pods to their group."),
    _row("operator-manages", "info", "The operator creates the gang itself, so nothing is generated."),
    _row(
        "operator-schedules",
        "warning",
        "KubeRay assigns all Ray pods to another scheduler, which ignores PodGroups of scheduling.k8s.io.",
    ),
    _row(
        "operator-refuses",
        "error",
        "The operator never starts this resource with the batch scheduler that is configured.",
    ),
    _row("ray-job-refused", "error", "KubeRay refuses a RayJob."),
    _row("ray-service-refused", "error", "KubeRay refuses a RayService."),
    _row("ray-cluster-refused", "error", "KubeRay refuses the cluster of a RayJob or a RayService."),
    _row("existing-cluster", "info", "A RayJob that uses an existing cluster does not get a gang."),
    _row("own-scheduling", "info", "The controller of a resource creates its groups itself."),
    _row(
        "job-own-scheduling",
        "info",
        "The Job controller creates the groups of this Job itself.",
        needs="job-scheduling",
    ),
    _row("job-no-gang", "info", "A Job whose pods do not need each other gets no gang unless it opts in."),
    _row("rollout-shares-gang", "warning", "Old and new pods share one gang during an upgrade."),
    _row(
        "revision-in-steps",
        "warning",
        "A rolling update creates only a part of a new revision's gang, which waits for all of it.",
    ),
    _row("runs-share-gang", "warning", "Several runs of a scheduled job share one gang."),
    _row("ordered-start", "info", "Groups that start one after the other cannot form one gang."),
    _row(
        "ordered-start-deadlock",
        "error",
        "The controller creates the pods of a gang one after the other, so the gang is never scheduled.",
    ),
    _row("gang-on-request", "info", "A resource of this kind becomes a gang only if it opts in."),
    _row(
        "training-runtime-missing",
        "warning",
        "No gang is generated for a TrainJob whose training runtime is not known.",
    ),
    _row("link-needs-version", "info", "Older CRDs of this kind drop the field that links pods to their group."),
    _row("kind-not-supported", "warning", "A resource opts in, but nothing can be generated for its kind."),
    _row("kind-passed-over", "info", "`select: All` includes a kind for which nothing can be generated."),
)

SEVERITIES: Final[Mapping[str, Severity]] = {rule.id: rule.severity for rule in RULES}
