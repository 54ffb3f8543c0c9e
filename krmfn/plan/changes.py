"""Which fields of two states differ, without those that orchestrators and servers write by themselves. And which
defaults change with the release: an object that exists keeps the old ones, one that is created again gets the new ones.
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
    """A copy of a manifest without status, server metadata and tracking annotations."""
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
    elif old is not new and (old != new or isinstance(old, bool) != isinstance(new, bool)):  # True == 1
        yield Change(path, old, new)


def _compare_lists(old: list[Any], new: list[Any], path: Path) -> Iterator[Change]:
    names_old, names_new = _names(old), _names(new)
    if names_old is None or names_new is None:
        for index, (before, after) in enumerate(zip_longest(old, new, fillvalue=ABSENT)):
            yield from _compare(before, after, (*path, index))
        return
    rest = dict(zip(names_old, old, strict=True))
    for index, name in enumerate(names_new):
        yield from _compare(rest.pop(name, ABSENT), new[index], (*path, index))
    for index, name in enumerate(names_old):
        if name in rest:
            yield Change((*path, index), rest[name], ABSENT)


def _names(items: list[Any]) -> list[str] | None:
    """The name of every item (groupName in Ray groups); None if one has no name or two have the same."""
    for key in ("name", "groupName"):
        names = [dig(item, key) for item in items]
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return [str(name) for name in names]
    return None


def explain_filling(old: Item, new: Item, before: Settings, after: Settings) -> Iterator[str]:
    """A sentence for each field with one default in `old` on the cluster of `before`, and another in `new` on that of
    `after`. None about fields that change anyway, and about objects that a server refuses or knows no rules for."""
    was, now = _list_filled(old, before), _list_filled(new, after)
    if was is None or now is None:
        return
    written = {_name_path(change.path) for change in list_changes(clean(old.value), clean(new.value))}
    for path in dict.fromkeys((*now, *was)):
        earlier, later = was.get(path), now.get(path)
        is_written = any(path[: len(above)] == above for above in written)
        if not is_written and _read_change(path, earlier) != _read_change(path, later):
            filled, fills = (json.dumps(each.new) if each else "nothing" for each in (earlier, later))
            hint = " Write the field to keep its meaning." if earlier else ""
            yield (
                f"{format_path((later or was[path]).path)}: when the object is created, Kubernetes {after.release} "
                f"fills in {fills}, {before.release} filled in {filled}.{hint}"
            )


def _list_filled(item: Item, settings: Settings) -> Mapping[Path, Change] | None:
    """The defaults in the spec of an object by their paths, with the names of 1.37; None if it is not accepted."""
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
    """The value that is filled in; of a disruption mode, which releases call differently, one name."""
    value = change.new if change else None
    return read_mode(value) or value if path[-1] == "disruptionMode" else value
