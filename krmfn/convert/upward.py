"""Steps to a later release: 1.35 to 1.36, 1.36 to 1.37. Nothing is lost on the way.

Source: section 10.2 of the API reference (types v1alpha1, v1alpha2, v1alpha3, v1beta1 of scheduling.k8s.io).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from krmfn.convert.board import Board, describe, read_entries, read_mapping, relink, walk_templates
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.model.names import name_group, shorten, slug
from krmfn.releases.release import GROUP as NATIVE
from krmfn.releases.release import first_release
from krmfn.releases.spelling import GROUP_LINKS

_MODES: Final[Mapping[str, dict[str, Any]]] = {"Pod": {"single": {}}, "PodGroup": {"all": {}}}


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


def _find_entry(workload: Item | None, group: str) -> Mapping[str, Any] | None:
    entries = read_entries(workload, ("spec", "podGroups")) if workload else []
    return next((entry for entry in entries if entry.get("name") == group), None)


def _add_group(board: Board, workload: Item, entry: Mapping[str, Any], key: str) -> str:
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
    classes: dict[tuple[str, str], set[str]] = {}
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
        names = {"workloadName": "workloadName", "podGroupTemplateName": "templateName"}
        item.set(("spec", "workloadRef"), {new: reference[old] for old, new in names.items() if old in reference})
    item.remove(("spec", "podGroupTemplateRef"))
    mode = item.get(("spec", "disruptionMode"))
    _respell_mode(item, ("spec", "disruptionMode"), mode)
    if mode == "PodGroup" and item.get(("spec", "schedulingPolicy", "basic")) is not None:
        message = "disruptionMode PodGroup without a gang policy: later releases may refuse this"
        hint = "Use the disruption mode single, or a gang policy."
        board.note(item, "convert-doubtful", message, ("spec", "disruptionMode"), hint)


def _respell_mode(item: Item, path: Path, mode: Any) -> None:
    if isinstance(mode, str) and mode in _MODES:
        item.set(path, _MODES[mode])


def _split(item: Item, board: Board) -> None:
    """1.37 wants one priority configuration per Workload (C22): templates with another one get a Workload of theirs."""
    priorities: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
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
