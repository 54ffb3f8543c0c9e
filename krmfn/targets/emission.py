"""What comes out of a target: links, and objects with their marks. Knows no release and no field of a spec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from krmfn.krm.paths import Path
from krmfn.model.findings import Note
from krmfn.model.gotext import parse_int
from krmfn.model.marks import GENERATED_FROM, HOOKS, MANAGED_BY, MANAGER, REVISION, SYNC_WAVE, name_sources
from krmfn.model.tree import Gang
from krmfn.model.values import as_mapping

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

    objects: tuple[dict[str, Any], ...]
    links: tuple[Link, ...]
    notes: tuple[Note, ...]


def describe(
    api_version: str, kind: str, name: str, gang: Gang, spec: dict[str, Any], revision: str = ""
) -> dict[str, Any]:
    """An object with our marks, its keys in the order in which people write them. Of the owner's annotations only
    those are taken over that say when an applier creates it; others would steer the wrong object."""
    metadata: dict[str, Any] = {"name": name}
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


def _annotations_of(value: Mapping[str, Any]) -> Mapping[str, str]:
    found = as_mapping(value, "metadata", "annotations")
    return {key: text for key in _PHASES if isinstance(text := found.get(key), str)}
