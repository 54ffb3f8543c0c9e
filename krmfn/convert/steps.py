"""Steps between releases: 1.35 to 1.36 and 1.36 to 1.37, on which nothing is lost, and back; what an earlier release
does not have is lost, and reported. And from the PodGroups of other schedulers, of the versions that
krmfn/model/schedulers names, to native ones of 1.36.

Source: the types v1alpha1, v1alpha2, v1alpha3 and v1beta1 of scheduling.k8s.io.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from krmfn.convert.board import Board, describe, read_entries, relink, walk_templates
from krmfn.convert.fitting import spell_out
from krmfn.krm.item import Item
from krmfn.krm.paths import Path, dig
from krmfn.model.marks import GENERATED_FROM
from krmfn.model.names import name_group, shorten, slug
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.values import Fields, Key, Value, as_int, as_list, as_mapping
from krmfn.reconcile.links import unlink
from krmfn.releases.release import GROUP as NATIVE
from krmfn.releases.release import Release, find_release, first_release, list_releases
from krmfn.releases.spelling import GROUP_LINKS, TEMPLATES, read_limits, read_mode

# --- 1.35 to 1.36 ---------------------------------------------------------------------------------------------------


def to_1_36(board: Board) -> None:
    """Workload v1alpha1 to v1alpha2: every group that pods use becomes a PodGroup, and the pods name it."""
    workloads = {item.key: item for item in board.written_in("v1alpha1", "Workload")}
    made: dict[tuple[str, str, str, str], str] = {}
    for item, site in board.sites():
        if site.field == ("workloadRef", "name"):
            reference = item.get(site.whole[0])
            workload = workloads.get((item.space, site.value))
            group, key = str(reference.get("podGroup", "")), str(reference.get("podGroupReplicaKey") or "")
            entry = next((each for each in read_entries(workload, "podGroups") if each.get("name") == group), None)
            if workload is None or entry is None:
                what = f"group {group} of Workload {site.value}" if workload else f"Workload {site.value}"
                board.miss(item, site, what)
                continue
            place = (item.space, site.value, group, key)
            if place not in made:
                made[place] = _add_group(board, workload, entry, key)
            board.edit(item, relink, site.whole[0], ("schedulingGroup", "podGroupName"), made[place])
    for (space, name), workload in workloads.items():
        for entry in read_entries(workload, "podGroups"):
            if not any(place[:3] == (space, name, entry.get("name")) for place in made):
                _add_group(board, workload, entry, "")
        board.edit(workload, _rename_templates)


def _add_group(board: Board, workload: Item, entry: Value, key: str) -> str:
    """A PodGroup for a group of the Workload: called like it if it is its only one, else with the group's name."""
    template = str(entry.get("name", ""))
    entries = read_entries(workload, "podGroups")
    alone = len(entries) == 1 and not key
    name = workload.name if alone else name_group(workload.name, slug(template))
    name = shorten(f"{name}-{key}") if key else name
    reference = {"workload": {"workloadName": workload.name, "podGroupTemplateName": template}}
    spec = {"podGroupTemplateRef": reference, "schedulingPolicy": entry.get("policy")}
    existing = board.find(NATIVE, "PodGroup", workload.space, name)
    if existing:
        message = f"this PodGroup already exists, but {workload.ref} needs its name"
        hint = "Rename the Workload and the links to it, or remove this PodGroup."
        board.note(existing, "convert-name-taken", message, hint=hint)
    else:
        board.add(describe(f"{NATIVE}/v1alpha2", "PodGroup", name, workload, spec), workload)
    return name


def _rename_templates(workload: Item) -> None:
    templates = [
        {"schedulingPolicy" if key == "policy" else key: value for key, value in entry.items()}
        for entry in read_entries(workload, "podGroups")
    ]
    workload.set(("apiVersion",), f"{NATIVE}/v1alpha2")
    workload.set(("spec", "podGroupTemplates"), templates)
    workload.remove(("spec", "podGroups"))


# --- 1.36 to 1.37 ---------------------------------------------------------------------------------------------------


def to_1_37(board: Board) -> None:
    """Workload and PodGroup to v1beta1: references and disruption modes are spelled anew."""
    _take_priorities(board)
    for item in board.written_in("v1alpha2", "Workload", "PodGroup"):
        board.edit(item, _raise, board, first_release("composite-groups"))
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
    for group in board.written_in("v1alpha2", "PodGroup"):
        found = classes.get(group.key, {""})
        if len(found) > 1 or found == {""}:
            continue
        reference = as_mapping(group.value, "spec", "podGroupTemplateRef", "workload")
        workload = board.find(NATIVE, "Workload", group.space, str(reference.get("workloadName")))
        places: list[tuple[Item, Path]] = [(group, ("spec",))]
        for index, entry in enumerate(read_entries(workload, "podGroupTemplates")):
            if workload and entry.get("name") == reference.get("podGroupTemplateName"):
                places.append((workload, ("spec", "podGroupTemplates", index)))
        for item, path in places:
            if item.get((*path, "priorityClassName")) is None:
                board.edit(item, Item.set, (*path, "priorityClassName"), max(found))


def _had_a_gang_by_itself(job: Item) -> bool:
    spec = as_mapping(job.value, "spec")
    pods = spec.get("parallelism")
    is_linked = job.get(("spec", "template", "spec", "schedulingGroup")) is not None
    is_fixed = spec.get("completionMode") == "Indexed" and spec.get("completions") == pods
    return isinstance(pods, int) and pods > 1 and is_fixed and not is_linked and "scheduling" not in spec


def _raise(item: Item, board: Board, goal: Release) -> None:
    mode = item.get(("spec", "disruptionMode"))
    item.set(("apiVersion",), f"{NATIVE}/v1beta1")
    spell_out(item, goal)
    if item.kind == "Workload":
        _split(item, board)
    elif mode == "PodGroup" and item.get(("spec", "schedulingPolicy", "basic")) is not None:
        message = "disruptionMode PodGroup without a gang policy: later releases may refuse this"
        hint = "Use the disruption mode single, or a gang policy."
        board.note(item, "convert-doubtful", message, ("spec", "disruptionMode"), hint)


def _split(item: Item, board: Board) -> None:
    """1.37 wants one priority configuration per Workload: templates with another one get a Workload of theirs."""
    priorities: dict[Key, list[Value]] = {}
    for template in read_entries(item, "podGroupTemplates"):
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
            message = (
                f"the templates of this Workload have several priorities, but Workload {name}, the name for some of "
                "them, already exists"
            )
            board.note(item, "convert-name-taken", message, hint=f"Rename Workload {name}.")
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
        for *field, key in TEMPLATES:
            reference = group.get(("spec", *field))
            if (
                isinstance(reference, Mapping)
                and group.space == workload.space
                and reference.get("workloadName") == workload.name
                and str(reference.get(key)) in templates
            ):
                group.set(("spec", *field, "workloadName"), name)


#: Fields that 1.35 does not have.
_NOT_IN_1_35 = ("schedulingConstraints", "resourceClaims", "disruptionMode", "priorityClassName", "priority")
_JOBS: Mapping[str, Path] = {"Job": ("spec", "scheduling"), "CronJob": ("spec", "jobTemplate", "spec", "scheduling")}


# --- 1.37 to 1.36 ---------------------------------------------------------------------------------------------------


def back_to_1_36(board: Board) -> None:
    """All versions with trees to v1alpha2: trees become lists of groups that know nothing of each other."""
    later = [one for one in map(find_release, list_releases()) if one.has("composite-groups")]
    for kind in ("Workload", "PodGroup"):
        for item in board.of(NATIVE, kind):
            if any(one.serves(item.api_version, kind) for one in later):
                board.edit(item, _lower, board, first_release("pod-groups"))
    for item in board.of(NATIVE, "CompositePodGroup"):
        _lose(board, item, "has no CompositePodGroup: it was dropped, and its children start independently", ("spec",))
        board.remove(item)
    for kind, path in _JOBS.items():
        for item in board.of("batch", kind):
            if item.get(path) is not None:
                what = "has no scheduling in Jobs: it was dropped, and the Job controller decides itself"
                _lose(board, item, what, path)
                board.edit(item, Item.remove, path)


def _lower(item: Item, board: Board, goal: Release) -> None:
    """The leaves of a tree side by side; modes and fields that the release does not have are lost."""
    spec = as_mapping(item.value, "spec")
    leaves = []
    for path, template, is_composite in walk_templates(spec) if item.kind == "Workload" else [(("spec",), spec, False)]:
        lost = {"preemptionPolicy"}
        if is_composite:
            lost |= {"schedulingConstraints", "disruptionMode"}
        elif read_mode(template.get("disruptionMode")) not in goal.modes:
            lost |= {"disruptionMode"}
        _lose_fields(board, item, template, path, lost)
        if not is_composite:
            leaves.append({key: value for key, value in template.items() if key not in lost})
        elif (quorum := dig(template, "schedulingPolicy", "gang", "minGroupCount")) is not None:
            message = f"cannot start {quorum} groups of template {template.get('name')} together: this was dropped"
            _lose(board, item, message, (*path, "schedulingPolicy"))
    longest = read_limits(goal).groups
    if item.kind == "Workload" and len(leaves) > longest:
        message = f"{len(leaves)} templates, but {goal} allows {longest}; the object is unchanged"
        hint = "Generate one group for all pods instead (granularity Cluster)."
        board.note(item, "convert-impossible", message, ("spec",), hint)
        return
    item.set(("apiVersion",), f"{NATIVE}/v1alpha2")
    if item.kind == "Workload":
        item.set(("spec", "podGroupTemplates"), leaves)
        item.remove(("spec", "compositePodGroupTemplates"))
    else:
        for key in ("parentCompositePodGroupName", *sorted({*spec} - {*leaves[0]})):
            item.remove(("spec", key))
    spell_out(item, goal)


# --- 1.36 to 1.35 ---------------------------------------------------------------------------------------------------


def to_1_35(board: Board) -> None:
    """v1alpha2 to v1alpha1: PodGroups go, pods name the Workload and one of its groups."""
    used: dict[tuple[str, str, str], list[Item]] = {}
    for group in board.written_in("v1alpha2", "PodGroup"):
        used.setdefault((group.space, *_template_of(board, group)), []).append(group)
    references: dict[Key, dict[str, str]] = {}
    for (space, workload, template), groups in used.items():
        for group in groups:
            reference = {"name": workload, "podGroup": template}
            if len(groups) > 1:
                reference["podGroupReplicaKey"] = slug(group.name)
            references[space, group.name] = reference
    for item in board.written_in("v1alpha2", "Workload"):
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
        entries = read_entries(workload, "podGroupTemplates")
        if any(entry.get("name") == template for entry in entries):
            return name, template
    spec = {key: value for key, value in as_mapping(group.value, "spec").items() if key != "podGroupTemplateRef"}
    name = group.name
    if board.find(NATIVE, "Workload", group.space, name):
        message = "this PodGroup needs a Workload of the same name, which already exists without its template"
        board.note(group, "convert-name-taken", message, hint="Rename the PodGroup and the links to it.")
    else:
        templates = {"podGroupTemplates": [{"name": "pods", **spec}]}
        board.add(describe(f"{NATIVE}/v1alpha2", "Workload", name, group, templates), group)
    return name, "pods"


def _lower_templates(item: Item, board: Board, used: Mapping[tuple[str, str, str], list[Item]]) -> None:
    groups = []
    for path, template, _ in walk_templates(item.get(("spec",))):
        _lose_fields(board, item, template, path, _NOT_IN_1_35)
        members = used.get((*item.key, str(template.get("name"))), [])
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
        what = f"has one policy for all groups of template {template.get('name')}: the others were dropped"
        _lose(board, item, what, ("spec",))
    return template.get("schedulingPolicy")


# --- what is lost ---------------------------------------------------------------------------------------------------


def _lose_fields(board: Board, item: Item, fields: Value, path: Path, names: Iterable[str]) -> None:
    for name in sorted(set(names) & set(fields)):
        if fields[name] not in (None, {}, [], ""):
            _lose(board, item, f"has no {name}: it was dropped", (*path, name))


def _lose(board: Board, item: Item, what: str, path: Path) -> None:
    board.note(item, "convert-lost", f"Kubernetes {board.goal} {what}", path)


# --- from other schedulers to 1.36 ----------------------------------------------------------------------------------


def to_native(board: Board) -> None:
    """Every PodGroup of theirs becomes a native one of 1.36 under its name, and its pods name it."""
    converted: dict[str, set[Key]] = {choice: set() for choice in SCHEDULERS}
    for choice, names in converted.items():
        for item in board.of(SCHEDULERS[choice].group, "PodGroup"):
            if board.find(NATIVE, "PodGroup", *item.key):
                message = f"a PodGroup {item.name} of scheduling.k8s.io already exists: this one is unchanged"
                board.note(item, "convert-name-taken", message, hint="Rename one of them, or remove this one.")
                continue
            names.add(item.key)
            board.edit(item, _convert, board)
    choices = {row.link[1]: choice for choice, row in SCHEDULERS.items()}
    for item, site in board.sites():
        choice = choices.get(str(site.path[-1]), "")
        if choice and (item.space, site.value) in converted[choice]:
            board.edit(item, _join, site.path, site.value)
        elif choice:
            board.miss(item, site, f'{choice} PodGroup "{site.value}"')


def _convert(item: Item, board: Board) -> None:
    spec = as_mapping(item.value, "spec")
    for key in sorted(map(str, set(spec) - {"minMember", "minSubGroup", "priorityClassName"})):
        if spec.get(key) not in (None, {}, [], ""):
            message = f"PodGroups of scheduling.k8s.io have no {key}; it was dropped"
            board.note(item, "convert-lost", message, ("spec", key))
    least = _find_least(spec)
    made: Fields = {"schedulingPolicy": {"gang": {"minCount": least}} if least > 0 else {"basic": {}}}
    if spec.get("priorityClassName"):
        made["priorityClassName"] = spec["priorityClassName"]
    item.set(("apiVersion",), f"{NATIVE}/v1alpha2")
    for key, value in made.items():
        item.set(("spec", key), value)
    for key in list(spec):
        if key not in made:
            item.remove(("spec", key))
    item.remove(("status",))
    if GENERATED_FROM in item.annotations:
        message = "krmfn generated this object: run `krmfn generate` instead, which also creates its Workload"
        board.note(item, "convert-generate", message)


def _find_least(spec: Value) -> int:
    """How many pods have to start together: of a group of KAI with sub-groups, those of all of them."""
    parts = as_list(spec, "subGroups") if spec.get("minMember") is None else [spec]
    return sum(as_int(part, "minMember") or 0 for part in parts)


def _join(item: Item, path: Path, name: str) -> None:
    link = (*path[:-3], "spec", "schedulingGroup", "podGroupName")
    item.set(link, name)
    unlink(item, {name}, {link})
