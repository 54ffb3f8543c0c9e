"""What the pods of one gang must have in common: scheduler, priority, preemption policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from krmfn.checks.rule import Check
from krmfn.checks.selected import is_selected
from krmfn.checks.wording import join
from krmfn.model.findings import Finding, Note, Rule
from krmfn.releases.gates import is_on
from krmfn.survey.values import as_int, as_text

if TYPE_CHECKING:
    from krmfn.config import Settings
    from krmfn.survey.census import Census, Gang, Template
    from krmfn.survey.facts import Facts

NEVER = "Never"
_DEFAULT_POLICY = "PreemptLowerPriority"


def find_scheduler_differs(census: Census, settings: Settings) -> Iterator[Finding]:
    """Pods of one gang name different schedulers."""
    for gang in _list_gangs(census, settings):
        first = gang.templates[0] if gang.templates else None
        for template in gang.templates[1:]:
            if first is not None and template.scheduler != first.scheduler:
                message = (
                    f"the scheduler is {template.scheduler}, other pods of the group {gang.group.name} use "
                    f"{first.scheduler}: a scheduler counts its own pods only, so the gang is never complete"
                )
                hint = f"Use schedulerName: {first.scheduler} in all templates of the group."
                path = (*template.spec_path, "schedulerName")
                note = Note("scheduler-differs", path, message, template.scheduler, hint=hint)
                yield Finding(template.item, note)
                break


def find_scheduler_foreign(census: Census, _: Settings) -> Iterator[Finding]:
    """A linked pod goes to a scheduler that may not read native groups."""
    for template in _linked(census):
        name, known = template.scheduler, census.facts.schedulers
        if name == "default-scheduler" or (known is not None and name in known):
            continue
        path = (*template.spec_path, "schedulerName")
        if name in _OTHER_SCHEDULERS:
            message = f"{name} does not read PodGroups of scheduling.k8s.io: the pods are scheduled one by one"
            hint = "Remove schedulerName, or use that scheduler's own gang (configuration: scheduler: Volcano)."
        elif known is not None:
            message = f"no scheduler serves the name {name}: the pods wait for ever"
            hint = f"Use one of: {', '.join(sorted(known))}."
        else:
            message = f"whether a kube-scheduler of this release serves the name {name} cannot be seen in Git"
            hint = "List the profiles of the cluster under cluster.schedulers."
        note = Note("scheduler-foreign", path, message, name, hint=hint)
        yield Finding(template.item, note, "error" if known is not None and name not in _OTHER_SCHEDULERS else None)


def find_priority_differs(census: Census, settings: Settings) -> Iterator[Finding]:
    """Pods of one gang have different priorities."""
    for gang in _list_gangs(census, settings):
        first = gang.templates[0] if gang.templates else None
        for template in gang.templates[1:]:
            if first is None or _same(census.facts, first.priority_class, template.priority_class):
                continue
            unsure = _is_unsure(census.facts, first.priority_class, template.priority_class)
            message = (
                f"the priority class is {template.priority_class or 'unset'}, other pods of the group "
                f"{gang.group.name} have "
                f"{first.priority_class or 'none'}: the scheduler refuses the whole gang"
            )
            hint = "Give all templates of the group one priorityClassName."
            path = (*template.spec_path, "priorityClassName")
            note = Note("priority-differs", path, message, template.priority_class, hint=hint)
            yield Finding(template.item, note, "warning" if unsure else None)
            break


def find_priority_not_groups(census: Census, settings: Settings) -> Iterator[Finding]:
    """Pods whose priority is not that of the root group."""
    if settings.release == "1.36" and not is_on(settings.feature_gates, "WorkloadAwarePreemption"):
        return
    for gang in census.gangs:
        root = census.root(gang.group)
        wrong = [t for t in gang.templates if not _same(census.facts, root.priority_class, t.priority_class)]
        if not wrong or census.chain(gang.group)[1]:
            continue
        pods = join(sorted({template.priority_class or "none" for template in wrong}))
        effect = "the scheduler refuses all of them" if settings.release == "1.37" else "the group's counts"
        message = f"the priority class is {root.priority_class or 'unset'}, the pods have {pods}: {effect}"
        hint = f"Set priorityClassName: {wrong[0].priority_class} in the group, as in the pod templates."
        if not wrong[0].priority_class:
            hint = f"Set priorityClassName: {root.priority_class} in the pod templates, as in the group."
        path = (*root.path, "priorityClassName")
        note = Note("priority-not-groups", path, message, root.priority_class, hint=hint)
        yield Finding(root.item, note, None if settings.release == "1.37" else "warning")


def find_preemption_policy_differs(census: Census, settings: Settings) -> Iterator[Finding]:
    """Pods of one gang, or pods and their root group, differ in the preemption policy."""
    compare = is_on(settings.feature_gates, "PodGroupPreemptionPolicy")
    for gang in _list_gangs(census, settings):
        policies = [(template, _policy(census, template)) for template in gang.templates]
        if not policies:
            continue
        wanted, who = policies[0][1], "other pods of the group"
        root = census.root(gang.group)
        if compare:
            wanted, who = as_text(root.spec.get("preemptionPolicy")) or _DEFAULT_POLICY, f"the group {root.name}"
        for template, policy in policies:
            if policy and wanted and policy != wanted:
                message = (
                    f"the preemption policy is {policy}, {who} says {wanted}: the scheduler refuses the whole gang"
                )
                hint = "Use one preemption policy for the group and all of its pods."
                path = (*template.spec_path, "preemptionPolicy")
                yield Finding(template.item, Note("preemption-policy-differs", path, message, policy, hint=hint))
                break


def find_priority_by_hand(census: Census, settings: Settings) -> Iterator[Finding]:
    """A priority value in a group or template."""
    if settings.release == "1.35":
        return
    groups = [gang.group for gang in census.gangs] + list(census.composites.values())
    places = [(group.item, group.path, group.spec, group.priority_class) for group in groups]
    for workload in census.workloads.values():
        for path, template in workload.templates.values():
            places.append((workload.item, path, template, as_text(template.get("priorityClassName"))))
    for item, path, spec, class_name in places:
        value = as_int(spec.get("priority"))
        if value is None or value == census.facts.priority(class_name):
            continue
        if item.kind != "Workload" and census.facts.complete_classes:
            continue  # then the server stage gives the server's own answer
        message = f"priority is {value}, but admission computes it from the priority class and refuses another value"
        hint = "Remove priority; name a priorityClassName."
        yield Finding(item, Note("priority-by-hand", (*path, "priority"), message, value, hint=hint))


#: Schedulers that have groups of their own and ignore those of scheduling.k8s.io.
_OTHER_SCHEDULERS = frozenset({"volcano", "kai-scheduler", "yunikorn"})


def _list_gangs(census: Census, settings: Settings) -> Iterator[Gang]:
    """Gangs whose pods no target has compared already."""
    for gang in census.gangs:
        if not all(is_selected(owner, settings) for owner in gang.owners):
            yield gang


def _linked(census: Census) -> Iterator[Template]:
    for gang in census.gangs:
        yield from gang.templates


def _same(facts: Facts, first: str, second: str) -> bool:
    """Whether two classes give one priority: the same name, or the same known value."""
    value = facts.priority(first)
    return first == second or (value is not None and value == facts.priority(second))


def _is_unsure(facts: Facts, first: str, second: str) -> bool:
    return (not first or not second) and None in (facts.priority(first), facts.priority(second))


def _policy(census: Census, template: Template) -> str:
    """The policy the pod gets, "" when its class is unknown."""
    own = as_text(template.spec.get("preemptionPolicy"))
    if own or not template.priority_class:
        return own or _DEFAULT_POLICY
    found = census.facts.priority_classes.get(template.priority_class)
    return found.preemption_policy if found else ""


CHECKS = (
    Check(
        Rule(
            "scheduler-differs",
            "scheduler",
            "error",
            "Pods of one gang name different schedulers.",
            "A scheduler counts and places only the pods that name it. With two profiles of one scheduler the whole "
            "group is refused; with a scheduler that is not served here, its pods are missing from the quorum.",
            "Use one schedulerName in all templates that link to the group.",
            (),
            ("kubernetes pkg/scheduler", "observed on Kubernetes 1.37.0"),
        ),
        find_scheduler_differs,
    ),
    Check(
        Rule(
            "scheduler-foreign",
            "scheduler",
            "warning",
            "Linked pods go to a scheduler that may not read the groups of Kubernetes.",
            "Volcano, KAI and YuniKorn have groups of their own and ignore PodGroups of scheduling.k8s.io. Other names "
            "must be a profile of a kube-scheduler of this release.",
            "Leave schedulerName out, or list the cluster's profiles under `cluster.schedulers`.",
            (),
            ("Volcano, KAI, YuniKorn",),
        ),
        find_scheduler_foreign,
    ),
    Check(
        Rule(
            "priority-differs",
            "scheduler",
            "error",
            "Pods of one gang have different priorities.",
            "The scheduler compares every pod of a gang and refuses all of them when one deviates (condition "
            "SchedulerError). A class and no class are the same only when the class is the global default, which the "
            "facts tell.",
            "Give all templates of the group one priorityClassName.",
            ("1.36", "1.37"),
            ("kubernetes pkg/scheduler",),
        ),
        find_priority_differs,
    ),
    Check(
        Rule(
            "priority-not-groups",
            "scheduler",
            "error",
            "The priority class of the (root) group is not that of its pods.",
            "On 1.37 every pod is compared with the root group; `all pods in a single pod group should have the same "
            "priority as the pod group's priority` blocks the whole gang. On 1.36 the group's priority is used.",
            "Name the pods' priorityClassName in the group, in its root and in the Workload's templates.",
            ("1.36", "1.37"),
            ("KEP-6012", "observed on Kubernetes 1.37.0"),
        ),
        find_priority_not_groups,
    ),
    Check(
        Rule(
            "preemption-policy-differs",
            "scheduler",
            "error",
            "Pods of one gang differ in their preemption policy.",
            "The scheduler refuses a gang whose pods differ, and with the gate PodGroupPreemptionPolicy on also one "
            "whose pods differ from the root group. A pod's policy comes from its priority class when it names none.",
            "Use priority classes with one policy, and write `preemptionPolicy: Never` in the group when the class "
            "says so.",
            ("1.37",),
            ("kubernetes plugin/pkg/admission/priority",),
        ),
        find_preemption_policy_differs,
    ),
    Check(
        Rule(
            "priority-by-hand",
            "scheduler",
            "error",
            "A group or template sets the value of its priority.",
            "Admission fills priority in from the class and answers 403 when a group says another value. In Workload "
            "templates it makes templates differ that must agree.",
            "Remove priority from the manifest. Exported objects carry it: clean them before they go into Git.",
            ("1.36", "1.37"),
            ("kubernetes plugin/pkg/admission/priority",),
        ),
        find_priority_by_hand,
    ),
)
