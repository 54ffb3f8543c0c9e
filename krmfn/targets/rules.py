"""The rules behind the notes of targets. Their pages are in docs/rules."""

from __future__ import annotations

from krmfn.krm.types import Final
from krmfn.model.findings import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "priority-not-shared",
        "scheduler",
        "error",
        "The pods of one gang have different priority classes.",
        needs="group-priority",
    ),
    Rule("scheduler-not-shared", "scheduler", "error", "The pods of one gang have different schedulers."),
    Rule(
        "preemption-policy-not-shared",
        "scheduler",
        "error",
        "The pods of one gang have different preemption policies.",
        needs="group-preemption-policy",
    ),
    Rule("quorum-out-of-bounds", "scheduler", "error", "The quorum is greater than the number of pods or groups."),
    Rule(
        "api-version-pinned",
        "server",
        "error",
        "The API version that the configuration sets is not served, or lacks a field that the gang needs.",
    ),
    Rule("gate-off", "scheduler", "error", "The gang needs a feature gate that is off in the cluster."),
    Rule("gates-needed", "scheduler", "info", "The generated groups need feature gates that are off by default."),
    Rule(
        "bridge-needed",
        "operator",
        "info",
        "The pods are linked to their groups by the link bridge, which must be applied once per cluster.",
        needs="pod-groups",
    ),
    Rule("groups-do-not-fit", "scheduler", "error", "A resource has more groups than one Workload can describe."),
    Rule(
        "groups-nested",
        "scheduler",
        "info",
        "Groups are nested, because a Workload can list only 8 groups.",
        needs="composite-groups",
    ),
    Rule("release-preview", "server", "info", "This Kubernetes release is not out yet."),
    Rule(
        "groups-out-of-order",
        "scheduler",
        "warning",
        "The scheduler places a group with smaller pods before a group with larger pods.",
        needs="composite-groups",
    ),
    Rule("group-renamed", "scheduler", "info", "A group has a different name in the Workload than in the manifest."),
    Rule(
        "groups-apart",
        "scheduler",
        "warning",
        "The groups of one resource are scheduled independently of each other.",
        lacks="composite-groups",
    ),
    Rule(
        "topology-loosened",
        "scheduler",
        "warning",
        "A topology key applies to each group separately, not to all together.",
        needs="topology-keys",
        lacks="composite-groups",
    ),
    Rule("topology-lost", "scheduler", "warning", "A topology key cannot be expressed for this target."),
    Rule("disruption-mode-lost", "scheduler", "warning", "A disruption mode cannot be expressed for this target."),
    Rule(
        "name-taken",
        "gitops",
        "error",
        "A generated object would have the name of an object that krmfn did not generate.",
    ),
    Rule(
        "generated-names-meet", "gitops", "error", "The objects generated for two resources would have the same name."
    ),
    Rule(
        "name-of-operator", "operator", "error", "A generated object would have a name that the operator uses itself."
    ),
    Rule("link-foreign", "scheduler", "warning", "The pods of a resource link to a group that krmfn did not generate."),
    Rule(
        "link-partly-foreign", "scheduler", "error", "Some pods of a gang link to a group that krmfn did not generate."
    ),
    Rule(
        "generated-left-over", "gitops", "info", "The source of a generated object is not in the files that krmfn read."
    ),
    Rule("edit-refused", "gitops", "error", "A manifest cannot be edited without changing other parts of the file."),
    Rule(
        "scheduler-not-chosen",
        "scheduler",
        "error",
        "The pods use a scheduler other than the one that the configuration sets.",
    ),
    Rule(
        "link-too-long", "scheduler", "error", "The name of a group is too long for the label with which pods name it."
    ),
    Rule(
        "groups-merged",
        "scheduler",
        "warning",
        "The scheduler has one minimum for all pods of a gang, so a whole group may be missing when the gang starts.",
    ),
    Rule("queue-not-shared", "scheduler", "error", "The resources of one gang are in different queues."),
    Rule(
        "generated-not-selected",
        "gitops",
        "info",
        "This configuration does not select the source of a generated object.",
    ),
)
