"""Links: whether the groups, Workloads and templates that are named exist, and whether pods of one gang link alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from krmfn.checks.rule import Matches, group_names, rule, suggest, tell, tell_quorum
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.kinds import find_kind
from krmfn.model.marks import PREFIX
from krmfn.model.wording import count, join
from krmfn.survey.census import Census, Template, TemplateLink
from krmfn.survey.groups import Group, Workload, find_reference, read_policy, read_topology_key

#: What a link names, by its last part; the annotations that the link bridge reads name a PodGroup, too.
_KINDS = {"podGroupName": "PodGroup", "podGroup": "group of a Workload"}


@rule("group-missing")
def find_group_missing(census: Census) -> Matches:
    names = group_names(census.groups if census.lost else ())
    listed = any(map(census.facts.lists_all, ("PodGroup", "Workload")))
    for template, link, elsewhere in _list_lost(census):
        if elsewhere:
            continue
        near = suggest(link.group, names.get(template.item.space, []))
        kind = _KINDS.get(str(link.path[-1]), "PodGroup")
        unsure = not (census.groups or listed)
        case = "" if listed else "unlisted"
        offer = _offer(template.item)
        yield tell(template.item, link.path, link.group, warning=unsure, case=case, kind=kind, near=near, offer=offer)


def _offer(item: Item) -> str:
    """The part of a hint that says when krmfn writes the group of an object; empty if it never does."""
    row = find_kind(item.ref)
    if row is None or not row.has_gangs or item.kind == "Pod":  # a gang of its own is no use to one pod
        return ""
    return f': krmfn generate writes one for a {item.kind} that has {PREFIX}gang: "true" and no link'


@rule("group-other-namespace")
def find_group_other_namespace(census: Census) -> Matches:
    for template, link, elsewhere in _list_lost(census):
        if not elsewhere:
            continue
        here = template.item.namespace or "the namespace of the apply"
        there = join([space or "no namespace given" for space in elsewhere])
        unsure = not template.item.namespace or "" in elsewhere
        yield tell(template.item, link.path, link.group, warning=unsure, there=there, here=here)


@rule("template-missing")
def find_template_missing(census: Census, settings: Settings) -> Matches:
    names = group_names(census.workloads)
    must_exist = settings.release.has("workload-must-exist")
    for group, workload in _list_described(census):
        if workload is not None and (must_exist or group.template in workload.templates):
            continue  # 1.36 looks into the Workload itself: the rules of the API server tell
        path, effect = find_reference(group.spec), "the API server refuses the group"
        if not must_exist:
            effect = "the group works, but the Workload that describes it is missing"
        if workload is None:
            near = suggest(group.workload, names.get(group.namespace, []))
            path = (*path[:-1], "workloadName")
            yield tell(group, path, group.workload, warning=not must_exist, case="workload", near=near, effect=effect)
        else:
            near, known = suggest(group.template, workload.templates), sorted(workload.templates)
            yield tell(group, path, group.template, workload=workload, near=near, effect=effect, known=known)


def _list_described(census: Census) -> Iterator[tuple[Group, Workload | None]]:
    """The groups that name a template of a Workload, each with the Workload if it is there."""
    groups = (gang.group for gang in census.gangs if gang.group.path == ("spec",))
    for group in (*groups, *census.composites.values()):
        if group.workload:
            yield group, census.workloads.get((group.namespace, group.workload))


@rule("template-differs")
def find_template_differs(census: Census) -> Matches:
    for group, workload in _list_described(census):
        if workload is None or group.template not in workload.templates:
            continue
        template = workload.templates[group.template][1]
        policy, quorum, _ = read_policy(template.get("schedulingPolicy"), group.item.kind)
        field = group.counted
        pairs = (
            ("policy", group.policy, policy or "basic"),
            (field, group.quorum, quorum),
            ("topology key", group.topology_key, read_topology_key(template)),
            ("priorityClassName", group.priority_class, template.get("priorityClassName") or ""),
        )
        for name, own, declared in pairs:
            if own != declared:
                where = group.quorum_path if name in (field, "policy") else group.path
                yield tell(group.item, where, own, name=name, group=group, workload=workload, declared=declared)
                break


def _list_lost(census: Census) -> Iterator[tuple[Template, TemplateLink, list[str]]]:
    """The templates whose group is missing, each with its link and the namespaces that have a group of that name."""
    spaces = defaultdict(list)
    lost = census.lost
    for (_, name), group in census.groups.items() if lost else ():
        spaces[name].append(group.item.namespace)
    for template in lost:
        if template.link:
            yield template, template.link, sorted(spaces.get(template.link.group, ()))


@rule("partly-linked")
def find_partly_linked(census: Census) -> Matches:
    for templates in census.by_item.values():
        present = [template for template in templates if template.pods != 0]
        unlinked = [template for template in present if template.link is None]
        number = len(present) - len(unlinked)
        kind = find_kind(templates[0].item.ref) if number and unlinked else None
        if kind and not kind.staged:
            for template in unlinked:
                pods = f"{count(template.pods, 'pod')} of this template" if template.pods else "pods of this template"
                yield tell(template, (), pods=pods, number=number)


@rule("group-shared")
def find_group_shared(census: Census) -> Matches:
    for gang in census.gangs:
        owners = [owner for owner in gang.owners if owner.kind != "Pod"]
        if len(owners) < 2:
            continue
        declared = {owner.annotations.get("krmfn.dev/gang-group", "") for owner in owners}
        meant = len(declared) == 1 and "" not in declared
        if not meant and gang.quorum not in (0, gang.pods):
            yield tell_quorum(gang.group, owners=owners, gang=gang)


@rule("gang-group-split")
def find_gang_group_split(census: Census) -> Matches:
    declared = defaultdict(list)
    for template in census.templates if census.has_text("krmfn.dev/gang-group") else ():
        name = template.item.annotations.get("krmfn.dev/gang-group")
        if name and template.link:
            declared[template.item.space, name].append((template, template.link))
    for (namespace, name), linked in declared.items():
        roots: dict[object, tuple[Template, TemplateLink]] = {}
        for template, link in linked:
            group = census.groups.get((namespace, link.group))
            if group is not None:
                roots.setdefault(census.root(group).key, (template, link))
        found = list(roots.values())
        for template, link in found[1:]:
            yield tell(template.item, link.path, name=name, first=found[0][0])
