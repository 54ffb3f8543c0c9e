"""The rules about what a configuration or an annotation asks for. Their pages are in docs/rules."""

from __future__ import annotations

from typing import Final

from krmfn.model.findings import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule("unknown-annotation", "operator", "error", "An annotation with the prefix krmfn.dev/ does not exist."),
    Rule(
        "annotation-value",
        "operator",
        "error",
        "An annotation with the prefix krmfn.dev/ has a value that it cannot have.",
    ),
    Rule(
        "annotation-without-gang",
        "operator",
        "warning",
        "An annotation shapes the gang of a resource that asks for none.",
    ),
    Rule("min-count-for-groups", "scheduler", "error", "A single number cannot be the minCount of several groups."),
    Rule("group-not-guaranteed", "scheduler", "info", "A group whose lower bound is 0 stays outside the gang."),
    Rule("group-topology-unused", "scheduler", "warning", "A topology key is for a group that the gang does not have."),
    Rule("gang-group-conflict", "scheduler", "error", "Resources that share a gang ask for different gangs."),
)
