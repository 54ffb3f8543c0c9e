"""The rules behind the notes of sources. Their pages are in docs/rules."""

from __future__ import annotations

from collections.abc import Mapping

from krmfn.krm.hints import Final
from krmfn.krm.results import Severity
from krmfn.model.findings import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule("count-type", "operator", "error", "A field that decides the number of pods is not a whole number."),
    Rule("count-overflow", "operator", "error", "The number of pods does not fit into 32 bits."),
    Rule("count-negative", "operator", "error", "A field that decides the number of pods is negative."),
    Rule("field-type", "operator", "error", "A field that the gang depends on has the wrong type."),
    Rule("field-missing", "operator", "error", "A field that the pods need is missing."),
    Rule("generated-name", "operator", "warning", "A gang cannot be generated for a resource with generateName."),
    Rule(
        "elastic-minimum",
        "operator",
        "warning",
        "An elastic job can run with one worker, so its gang has a quorum of one.",
    ),
    Rule(
        "scheduler-elsewhere", "operator", "warning", "The pods use a scheduler that ignores the groups of Kubernetes."
    ),
    Rule("value-unknown", "operator", "info", "A value is a placeholder, so krmfn did not check what depends on it."),
    Rule("group-without-pods", "operator", "info", "A group without pods is left out of the gang."),
    Rule(
        "managed-elsewhere",
        "operator",
        "info",
        "Another controller manages the resource, so no pods are created in this cluster.",
    ),
    Rule("ray-name", "operator", "error", "KubeRay refuses the name of a Ray resource."),
    Rule("min-above-max", "operator", "error", "minReplicas of a worker group is greater than its maxReplicas."),
    Rule(
        "suspend-with-autoscaling",
        "operator",
        "error",
        "A worker group is suspended although the cluster uses the autoscaler.",
    ),
    Rule("group-name-duplicate", "operator", "error", "Two worker groups of a cluster have the same groupName."),
    Rule("group-name-reserved", "operator", "error", "A worker group has the reserved name headgroup."),
    Rule("group-name-invalid", "operator", "error", "A groupName is not a valid label value."),
    Rule("autoscaling-skipped", "operator", "warning", "No gang is generated for a cluster that uses the autoscaler."),
    Rule("field-pruned", "operator", "warning", "The API server drops a field that ray.io/v1alpha1 does not have."),
    Rule("field-unknown", "operator", "warning", "A field of a Ray resource is unknown, probably misspelled."),
    Rule(
        "bridge-not-possible",
        "operator",
        "error",
        "The gang needs the link bridge, but the configuration does not allow it.",
    ),
    Rule(
        "link-pruned",
        "operator",
        "warning",
        "The CRD of a resource drops the field that links its pods to their group.",
    ),
    Rule("operator-manages", "operator", "info", "The operator creates the gang itself, so nothing is generated."),
    Rule(
        "operator-schedules",
        "operator",
        "warning",
        "KubeRay assigns all Ray pods to another scheduler, which ignores PodGroups of scheduling.k8s.io.",
    ),
    Rule(
        "operator-refuses",
        "operator",
        "error",
        "The operator never starts this resource with the batch scheduler that is configured.",
    ),
    Rule("ray-job-refused", "operator", "error", "KubeRay refuses a RayJob."),
    Rule("ray-service-refused", "operator", "error", "KubeRay refuses a RayService."),
    Rule("ray-cluster-refused", "operator", "error", "KubeRay refuses the cluster of a RayJob or a RayService."),
    Rule("existing-cluster", "operator", "info", "A RayJob that uses an existing cluster does not get a gang."),
    Rule("own-scheduling", "operator", "info", "The controller of a resource creates its groups itself."),
    Rule(
        "job-own-scheduling",
        "operator",
        "info",
        "The Job controller creates the groups of this Job itself.",
        needs="job-scheduling",
    ),
    Rule(
        "job-no-gang",
        "operator",
        "info",
        "A Job whose pods do not need each other gets no gang unless it opts in.",
    ),
    Rule("rollout-shares-gang", "operator", "warning", "Old and new pods share one gang during an upgrade."),
    Rule(
        "revision-in-steps",
        "operator",
        "warning",
        "A rolling update creates only a part of a new revision's gang, which waits for all of it.",
    ),
    Rule("runs-share-gang", "operator", "warning", "Several runs of a scheduled job share one gang."),
    Rule("ordered-start", "operator", "info", "Groups that start one after the other cannot form one gang."),
    Rule(
        "ordered-start-deadlock",
        "operator",
        "error",
        "The controller creates the pods of a gang one after the other, so the gang is never scheduled.",
    ),
    Rule("gang-on-request", "operator", "info", "A resource of this kind becomes a gang only if it opts in."),
    Rule(
        "training-runtime-missing",
        "operator",
        "warning",
        "No gang is generated for a TrainJob whose training runtime is not known.",
    ),
    Rule(
        "link-needs-version",
        "operator",
        "info",
        "Older CRDs of this kind drop the field that links pods to their group.",
    ),
    Rule(
        "kind-not-supported",
        "operator",
        "warning",
        "A resource opts in, but nothing can be generated for its kind.",
    ),
    Rule("kind-passed-over", "operator", "info", "`select: All` includes a kind for which nothing can be generated."),
)

SEVERITIES: Final[Mapping[str, Severity]] = {rule.id: rule.severity for rule in RULES}
