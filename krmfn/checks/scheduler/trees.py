"""Groups of groups: parents, quorums of groups, depth."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import Matches, group_names, rule, suggest, tell
from krmfn.config import Settings
from krmfn.krm.results import ABSENT
from krmfn.model.values import Fields
from krmfn.model.wording import join
from krmfn.releases.groups import read_limits
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
            path = (*group.path, _PARENT)
            yield tell(group.item, path, group.parent, case=case, near=near, elsewhere=elsewhere, group=group)


@rule("parent-cycle")
def find_parent_cycle(census: Census) -> Matches:
    for composite in list_composites(census):
        above, end = census.chain(composite)
        if end == "cycle" and any(entry.parent == composite.name for entry in (composite, *above)):
            names = " -> ".join([composite.name, *(entry.name for entry in above), composite.name])
            yield tell(composite.item, (*composite.path, _PARENT), composite.parent, names=names)


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
            path = (*gang.group.path, _PARENT)
            about: Fields = {
                "more": more,
                "levels": levels,
                "keyed": keyed,
                "most": followed - bool(case),
                "limits": limits,
            }
            yield tell(gang.group.item, path, gang.group.parent, case=case, **about)


@rule("min-group-count-above-children")
def find_min_group_count_above_children(census: Census) -> Matches:
    for composite, children in list_families(census):
        if composite.quorum is not None and composite.quorum > len(children):
            names = f" ({join([child.name for child in children])})" if children else ""
            most, case = (len(children), "") if children else (ABSENT, "none")
            yield tell(
                composite.item,
                composite.quorum_path,
                composite.quorum,
                most,
                case=case,
                group=composite,
                children=children,
                names=names,
            )


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
        yield tell(
            composite.item,
            composite.quorum_path,
            composite.quorum,
            ready or ABSENT,
            severity=None if whole else "warning",
            group=composite,
            children=children,
            lacking=f"{join([child.name for child in lacking])} {'has' if len(lacking) == 1 else 'have'}",
            which="the whole tree is" if whole else "the groups below are",
            ready=ready,
        )


def list_composites(census: Census) -> list[Group]:
    """Every CompositePodGroup, once."""
    return list({id(entry.item): entry for entry in census.composites.values()}.values())


@once
def list_groups(census: Census) -> list[Group]:
    """Every PodGroup and CompositePodGroup, once."""
    groups = {(id(gang.group.item), gang.group.path): gang.group for gang in census.gangs}
    return [*groups.values(), *list_composites(census)]


def list_families(census: Census) -> Iterator[tuple[Group, list[Group]]]:
    """Every CompositePodGroup with its children."""
    children: dict[int, list[Group]] = {}
    for group in list_groups(census) if census.composites else ():
        parent = census.composites.get((group.namespace, group.parent)) if group.parent else None
        if parent is not None:
            children.setdefault(id(parent.item), []).append(group)
    for composite in list_composites(census):
        yield composite, children.get(id(composite.item), [])
