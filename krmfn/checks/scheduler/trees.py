"""Groups of groups: parents, quorums of groups, depth."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import rule
from krmfn.checks.wording import group_names, suggest
from krmfn.config import Settings
from krmfn.model.findings import Finding, Note
from krmfn.model.wording import count, join
from krmfn.releases.groups import read_limits
from krmfn.survey.census import Census, once
from krmfn.survey.groups import Group

_DEEPEST = 8  # deeper trees, and circles, are for other rules
_PARENT = "parentCompositePodGroupName"


@rule("parent-missing", "error", "The parent of a group does not exist.", needs="composite-groups")
def find_parent_missing(census: Census) -> Iterator[Finding]:
    names = group_names(census.composites)
    for group in list_groups(census):
        if group.parent and (group.namespace, group.parent) not in census.composites:
            elsewhere = [space for space, others in names.items() if group.parent in others]
            known = names.get(group.namespace, [])
            where = (
                f"is in another namespace ({join(elsewhere)}) than its group ({group.namespace})"
                if elsewhere
                else f"is not in the files checked{suggest(group.parent, known)}"
            )
            message = f'the parent "{group.parent}" {where}: no pod below it is ever scheduled'
            hint = (
                "Put both into one namespace: a parent and its groups are always in the same namespace."
                if elsewhere
                else f'Add the CompositePodGroup "{group.parent}", or correct the name.'
            )
            path = (*group.path, _PARENT)
            yield Finding(group.item, path, message, group.parent, hint=hint)


@rule("parent-cycle", "error", "The parents of groups form a cycle.", needs="composite-groups")
def find_parent_cycle(census: Census) -> Iterator[Finding]:
    for composite in list_composites(census):
        above, end = census.chain(composite)
        if end == "cycle" and any(entry.parent == composite.name for entry in (composite, *above)):
            names = " -> ".join([composite.name, *(entry.name for entry in above), composite.name])
            message = f"the parents of these groups form a cycle ({names}): no pod below them is ever scheduled"
            hint = f"Remove {_PARENT} from the group that should be the root."
            path = (*composite.path, _PARENT)
            yield Finding(composite.item, path, message, composite.parent, hint=hint)


@rule(
    "tree-too-deep", "error", "A PodGroup is below more than four levels of composite groups.", needs="composite-groups"
)
def find_tree_too_deep(census: Census, settings: Settings) -> Iterator[Finding]:
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
            more = "more than " if end else ""
            message = (
                f"{more}{len(above)} composite levels are above this group, but the scheduler supports {followed}: its "
                "pods are never scheduled"
            )
            if keyed and len(above) <= followed:
                message = (
                    f"this group is {levels} levels below {keyed.name}, which has a topology key: there the "
                    f"scheduler supports {followed - 1}, and the tree is never scheduled"
                )
            hint = f"Remove a level; a parent can have {limits.leaves} children."
            path = (*gang.group.path, _PARENT)
            yield Finding(gang.group.item, path, message, gang.group.parent, hint=hint)


@rule(
    "min-group-count-above-children",
    "error",
    "minGroupCount is greater than the number of child groups, so no pod of the tree is ever scheduled.",
    needs="composite-groups",
)
def find_min_group_count_above_children(census: Census) -> Iterator[Finding]:
    for composite, children in list_families(census):
        if composite.quorum is not None and composite.quorum > len(children):
            names = f" ({join([child.name for child in children])})" if children else ""
            message = (
                f"{composite.counted} is {composite.quorum}, but the files checked contain "
                f"{count(len(children), 'child group')}{names}: no pod below is ever scheduled"
            )
            hint = (
                f"Set {composite.counted} to {len(children)}, or add the missing groups."
                if children
                else "Add the child groups."
            )
            note = Note("min-group-count-above-children", composite.quorum_path, message, composite.quorum, hint=hint)
            yield (note._replace(proposed=len(children)) if children else note).on(composite.item)


@rule(
    "min-group-count-above-ready",
    "error",
    "Child groups without pods make minGroupCount unreachable.",
    needs="composite-groups",
)
def find_min_group_count_above_ready(census: Census) -> Iterator[Finding]:
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
        message = (
            f"{composite.counted} is {composite.quorum} of {count(len(children), 'child group')}, but "
            f"{join([child.name for child in lacking])} {'has' if len(lacking) == 1 else 'have'} no pods: "
            f"{'the whole tree is' if whole else 'the groups below are'} never scheduled"
        )
        hint = f"Set {composite.counted} to {ready} and remove the empty groups, or link pods to them."
        note = Note("min-group-count-above-ready", composite.quorum_path, message, composite.quorum, hint=hint)
        yield (note._replace(proposed=ready) if ready else note).on(composite.item, None if whole else "warning")


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
