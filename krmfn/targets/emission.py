"""What comes out of a target: links, objects with their marks, and what there is to say: quorums out of bounds, names
that had to change, lists that were too short. Knows no release and no field of a spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from krmfn.krm.paths import Path
from krmfn.model.findings import Note
from krmfn.model.gotext import parse_int
from krmfn.model.marks import GENERATED_FROM, HOOKS, MANAGED_BY, MANAGER, REVISION, SYNC_WAVE, name_sources
from krmfn.model.names import slug
from krmfn.model.tree import Gang, Leaf
from krmfn.model.values import Fields, Value, as_mapping
from krmfn.releases.release import Release
from krmfn.targets.layout import PlacedGroup, walk

#: How much earlier than the pods an object is created.
_OFFSETS: Final[Mapping[str, int]] = {"Workload": -3, "CompositePodGroup": -2, "PodGroup": -1}
#: The annotations that say when.
_PHASES: Final = tuple(dict.fromkeys([SYNC_WAVE, *(key for hook in HOOKS for key in hook if key)]))


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
    notes: tuple[Note, ...]


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
    """When Argo CD and Helm create the object: in the phase of the owners, before their pods. Owners of different
    phases are told by the checks."""
    written = [_annotations_of(value) for value in gang.values] or [{}]
    phase = {SYNC_WAVE: str(min(0, *(parse_int(each.get(SYNC_WAVE)) or 0 for each in written)) + offset)}
    for hook, weight, *more in HOOKS:
        if written[0].get(hook) and all(each.get(hook) == written[0][hook] for each in written):
            phase |= {key: written[0][key] for key in (hook, *more) if key in written[0]}
            if weight:
                phase[weight] = str(min(parse_int(each.get(weight)) or 0 for each in written) + offset)
    return phase


def _annotations_of(value: Value) -> Mapping[str, str]:
    found = as_mapping(value, "metadata", "annotations")
    return {key: text for key in _PHASES if isinstance(text := found.get(key), str)}


def check_quorums(gang: Gang, *layouts: PlacedGroup) -> Iterator[Note]:
    """An error for every quorum that can never be met, or is none."""
    for node in (node for layout in layouts for node in walk(layout)):
        group = node.group
        if isinstance(group, Leaf):
            quorum, bound, what = group.min_count, group.size, "pods of group"
            template = group.templates[0]
            path, hint = template.count_path if template.owner == 0 else (), f"Use a number from 1 to {bound}."
        else:
            quorum, bound, what = group.min_group_count, group.width, "groups below"
            path, hint = (), f"Set krmfn.dev/min-groups, or gang.minGroups of the configuration, to at most {bound}."
        if quorum is not None and not 1 <= quorum <= bound:
            message = f"{quorum} of the {bound} {what} {group.name!r} must start together, which is impossible"
            yield Note("quorum-out-of-bounds", path, message, quorum, bound, hint)


def note_layout(*layouts: PlacedGroup) -> Iterator[Note]:
    """Names that are not the users', and groups that moved into parts."""
    for layout in layouts:
        nodes = list(walk(layout))
        for node in nodes:
            if node.part:
                continue
            bad = next((part for part in node.path if slug(part) != part), None)
            taken = node.path and node.template != "-".join(node.path)
            if bad is not None:
                yield _note_name(node, f"{bad!r} is not a DNS label")
            elif taken:
                long = len("-".join(node.path)) > 63
                yield _note_name(node, "the name is too long" if long else "another group has that name")
        parts = [node.name for node in nodes if node.part]
        if parts:
            message = f"the Workload can have only 8 groups in a list, so the others are nested in {', '.join(parts)}"
            yield Note(
                "groups-nested",
                (),
                message,
                hint="Nothing to do. With granularity Cluster there is one group for all pods.",
            )


def _note_name(node: PlacedGroup, reason: str) -> Note:
    group = node.group
    path = group.templates[0].path if isinstance(group, Leaf) and group.templates[0].owner == 0 else ()
    return Note("group-renamed", path, f"group {group.name!r} is called {node.template!r} in the Workload: {reason}")


def note_too_large(gang: Gang, reason: str) -> Note:
    """The tree does not fit into a Workload of this release."""
    others = ", ".join(str(owner) for owner in gang.owners[1:])
    message = (
        f"the groups {f'together with those of {others} ' if others else ''}do not fit into one Workload: {reason}"
    )
    return Note(
        "groups-do-not-fit",
        (),
        message,
        hint="Use granularity Cluster: one group for all pods is not subject to this limit.",
    )


def is_error(notes: Iterable[Note]) -> bool:
    """Whether one of `notes` has a rule of severity error."""
    notes = tuple(notes)
    if not notes:
        return False
    from krmfn.model.rules import RULES

    return any(RULES[note.rule].severity == "error" for note in notes)


def drop_foreign(notes: Iterable[Note], release: Release) -> tuple[Note, ...]:
    """The notes whose rules hold for the release."""
    notes = tuple(notes)
    if not notes:
        return ()
    from krmfn.model.rules import RULES

    return tuple(note for note in notes if RULES[note.rule].holds(release))


def blame(emission: Emission) -> Emission:
    """The emission, or its notes alone when one of them is an error: nothing half right is written."""
    return Emission((), (), emission.notes) if is_error(emission.notes) else emission
