"""Steps to an earlier release: 1.37 to 1.36, 1.36 to 1.35. What an earlier release does not have is lost, and reported.

Source: section 10.3 of the API reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from krmfn.convert.board import Board, describe, read_entries, read_mapping, relink, walk_templates
from krmfn.krm.item import Item
from krmfn.krm.paths import Path, dig
from krmfn.model.names import slug
from krmfn.releases.groups import read_limits
from krmfn.releases.release import GROUP as NATIVE
from krmfn.releases.release import find_release, first_release, list_releases
from krmfn.releases.spelling import GROUP_LINKS

_MODES: Final = {"single": "Pod", "all": "PodGroup"}
#: Fields that 1.35 does not have.
_NOT_IN_1_35: Final = ("schedulingConstraints", "resourceClaims", "disruptionMode", "priorityClassName", "priority")
_JOBS: Final[Mapping[str, Path]] = {
    "Job": ("spec", "scheduling"),
    "CronJob": ("spec", "jobTemplate", "spec", "scheduling"),
}


# --- 1.37 to 1.36 ---------------------------------------------------------------------------------------------------


def to_1_36(board: Board) -> None:
    """All versions with trees to v1alpha2: trees become lists of groups that know nothing of each other."""
    releases = [find_release(name) for name in list_releases()]
    for kind, lower in (("Workload", _lower_workload), ("PodGroup", _lower_group)):
        latest = {
            f"{NATIVE}/{each}" for one in releases if one.has("composite-groups") for each in one.kinds.get(kind, ())
        }
        for item in board.of(NATIVE, kind):
            if item.api_version in latest:
                board.edit(item, lower, board)
    for item in board.of(NATIVE, "CompositePodGroup"):
        _lose(board, item, "has no CompositePodGroup: it was dropped, and its children start independently", ("spec",))
        board.remove(item)
    for kind, path in _JOBS.items():
        for item in board.of("batch", kind):
            if item.get(path) is not None:
                _lose(
                    board,
                    item,
                    "has no scheduling in Jobs: it was dropped, and the Job controller decides itself",
                    path,
                )
                board.edit(item, Item.remove, path)


def _lower_workload(item: Item, board: Board) -> None:
    leaves = []
    for path, template, is_composite in walk_templates(item.get(("spec",))):
        lost = _list_lost(template) | ({"schedulingConstraints", "disruptionMode"} if is_composite else set())
        _lose_fields(board, item, template, path, lost)
        if not is_composite:
            kept = {key: value for key, value in template.items() if key not in lost}
            leaves.append(_respell_mode(kept))
        elif (quorum := dig(template, "schedulingPolicy", "gang", "minGroupCount")) is not None:
            message = f"cannot start {quorum} groups of template {template.get('name')} together: this was dropped"
            _lose(board, item, message, (*path, "schedulingPolicy"))
    goal = first_release("pod-groups")
    longest = read_limits(goal).groups
    if len(leaves) > longest:
        message = f"{len(leaves)} templates, but {goal} allows {longest}; the object is unchanged"
        hint = "Generate one group for all pods instead (granularity Cluster)."
        board.note(item, "convert-impossible", message, ("spec",), hint)
        return
    item.set(("apiVersion",), f"{NATIVE}/v1alpha2")
    item.set(("spec", "podGroupTemplates"), leaves)
    item.remove(("spec", "compositePodGroupTemplates"))


def _lower_group(item: Item, board: Board) -> None:
    spec = read_mapping(item, ("spec",))
    lost = _list_lost(spec)
    _lose_fields(board, item, spec, ("spec",), lost)
    item.set(("apiVersion",), f"{NATIVE}/v1alpha2")
    reference = spec.get("workloadRef")
    if isinstance(reference, Mapping):
        names = {"workloadName": "workloadName", "templateName": "podGroupTemplateName"}
        workload = {new: reference[old] for old, new in names.items() if old in reference}
        item.set(("spec", "podGroupTemplateRef"), {"workload": workload})
    for key in ("workloadRef", "parentCompositePodGroupName", *sorted(lost)):
        item.remove(("spec", key))
    mode = _respell_mode(spec).get("disruptionMode")
    if mode is not None and "disruptionMode" not in lost:
        item.set(("spec", "disruptionMode"), mode)


def _list_lost(fields: Mapping[str, Any]) -> set[str]:
    """The fields of a group, or of its template, that 1.36 does not have: a mode of a later release, too."""
    mode = fields.get("disruptionMode")
    unknown = isinstance(mode, Mapping) and mode and not _MODES.keys() & mode.keys()
    return {"preemptionPolicy", "disruptionMode"} if unknown else {"preemptionPolicy"}


def _respell_mode(fields: Mapping[str, Any]) -> dict[str, Any]:
    mode = fields.get("disruptionMode")
    if not isinstance(mode, Mapping):
        return dict(fields)
    return {**fields, "disruptionMode": next((_MODES[key] for key in mode if key in _MODES), "Pod")}


# --- 1.36 to 1.35 ---------------------------------------------------------------------------------------------------


def to_1_35(board: Board) -> None:
    """v1alpha2 to v1alpha1: PodGroups go, pods name the Workload and one of its groups."""
    used: dict[tuple[str, str, str], list[Item]] = {}
    for group in [item for item in board.of(NATIVE, "PodGroup") if item.api_version == f"{NATIVE}/v1alpha2"]:
        used.setdefault((group.space, *_template_of(board, group)), []).append(group)
    references: dict[tuple[str, str], dict[str, str]] = {}
    for (space, workload, template), groups in used.items():
        for group in groups:
            reference = {"name": workload, "podGroup": template}
            if len(groups) > 1:
                reference["podGroupReplicaKey"] = slug(group.name)
            references[space, group.name] = reference
    for item in board.of(NATIVE, "Workload"):
        if item.api_version == f"{NATIVE}/v1alpha2":
            board.edit(item, _lower_templates, board, used)
    for item, site in board.sites():
        if site.field in GROUP_LINKS:
            found = references.get((item.space, site.value))
            if found is None:
                board.miss(item, site, f'PodGroup "{site.value}"')
            else:
                board.edit(item, relink, site.whole[0], ("workloadRef",), found)
    for groups in used.values():
        for group in groups:
            board.remove(group)


def _template_of(board: Board, group: Item) -> tuple[str, str]:
    """The names of a group's Workload and template; a Workload is made for a group that has none."""
    reference = group.get(("spec", "podGroupTemplateRef", "workload"))
    if isinstance(reference, Mapping):
        name, template = str(reference.get("workloadName")), str(reference.get("podGroupTemplateName"))
        workload = board.find(NATIVE, "Workload", group.space, name)
        entries = read_entries(workload, ("spec", "podGroupTemplates")) if workload else []
        if any(entry.get("name") == template for entry in entries):
            return name, template
    spec = {key: value for key, value in read_mapping(group, ("spec",)).items() if key != "podGroupTemplateRef"}
    name = group.name
    if board.find(NATIVE, "Workload", group.space, name):
        message = "this PodGroup needs a Workload of the same name, which already exists without its template"
        board.note(group, "convert-name-taken", message, hint="Rename the PodGroup and the links to it.")
    else:
        value = describe(
            f"{NATIVE}/v1alpha2", "Workload", name, group, {"podGroupTemplates": [{"name": "pods", **spec}]}
        )
        board.add(value, group)
    return name, "pods"


def _lower_templates(item: Item, board: Board, used: Mapping[tuple[str, str, str], list[Item]]) -> None:
    groups = []
    for path, template, _ in walk_templates(item.get(("spec",))):
        _lose_fields(board, item, template, path, _NOT_IN_1_35)
        members = used.get((item.space, item.name, str(template.get("name"))), [])
        groups.append({"name": template.get("name"), "policy": _policy_of(board, item, template, members)})
    item.set(("apiVersion",), f"{NATIVE}/v1alpha1")
    item.set(("spec", "podGroups"), groups)
    item.remove(("spec", "podGroupTemplates"))


def _policy_of(board: Board, item: Item, template: Mapping[str, Any], members: Iterable[Item]) -> Any:
    """The policy of the groups, because it is theirs that counts; the template's where they differ."""
    policies = [group.get(("spec", "schedulingPolicy")) for group in members]
    if policies and all(policy == policies[0] for policy in policies):
        return policies[0]
    if policies:
        _lose(
            board,
            item,
            f"has one policy for all groups of template {template.get('name')}: the others were dropped",
            ("spec",),
        )
    return template.get("schedulingPolicy")


# --- what is lost ---------------------------------------------------------------------------------------------------


def _lose_fields(board: Board, item: Item, fields: Mapping[str, Any], path: Path, names: Iterable[str]) -> None:
    for name in sorted(set(names) & set(fields)):
        if fields[name] not in (None, {}, [], ""):
            _lose(board, item, f"has no {name}: it was dropped", (*path, name))


def _lose(board: Board, item: Item, what: str, path: Path) -> None:
    board.note(item, "convert-lost", f"Kubernetes {board.goal} {what}", path)
