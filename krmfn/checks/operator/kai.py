"""KAI: sub-groups that its webhook refuses, pods that name one that is not there, groups that its grouper replaces.

Source: KAI-Scheduler v0.17.0, `pkg/apis/scheduling/v2alpha2/podgroup_webhook.go` and
`docs/developer/designs/external-podgroups`; v0.14.7 for what its webhook did not look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from krmfn.capacity.pods import count_requests, sum_least
from krmfn.checks.rule import Matches, rule, suggest, tell, tell_mark
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.model.quantity import format_quantity
from krmfn.model.schedulers import NODE_POOL, SCHEDULERS, counts_sub_groups
from krmfn.model.values import ByName, Names, Value, as_int, as_list, as_mapping, as_text, dig, group_by
from krmfn.model.wording import count
from krmfn.survey.census import Census, Template, count_pods, list_linked
from krmfn.survey.facts import Resources

_ROW = SCHEDULERS["KAI"]
_SUB_GROUP = _ROW.beside[0]
_SKIP = _ROW.beside[1][1]
_QUEUES = "scheduling.run.ai"
#: What a queue limits, as pods request it, and the unit of the limit in billionths.
_LIMITS = (("cpu", "cpu", 10**6), ("memory", "memory", 10**15), ("gpu", "nvidia.com/gpu", 10**9))
#: The PriorityClasses of its Helm chart; pods of one below `_LASTING` can be preempted, those without one are of
#: `train`.
_CHART_CLASSES = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
_LASTING = 100
_PODS, _GROUPS = "minMember", "minSubGroup"
#: How a constraint names its Topology and its levels: in a PodGroup, and by annotations of an owner.
_IN_GROUP = ("topology", "requiredTopologyLevel", "preferredTopologyLevel")
_OF_OWNER = (
    *("kai.scheduler/topology", "kai.scheduler/topology-required-placement"),
    "kai.scheduler/topology-preferred-placement",
)


@rule("kai-subgroups-refused")
def find_subgroups_refused(census: Census, settings: Settings) -> Matches:
    """Names that repeat, parents that are missing or form a circle, and minima in the wrong place."""
    counts = counts_sub_groups(settings.operators)
    for item in census.kind(_ROW.group, "PodGroup"):
        for path, why in _list_faults(as_mapping(item.value, "spec"), counts):
            yield tell(item, ("spec", *path), why=why)


@rule("kai-minimum-above-groups")
def find_minimum_above_groups(census: Census, settings: Settings) -> Matches:
    """More sub-groups than there are, of which KAI only warns; or than have their pods."""
    for item, templates in list_linked(census, _ROW):
        spec = as_mapping(item.value, "spec")
        parts, children = _list_parts(spec), _list_children(spec)
        for path, part in [((), spec), *parts]:
            wanted, exist = as_int(part.get(_GROUPS)), len(children.get(as_text(part, "name") if path else "", ()))
            if wanted is not None and wanted > exist and (exist or not path):
                case = "" if exist else "none"
                there = f"{'is' if exist == 1 else 'are'} {count(exist, 'sub-group')}"
                yield tell(item, ("spec", *path, _GROUPS), wanted, case=case, exist=exist, there=there)
        if parts and not any(_list_faults(spec, counts_sub_groups(settings.operators))):
            yield from _find_sub_groups_without_pods(item, templates)


def _find_sub_groups_without_pods(group: Item, templates: Sequence[Template]) -> Matches:
    """Sub-groups with too few pods, where too few others are left. Pods in no sub-group are another mistake."""
    spec = as_mapping(group.value, "spec")
    children, members = _list_children(spec), group_by(_name_sub_group, templates)
    leaves = _find_leaves(spec)
    if not members or not leaves.keys() >= members.keys():
        return
    needs = _read_needs(spec, children, members)
    for name, (path, part) in leaves.items():
        if not needs[""].met and not needs[name].met:
            wanted, exist = as_int(part.get(_PODS)), count_pods(members.get(name, ())) or 0
            yield tell(group, ("spec", *path, _PODS), wanted, exist, case="pods", name=name, exist=exist)


class _Needs(NamedTuple):
    """Whether there are enough pods for a group to start, and what those that start together request at least."""

    met: bool
    least: Resources


def _read_needs(
    spec: Value, children: Mapping[str, list[Value]], members: Mapping[str, list[Template]]
) -> dict[str, _Needs]:
    """By the name of the group; "" is the PodGroup. Of a group with pods as many count as its minimum, of one with
    sub-groups as many of these as it waits for (all, where it says nothing), each time those with the smallest amounts.
    A sub-group without enough pods counts, too: KAI starts its pods when enough others start."""
    needs: dict[str, _Needs] = {}
    order = [("", spec)]
    for name, _ in order:  # which grows, until the last ones have nothing below them
        order += [(as_text(each, "name"), each) for each in children.get(name, ())]
    for name, part in reversed(order):
        if below := [needs[as_text(each, "name")] for each in children.get(name, ())]:
            wanted = as_int(part.get(_GROUPS))
            wanted = len(below) if wanted is None else wanted
            least = sum_least([(1, each.least) for each in below], wanted)
            needs[name] = _Needs(sum(each.met for each in below) >= wanted, least)
            continue
        pods = members.get(name, []) if name else [each for several in members.values() for each in several]
        exist, wanted = count_pods(pods), as_int(part.get(_PODS)) or 0
        least = sum_least([(each.pods, count_requests(each.spec)) for each in pods], wanted)
        needs[name] = _Needs(exist is None or exist >= wanted, least)
    return needs


def _name_sub_group(template: Template) -> str:
    return as_text(template.metadata, *_SUB_GROUP)


def _list_children(spec: Value) -> dict[str, list[Value]]:
    """The sub-groups by the name of the one above; "" is the PodGroup itself. One without a name is refused."""
    named = (part for _, part in _list_parts(spec) if as_text(part, "name"))
    return group_by(lambda part: as_text(part, "parent"), named)


@rule("kai-subgroup-missing")
def find_subgroup_missing(census: Census) -> Matches:
    """KAI ignores such pods; without the label, pods of a group with sub-groups are in none."""
    items = census.kind(_ROW.group, "PodGroup")
    groups = {item.key: [*_find_leaves(as_mapping(item.value, "spec"))] for item in items}
    for template in census.templates if groups else ():
        name = as_text(template.metadata, *_ROW.link)
        leaves = groups.get((template.item.space, name), [])
        given = _name_sub_group(template)
        if not leaves or given in leaves:
            continue
        mark, why = _SUB_GROUP, f'the PodGroup {name} has no sub-group "{given}" for pods{suggest(given, leaves)}'
        if not given:
            mark, why = _ROW.link, f"the PodGroup {name} has sub-groups, but the pods do not name one of them"
        yield tell_mark(template, *mark, given or name, why=why, leaves=" or ".join(leaves[:5]))


#: The queues that KAI's Helm chart creates (defaultQueue.createDefaultQueue).
_CHART_QUEUES = frozenset(("default-parent-queue", "default-queue"))


@rule("kai-queue-unusable")
def find_queue_unusable(census: Census) -> Matches:
    """A queue that is not among those of the input or the facts, or is below one that is not; one that has children;
    and one that, or above which a queue, may not use as much as a pod, or a whole gang, requests."""
    queues = census.facts.by_name(_QUEUES, "Queue")
    above = {name: as_text(queue, "spec", "parentQueue") for name, queue in queues.items()}
    for template in census.scheduled_by(_ROW.name) if above else ():
        found = [(as_text(each, "labels", _ROW.queue), path) for path, each in template.metadata_places]
        name, path = next(((name, path) for name, path in found if name), ("", ()))
        if name in {"", *_CHART_QUEUES} - above.keys():
            continue
        child = next((each for each, parent in above.items() if parent == name), "")
        parent = above.get(name, "")
        if name not in above:
            why = f'there is no queue "{name}" in the files checked{suggest(name, above)}'
        elif child:
            why = f"the queue {name} has the child {child}"
        elif parent and parent not in above.keys() | _CHART_QUEUES:
            why = f'the queue {name} is below "{parent}", which is not in the files checked{suggest(parent, above)}'
        else:
            needs = count_requests(template.spec)
            why = _differ_in_pool(template, name, queues[name]) or _exceed(needs, "a pod requests", name, queues)
            if not why:
                continue
        yield tell(template.item, (*path, "metadata", "labels", _ROW.queue), name, error=bool(child), why=why)
    yield from _find_gangs_above_limit(census, queues)


def _differ_in_pool(template: Template, name: str, queue: Any) -> str:
    """A scheduler sees the queues and the groups of one node pool; a group has the labels of its owner and its pods."""
    pool = as_text(queue, "metadata", "labels", NODE_POOL)
    mine = next((each for _, place in template.metadata_places if (each := as_text(place, "labels", NODE_POOL))), "")
    if pool == mine:
        return ""
    first, second = (f"of the node pool {each}" if each else "of no node pool" for each in (pool, mine))
    return f"the queue {name} is {first}, and the pods are {second} (label {NODE_POOL})"


def _find_gangs_above_limit(census: Census, queues: ByName) -> Matches:
    """PodGroups whose pods that start together request more than their queue, or one above it, may use; of those that
    cannot be preempted, more than it is sure of. And those in a queue that no cluster has."""
    for item, templates in list_linked(census, _ROW) if queues else ():
        spec = as_mapping(item.value, "spec")
        name, members = as_text(spec, "queue"), group_by(_name_sub_group, templates)
        refused = any(_list_faults(spec, counts=True))
        least = {} if refused else _read_needs(spec, _list_children(spec), members)[""].least
        told = "the pods that start together request at least"
        why = _exceed(least, told, name, queues)
        if not why and _lasts(item, census) and (why := _exceed(least, told, name, queues, "quota")):
            why = f"{why}, which pods that cannot be preempted may not exceed"
        if name and name not in queues.keys() | _CHART_QUEUES and census.facts.lists_all("Queue"):
            why = f'there is no queue "{name}"{suggest(name, queues)}'
            yield tell(item, ("spec", "queue"), name, error=True, why=why)
        elif why:
            yield tell(item, ("spec", "queue"), name, case="gang", error=True, why=why)


def _lasts(group: Item, census: Census) -> bool:
    """Whether the pods of a group cannot be preempted: it says so, or its PriorityClass does."""
    said = as_text(group.value, "spec", "preemptibility")
    name = as_text(group.value, "spec", "priorityClassName")
    priority = census.facts.priority(name) if name else None
    priority = _CHART_CLASSES.get(name, 0) if priority is None else priority
    return said == "non-preemptible" or (not said and priority >= _LASTING)


def _exceed(wanted: Resources, told: str, name: str, queues: ByName, field: str = "limit") -> str:
    """The limit or quota of a queue, or of one above it, that is exceeded: thousandths of a CPU, megabytes, devices;
    -1 means no limit, and one that is not written is 0."""
    seen = set()
    while name in queues and name not in seen:
        seen.add(name)
        for word, resource, unit in _LIMITS:
            written = dig(queues[name], "spec", "resources", word, field)
            limit, amount = written or 0, wanted.get(resource, 0)
            if isinstance(limit, (int, float)) and limit >= 0 and amount > limit * unit:
                most, needed = (format_quantity(int(each)) for each in (limit * unit, amount))
                unset = " because it writes none (-1 is without end)" if written is None else ""
                return f"{told} {needed} {resource}, and the queue {name} has a {field} of {most}{unset}"
        name = as_text(queues[name], "spec", "parentQueue")
    return ""


@rule("kai-topology-missing")
def find_topology_missing(census: Census) -> Matches:
    """Of PodGroups and their sub-groups, and of the annotations from which the pod grouper makes them; by the
    Topologies of the input and the facts, where there is one."""
    known = census.facts.by_name("kai.scheduler", "Topology")
    for item, path, constraint, fields in _list_constraints(census) if known else ():
        name = as_text(constraint.get(fields[0]))
        if not name:
            continue
        levels = [as_text(level, "nodeLabel") for level in as_list(known.get(name), "spec", "levels")]
        wrong, case = name, ""
        field = fields[0]
        if name in known:
            field = next((each for each in fields[1:] if constraint.get(each) and constraint[each] not in levels), "")
            wrong, case = as_text(constraint.get(field)), "level"
        if field:
            near = suggest(wrong, levels if case else known)
            yield tell(
                item, (*path, field), constraint.get(field), case=case, name=name, near=near, levels=" or ".join(levels)
            )


def _list_constraints(census: Census) -> Iterator[tuple[Item, Path, Value, Names]]:
    for item in census.kind(_ROW.group, "PodGroup"):
        spec = as_mapping(item.value, "spec")
        for path, part in [((), spec), *_list_parts(spec)]:
            yield item, ("spec", *path, "topologyConstraint"), as_mapping(part, "topologyConstraint"), _IN_GROUP
    owners = {id(each.item): each.item for each in census.scheduled_by(_ROW.name)}
    for item in owners.values():
        yield item, ("metadata", "annotations"), item.annotations, _OF_OWNER


@rule("kai-group-overwritten")
def find_group_overwritten(census: Census) -> Matches:
    """Pods of a controller that name a group, and nothing that tells the grouper to leave them alone."""
    part, key = _ROW.link
    for template in census.scheduled_by(_ROW.name):
        annotations = as_mapping(template.metadata, part)
        name = as_text(annotations.get(key))
        skips = (annotations.get(_SKIP), template.item.annotations.get(_SKIP))
        if name and template.path and "true" not in skips:  # a pod that has no owner keeps its group
            yield tell_mark(template, part, key, name)


def _list_faults(spec: Value, counts: bool) -> Iterator[tuple[Path, str]]:
    """What the webhook finds wrong with a spec, at which path of it; with minima only where KAI `counts` sub-groups."""
    if counts and spec.get(_PODS) is not None and spec.get(_GROUPS) is not None:
        yield (_GROUPS,), "minMember and minSubGroup cannot be combined"
    parts = _list_parts(spec)
    above = {as_text(part, "name"): as_text(part, "parent") for _, part in parts}
    parents, circles, seen = set(above.values()), _find_circles(above), set[str]()
    for path, part in parts:
        name, parent = as_text(part, "name"), as_text(part, "parent")
        is_parent, has_pods, has_groups = name in parents, part.get(_PODS) is not None, part.get(_GROUPS) is not None
        if not name:
            continue  # the definition refuses it
        if name in seen:
            yield (*path, "name"), f'two sub-groups are called "{name}"'
        elif parent and parent not in above:
            yield (*path, "parent"), f'there is no sub-group "{parent}"{suggest(parent, above)}'
        elif name in circles:
            yield (*path, "parent"), f'the sub-group "{name}" is below itself'
        elif not counts:
            pass
        elif has_pods and has_groups:
            yield (*path, _GROUPS), "minMember and minSubGroup cannot be combined"
        elif is_parent and has_pods:
            yield (*path, _PODS), f'the sub-group "{name}" has sub-groups, so it cannot have minMember'
        elif not is_parent and has_groups:
            yield (*path, _GROUPS), f'the sub-group "{name}" has no sub-groups, so it cannot have minSubGroup'
        elif not is_parent and not has_pods:
            yield path, f'the sub-group "{name}" has no minMember'
        seen.add(name)


def _find_circles(above: Mapping[str, str]) -> set[str]:
    """The sub-groups that are in a circle, or below one."""
    circles: set[str] = set()
    free = {""}
    for start in above:
        name, way = start, dict[str, None]()
        while name not in free and name not in circles and name not in way:
            way[name] = None
            name = above.get(name, "")
        (free if name in free else circles).update(way)
    return circles


def _list_parts(spec: Value) -> list[tuple[Path, Value]]:
    """The sub-groups with their paths below the spec."""
    return [(("subGroups", index), as_mapping(part)) for index, part in enumerate(as_list(spec, "subGroups"))]


def _find_leaves(spec: Value) -> dict[str, tuple[Path, Value]]:
    """The sub-groups that pods can be in, by name."""
    children = _list_children(spec)
    return {name: row for row in _list_parts(spec) if (name := as_text(row[1], "name")) not in children}
