"""Which fields of two states differ. What orchestrators and servers write by themselves does not count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT
from krmfn.model.showing import HIDDEN, close, show
from krmfn.plan.records import Change

_SERVER_METADATA: Final = frozenset(
    {"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}
)
_TRACKING: Final = ("config.kubernetes.io/", "internal.config.kubernetes.io/", "config.k8s.io/")
_TRACKING_KEYS: Final = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", "argocd.argoproj.io/tracking-id"}
)


def clean(value: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest without status, server metadata and tracking annotations."""
    copy = {key: child for key, child in value.items() if key != "status"}
    metadata = copy.get("metadata")
    if isinstance(metadata, Mapping):
        kept = {key: child for key, child in metadata.items() if key not in _SERVER_METADATA}
        annotations = kept.get("annotations")
        if isinstance(annotations, Mapping):
            mine = {
                key: text
                for key, text in annotations.items()
                if str(key) not in _TRACKING_KEYS and not str(key).startswith(_TRACKING)
            }
            kept = {key: child for key, child in kept.items() if key != "annotations"}
            kept |= {"annotations": mine} if mine else {}
        copy["metadata"] = kept
    return copy


def list_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
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
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else ABSENT
            after = new[index] if index < len(new) else ABSENT
            yield from _compare(before, after, (*path, index))
        return
    there = dict(zip(names_old, old, strict=True))
    for index, name in enumerate(names_new):
        yield from _compare(there.pop(name, ABSENT), new[index], (*path, index))
    for index, name in enumerate(names_old):
        if name in there:
            yield Change((*path, index), old[index], ABSENT)


def _names(items: list[Any]) -> list[str] | None:
    """The key of every item (name, or groupName of a Ray group); None when there is none or one is used twice."""
    for key in ("name", "groupName"):
        names = [item.get(key) if isinstance(item, Mapping) else None for item in items]
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return [str(name) for name in names]
    return None
