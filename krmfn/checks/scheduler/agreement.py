"""What pods of one gang and groups of one tree must have in common: scheduler, priority, preemption policy."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import Matches, is_obeyed, rule, suggest, tell
from krmfn.checks.scheduler.trees import list_groups
from krmfn.config import Settings
from krmfn.config.selection import is_selected
from krmfn.model.schedulers import DEFAULT_SCHEDULER
from krmfn.model.values import Fields, as_int, as_text, dig
from krmfn.model.wording import join
from krmfn.survey.census import Census, LinkedGang, Template
from krmfn.survey.facts import Facts
from krmfn.survey.gangs import OTHER_SCHEDULERS
from krmfn.survey.groups import Group

DEFAULT_POLICY = "PreemptLowerPriority"


@rule("scheduler-differs")
def find_scheduler_differs(census: Census, settings: Settings) -> Matches:
    for gang in _list_gangs(census, settings, "schedulerName"):
        for template in gang.templates:
            first, name = gang.templates[0], template.scheduler
            if name != first.scheduler:
                yield tell(template, ("schedulerName",), name, gang=gang, first=first)
                break


@rule("scheduler-foreign")
def find_scheduler_foreign(census: Census) -> Matches:
    needed = {id(template) for gang in census.gangs_with("schedulerName") for template in gang.list_needed()}
    needed |= {id(template) for template in census.dangling}
    for _, template in census.linked("schedulerName"):
        name, known = template.scheduler, census.facts.schedulers
        if name == DEFAULT_SCHEDULER or (known is not None and name in known):
            continue
        case = "" if known is not None else "ignores" if name in OTHER_SCHEDULERS else "unknown"
        stuck = known is not None and id(template) in needed
        yield tell(template, ("schedulerName",), name, error=stuck, case=case, known=sorted(known or ()))


@rule("priority-differs")
def find_priority_differs(census: Census, settings: Settings) -> Matches:
    for gang in _list_gangs(census, settings, "priorityClassName"):
        whole = [each for each in gang.templates if each.is_whole]
        for template in whole[1:]:
            first, other = whole[0], template.priority_class
            one = first.priority_class
            if not _same_priority(census.facts, one, other):
                unsure = _is_unsure(census.facts, one, other)
                yield tell(template, ("priorityClassName",), other, warning=unsure, gang=gang, first=first)
                break


@rule("priority-not-groups")
def find_priority_not_groups(census: Census, settings: Settings) -> Matches:
    if not settings.has("group-priority"):
        return
    refused, facts = settings.has("priority-of-root"), census.facts
    compared = {id(gang) for gang in _list_gangs(census, settings, "priorityClassName")}
    for gang in census.gangs_with("priorityClassName"):
        root = census.root(gang.group)
        whole = [each for each in gang.templates if each.is_whole]
        wrong = [each for each in whole if not _same_priority(facts, root.priority_class, each.priority_class)]
        if not wrong or census.chain(gang.group)[1]:
            continue
        first, *others = (each.priority_class for each in whole)
        differ = (not _same_priority(facts, first, each) and not _is_unsure(facts, first, each) for each in others)
        if id(gang) in compared and any(differ):
            continue  # priority-differs says that the pods differ: no class of the group suits them all
        pods = join(sorted({template.priority_class or "none" for template in wrong}))
        effect = "they are never scheduled" if refused else "the scheduler uses that of the group"
        case = "" if wrong[0].priority_class else "pods"
        about: Fields = {"pods": pods, "effect": effect, "first": wrong[0], "case": case}
        yield tell(root, ("priorityClassName",), root.priority_class, warning=not refused, **about)


@rule("preemption-policy-differs")
def find_preemption_policy_differs(census: Census, settings: Settings) -> Matches:
    compare = settings.has("group-preemption-policy")
    for gang in _list_gangs(census, settings, "preemptionPolicy", "priorityClassName"):
        policies = [_policy(census, template) for template in gang.templates]
        wanted, who = policies[0] if policies else "", "other pods of the group"
        if compare:
            root = census.root(gang.group)
            wanted, who = as_text(root.spec, "preemptionPolicy") or DEFAULT_POLICY, f"the group {root.name}"
        for template, policy in zip(gang.templates, policies, strict=True):
            if policy and wanted and policy != wanted:
                yield tell(template, ("preemptionPolicy",), policy, who=who, wanted=wanted)
                break


@rule("priority-by-hand")
def find_priority_by_hand(census: Census) -> Matches:
    groups = [gang.group for gang in census.gangs_with("priority")] + list(census.composites.values())
    places = [(group.item, group.path, group.spec) for group in groups]
    for workload in census.workloads.values():
        places += [(workload.item, *template) for template in workload.templates.values()]
    for item, path, spec in places:
        value, class_name = as_int(spec, "priority"), as_text(spec, "priorityClassName")
        if value is None or value == census.facts.priority(class_name):
            continue
        # The server fills the field in, with 0 where there is no class.
        if (value == 0 and not class_name) or dig(item.value, "metadata", "uid"):
            continue
        if item.kind != "Workload" and census.facts.complete_classes:
            continue  # then the server stage gives the server's own answer
        yield tell(item, (*path, "priority"), value)


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


@rule("priority-class-missing")
def find_class_missing(census: Census) -> Matches:
    known = census.facts.priority_classes
    for gang, template in census.linked() if census.facts.complete_classes else ():
        name = template.priority_class
        if name and name not in known:
            near = suggest(name, known)
            yield tell(template, ("priorityClassName",), name, near=near, gang=gang, known=sorted(known))


@rule("preemption-policy-without-class")
def find_policy_without_class(census: Census) -> Matches:
    """Admission takes the policy from the class; where the classes are known, `pod-refused` decides."""
    facts = census.facts
    known = facts.complete_classes or any(entry.default for entry in facts.priority_classes.values())
    for gang, template in census.linked() if not known else ():
        policy = as_text(template.spec, "preemptionPolicy")
        if policy not in ("", DEFAULT_POLICY) and not template.priority_class:
            yield tell(template, ("preemptionPolicy",), policy, gang=gang)


@rule("tree-priorities-differ")
def find_tree_priorities_differ(census: Census, settings: Settings) -> Matches:
    refused = is_obeyed(census, settings, "uniform-trees")
    for group, root in _list_below(census):
        own, above = group.priority_class, root.priority_class
        if own == above or (refused and _same_priority(census.facts, own, above)):
            continue  # the scheduler compares the numbers
        effect = "no pod of the tree is ever scheduled" if refused else "the scheduler uses only that of the root"
        certain = refused and not _is_unsure(census.facts, own, above)
        yield tell(group, ("priorityClassName",), own, error=certain, root=root, effect=effect)


def _list_below(census: Census) -> Iterator[tuple[Group, Group]]:
    """The groups below others, each with its root."""
    for group in list_groups(census):
        above, end = census.chain(group)
        if above and not end:
            yield group, above[-1]


@rule("tree-preemption-policies-differ")
def find_tree_policies_differ(census: Census, settings: Settings) -> Matches:
    """A child group with another preemption policy than its root; without the gate no group has one."""
    for group, root in _list_below(census) if settings.has("group-preemption-policy") else ():
        policy, wanted = (as_text(one.spec, "preemptionPolicy") or DEFAULT_POLICY for one in (group, root))
        if policy != wanted:
            yield tell(group, ("preemptionPolicy",), policy, root=root, wanted=wanted)
