"""Which fields of two states differ; what orchestrators and servers write by themselves does not count. And what the
server fills into the same manifest otherwise after the upgrade of a cluster: objects that exist keep what they have,
those that are created again get it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from krmfn.checks.server.stage import gather_facts
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.krm.paths import Path, format_path
from krmfn.krm.results import ABSENT
from krmfn.model.showing import HIDDEN, close, show
from krmfn.model.values import Fields, Value, dig
from krmfn.plan.records import Change
from krmfn.releases.release import assume_gates
from krmfn.releases.spelling import NAMED, read_mode
from krmfn.server.door import kind_of
from krmfn.server.requests import hold

_SERVER_METADATA = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_TRACKING = ("config.kubernetes.io/", "internal.config.kubernetes.io/", "config.k8s.io/")
_TRACKING_KEYS = ("kubectl.kubernetes.io/last-applied-configuration", "argocd.argoproj.io/tracking-id")


def clean(value: Value) -> Fields:
    """A manifest without status, server metadata and tracking annotations."""
    copy = {key: child for key, child in value.items() if key != "status"}
    metadata = copy.get("metadata")
    if isinstance(metadata, Mapping):
        kept = {key: child for key, child in metadata.items() if key not in _SERVER_METADATA}
        if isinstance(kept.get("annotations"), Mapping):
            mine = {
                key: text
                for key, text in kept.pop("annotations").items()
                if str(key) not in _TRACKING_KEYS and not str(key).startswith(_TRACKING)
            }
            kept |= {"annotations": mine} if mine else {}
        copy["metadata"] = kept
    return copy


def list_changes(old: Value, new: Value) -> Iterator[Change]:
    """The smallest fields that differ, in the new state's order. Items of lists are paired by name, else by place.

    The values are for people to see: secrets are hidden (model.showing).
    """
    kind = str(new.get("kind", ""))
    closed = set()
    for path, before, after in _compare(old, new, ()):
        shown = close(kind, path)
        if shown == path:
            yield Change(path, show(kind, path, before), show(kind, path, after))
        elif shown not in closed:
            closed.add(shown)
            yield Change(shown, HIDDEN, HIDDEN)


def _compare(old: Any, new: Any, path: Path) -> Iterator[Change]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*new, *(key for key in old if key not in new)]:
            yield from _compare(old.get(key, ABSENT), new.get(key, ABSENT), (*path, key))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _compare_lists(old, new, path)
    elif old is not new and (
        old is ABSENT or new is ABSENT or old != new or isinstance(old, bool) != isinstance(new, bool)
    ):
        yield Change(path, old, new)


def _compare_lists(old: list[Any], new: list[Any], path: Path) -> Iterator[Change]:
    names_old, names_new = _names(old), _names(new)
    if names_old is None or names_new is None:
        for index, (before, after) in enumerate(zip_longest(old, new, fillvalue=ABSENT)):
            yield from _compare(before, after, (*path, index))
        return
    there = dict(zip(names_old, old, strict=True))
    for index, name in enumerate(names_new):
        yield from _compare(there.pop(name, ABSENT), new[index], (*path, index))
    for index, (name, entry) in enumerate(zip(names_old, old, strict=True)):
        if name in there:
            yield Change((*path, index), entry, ABSENT)


def _names(items: list[Any]) -> list[str] | None:
    """The key of every item (name, or groupName of a Ray group); None when there is none or one is used twice."""
    for key in ("name", "groupName"):
        names = [dig(item, key) for item in items]
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return [str(name) for name in names]
    return None


def explain_filling(old: Item, new: Item, before: Settings, after: Settings) -> Iterator[str]:
    """A sentence for each field that the cluster of `before` fills into `old` otherwise than that of `after` into
    `new`. Nothing where one of them is refused, or of a kind without rules."""
    was, now = _list_filled(old, before), _list_filled(new, after)
    if was is None or now is None:
        return
    written = {_name_path(change.path) for change in list_changes(clean(old.value), clean(new.value))}
    for path in dict.fromkeys((*now, *was)):
        one, other = was.get(path), now.get(path)
        is_written = any(path[: len(above)] == above for above in written)
        if not is_written and _read_change(path, one) != _read_change(path, other):
            texts = [json.dumps(each.new) if each else "nothing" for each in (other, one)]
            yield (
                f"{format_path((other or was[path]).path)}: when the object is created, Kubernetes {after.release} "
                f"fills in {texts[0]}, {before.release} filled in {texts[1]}."
                f"{' Write the field to keep its meaning.' if one else ''}"
            )


def _list_filled(item: Item, settings: Settings) -> Mapping[Path, Change] | None:
    """What the server adds to the spec of an object, by its path in the names of 1.37."""
    gates = assume_gates(settings.feature_gates, settings.release, item.text)
    kind = kind_of(item.value, settings.release.name, gates)
    stored = hold(kind, item.value, gather_facts((item,), settings)) if kind else None
    if stored is None:
        return None
    changes = list_changes(clean(item.value), clean(stored))
    return {_name_path(each.path): each for each in changes if each.path[0] == "spec" and each.old is ABSENT}


def _name_path(path: Path) -> Path:
    return tuple(NAMED.get(part, part) if isinstance(part, str) else part for part in path)


def _read_change(path: Path, change: Change | None) -> Any:
    """What is filled in, whatever a release calls a mode."""
    value = change.new if change else None
    return read_mode(value) or value if path[-1] == "disruptionMode" else value
