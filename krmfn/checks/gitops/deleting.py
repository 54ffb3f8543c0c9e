"""Deletion and recreation: finalizers, pruning, and names that are used again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from krmfn.checks.rule import rule
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.findings import Finding
from krmfn.model.tree import Path
from krmfn.model.values import as_list, as_mapping, as_text, dig
from krmfn.releases.gates import assume_gates
from krmfn.releases.groups import find_finalizer, list_finalizers
from krmfn.releases.release import GROUP
from krmfn.server import answer, kind_of
from krmfn.survey.census import Census

OPTIONS: Final = "argocd.argoproj.io/sync-options"
_FLUX_FORCE: Final = "kustomize.toolkit.fluxcd.io/force"


@rule("group-name-reused", "warning", "An immutable field of a group changes, but the group keeps its name.")
def find_name_reused(census: Census, settings: Settings) -> Iterator[Finding]:
    before = {
        (item.kind, item.space, item.name): item
        for item in census.old or ()
        if item.ref.group == GROUP and item.kind in ("PodGroup", "CompositePodGroup")
    }
    for kind in ("PodGroup", "CompositePodGroup"):
        for item in census.kind(GROUP, kind):
            old = before.get((kind, item.space, item.name))
            path = _refused_path(old, item, settings) if old is not None and old.value != item.value else ()
            if path:
                message = (
                    "this field is immutable, but it changes here: the group would have to be deleted and created "
                    "again under the same name"
                )
                if find_finalizer(kind, settings.release):
                    waits = "none of its pods runs" if kind == "PodGroup" else "its child groups are gone"
                    message += f", which waits until {waits}"
                hint = "Give the group a new name and update the link of its pods (naming: Revisioned does both)."
                yield Finding(item, path, message, hint=hint)


@rule("force-replace-group", "warning", "An annotation tells the GitOps tool to delete a PodGroup and create it again.")
def find_force_replace(census: Census) -> Iterator[Finding]:
    annotated = any(map(census.has_text, (OPTIONS, _FLUX_FORCE)))
    for item in census.kind(GROUP, "PodGroup") if annotated else ():
        options = {option.strip() for option in item.annotations.get(OPTIONS, "").split(",")}
        key = OPTIONS if {"Force=true", "Replace=true"} <= options else ""
        if item.annotations.get(_FLUX_FORCE) == "enabled":
            key = _FLUX_FORCE
        if key:
            message = (
                f"{key} deletes the PodGroup and creates it again when it cannot be changed; its finalizer delays "
                "the deletion while pods run, so the apply waits or fails"
            )
            hint = "Remove the annotation, and give a changed group a new name."
            path: Path = ("metadata", "annotations", key)
            yield Finding(item, path, message, item.annotations[key], hint=hint)


@rule("finalizer-in-git", "warning", "A manifest contains the finalizer that the API server adds itself.")
def find_finalizer_in_git(census: Census, settings: Settings) -> Iterator[Finding]:
    if not census.has_text("finalizers"):
        return
    known = list_finalizers(settings.release)
    for kind in ("Workload", "PodGroup", "CompositePodGroup"):
        for item in census.kind(GROUP, kind):
            metadata = as_mapping(item.value, "metadata")
            written = next((name for name in map(as_text, as_list(metadata, "finalizers")) if name in known), None)
            if written is not None:
                message = (
                    f"the finalizer {written} is set by the API server and removed by a controller; from Git it "
                    "is added again while the group is being deleted, which then never ends"
                )
                hint = "Remove metadata.finalizers."
                yield Finding(item, ("metadata", "finalizers"), message, hint=hint)


@rule("owner-in-git", "warning", "A group in Git has an ownerReference.")
def find_owner_in_git(census: Census) -> Iterator[Finding]:
    for kind in ("Workload", "PodGroup", "CompositePodGroup") if census.has_text("ownerReferences") else ():
        for item in census.kind(GROUP, kind):
            metadata = as_mapping(item.value, "metadata")
            if as_list(metadata, "ownerReferences"):
                uid = dig(metadata, "ownerReferences", 0, "uid")
                message = (
                    f"an ownerReference names a UID ({uid or 'none'}), which changes when the owner is created "
                    "again: the garbage collector then deletes this object"
                )
                hint = "Remove metadata.ownerReferences; the GitOps tool prunes objects that are removed from Git."
                yield Finding(item, ("metadata", "ownerReferences"), message, hint=hint)


def _refused_path(old: Item, new: Item, settings: Settings) -> Path:
    """The field because of which the server refuses the update, although it would take both objects; () otherwise."""
    gates = assume_gates(settings.feature_gates, settings.release, new.text)
    if kind_of(new.value, settings.release.name, gates) is None:
        return ()
    states = [answer(item.value, settings.release.name, gates) for item in (old, new)]
    if not all(verdict is not None and verdict.accepted for verdict in states):
        return ()
    verdict = answer(new.value, settings.release.name, gates, old.value)
    return verdict.causes[0].path if verdict is not None and verdict.causes else ()
