"""What the three releases of the native API share: the owner of a Workload, and links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.tree import Gang, Leaf
from krmfn.targets.emission import Link


def refer_to_owner(gang: Gang) -> dict[str, Any]:
    """`controllerRef`, when there is exactly one owner. It documents; nothing acts on it where pods are linked."""
    if len(gang.owners) != 1:
        return {}
    owner = gang.owners[0]
    group = {"apiGroup": owner.group} if owner.group else {}
    return {"controllerRef": {**group, "kind": owner.kind, "name": owner.name}}


def link_pods(leaf: Leaf, field: Path, value: str) -> Iterator[Link]:
    """A link to `value` in every pod template of `leaf`, at `field` below its spec."""
    for template in leaf.templates:
        yield Link(template.owner, (*template.path, "spec", *field), value)
