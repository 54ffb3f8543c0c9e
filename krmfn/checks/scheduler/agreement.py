"""What pods of one gang and groups of one tree must have in common: scheduler, priority, preemption policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krmfn.checks.rule import is_obeyed, rule
from krmfn.checks.scheduler.trees import list_groups
from krmfn.checks.wording import suggest
from krmfn.config import Settings
from krmfn.config.selection import is_selected
from krmfn.krm.results import Severity
from krmfn.model.findings import Finding
from krmfn.model.schedulers import DEFAULT_SCHEDULER
from krmfn.model.values import as_int, as_text, dig
from krmfn.model.wording import join
from krmfn.survey.census import Census, LinkedGang, Template
from krmfn.survey.facts import Facts
from krmfn.survey.obstacles import OTHER_SCHEDULERS

DEFAULT_POLICY = "PreemptLowerPriority"


@rule("scheduler-differs", "error", "Pods of one gang name different schedulers.")
def find_scheduler_differs(census: Census, settings: Settings) -> Iterator[Finding]:
    for gang in _list_gangs(census, settings, "schedulerName"):
        first = gang.templates[0] if gang.templates else None
        for template in gang.templates[1:]:
            if first is not None and template.scheduler != first.scheduler:
                message = (
                    f"the scheduler is {template.scheduler}, but other pods of the group {gang.group.name} use "
                    f"{first.scheduler}: each scheduler counts only its own pods, so the gang is never scheduled"
                )
                hint = f"Use schedulerName: {first.scheduler} in all templates of the group."
                path = (*template.spec_path, "schedulerName")
                yield Finding(template.item, path, message, template.scheduler, hint=hint)
                break


@rule("scheduler-foreign", "warning", "Linked pods use a scheduler that may ignore PodGroups.")
def find_scheduler_foreign(census: Census) -> Iterator[Finding]:
    gangs = census.gangs_with("schedulerName")
    needed = {id(template) for gang in gangs for template in gang.list_needed()}
    needed |= {id(template) for template in census.dangling}
    for template in (template for gang in gangs for template in gang.templates):
        name, known = template.scheduler, census.facts.schedulers
        if name == DEFAULT_SCHEDULER or (known is not None and name in known):
            continue
        path = (*template.spec_path, "schedulerName")
        if name in OTHER_SCHEDULERS and known is None:
            message = f"{name} ignores PodGroups of scheduling.k8s.io: the pods are scheduled one by one"
            hint = (
                "Remove schedulerName, or generate gangs for that scheduler (for Volcano: scheduler: Volcano in "
                "the configuration)."
            )
        elif known is not None:
            message = f"no scheduler is called {name}: the pods are never scheduled"
            hint = f"Use one of: {', '.join(sorted(known))}."
        else:
            message = f"not checked: whether {name} is a kube-scheduler of this release (no data about schedulers)"
            hint = "List the schedulers of the cluster under cluster.schedulers."
        yield Finding(
            template.item,
            path,
            message,
            name,
            hint=hint,
            severity="error" if known is not None and id(template) in needed else None,
        )


@rule("priority-differs", "error", "The pods of one gang have different priorities.", needs="group-priority")
def find_priority_differs(census: Census, settings: Settings) -> Iterator[Finding]:
    for gang in _list_gangs(census, settings, "priorityClassName"):
        whole = [each for each in gang.templates if each.is_whole]
        for first, template in zip(whole[:1] * len(whole), whole[1:], strict=False):
            if _same_priority(census.facts, first.priority_class, template.priority_class):
                continue
            unsure = _is_unsure(census.facts, first.priority_class, template.priority_class)
            message = (
                f"the priority class is {template.priority_class or 'unset'}, but other pods of the group "
                f"{gang.group.name} have {first.priority_class or 'none'}: the gang is never scheduled"
            )
            hint = "Use the same priorityClassName in all templates of the group."
            path = (*template.spec_path, "priorityClassName")
            yield Finding(
                template.item, path, message, template.priority_class, hint=hint, severity="warning" if unsure else None
            )
            break


@rule(
    "priority-not-groups",
    "error",
    "The priority class of the group, or of its root, differs from that of its pods.",
    needs="group-priority",
)
def find_priority_not_groups(census: Census, settings: Settings) -> Iterator[Finding]:
    if not settings.has("group-priority"):
        return
    refused = settings.has("priority-of-root")
    compared = {id(gang) for gang in _list_gangs(census, settings, "priorityClassName")}
    for gang in census.gangs_with("priorityClassName"):
        root = census.root(gang.group)
        whole = [each for each in gang.templates if each.is_whole]
        wrong = [t for t in whole if not _same_priority(census.facts, root.priority_class, t.priority_class)]
        if not wrong or census.chain(gang.group)[1] or (id(gang) in compared and _disagree(census.facts, whole)):
            continue  # priority-differs says that the pods differ
        pods = join(sorted({template.priority_class or "none" for template in wrong}))
        effect = "they are never scheduled" if refused else "the scheduler uses that of the group"
        message = f"the priority class is {root.priority_class or 'unset'}, but the pods have {pods}: {effect}"
        hint = f"Set priorityClassName: {wrong[0].priority_class} in the group, as in the pod templates."
        if not wrong[0].priority_class:
            hint = f"Set priorityClassName: {root.priority_class} in the pod templates, as in the group."
        path = (*root.path, "priorityClassName")
        yield Finding(
            root.item,
            path,
            message,
            root.priority_class,
            hint=hint,
            severity=None if refused else "warning",
        )


@rule(
    "preemption-policy-differs",
    "error",
    "The pods of one gang have different preemption policies.",
    needs="group-preemption-policy",
)
def find_preemption_policy_differs(census: Census, settings: Settings) -> Iterator[Finding]:
    compare = settings.has("group-preemption-policy")
    for gang in _list_gangs(census, settings, "preemptionPolicy", "priorityClassName"):
        policies = [(template, _policy(census, template)) for template in gang.templates]
        if not policies:
            continue
        wanted, who = policies[0][1], "other pods of the group"
        root = census.root(gang.group)
        if compare:
            wanted, who = as_text(root.spec, "preemptionPolicy") or DEFAULT_POLICY, f"the group {root.name}"
        for template, policy in policies:
            if policy and wanted and policy != wanted:
                message = (
                    f"the preemption policy is {policy}, but that of {who} is {wanted}: the gang is never scheduled"
                )
                hint = "Use one preemption policy for the group and all of its pods."
                path = (*template.spec_path, "preemptionPolicy")
                yield Finding(template.item, path, message, policy, hint=hint)
                break


@rule("priority-by-hand", "error", "A group or template sets the numeric priority.", needs="group-priority")
def find_priority_by_hand(census: Census, settings: Settings) -> Iterator[Finding]:
    groups = [gang.group for gang in census.gangs_with("priority")] + list(census.composites.values())
    places = [(group.item, group.path, group.spec, group.priority_class) for group in groups]
    for workload in census.workloads.values():
        for path, template in ((path, spec) for path, spec in workload.templates.values() if "priority" in spec):
            places.append((workload.item, path, template, as_text(template, "priorityClassName")))
    for item, path, spec, class_name in places:
        value = as_int(spec, "priority")
        if value is None or value == census.facts.priority(class_name):
            continue
        # The server fills the field in, with 0 where there is no class.
        if (value == 0 and not class_name) or dig(item.value, "metadata", "uid"):
            continue
        if item.kind != "Workload" and census.facts.complete_classes:
            continue  # then the server stage gives the server's own answer
        message = (
            f"priority is {value}, but the API server computes it from the priority class and refuses any other value"
        )
        hint = "Replace priority with a priorityClassName."
        yield Finding(item, (*path, "priority"), message, value, hint=hint)


def _disagree(facts: Facts, templates: Sequence[Template]) -> bool:
    """Whether the pods of a gang surely differ in priority: then no class of the group suits them all."""
    first, *others = (template.priority_class for template in templates)
    return any(not _same_priority(facts, first, other) and not _is_unsure(facts, first, other) for other in others)


def _list_gangs(census: Census, settings: Settings, *fields: str) -> Iterator[LinkedGang]:
    """Gangs with one of the fields, whose pods no target has compared already."""
    for gang in census.gangs_with(*fields):
        if not all(is_selected(owner, settings) for owner in gang.owners):
            yield gang


def _same_priority(facts: Facts, first: str, second: str) -> bool:
    """Whether two classes give one priority: the same name, or the same known value."""
    value = facts.priority(first)
    return first == second or (value is not None and value == facts.priority(second))


def _is_unsure(facts: Facts, first: str, second: str) -> bool:
    return (not first or not second) and None in (facts.priority(first), facts.priority(second))


def _policy(census: Census, template: Template) -> str:
    """The policy the pod gets, "" when its class is unknown."""
    own = as_text(template.spec, "preemptionPolicy")
    if own or not template.priority_class:
        return own or DEFAULT_POLICY
    found = census.facts.priority_classes.get(template.priority_class)
    return found.preemption_policy if found else ""


@rule("priority-class-missing", "error", "Pods of a gang name a priority class that does not exist.")
def find_class_missing(census: Census) -> Iterator[Finding]:
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
def find_policy_without_class(census: Census) -> Iterator[Finding]:
    """Admission takes the policy from the class; where the classes are known, `pod-refused` decides."""
    facts = census.facts
    if facts.complete_classes or any(entry.default for entry in facts.priority_classes.values()):
        return
    for gang in census.gangs:
        for template in gang.templates:
            policy = as_text(template.spec, "preemptionPolicy")
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
    refused = is_obeyed(census, settings, "uniform-trees")
    for group in list_groups(census):
        above, end = census.chain(group)
        if end or not above or group.priority_class == above[-1].priority_class:
            continue
        root = above[-1]
        if refused and _same_priority(census.facts, group.priority_class, root.priority_class):
            continue  # the scheduler compares the numbers
        unsure = _is_unsure(census.facts, group.priority_class, root.priority_class)
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
        policy, wanted = (as_text(one.spec, "preemptionPolicy") or DEFAULT_POLICY for one in (group, above[-1]))
        if policy != wanted:
            message = (
                f"the preemption policy is {policy}, but that of the root {above[-1].name} is {wanted}: no pod of the "
                "tree is ever scheduled"
            )
            hint = "Use one preemptionPolicy in all groups of the tree and in their pods."
            yield Finding(group.item, (*group.path, "preemptionPolicy"), message, policy, hint=hint)
