"""The rules about what a configuration or an annotation asks for, as rows of the catalogue."""

from __future__ import annotations

from krmfn.model.findings import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        "unknown-annotation",
        "operator",
        "error",
        "An annotation with the prefix krmfn.dev/ does not exist.",
        "A mistyped annotation would be ignored, and the resource would get another gang than its author thinks, "
        "or none.",
        "Use the name that the message suggests; the reference of the configuration lists all annotations.",
    ),
    Rule(
        "annotation-value",
        "operator",
        "error",
        "An annotation with the prefix krmfn.dev/ has a value that it cannot have.",
        "Values are those of the same setting in the configuration, written as text.",
        "Use a value that the message names.",
    ),
    Rule(
        "annotation-without-gang",
        "operator",
        "warning",
        "An annotation shapes the gang of a resource that asks for none.",
        "Annotations such as `krmfn.dev/gang-group` say how a gang is formed. Without an opt-in there is none, and the "
        "pods are scheduled one by one although somebody meant otherwise.",
        'Add `krmfn.dev/gang: "true"` to the resource, or select it in the configuration.',
    ),
    Rule(
        "min-count-for-groups",
        "scheduler",
        "error",
        "A single number cannot be the minCount of several groups.",
        "With granularity Group every group of the resource has a quorum of its own, and one number says nothing "
        "about how it is shared out.",
        "Use Replicas or MinReplicas, or granularity Cluster, where one number is for all pods together.",
    ),
    Rule(
        "group-not-guaranteed",
        "scheduler",
        "info",
        "A group whose lower bound is 0 stays outside the gang.",
        "With MinReplicas a group counts with what its lower bound guarantees. A group that guarantees no pod "
        "cannot be waited for: the tree would never be complete after it was scaled down. Its pods are scheduled "
        "one by one.",
        "Raise its minReplicas to have it in the gang, or use granularity Cluster.",
        sources=("KEP-6012",),
    ),
    Rule(
        "group-topology-unused",
        "scheduler",
        "warning",
        "A topology key is for a group that the gang does not have.",
        "Keys of single groups need granularity Group, and the name of a group with pods: head, or the groupName "
        "of a worker group. The group is then placed without the constraint.",
        "Correct the name, or set granularity: Group.",
    ),
    Rule(
        "gang-group-conflict",
        "scheduler",
        "error",
        "Resources that share a gang ask for different gangs.",
        "One gang has one topology key, one disruption mode and one way of naming. With two answers one of the "
        "resources would silently not get what it asks for.",
        "Give all resources of the gang the same value, or to one of them only.",
    ),
)
