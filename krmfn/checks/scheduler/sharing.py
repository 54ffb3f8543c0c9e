"""Whether the pods that belong together, and only they, are in one group."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import rule
from krmfn.checks.wording import name_all
from krmfn.config import Settings
from krmfn.model.findings import Finding
from krmfn.model.kinds import find_kind
from krmfn.model.wording import count
from krmfn.survey.census import Census, Template
from krmfn.survey.groups import Group


@rule("partly-linked", "warning", "Some pod templates of an object link to a group and others do not.")
def find_partly_linked(census: Census, _: Settings) -> Iterator[Finding]:
    """Some templates of an object link to a group and others, which make pods too, do not."""
    by_item: dict[int, list[Template]] = {}
    for template in census.templates:
        if template.pods != 0:
            by_item.setdefault(id(template.item), []).append(template)
    for templates in by_item.values():
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
def find_group_shared(census: Census, _: Settings) -> Iterator[Finding]:
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
def find_gang_group_split(census: Census, _: Settings) -> Iterator[Finding]:
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
