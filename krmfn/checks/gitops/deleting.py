"""Deletion and recreation: finalizers, pruning, names that are used again, and what a cluster has to be rid of before
it is upgraded."""

from __future__ import annotations

from typing import Final

from krmfn.checks.rule import Matches, rule, tell
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.tree import Path
from krmfn.model.values import as_list, as_mapping, as_text, dig
from krmfn.releases.gates import assume_gates
from krmfn.releases.groups import find_finalizer, list_finalizers
from krmfn.releases.release import GROUP
from krmfn.releases.stored import find_writer, tell_damage
from krmfn.server import answer, kind_of
from krmfn.survey.census import Census

OPTIONS: Final = "argocd.argoproj.io/sync-options"
_FLUX_FORCE: Final = "kustomize.toolkit.fluxcd.io/force"


@rule("group-name-reused")
def find_name_reused(census: Census, settings: Settings) -> Matches:
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
                case = kind if find_finalizer(kind, settings.release) else ""
                yield tell(item, path, case=case)


@rule("force-replace-group")
def find_force_replace(census: Census) -> Matches:
    annotated = any(map(census.has_text, (OPTIONS, _FLUX_FORCE)))
    for item in census.kind(GROUP, "PodGroup") if annotated else ():
        options = {option.strip() for option in item.annotations.get(OPTIONS, "").split(",")}
        key = OPTIONS if {"Force=true", "Replace=true"} <= options else ""
        if item.annotations.get(_FLUX_FORCE) == "enabled":
            key = _FLUX_FORCE
        if key:
            yield tell(item, ("metadata", "annotations", key), item.annotations[key], key=key)


@rule("finalizer-in-git")
def find_finalizer_in_git(census: Census, settings: Settings) -> Matches:
    if not census.has_text("finalizers"):
        return
    known = list_finalizers(settings.release)
    for kind in ("Workload", "PodGroup", "CompositePodGroup"):
        for item in census.kind(GROUP, kind):
            metadata = as_mapping(item.value, "metadata")
            written = next((name for name in map(as_text, as_list(metadata, "finalizers")) if name in known), None)
            if written is not None:
                yield tell(item, ("metadata", "finalizers"), written=written)


@rule("owner-in-git")
def find_owner_in_git(census: Census) -> Matches:
    for kind in ("Workload", "PodGroup", "CompositePodGroup") if census.has_text("ownerReferences") else ():
        for item in census.kind(GROUP, kind):
            metadata = as_mapping(item.value, "metadata")
            if as_list(metadata, "ownerReferences"):
                uid = dig(metadata, "ownerReferences", 0, "uid")
                yield tell(item, ("metadata", "ownerReferences"), uid=uid)


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


#: What only an API server writes: an object with one of them was read from a cluster.
_STORED: Final = ("uid", "resourceVersion", "creationTimestamp")


@rule("stored-version-unreadable")
def find_unreadable(census: Census, settings: Settings) -> Matches:
    """Objects of a dump that would stop the cluster after its upgrade to the settings' release."""
    release = settings.release
    for item in census.objects if any(map(census.has_text, _STORED)) else ():
        metadata = item.value.get("metadata")
        if not isinstance(metadata, dict) or not any(metadata.get(key) for key in _STORED):
            continue
        writer = find_writer(item.value, release)
        if writer:
            yield tell(
                item,
                ("apiVersion",),
                item.api_version,
                writer=writer,
                release=release,
                damage=tell_damage(item.kind, release),
            )
