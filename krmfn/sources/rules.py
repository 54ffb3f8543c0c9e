"""The rules behind the notes of sources, as rows of the catalogue. Each row becomes a page of the documentation."""

from __future__ import annotations

from collections.abc import Mapping

from krmfn.krm.results import Severity
from krmfn.model.findings import Rule
from krmfn.sources.rayrules import KUBERAY

_READING = (
    Rule(
        "count-type",
        "operator",
        "error",
        "A field that decides the number of pods is not a whole number.",
        "The API server refuses the resource, and without the number nobody can say how many pods the gang has. "
        'In YAML a number in quotes is a string: replicas: "4" is not replicas: 4.',
        "Write the number without quotes.",
        sources=("kuberay config/crd/bases", "k8s.io/api batch/v1"),
    ),
    Rule(
        "count-overflow",
        "operator",
        "error",
        "The number of pods does not fit into 32 bits.",
        "Controllers multiply replicas by hosts and add groups in Go's int32, which wraps around without a word: "
        "1073741824 replicas of 2 hosts are -2147483648 pods. No minCount can be equal to that.",
        "Lower replicas, or numOfHosts.",
        sources=("kuberay controllers/ray/utils/util.go",),
    ),
    Rule(
        "count-negative",
        "operator",
        "error",
        "A field that decides the number of pods is negative.",
        "KubeRay refuses a cluster whose minReplicas or maxReplicas is negative and calculates with a negative "
        "numOfHosts; the API server refuses a Job with negative parallelism or completions.",
        "Use 0 for no pods.",
        sources=("kuberay controllers/ray/utils/validation.go", "k8s.io/kubernetes pkg/apis/batch/validation"),
    ),
    Rule(
        "field-type",
        "operator",
        "error",
        "A field that the gang depends on has the wrong type.",
        "The API server refuses the resource. The tool stops here rather than guess what was meant.",
        "Write the type that the message names.",
    ),
    Rule(
        "field-missing",
        "operator",
        "error",
        "A field without which there are no pods is missing.",
        "The API server or the operator refuses the resource, so no pod would ever be made for the gang.",
        "Add the field.",
        sources=("kuberay config/crd/bases", "kuberay controllers/ray/utils/validation.go"),
    ),
    Rule(
        "generated-name",
        "operator",
        "warning",
        "A resource with generateName cannot have a gang of its own.",
        "Its name is made up when it is created, so every apply makes another resource, and a group in Git would "
        "be shared by all of them: the pods of an old run would fill the gang of a new one.",
        "Give the resource a metadata.name.",
    ),
    Rule(
        "group-without-pods",
        "operator",
        "info",
        "A group without pods is left out of the gang.",
        "A gang needs at least one pod (minCount is 1 or more), and a tree that waits for a group without pods "
        "waits for ever. The group comes in by itself when it gets pods in Git.",
    ),
    Rule(
        "managed-elsewhere",
        "operator",
        "info",
        "Another controller has the resource, so it makes no pods in this cluster.",
        "With managedBy set to something like kueue.x-k8s.io/multikueue the ordinary controller ignores the "
        "resource. A group here would wait for pods that run elsewhere.",
    ),
)

_JOB = (
    Rule(
        "job-own-scheduling",
        "operator",
        "info",
        "The Job controller makes the groups of this Job itself.",
        "With spec.scheduling (Kubernetes 1.37, gate WorkloadWithJob) the controller creates a Workload and a "
        "PodGroup. A link in the pod template would switch that off silently, so none is written.",
        "Remove spec.scheduling to have the groups in Git.",
        releases=("1.37",),
        sources=("KEP-5547",),
    ),
    Rule(
        "job-no-gang",
        "operator",
        "info",
        "A Job whose pods do not need each other gets no gang unless it asks for one.",
        "A gang of one pod changes nothing. The pods of a work queue (parallelism without completions) are "
        "interchangeable: holding them back until all fit only delays the work. This concerns Jobs that select: "
        "All sweeps in.",
        'Annotate the Job with krmfn.dev/gang: "true".',
        sources=("KEP-5547",),
    ),
)

_OTHER = (
    Rule(
        "rollout-shares-gang",
        "operator",
        "warning",
        "Old and new pods share one gang during an upgrade.",
        "The pods of the new revision name the same group as those of the old one, which still run or terminate. "
        "They count, so the quorum is met from the start and the new pods are scheduled one by one.",
        "Set naming: Revisioned (krmfn.dev/naming). The name of the group then changes with the template, and "
        "every revision is a gang of its own; keep the old group in Git until the upgrade is over.",
        sources=("kuberay controllers/ray/rayservice_controller.go", "KEP-6276"),
    ),
    Rule(
        "runs-share-gang",
        "operator",
        "warning",
        "Several runs of a scheduled job share one gang.",
        "The name of the group stands in the template, so every run has the same. Pods of an earlier run that "
        "still run or terminate count for the next one, which then starts in parts, or waits for pods that end.",
        "Set concurrencyPolicy: Forbid on a CronJob. A RayCronJob has no such policy: choose a schedule that "
        "leaves runs time to end.",
        sources=("KEP-5547", "kuberay apis/ray/v1/raycronjob_types.go"),
    ),
    Rule(
        "ordered-start",
        "operator",
        "info",
        "Groups that start one after the other are not one gang.",
        "The controller makes the pods of a later group when an earlier one is ready, and that one could not "
        "become ready while it waits for the later one. So every group is a gang of its own.",
        sources=("kubernetes-sigs/jobset KEP-969", "kubernetes-sigs/lws KEP-666"),
    ),
    Rule(
        "ordered-start-deadlock",
        "operator",
        "error",
        "A gang over pods that are made one after the other can never start.",
        "The next pod is made when the one before is ready, and the one before is not started until the gang is "
        "complete.",
        "Let the controller make all pods at once.",
        sources=("KEP-6277", "kubernetes-sigs/lws KEP-666"),
    ),
    Rule(
        "gang-on-request",
        "operator",
        "info",
        "A resource of this kind becomes a gang only when asked for.",
        "Serving kinds work with any number of pods, and a gang would hold their pods back in a rollout or after "
        "a node was lost. select: All does not sweep them in.",
        'Annotate the resource with krmfn.dev/gang: "true", or name it in a selector.',
        sources=("KEP-6276", "KEP-6277"),
    ),
    Rule(
        "link-needs-version",
        "operator",
        "info",
        "Older CRDs of this kind drop the field that links pods to their group.",
        "Pod templates inside a CRD are pruned by the CRD's schema. The group exists, the pods never say that "
        "they belong to it and are scheduled one by one, and nothing reports it.",
        "Compare the installed version with the one in the message, or look for spec.schedulingGroup in a pod "
        "after an apply.",
        sources=("kubernetes-sigs/jobset v0.12.0", "kubernetes-sigs/lws v0.9.0", "kubeflow/training-operator v1.9.4"),
    ),
    Rule(
        "kind-not-supported",
        "operator",
        "warning",
        "A resource asks for a gang, and nothing can be generated for its kind.",
        "Either krmfn does not know the kind, or no group in Git can be linked to its pods: its CRD drops the "
        "link, its pods are not in the manifest, or another scheduler has it. The message says which.",
        "Use the gang scheduling that the kind brings, where it has one, and take the annotation off.",
    ),
    Rule(
        "kind-passed-over",
        "operator",
        "info",
        "Nothing can be generated for a kind that select: All sweeps in.",
        "No group in Git can be linked to its pods: its CRD drops the link, its pods are not in the manifest, or "
        "another scheduler has it. The message says which.",
    ),
)

#: Every rule that a source can leave a note for.
RULES: tuple[Rule, ...] = (*_READING, *KUBERAY, *_JOB, *_OTHER)

#: The severity of each rule by its id.
SEVERITIES: Mapping[str, Severity] = {rule.id: rule.severity for rule in RULES}
