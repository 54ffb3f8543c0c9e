"""The rules about what a configuration or an annotation asks for. Their pages are in docs/rules."""

from __future__ import annotations

from krmfn.krm.types import Final
from krmfn.model.findings import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule("unknown-annotation", "operator", "error", "A krmfn.dev/ annotation is unknown."),
    Rule("annotation-value", "operator", "error", "The value of a krmfn.dev/ annotation is not allowed."),
    Rule(
        "annotation-without-gang",
        "operator",
        "warning",
        "An annotation configures a gang, but the resource does not opt in.",
    ),
    Rule("min-count-for-groups", "scheduler", "error", "One number is set as the minCount of several groups."),
    Rule("group-not-guaranteed", "scheduler", "info", "Groups with minReplicas 0 are left out of the gang."),
    Rule(
        "group-topology-unused",
        "scheduler",
        "warning",
        "A topology key is set for a group that the gang does not have.",
    ),
    Rule("gang-group-conflict", "scheduler", "error", "Resources of one gang have conflicting settings."),
)
