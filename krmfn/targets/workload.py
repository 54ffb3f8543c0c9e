"""What the three releases of the native API share: the owner of a Workload, links, and the end of a refused gang."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.targets.emission import Emission, Gang, Link
from krmfn.targets.remarks import is_error
from krmfn.tree import Leaf


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


def blame(emission: Emission) -> Emission:
    """The emission, or its notes alone when one of them is an error: nothing half right is written."""
    return Emission((), (), emission.notes) if is_error(emission.notes) else emission
