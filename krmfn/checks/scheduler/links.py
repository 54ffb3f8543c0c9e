"""Links: whether the groups, Workloads and templates that are named exist, and whether pods of one gang link alike."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import rule
from krmfn.checks.wording import group_names, name_all, suggest
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.findings import Finding, Note
from krmfn.model.kinds import find_kind
from krmfn.model.marks import PREFIX
from krmfn.model.wording import count, join
from krmfn.survey.census import Census, Template
from krmfn.survey.groups import Group, find_reference, read_policy, topology_key

#: What the last part of a link names; the annotations that the link bridge reads name a PodGroup, too.
_KINDS = {"podGroupName": "PodGroup", "podGroup": "group of a Workload"}


@rule("group-missing", "error", "A pod template links to a group that does not exist.")
def find_group_missing(census: Census) -> Iterator[Finding]:
    names = group_names(census.groups if census.lost else ())
    known_all = bool(census.groups) or any(map(census.facts.lists_all, ("PodGroup", "Workload")))
    for template, elsewhere in _lost(census):
        link = template.link
        if elsewhere or link is None:
            continue
        known = names.get(template.item.space, [])
        kind = _KINDS.get(str(link.path[-1]), "PodGroup")
        message = (
            f'no {kind} "{link.group}" in the files checked{suggest(link.group, known)}: these pods are never scheduled'
        )
        hint = f"Correct the name, or add the {kind}{_offer(template.item)}."
        if not any(map(census.facts.lists_all, ("PodGroup", "Workload"))):
            hint += " If it is in the cluster, name it with --cluster or under cluster.podGroups."
        yield Finding(
            template.item, link.path, message, link.group, hint=hint, severity=None if known_all else "warning"
        )


def _offer(item: Item) -> str:
    """When krmfn writes the group of an object."""
    row = find_kind(item.ref.group, item.kind)
    if row is None or not row.has_gangs or item.kind == "Pod":  # a gang of its own is no use to one pod
        return ""
    return f': krmfn generate writes one for a {item.kind} that has {PREFIX}gang: "true" and no link'


@rule("group-other-namespace", "error", "The group that a pod template links to is in another namespace.")
def find_group_other_namespace(census: Census) -> Iterator[Finding]:
    for template, elsewhere in _lost(census):
        link = template.link
        if not elsewhere or link is None:
            continue
        here = template.item.namespace or "the namespace of the apply"
        there = join([f"{space or 'no namespace given'}" for space in elsewhere])
        message = (
            f'the group "{link.group}" is in another namespace ({there}) than the pods ({here}): they are '
            "never scheduled"
        )
        hint = "Put both into one namespace: pods can link only to groups in their own namespace."
        unsure = not template.item.namespace or "" in elsewhere
        yield Finding(template.item, link.path, message, link.group, hint=hint, severity="warning" if unsure else None)


@rule("template-missing", "error", "A group refers to a Workload or template that does not exist.", needs="pod-groups")
def find_template_missing(census: Census, settings: Settings) -> Iterator[Finding]:
    groups = [gang.group for gang in census.gangs if gang.group.path == ("spec",)]
    names = group_names(census.workloads)
    old = settings.release.has("workload-must-exist")
    for group in (*groups, *census.composites.values()):
        if not group.workload:
            continue
        workload = census.workloads.get((group.namespace, group.workload))
        if workload is not None and (old or group.template in workload.templates):
            continue  # 1.36 looks into the Workload itself, so its answer is the server's
        effect = (
            "the API server refuses the group"
            if old
            else "the group works, but the Workload that describes it is missing"
        )
        path = (*group.path, *find_reference(group.spec)[:-1])
        if workload is None:
            near = suggest(group.workload, names.get(group.namespace, []))
            message = f'no Workload "{group.workload}" in the files checked{near}: {effect}'
            note = Note("template-missing", (*path, "workloadName"), message, group.workload)
            yield note._replace(hint="Add the Workload, or correct its name.").on(
                group.item, None if old else "warning"
            )
        else:
            near = suggest(group.template, workload.templates)
            message = f'Workload {workload.name} has no template "{group.template}"{near}: {effect}'
            hint = f"Use one of: {', '.join(sorted(workload.templates))}."
            yield Finding(group.item, (*group.path, *find_reference(group.spec)), message, group.template, hint=hint)


@rule("template-differs", "warning", "A group differs from its template in the Workload.", needs="pod-groups")
def find_template_differs(census: Census, settings: Settings) -> Iterator[Finding]:
    groups = [gang.group for gang in census.gangs if gang.group.path == ("spec",)]
    for group in (*groups, *census.composites.values()):
        workload = census.workloads.get((group.namespace, group.workload))
        if workload is None or group.template not in workload.templates:
            continue
        template = workload.templates[group.template][1]
        policy, quorum, _ = read_policy(template.get("schedulingPolicy"), group.item.kind)
        field = group.counted
        pairs: tuple[tuple[str, object, object], ...] = (
            ("policy", group.policy, policy or "basic"),
            (field, group.quorum, quorum),
            ("topology key", group.topology_key, topology_key(template)),
            ("priorityClassName", group.priority_class, template.get("priorityClassName") or ""),
        )
        for name, own, declared in pairs:
            if own != declared:
                message = (
                    f"{name} is {own or 'unset'}, but in the template {group.template} of Workload {workload.name} "
                    f"it is {declared or 'unset'}"
                )
                hint = "Make both equal: the scheduler reads the group, but people read the Workload."
                where = group.quorum_path if name in (field, "policy") else group.path
                yield Finding(group.item, where, message, own, hint=hint)
                break


def _lost(census: Census) -> Iterator[tuple[Template, tuple[str, ...]]]:
    """Dangling templates that no other rule explains, each with the namespaces that do hold such a group."""
    spaces: dict[str, list[str]] = {}
    lost = census.lost
    for (_, name), group in census.groups.items() if lost else ():
        spaces.setdefault(name, []).append(group.item.namespace)
    for template in lost:
        if template.link:
            yield template, tuple(sorted(spaces.get(template.link.group, ())))


@rule("partly-linked", "warning", "Some pod templates of an object link to a group and others do not.")
def find_partly_linked(census: Census) -> Iterator[Finding]:
    for every in census.by_item.values():
        templates = [template for template in every if template.pods != 0]
        linked = [template for template in templates if template.link]
        if (
            not linked
            or len(linked) == len(templates)
            or (kind := find_kind(templates[0].item.ref.group, templates[0].item.kind)) is None
            or kind.staged
        ):
            continue
        for template in templates:
            if template.link is None:
                pods = f"{count(template.pods, 'pod')} of this template" if template.pods else "pods of this template"
                message = (
                    f"{pods} are not linked to a group, but {count(len(linked), 'other template')} of "
                    f"{template.item.kind} {template.item.name} link to one"
                )
                hint = "Link every pod template of the object to a group."
                yield Finding(template.item, template.spec_path, message, hint=hint)


@rule("group-shared", "warning", "Several objects link to one group, but its minCount is too small for all of them.")
def find_group_shared(census: Census) -> Iterator[Finding]:
    for gang in census.gangs:
        owners = [owner for owner in gang.owners if owner.kind != "Pod"]
        if len(owners) < 2:
            continue
        declared = {owner.annotations.get("krmfn.dev/gang-group", "") for owner in owners}
        meant = len(declared) == 1 and "" not in declared
        if meant or gang.group.quorum is None or gang.group.quorum == gang.pods:
            continue
        message = (
            f"{name_all(owners)} link to this group with {gang.group.counted} {gang.group.quorum}: they share one "
            "quorum, so each may start incomplete"
        )
        hint = f"Use a separate group for each object, or set {gang.group.counted} to the number of all their pods."
        yield Finding(gang.group.item, gang.group.quorum_path, message, gang.group.quorum, hint=hint)


@rule("gang-group-split", "error", "Resources of one gang link to groups without a common root.")
def find_gang_group_split(census: Census) -> Iterator[Finding]:
    declared: dict[tuple[str, str], list[Template]] = {}
    for template in census.templates if census.has_text("krmfn.dev/gang-group") else ():
        name = template.item.annotations.get("krmfn.dev/gang-group")
        if name and template.link:
            declared.setdefault((template.item.space, name), []).append(template)
    for (namespace, name), templates in declared.items():
        roots: dict[object, Template] = {}
        for template in templates:
            group: Group | None = census.groups.get((namespace, template.link.group)) if template.link else None
            if group is not None:
                root = census.root(group)
                key = (id(root.item), root.path)
                roots.setdefault(key, template)
        for template in list(roots.values())[1:]:
            first = next(iter(roots.values()))
            message = (
                f'these pods are in the gang "{name}", but their group and that of {first.item.kind} '
                f"{first.item.name} have no common root: they do not start together"
            )
            hint = "Run krmfn generate for all resources of the gang together, or link them to one group."
            path = template.link.path if template.link else template.path
            yield Finding(template.item, path, message, hint=hint)
