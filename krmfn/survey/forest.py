"""The groups of a set of objects as trees for people: who waits for whom, how many pods, and where they come from.

Reads what is written in the objects (after generating, if that was asked for). Knows no output format.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from krmfn.config import Settings
from krmfn.krm.item import Item, Items
from krmfn.krm.paths import format_path
from krmfn.model import wording
from krmfn.model.schedulers import RIVALS, SCHEDULERS
from krmfn.model.values import Fields, Key, as_int, as_list, as_mapping, as_text, group_by
from krmfn.releases.release import GROUP
from krmfn.survey.census import Census, Template, count_pods, list_linked
from krmfn.survey.counting import count_all
from krmfn.survey.groups import Group, Policy
from krmfn.survey.lookup import find_controller
from krmfn.survey.members import from_item

Shape = Literal["workload", "composite", "group", "pods"]


class Branch(NamedTuple):
    """A node: what it is, which object (`Kind namespace/name`), what it means in words, and what is below it.

    `facts` are the same in data: pods, minCount, minGroupCount, topologyKey, disruptionMode, priorityClassName, path,
    scheduler where it has groups of its own, and neverStarts where that is certain.
    """

    shape: Shape
    name: str
    words: str
    facts: Fields
    children: tuple[Branch, ...] = ()


def grow(items: Items, settings: Settings) -> list[Branch]:
    """The trees of all groups among `items`: one for every Workload, and one for every root group without.

    A pod template whose group is not among `items` is a tree of its own. Other schedulers' PodGroups come last.
    """
    census = count_all(items, settings)
    by_parent, roots = _sort(census)
    gangs = {id(gang.group): gang for gang in census.gangs}

    def branch(group: Group) -> Branch:
        obstacle = _find_obstacle(group, census) if settings.release.has("composite-groups") else ""
        said = {"topologyKey": group.topology_key, "priorityClassName": group.priority_class}
        facts: Fields = {key: value for key, value in said.items() if value}
        if group.composite:
            below = [] if census.chain(group)[1] == "cycle" else by_parent.get(group.item.key, [])
            facts |= {"children": len(below)} | ({"minGroupCount": group.quorum} if group.quorum is not None else {})
            words = _say(group, len(below), "group", facts, obstacle)
            children = tuple(branch(child) for child in below if census.chain(child)[1] != "deep")
            return Branch("composite", str(group.item.ref), words, facts, children)
        gang = gangs[id(group)]
        facts |= {"pods": gang.pods} | ({"minCount": group.quorum} if group.quorum is not None else {})
        name = str(group.item.ref) if len(group.path) == 1 else f"podGroup {group.template}"
        words = _say(group, gang.pods, "pod", facts, obstacle)
        return Branch("group", name, words, facts, tuple(map(_leaf, gang.templates)))

    by_workload = group_by(lambda root: (root.namespace, root.workload), roots)
    trees = []
    for key, workload in census.workloads.items():
        if key == workload.item.key:  # and no name that the object had before
            _, kind, name = workload.controller
            words = f"for {kind} {name}" if kind else ""
            children = tuple(map(branch, by_workload.pop(key, ())))
            trees.append(Branch("workload", str(workload.item.ref), words, {}, children))
    trees += [branch(root) for root in roots if (root.namespace, root.workload) in by_workload]
    trees += _list_others(census)
    apart = [each for each in census.dangling if not each.spec.get("nodeName")]  # a pod that is bound does not wait
    return trees + [_stand_apart(template, census) for template in apart]


def _list_others(census: Census) -> Iterator[Branch]:
    """The PodGroups of other schedulers with their pods, and the pods that name one that is elsewhere."""
    drawn: set[int] = set()
    for choice, row in SCHEDULERS.items():
        for item, templates in list_linked(census, row):
            if templates:
                yield _draw_other(choice, item, templates)
                drawn.update(map(id, templates))
    for part, key, choice in RIVALS:
        for template in census.marked(part, key):
            if id(template) not in drawn and not template.link:
                drawn.add(id(template))
                leaf = _leaf(template)
                name = as_text(template.metadata, part, key)
                yield leaf._replace(words=f"in group {name} of {choice} ({leaf.words})")


def _draw_other(choice: str, item: Item, templates: Sequence[Template]) -> Branch:
    """A PodGroup of another scheduler, which counts its pods; or its sub-groups, as those of KAI may do."""
    spec, pods = as_mapping(item.value, "spec"), count_pods(templates)
    parts = [each for each in as_list(spec, "subGroups") if not as_text(each, "parent")]
    by_parts = parts and not spec.get("minMember")
    what, field, counted = ("sub-group", "minSubGroup", len(parts)) if by_parts else ("pod", "minMember", pods)
    quorum = as_int(spec, field) or (len(parts) if by_parts else None)
    policy: Policy = "gang" if by_parts or spec.get(field) else "basic"
    group = Group(item, item.space, item.name, ("spec",), policy, quorum, ("spec", field), "", "", "", spec)
    facts: Fields = {"scheduler": choice, "pods": pods}
    facts |= {"priorityClassName": group.priority_class} if group.priority_class else {}
    facts |= {"minGroupCount" if by_parts else "minCount": quorum} if quorum else {}
    words = f"{_say(group, counted, what, facts, '')}, scheduled by {choice}"
    return Branch("group", str(item.ref), words, facts, tuple(map(_leaf, templates)))


def list_loose(items: Items, trees: Iterable[Branch]) -> list[str]:
    """The names of objects with pod templates none of which is in a group, in order."""
    linked = {branch.facts["object"] for tree in trees for branch in walk(tree) if branch.shape == "pods"}
    others = [item for item in items if item.group != GROUP and str(item.ref) not in linked]
    return [str(item.ref) for item in others if from_item(item)]


def walk(branch: Branch) -> Iterator[Branch]:
    """The branch and all below it, from the top."""
    waiting = [branch]
    while waiting:
        branch = waiting.pop()
        yield branch
        waiting += reversed(branch.children)


def _sort(census: Census) -> tuple[dict[Key, list[Group]], list[Group]]:
    """Children by (namespace, parent), and the groups whose parent is none, missing, in a circle, or too deep."""
    by_parent = defaultdict(list)
    roots = []
    composites = [each for key, each in census.composites.items() if key == each.item.key]
    for group in [*composites, *(gang.group for gang in census.gangs)]:
        above, end = census.chain(group)
        if end in ("cycle", "deep") or not above:
            roots.append(group)
        if end != "cycle" and above:
            parent = above[0]
            by_parent[parent.item.key].append(group)
    return by_parent, roots


def _find_obstacle(group: Group, census: Census) -> str:
    """Why no pod below the group starts, whatever its quorum: the groups above it do not end in a root."""
    above, end = census.chain(group)
    if end == "cycle":
        return "the parents of the groups above it form a cycle"
    if end == "deep":
        return f"more than {len(above)} groups are above it"
    top = (group, *above)[-1]
    which = "its parent" if top is group else f"the parent of {top.name}"
    return f"{which}, CompositePodGroup {top.parent}, is missing" if end else ""


def _say(group: Group, count: int | None, what: str, facts: Fields, obstacle: str) -> str:
    parts = []
    if not obstacle and group.policy != "basic" and group.quorum and count is not None and group.quorum > count:
        obstacle = f"waits for {group.quorum} {what}s, and there {'is 1' if count == 1 else f'are {count}'}"
    if obstacle:
        parts.append(f"never starts: {obstacle}")
        facts["neverStarts"] = True
    elif group.policy == "basic":
        parts.append("no quorum: each starts on its own")
    elif group.quorum is None:
        policy = next(iter(as_mapping(group.spec, "schedulingPolicy")), "")
        unknown = policy if policy not in ("", "gang") else ""
        parts.append(f"policy {unknown}, whose quorum krmfn does not know" if unknown else "no readable quorum")
    elif count is None:
        parts.append(f"starts when {group.quorum} {what}s fit (their number is unknown)")
    elif count == 1:
        parts.append(f"1 {what}")
    else:
        every = "both" if count == 2 else f"all {count}"
        quorum = every if group.quorum == count else f"{group.quorum} of {count}"
        parts.append(f"{quorum} {what}s start together, or none")
    if "topologyKey" in facts:
        parts.append(f"within one {facts['topologyKey']}")
    if "priorityClassName" in facts:
        parts.append(f"priority class {facts['priorityClassName']}")
    if owner := find_controller(group.item):
        parts.append(f"created by the controller of {owner[1]} {owner[2]}")
    return ", ".join(parts)


def _stand_apart(template: Template, census: Census) -> Branch:
    """A template whose group is missing, or in the cluster only."""
    leaf = _leaf(template)
    group = template.link.group if template.link else ""
    if (template.item.space, group) not in census.facts.groups:
        words = f"never starts: its group {group} is missing ({leaf.words})"
        return leaf._replace(words=words, facts=leaf.facts | {"neverStarts": True})
    return leaf._replace(words=f"in group {group}, which is in the cluster ({leaf.words})")


def _leaf(template: Template) -> Branch:
    ref = str(template.item.ref)
    path = format_path(template.path)
    count = "pods not known" if template.pods is None else wording.count(template.pods, "pod")
    because = format_path(template.count_path)
    words = f"{count}, by {because}" if because and template.pods is not None else count
    return Branch("pods", f"{ref} {path}".rstrip(), words, {"pods": template.pods, "object": ref, "path": path})
