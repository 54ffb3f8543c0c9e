"""Priority classes: whether they exist, and whether all groups of a tree name the same one."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import is_obeyed, rule
from krmfn.checks.scheduler.agreement import DEFAULT_POLICY, is_unsure, same_priority
from krmfn.checks.scheduler.trees import list_groups
from krmfn.checks.wording import suggest
from krmfn.config import Settings
from krmfn.krm.results import Severity
from krmfn.model.findings import Finding
from krmfn.model.values import as_text
from krmfn.survey.census import Census


@rule("priority-class-missing", "error", "Pods of a gang name a priority class that does not exist.")
def find_class_missing(census: Census, _: Settings) -> Iterator[Finding]:
    if not census.facts.complete_classes:
        return
    known = census.facts.priority_classes
    for gang in census.gangs:
        for template in gang.templates:
            name = template.priority_class
            if name and name not in known:
                message = (
                    f'no PriorityClass "{name}" in the cluster{suggest(name, known)}: the API server refuses every pod '
                    f"of the gang {gang.group.name}"
                )
                hint = f"Create the PriorityClass, or use one of: {', '.join(sorted(known))}."
                path = (*template.spec_path, "priorityClassName")
                yield Finding(template.item, path, message, name, hint=hint)


@rule(
    "preemption-policy-without-class",
    "warning",
    "Pods of a gang set a preemption policy without a priority class that has it.",
)
def find_policy_without_class(census: Census, _: Settings) -> Iterator[Finding]:
    """Admission takes the policy from the class; where the classes are known, `pod-refused` decides."""
    facts = census.facts
    if facts.complete_classes or any(entry.default for entry in facts.priority_classes.values()):
        return
    for gang in census.gangs:
        for template in gang.templates:
            policy = as_text(template.spec.get("preemptionPolicy"))
            if policy in ("", "PreemptLowerPriority") or template.priority_class:
                continue
            message = (
                f"preemptionPolicy is {policy}, and the pods of the gang {gang.group.name} name no priority class: "
                "unless the cluster's default class has this policy, the API server refuses every pod"
            )
            hint = f"Name a PriorityClass with preemptionPolicy: {policy}."
            yield Finding(template.item, (*template.spec_path, "preemptionPolicy"), message, policy, hint=hint)


@rule(
    "tree-priorities-differ",
    "warning",
    "The priority class of a group differs from that of its root.",
    needs="composite-groups",
)
def find_tree_priorities_differ(census: Census, settings: Settings) -> Iterator[Finding]:
    """A child group with another priority class than its root, which only some releases compare."""
    refused = is_obeyed(census, settings, "uniform-trees")
    for group in list_groups(census):
        above, end = census.chain(group)
        if end or not above or group.priority_class == above[-1].priority_class:
            continue
        root = above[-1]
        if refused and same_priority(census.facts, group.priority_class, root.priority_class):
            continue  # the scheduler compares the numbers
        unsure = is_unsure(census.facts, group.priority_class, root.priority_class)
        effect = "no pod of the tree is ever scheduled" if refused else "the scheduler uses only that of the root"
        message = (
            f"the priority class is {group.priority_class or 'unset'}, but that of the root {root.name} is "
            f"{root.priority_class or 'unset'}: {effect}"
        )
        hint = "Use the same priorityClassName in all groups of the tree and in their pods."
        path = (*group.path, "priorityClassName")
        severity: Severity | None = "error" if refused and not unsure else None
        yield Finding(group.item, path, message, group.priority_class, hint=hint, severity=severity)


@rule(
    "tree-preemption-policies-differ",
    "error",
    "The preemption policy of a group differs from that of its root.",
    needs="uniform-trees",
)
def find_tree_policies_differ(census: Census, settings: Settings) -> Iterator[Finding]:
    """A child group with another preemption policy than its root; without the gate no group has one."""
    if not settings.has("group-preemption-policy"):
        return
    for group in list_groups(census):
        above, end = census.chain(group)
        if end or not above:
            continue
        policy, wanted = (as_text(one.spec.get("preemptionPolicy")) or DEFAULT_POLICY for one in (group, above[-1]))
        if policy != wanted:
            message = (
                f"the preemption policy is {policy}, but that of the root {above[-1].name} is {wanted}: no pod of the "
                "tree is ever scheduled"
            )
            hint = "Use one preemptionPolicy in all groups of the tree and in their pods."
            yield Finding(group.item, (*group.path, "preemptionPolicy"), message, policy, hint=hint)
