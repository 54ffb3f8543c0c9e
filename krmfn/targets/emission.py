"""What comes out of a target: links, objects with their marks, and what there is to say: quorums out of bounds, names
that had to change, lists that were too short. Knows no release and no field of a spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from krmfn.config.settings import Settings
from krmfn.krm.paths import Path, format_path
from krmfn.model.findings import Note, Notes, NoteTuple
from krmfn.model.gotext import parse_int
from krmfn.model.marks import GENERATED_FROM, HOOKS, MANAGED_BY, MANAGER, REVISION, SYNC_WAVE, name_sources
from krmfn.model.names import LABEL_LIMIT, slug
from krmfn.model.rules import RULES, tell
from krmfn.model.schedulers import DEFAULT_SCHEDULER
from krmfn.model.tree import Gang, Leaf, PodTemplate, leaves
from krmfn.model.values import Fields, Value, as_mapping
from krmfn.model.wording import join
from krmfn.releases import schemastore
from krmfn.releases.release import GROUP, Release, list_needed
from krmfn.targets.layout import PlacedGroup, walk

#: How much earlier than the pods an object is created.
_OFFSETS: Mapping[str, int] = {"Workload": -3, "CompositePodGroup": -2, "PodGroup": -1}
#: The annotations that say when.
PHASES = (SYNC_WAVE, *(key for hook in HOOKS for key in hook if key))


class Link(NamedTuple):
    """A field to set in a pod template of an owner, so that its pods join their group."""

    owner: int
    path: Path
    value: str


class Emission(NamedTuple):
    """The objects of one gang in the order of creation, the links to them, and what there is to say.

    Without objects there are no links: the gang cannot be expressed (a note of severity error says why) or has no pods.
    The paths of notes are in the manifest of the first owner; empty when they concern another one or several.
    """

    objects: tuple[Fields, ...]
    links: tuple[Link, ...]
    notes: NoteTuple


def describe(api_version: str, kind: str, name: str, gang: Gang, spec: Fields, revision: str = "") -> Fields:
    """An object with our marks, its keys in the order in which people write them. Of the owner's annotations only
    those are taken over that say when an applier creates it; others would steer the wrong object."""
    metadata: Fields = {"name": name}
    if gang.namespace:
        metadata["namespace"] = gang.namespace
    metadata["labels"] = {MANAGED_BY: MANAGER}
    metadata["annotations"] = {GENERATED_FROM: name_sources(gang.owners), **_find_phase(gang, _OFFSETS[kind])}
    if revision:
        metadata["annotations"][REVISION] = revision
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _find_phase(gang: Gang, offset: int) -> dict[str, str]:
    """When Argo CD and Helm create the object: in the owners' phase, before their pods. Checks tell if they differ."""
    annotations = [as_mapping(value, "metadata", "annotations") for value in gang.values] or [{}]
    written = [{key: text for key in PHASES if isinstance(text := each.get(key), str)} for each in annotations]
    phase = {SYNC_WAVE: str(min(0, *(parse_int(each.get(SYNC_WAVE)) or 0 for each in written)) + offset)}
    for hook, weight, *more in HOOKS:
        if written[0].get(hook) and all(each.get(hook) == written[0][hook] for each in written):
            phase |= {key: written[0][key] for key in (hook, *more) if key in written[0]}
            if weight:
                phase[weight] = str(min(parse_int(each.get(weight)) or 0 for each in written) + offset)
    return phase


def check_quorums(*layouts: PlacedGroup) -> Notes:
    """An error for every quorum that can never be met, or is none."""
    for node in walk(*layouts):
        group = node.group
        if isinstance(group, Leaf):
            quorum, bound, case, template = group.min_count, group.size, "", group.templates[0]
            path = template.count_path if template.owner == 0 else ()
        else:
            quorum, bound, case, path = group.min_group_count, group.width, "groups", ()
        if quorum is not None and not 1 <= quorum <= bound:
            yield tell("quorum-out-of-bounds", path, case, quorum, bound, name=group.name)


def note_layout(*layouts: PlacedGroup) -> Notes:
    """Names that are not the users', and groups that moved into parts."""
    for layout in layouts:
        nodes = list(walk(layout))
        for node in nodes:
            if node.part:
                continue
            whole, group = "-".join(node.path), node.group
            bad = next((part for part in node.path if slug(part) != part), None)
            if bad is not None or (whole and node.template != whole):
                case = "" if bad is not None else "long" if len(whole) > LABEL_LIMIT else "taken"
                path = group.templates[0].path if isinstance(group, Leaf) and group.templates[0].owner == 0 else ()
                yield tell("group-renamed", path, case, name=group.name, template=node.template, bad=bad)
        if parts := [node.name for node in nodes if node.part]:
            yield tell("groups-nested", (), parts=", ".join(parts))


def is_error(notes: Iterable[Note]) -> bool:
    """Whether one of `notes` has a rule of severity error."""
    return any(RULES[note.rule].severity == "error" for note in notes)


def blame(emission: Emission) -> Emission:
    """The emission, or its notes alone when one of them is an error: nothing half right is written."""
    return Emission((), (), emission.notes) if is_error(emission.notes) else emission


#: What all pods of a gang have to say alike: the field of their spec, and the rule where they do not.
_SHARED = {
    "priority_class": ("priorityClassName", "priority-not-shared"),
    "scheduler": ("schedulerName", "scheduler-not-shared"),
    "preemption_policy": ("preemptionPolicy", "preemption-policy-not-shared"),
}


class Agreement(NamedTuple):
    """What all pod templates say; empty where they say nothing, or do not agree (then there is a note)."""

    priority_class: str
    scheduler: str
    preemption_policy: str
    notes: NoteTuple


def agree(gang: Gang, settings: Settings, default_scheduler: str = DEFAULT_SCHEDULER) -> Agreement:
    """What the pods of the gang have in common; a note for each of the three in which two of them differ."""
    templates = [template for leaf in leaves(gang.root) for template in leaf.templates if template.pods > 0]
    default_class = next((name for name, entry in settings.priority_classes.items() if entry.default), "")
    # a pod that does not say its policy gets that of its class, and the classes are compared above
    spoken = [template for template in templates if template.preemption_policy]
    notes: list[Note] = []
    priority = _find_common(gang, templates, "priority_class", default_class, notes)
    scheduler = _find_common(gang, templates, "scheduler", default_scheduler, notes)
    policy = _find_common(gang, spoken, "preemption_policy", "", notes)
    return Agreement(priority, scheduler, policy, tuple(notes))


def _find_common(gang: Gang, templates: Sequence[PodTemplate], what: str, default: str, notes: list[Note]) -> str:
    """The value that all share, or "" with one of the `notes`. "" stands for `default`."""
    values = [getattr(template, what) or default for template in templates]
    field, rule = _SHARED[what]
    for template, mine in zip(templates, values, strict=True):
        if mine != values[0]:
            path = (*template.path, "spec", field) if template.owner == 0 else ()
            first, second = _place(gang, template, mine), _place(gang, templates[0], values[0])
            notes.append(tell(rule, path, "", mine, values[0], first=first, second=second))
            return ""
    return getattr(templates[0], what) if templates else ""


def _place(gang: Gang, template: PodTemplate, value: str) -> str:
    of = f" of {gang.owners[template.owner]}" if len(gang.owners) > 1 else ""
    said = f'"{value}"' if value else "not set"
    return f"{said} in {format_path(template.path)}{of}"


def check_gates(release: Release, objects: Iterable[Value], given: Mapping[str, bool]) -> Notes:
    """An error for every gate that the objects need and that is `given` as off."""
    if False not in given.values():
        return
    for gate in list_needed(release, objects):
        if given.get(gate) is False:
            way = schemastore.load("ways.json")["gates"].get(gate, "Turn the feature gate on.")
            yield tell("gate-off", (), "", False, True, gate=gate, way=way)


def note_gates(
    release: Release, objects: Iterable[Value], given: Mapping[str, bool], rule: str = "gates-needed", path: Path = ()
) -> Note | None:
    """What to turn on in the cluster for all `objects`, in one note: gates that are off by default and not `given`.

    None when there is no such gate.
    """
    values = list(objects)
    missing = [gate for gate in list_needed(release, values) if gate not in given and not release.gates[gate].default]
    if not missing:
        return None
    found = sorted(set(_list_versions(release, values)))
    versions = [version for version in found if "alpha" in version or "beta" in version]
    needs = [f"the feature {'gate' if len(missing) == 1 else 'gates'} {join(missing)}"]
    flags = [f"--feature-gates={','.join(f'{gate}=true' for gate in missing)}"]
    if versions:
        needs.append(f"the API {'version' if len(versions) == 1 else 'versions'} {join(versions)}")
        flags.append(f"--runtime-config={','.join(f'{version}=true' for version in versions)}")
    off = "is off" if len(missing) + len(versions) == 1 else "are off"
    message = f"the groups need {join(needs)}, which {off} by default in Kubernetes {release}"
    components = dict.fromkeys(name for gate in missing for name in release.gates[gate].components)
    hint = f"Start {join(components)} with {flags[0]}"
    hint += "".join(f", and kube-apiserver also with {flag}" for flag in flags[1:])
    hint += ". Once they are on, pass the same --feature-gates to krmfn, or list them under"
    hint += " kubernetes.featureGates in its configuration."
    return Note(rule, path, message, hint=hint)


def _list_versions(release: Release, objects: Iterable[Value]) -> Iterator[str]:
    """The API versions of groups; instead of one that the release does not have, that in which it has the kind."""
    for value in objects:
        group, _, version = value["apiVersion"].rpartition("/")
        served = release.kinds.get(str(value.get("kind")), ()) if group == GROUP else ()
        if served:
            yield f"{GROUP}/{version if version in served else served[0]}"
