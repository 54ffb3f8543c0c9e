"""Groups of groups: parents, quorums of groups, depth; and trees and sets of groups that are scheduled, but not as one:
what the author probably did not mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from krmfn.checks.rule import Matches, group_names, rule, suggest, tell, tell_quorum
from krmfn.config import Settings
from krmfn.config.selection import is_selected, options_for
from krmfn.krm.item import Item
from krmfn.krm.results import ABSENT
from krmfn.model.kinds import find_kind
from krmfn.model.values import Fields, as_list, dig
from krmfn.model.wording import join
from krmfn.releases.release import first_release
from krmfn.releases.spelling import read_limits
from krmfn.survey.census import Census, once
from krmfn.survey.groups import Group

_DEEPEST = 8  # deeper trees, and circles, are for other rules
_PARENT = "parentCompositePodGroupName"


@rule("parent-missing")
def find_parent_missing(census: Census) -> Matches:
    names = group_names(census.composites)
    for group in list_groups(census):
        if group.parent and (group.namespace, group.parent) not in census.composites:
            elsewhere = [space for space, others in names.items() if group.parent in others]
            near = suggest(group.parent, names.get(group.namespace, []))
            case = "elsewhere" if elsewhere else ""
            yield tell(group, (_PARENT,), group.parent, case=case, near=near, elsewhere=elsewhere, group=group)


@rule("parent-cycle")
def find_parent_cycle(census: Census) -> Matches:
    for composite in list_composites(census):
        above, end = census.chain(composite)
        if end == "cycle" and any(entry.parent == composite.name for entry in (composite, *above)):
            names = " -> ".join([composite.name, *(entry.name for entry in above), composite.name])
            yield tell(composite, (_PARENT,), composite.parent, names=names)


@rule("tree-too-deep")
def find_tree_too_deep(census: Census, settings: Settings) -> Matches:
    """More composite levels above a PodGroup than the scheduler follows; one less below a topology key."""
    gangs = census.gangs_with(_PARENT)
    if not gangs:
        return
    limits = read_limits(settings.release)
    followed = limits.levels + 1  # observed: the scheduler follows one more than a Workload describes
    for gang in gangs:
        above, end = census.chain(gang.group)
        keyed = next((group for group in reversed(above) if group.topology_key), None)
        levels = above.index(keyed) + 1 if keyed else 0
        if end == "deep" or (not end and (len(above) > followed or levels >= followed)):
            more = f"more than {len(above)}" if end else str(len(above))
            case = "keyed" if keyed and len(above) <= followed else ""
            about: Fields = {"more": more, "levels": levels, "keyed": keyed, "limits": limits}
            yield tell(gang.group, (_PARENT,), gang.group.parent, case=case, most=followed - bool(case), **about)


@rule("min-group-count-above-children")
def find_min_group_count_above_children(census: Census) -> Matches:
    for composite, children in list_families(census):
        if composite.quorum is not None and composite.quorum > len(children):
            names = f" ({join([child.name for child in children])})" if children else ""
            most, case = (len(children), "") if children else (ABSENT, "none")
            yield tell_quorum(composite, most, case=case, group=composite, children=children, names=names)


@rule("min-group-count-above-ready")
def find_min_group_count_above_ready(census: Census) -> Matches:
    """Enough children exist, but too few of them can reach their own quorum because they have no pods."""
    families = {id(composite.item): children for composite, children in list_families(census)}
    empty = {id(gang.group.item) for gang in census.gangs if gang.pods == 0 and not gang.group.composite}

    def is_ready(group: Group, depth: int = 0) -> bool:
        if not group.composite or depth > _DEEPEST:
            return id(group.item) not in empty
        ready = sum(is_ready(child, depth + 1) for child in families[id(group.item)])
        return ready >= (group.quorum or 1)

    for composite, children in list_families(census):
        lacking = [child for child in children if not is_ready(child)]
        ready = len(children) - len(lacking)
        if composite.quorum is None or composite.quorum > len(children) or ready >= composite.quorum:
            continue
        whole = not is_ready(census.root(composite))
        which = "the whole tree is" if whole else "the groups below are"
        names = f"{join([child.name for child in lacking])} {'has' if len(lacking) == 1 else 'have'}"
        about: Fields = {"group": composite, "children": children, "lacking": names, "which": which, "ready": ready}
        yield tell_quorum(composite, ready or ABSENT, warning=not whole, **about)


def list_composites(census: Census) -> list[Group]:
    """Every CompositePodGroup, once."""
    return list({id(entry.item): entry for entry in census.composites.values()}.values())


@once
def list_groups(census: Census) -> list[Group]:
    """Every PodGroup and CompositePodGroup, once."""
    groups = {gang.group.key: gang.group for gang in census.gangs}
    return [*groups.values(), *list_composites(census)]


def list_families(census: Census) -> Iterator[tuple[Group, list[Group]]]:
    """Every CompositePodGroup with its children."""
    children = defaultdict(list)
    for group in list_groups(census) if census.composites else ():
        parent = census.composites.get((group.namespace, group.parent)) if group.parent else None
        if parent is not None:
            children[id(parent.item)].append(group)
    for composite in list_composites(census):
        yield composite, children.get(id(composite.item), [])


@once
def list_whole(census: Census) -> set[int]:
    """The CompositePodGroups that wait for all of their children, by the identity of their objects."""
    return {id(group.item) for group, children in list_families(census) if (group.quorum or 0) >= len(children)}


@rule("children-start-apart")
def find_children_start_apart(census: Census) -> Matches:
    for composite, children in list_families(census):
        if len(children) < 2:
            continue
        if composite.policy == "basic":
            yield tell(composite, ("schedulingPolicy", "basic"), children=children, composite=composite)
        elif composite.quorum is not None and composite.quorum < len(children) and not _are_alike(children):
            yield tell_quorum(composite, case="fewer", composite=composite, children=children)


def _are_alike(children: Sequence[Group]) -> bool:
    """Whether all are of one template: then so many of them are enough as the quorum says."""
    return bool(children[0].template) and len({(child.workload, child.template) for child in children}) == 1


@rule("groups-without-root")
def find_groups_without_root(census: Census, settings: Settings) -> Matches:
    by_item: dict[int, tuple[Item, dict[int, Group]]] = {}
    for gang in census.gangs:
        for owner in gang.owners:
            by_item.setdefault(id(owner), (owner, {}))[1][id(gang.group.item)] = gang.group
    for owner, groups in by_item.values():
        roots = {id(census.root(group).item): census.root(group) for group in groups.values()}
        broken = any(census.chain(group)[1] for group in groups.values())
        if len(roots) < 2 or broken or _is_staged(owner) or _are_replicas(owner, [*roots.values()], settings):
            continue
        if not settings.release.has("composite-groups") and is_selected(owner, settings):
            continue
        names = join([root.name for root in roots.values()])
        way = (
            "or add a CompositePodGroup above them"
            if settings.release.has("composite-groups")
            else f"or on {first_release('composite-groups')} a tree of groups"
        )
        yield tell(owner, ("spec",), roots=roots, names=names, way=way)


@rule("tree-workloads-differ")
def find_tree_workloads_differ(census: Census) -> Matches:
    for group in list_groups(census):
        above, end = census.chain(group)
        if above and not end and group.workload and above[0].workload and group.workload != above[0].workload:
            yield tell(group, ("workloadRef", "workloadName"), group.workload, above=above)


@rule("disruption-mode-overruled")
def find_disruption_mode_overruled(census: Census) -> Matches:
    for group in (each for each in list_groups(census) if each.disruption_mode == "Single"):
        bosses = [entry for entry in census.ancestors(group) if entry.disruption_mode == "All"]
        if bosses:
            yield tell(group, ("disruptionMode",), boss=bosses[0])


@rule("basic-disruption-all")
def find_basic_disruption_all(census: Census) -> Matches:
    for gang in census.gangs_with("disruptionMode"):
        if gang.group.policy == "basic" and gang.group.disruption_mode == "All":
            yield tell(gang.group, ("disruptionMode",))


@rule("basic-child")
def find_basic_child(census: Census) -> Matches:
    """A basic child with several pods under a gang: the tree waits for one of them."""
    for gang in census.gangs_with(_PARENT):
        above, end = census.chain(gang.group)
        starts_alone = gang.group.policy == "basic" and (gang.pods or 0) > 1
        if starts_alone and not end and above and above[0].policy == "gang":
            yield tell(gang.group, ("schedulingPolicy", "basic"), above=above, gang=gang)


@rule("children-differ")
def find_children_differ(census: Census) -> Matches:
    for composite, children in list_families(census):
        names = sorted({child.topology_key for child in children} - {""})
        if composite.policy == "gang" and len(names) > 1:
            yield tell(composite.item, composite.path, names=names)


def _are_replicas(item: Item, roots: Sequence[Group], settings: Settings) -> bool:
    """Whether each group is that of a replica, which starts by itself: as the resource asks for, or its kind has it."""
    kind = find_kind(item.ref)
    by_kind = kind is not None and bool(kind.whole) and _are_alike(roots)
    options = options_for(settings, item).options
    return by_kind or (options is not None and options.granularity == "Replica")


def _is_staged(item: Item) -> bool:
    """Whether the object's pods come in steps, so that several gangs are meant; a JobSet has to say so."""
    kind = find_kind(item.ref)
    if item.kind == "JobSet":
        jobs = as_list(item.value, "spec", "replicatedJobs")
        ordered = dig(item.value, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
        return ordered or any(dig(job, "dependsOn") for job in jobs)
    return kind is not None and kind.staged
