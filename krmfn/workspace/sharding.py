"""Which worlds of a run are whose, where several processes or machines share the work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Set
from hashlib import sha256
from typing import NamedTuple

from krmfn.workspace.disk import is_below
from krmfn.workspace.overlays import PLUGINS, Overlay, find_below, list_entries

#: What a file holds somewhere that makes its world matter to others: it defines kinds for their objects.
_DEFINES = (b"CustomResourceDefinition", b"WorkloadKind")


class Shard(NamedTuple):
    """One part of several, counted from 1; number 0 owns nothing and only lists what there is.

    Where two states are compared, `common` has the keys of the kustomizations that both have. How the others are paired
    depends on all of them, so they stay together.
    """

    number: int
    of: int
    common: frozenset[str] | None = None

    def owns(self, key: str) -> bool:
        """Whether the world with this key is judged here. The same on every machine, whatever else there is."""
        if self.common is not None and key not in self.common:
            key = ""
        digest = sha256(key.encode("utf-8", "surrogateescape")).digest()
        return int.from_bytes(digest[:8], "big") % self.of == self.number - 1


def decides(overlay: Overlay, loose: Set[str], runs: bool) -> bool:
    """Whether what a kustomization is rendered to may change what is said of other worlds: it defines kinds, or uses
    one of the `loose` files (without links), which is in no world otherwise. `runs`: functions of others, too."""
    tree = overlay.tree
    for each in (overlay, *find_below(tree, overlay.list_uses()).values()):
        files, folder = each.list_files(), os.path.abspath(tree.resolve(each.folder))
        if any(list_entries(each.value, field) for field in PLUGINS):  # a function can name files
            files |= {path for path in loose if runs or is_below(os.path.abspath(path), folder)}
        if not loose.isdisjoint(files) or any(defines(tree.find(path) or b"") for path in files):
            return True
    return False


def defines(data: bytes) -> bool:
    """Whether a file may define kinds for the objects of others."""
    return any(mark in data for mark in _DEFINES)


def digest(parts: Iterable[object]) -> str:
    """What all shards of a run have in common: those of different states make no report together."""
    found = sha256()
    for part in parts:
        found.update(part if isinstance(part, bytes) else repr(part).encode())
    return found.hexdigest()[:16]
