"""Steps between releases: 1.35 to 1.36 and 1.36 to 1.37, on which nothing is lost, and back; what an earlier release
does not have is lost, and reported.

Source: sections 10.2 and 10.3 of the API reference (types v1alpha1, v1alpha2, v1alpha3, v1beta1 of scheduling.k8s.io).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from krmfn.convert.board import Board, describe, read_entries, read_mapping, relink, walk_templates
from krmfn.krm.item import Item
from krmfn.krm.paths import Path, dig
from krmfn.model.names import name_group, shorten, slug
from krmfn.model.values import Fields, Key, Value
from krmfn.releases.groups import read_limits
from krmfn.releases.release import GROUP as NATIVE
from krmfn.releases.release import find_release, first_release, list_releases
from krmfn.releases.spelling import GROUP_LINKS

#: Modes of 1.37, each with its word in 1.36, and the fields of a reference to a template.
_MODES: Final = {"single": "Pod", "all": "PodGroup"}
_REFERENCE: Final = {"workloadName": "workloadName", "templateName": "podGroupTemplateName"}


# --- 1.35 to 1.36 ---------------------------------------------------------------------------------------------------


def to_1_36(board: Board) -> None:
    """Workload v1alpha1 to v1alpha2: every group that pods use becomes a PodGroup, and the pods name it."""
    workloads = {
        (item.space, item.name): item
        for item in board.of(NATIVE, "Workload")
        if item.api_version == f"{NATIVE}/v1alpha1"
    }
    made: dict[tuple[str, str, str, str], str] = {}
    for item, site in board.sites():
        if site.field == ("workloadRef", "name"):
            reference = item.get(site.whole[0])
            workload = workloads.get((item.space, site.value))
            group, key = str(reference.get("podGroup", "")), str(reference.get("podGroupReplicaKey") or "")
            entry = _find_entry(workload, group)
            if workload is None or entry is None:
                what = f"group {group} of Workload {site.value}" if workload else f"Workload {site.value}"
                board.miss(item, site, what)
                continue
            place = (item.space, site.value, group, key)
            if place not in made:
                made[place] = _add_group(board, workload, entry, key)
            board.edit(item, relink, site.whole[0], ("schedulingGroup", "podGroupName"), made[place])
    for (space, name), workload in workloads.items():
        for entry in read_entries(workload, ("spec", "podGroups")):
            if not any(place[:3] == (space, name, entry.get("name")) for place in made):
                _add_group(board, workload, entry, "")
        board.edit(workload, _rename_templates)


def _find_entry(workload: Item | None, group: str) -> Value | None:
    entries = read_entries(workload, ("spec", "podGroups")) if workload else []
    return next((entry for entry in entries if entry.get("name") == group), None)


def _add_group(board: Board, workload: Item, entry: Value, key: str) -> str:
    """A PodGroup for a group of the Workload: called like it if it is its only one, else with the group's name."""
    template = str(entry.get("name", ""))
    entries = read_entries(workload, ("spec", "podGroups"))
    alone = len(entries) == 1 and not key
    name = workload.name if alone else name_group(workload.name, slug(template))
    name = shorten(f"{name}-{key}") if key else name
    reference = {"workload": {"workloadName": workload.name, "podGroupTemplateName": template}}
    spec = {"podGroupTemplateRef": reference, "schedulingPolicy": entry.get("policy")}
    existing = board.find(NATIVE, "PodGroup", workload.space, name)
    if existing:
        board.note(
            existing,
            "convert-name-taken",
            f"this PodGroup already exists, but {workload.ref} needs its name",
            hint="Rename the Workload and the links to it, or remove this PodGroup.",
        )
    else:
        board.add(describe(f"{NATIVE}/v1alpha2", "PodGroup", name, workload, spec), workload)
    return name


def _rename_templates(workload: Item) -> None:
    templates = [
        {"schedulingPolicy" if key == "policy" else key: value for key, value in entry.items()}
        for entry in read_entries(workload, ("spec", "podGroups"))
    ]
    workload.set(("apiVersion",), f"{NATIVE}/v1alpha2")
    workload.set(("spec", "podGroupTemplates"), templates)
    workload.remove(("spec", "podGroups"))


# --- 1.36 to 1.37 ---------------------------------------------------------------------------------------------------


def to_1_37(board: Board) -> None:
    """Workload and PodGroup to v1beta1: references and disruption modes are spelled anew."""
    _take_priorities(board)
    for item in board.of(NATIVE, "Workload"):
        if item.api_version == f"{NATIVE}/v1alpha2":
            board.edit(item, _raise_workload, board)
    for item in board.of(NATIVE, "PodGroup"):
        if item.api_version == f"{NATIVE}/v1alpha2":
            board.edit(item, _raise_group, board)
    for item in board.of("batch", "Job"):
        if _had_a_gang_by_itself(item):
            message = (
                f"Kubernetes {first_release('job-groups')} creates a gang for this Job (feature gate WorkloadWithJob), "
                f"{first_release('job-scheduling')} does not: its pods would start one by one"
            )
            hint = 'Add the annotation krmfn.dev/gang: "true", or set spec.scheduling.'
            board.note(item, "convert-job", message, ("spec",), hint)


def _take_priorities(board: Board) -> None:
    """1.37 never schedules pods of another priority class than their group: one that names none gets theirs."""
    classes: dict[Key, set[str]] = {}
    for item, site in board.sites():
        if site.field in GROUP_LINKS:
            spec = item.get(site.whole[0][:-1])
            classes.setdefault((item.space, site.value), set()).add(str(spec.get("priorityClassName") or ""))
    for group in board.of(NATIVE, "PodGroup"):
        found = classes.get((group.space, group.name), {""})
        if group.api_version != f"{NATIVE}/v1alpha2" or len(found) > 1 or found == {""}:
            continue
        reference = read_mapping(group, ("spec", "podGroupTemplateRef", "workload"))
        workload = board.find(NATIVE, "Workload", group.space, str(reference.get("workloadName")))
        places: list[tuple[Item, Path]] = [(group, ("spec",))]
        for index, entry in enumerate(read_entries(workload, ("spec", "podGroupTemplates")) if workload else ()):
            if workload and entry.get("name") == reference.get("podGroupTemplateName"):
                places.append((workload, ("spec", "podGroupTemplates", index)))
        for item, path in places:
            if item.get((*path, "priorityClassName"), None) is None:
                board.edit(item, Item.set, (*path, "priorityClassName"), max(found))


def _had_a_gang_by_itself(job: Item) -> bool:
    spec = read_mapping(job, ("spec",))
    pods = spec.get("parallelism")
    is_linked = job.get(("spec", "template", "spec", "schedulingGroup")) is not None
    is_fixed = spec.get("completionMode") == "Indexed" and spec.get("completions") == pods
    return isinstance(pods, int) and pods > 1 and is_fixed and not is_linked and "scheduling" not in spec


def _raise_workload(item: Item, board: Board) -> None:
    item.set(("apiVersion",), f"{NATIVE}/v1beta1")
    for path, template, _ in list(walk_templates(item.get(("spec",)))):
        _respell_mode(item, (*path, "disruptionMode"), template.get("disruptionMode"))
    _split(item, board)


def _raise_group(item: Item, board: Board) -> None:
    item.set(("apiVersion",), f"{NATIVE}/v1beta1")
    reference = item.get(("spec", "podGroupTemplateRef", "workload"))
    if isinstance(reference, Mapping):
        kept = {new: reference[old] for new, old in _REFERENCE.items() if old in reference}
        item.set(("spec", "workloadRef"), kept)
    item.remove(("spec", "podGroupTemplateRef"))
    mode = item.get(("spec", "disruptionMode"))
    _respell_mode(item, ("spec", "disruptionMode"), mode)
    if mode == "PodGroup" and item.get(("spec", "schedulingPolicy", "basic")) is not None:
        message = "disruptionMode PodGroup without a gang policy: later releases may refuse this"
        hint = "Use the disruption mode single, or a gang policy."
        board.note(item, "convert-doubtful", message, ("spec", "disruptionMode"), hint)


def _respell_mode(item: Item, path: Path, mode: Any) -> None:
    if found := next((new for new, old in _MODES.items() if old == mode), ""):
        item.set(path, {found: {}})


def _split(item: Item, board: Board) -> None:
    """1.37 wants one priority configuration per Workload (C22): templates with another one get a Workload of theirs."""
    priorities: dict[Key, list[Value]] = {}
    for template in read_entries(item, ("spec", "podGroupTemplates")):
        priority = template.get("priority")
        key = str(template.get("priorityClassName") or ""), "" if priority is None else str(priority)
        priorities.setdefault(key, []).append(template)
    if len(priorities) < 2:
        return
    (_, kept), *others = priorities.items()
    for (class_name, value), moved in others:
        name = shorten(f"{item.name}-{slug(value or class_name or 'no-class')}")
        spec = {key: entry for key, entry in item.get(("spec",)).items() if key != "podGroupTemplates"}
        made = describe(f"{NATIVE}/v1beta1", "Workload", name, item, {**spec, "podGroupTemplates": moved})
        if board.find(NATIVE, "Workload", item.space, name):
            board.note(
                item,
                "convert-name-taken",
                f"the templates of this Workload have several priorities, but Workload {name}, the name for some of "
                "them, already exists",
                hint=f"Rename Workload {name}.",
            )
            continue
        board.add(made, item)
        names = {str(template.get("name")) for template in moved}
        _move_groups(board, item, name, names)
        moving = ", ".join(sorted(map(str, names)))
        message = f"all templates of a Workload must have one priority: {moving} moved to Workload {name}"
        board.note(item, "convert-split", message)
    item.set(("spec", "podGroupTemplates"), kept)


def _move_groups(board: Board, workload: Item, name: str, templates: set[str]) -> None:
    for group in board.of(NATIVE, "PodGroup"):
        for field, key in (
            (("spec", "podGroupTemplateRef", "workload"), "podGroupTemplateName"),
            (("spec", "workloadRef"), "templateName"),
        ):
            reference = group.get(field)
            if (
                isinstance(reference, Mapping)
                and group.space == workload.space
                and reference.get("workloadName") == workload.name
                and str(reference.get(key)) in templates
            ):
                group.set((*field, "workloadName"), name)


#: Fields that 1.35 does not have.
_NOT_IN_1_35: Final = ("schedulingConstraints", "resourceClaims", "disruptionMode", "priorityClassName", "priority")
_JOBS: Final[Mapping[str, Path]] = {
    "Job": ("spec", "scheduling"),
    "CronJob": ("spec", "jobTemplate", "spec", "scheduling"),
}


# --- 1.37 to 1.36 ---------------------------------------------------------------------------------------------------


def back_to_1_36(board: Board) -> None:
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
            leaves.append(_lower_mode(kept))
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
        workload = {old: reference[new] for new, old in _REFERENCE.items() if new in reference}
        item.set(("spec", "podGroupTemplateRef"), {"workload": workload})
    for key in ("workloadRef", "parentCompositePodGroupName", *sorted(lost)):
        item.remove(("spec", key))
    mode = _lower_mode(spec).get("disruptionMode")
    if mode is not None and "disruptionMode" not in lost:
        item.set(("spec", "disruptionMode"), mode)


def _list_lost(fields: Value) -> set[str]:
    """The fields of a group, or of its template, that 1.36 does not have: a mode of a later release, too."""
    mode = fields.get("disruptionMode")
    unknown = isinstance(mode, Mapping) and mode and not _MODES.keys() & mode.keys()
    return {"preemptionPolicy", "disruptionMode"} if unknown else {"preemptionPolicy"}


def _lower_mode(fields: Value) -> Fields:
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
    references: dict[Key, dict[str, str]] = {}
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


def _template_of(board: Board, group: Item) -> Key:
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


def _policy_of(board: Board, item: Item, template: Value, members: Iterable[Item]) -> Any:
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


def _lose_fields(board: Board, item: Item, fields: Value, path: Path, names: Iterable[str]) -> None:
    for name in sorted(set(names) & set(fields)):
        if fields[name] not in (None, {}, [], ""):
            _lose(board, item, f"has no {name}: it was dropped", (*path, name))


def _lose(board: Board, item: Item, what: str, path: Path) -> None:
    board.note(item, "convert-lost", f"Kubernetes {board.goal} {what}", path)
