"""Objects that an older release stored: which of them a release cannot read, and what that does to the cluster.

A release reads what it serves. An object in another version that stays in etcd over the upgrade of a cluster cannot be
listed, changed or deleted any more, and it stops more than itself (recorded by `python -m conformance upgrade`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krmfn.releases.release import GROUP, Release, find_release, list_releases


def find_writer(value: Mapping[str, Any], release: Release) -> Release | None:
    """The newest release before `release` that stores this object, where `release` cannot read what that stored; None
    where it can, and for anything that no older release serves."""
    group, _, version = str(value.get("apiVersion")).rpartition("/")
    if group != GROUP:
        return None
    kind = str(value.get("kind"))
    names = list_releases()
    older = [find_release(name) for name in names[: names.index(release.name)]]
    writer = next((one for one in reversed(older) if version in one.kinds.get(kind, ())), None)
    if writer is None or writer.kinds[kind][0] in release.kinds.get(kind, ()):
        return None
    return writer


def list_steps(old: Release, new: Release) -> list[Release]:
    """The releases through which a cluster goes from `old` to `new`, which is the last: a control plane is upgraded one
    minor release at a time."""
    names = list_releases()
    return [find_release(name) for name in names[names.index(old.name) + 1 : names.index(new.name) + 1]]


def tell_damage(kind: str, release: Release) -> str:
    """What happens in a cluster of `release` that has one stored object of `kind` which it cannot read."""
    return release.unreadable.get(kind, f"no {kind} can be listed, changed or deleted")
