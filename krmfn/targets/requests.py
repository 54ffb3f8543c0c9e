"""What the pods of a gang request: together, for schedulers that keep a gang out of the queue until there is room, and
one of them, by which the groups of a tree are ordered: the hardest to place comes first.

kube-scheduler takes the children of a composite by the second of their creation, then by name, places one after the
other, and never moves one again (observed with 1.37.0). A group that finds its place taken keeps the whole tree
waiting. So names of groups begin with a rank. It depends on the group alone, and changes only when pods become a
multiple of what they were, since pods name their group.

Source: KubeRay's CalculatePodResource (`controllers/ray/utils/util.go`): containers only, requests before limits.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from krmfn.krm.paths import Path
from krmfn.model.findings import Notes
from krmfn.model.quantity import add, format_quantity, parse_quantity
from krmfn.model.rules import tell
from krmfn.model.tree import Gang, Group, Leaf
from krmfn.model.values import as_list, as_mapping
from krmfn.targets.layout import PlacedGroup


def sum_requests(gang: Gang, counted: Iterable[tuple[Leaf, int]]) -> dict[str, str]:
    """The requests of so many pods of each leaf, as quantities; empty where that cannot be told.

    It cannot when a manifest is missing or has no valid quantities, or when several pod templates share a quorum that
    is less than all of their pods.
    """
    total: dict[str, int] = {}
    for leaf, pods in counted:
        if pods < leaf.pods and len(leaf.templates) > 1:
            return {}
        for template in leaf.templates:
            if template.owner >= len(gang.values):
                return {}
            requests = count_requests(gang.values[template.owner], template.spec_path)
            if requests is None:
                return {}
            add(total, requests, min(pods, template.pods))
    return {name: format_quantity(amount) for name, amount in sorted(total.items())}


def count_requests(value: Any, path: Path) -> dict[str, int] | None:
    """The requests of one pod whose spec is at `path`, in billionths; None for a quantity that cannot be read."""
    total: dict[str, int] = {}
    for container in as_list(value, *path, "containers"):
        resources = as_mapping(container, "resources")
        for name, text in {**as_mapping(resources, "limits"), **as_mapping(resources, "requests")}.items():
            amount = parse_quantity(text)
            if amount is None:
                return None
            total[name] = total.get(name, 0) + amount
    return total


#: A pod with so many devices (GPUs), or else so many CPUs or fours of GiB, has the letter of its place; b is largest.
_DEVICES = (8, 4, 2, 1)
_SIZES = (64, 16, 4, 1)
_LETTERS = "bcdefghij"
_UNIT = 10**9
_FOUR_GIB = 4 * 2**30 * _UNIT


class Size(NamedTuple):
    """What one pod of a group takes: whole devices, and billionths of a CPU, or of 4 GiB of memory if that is more."""

    devices: int
    size: int


def rank(group: Group, gang: Gang) -> str:
    """The rank of a group among the children of its parent: groups with a topology key come before those without,
    larger pods before smaller ones, and of pods alike a head comes last."""
    if not isinstance(group, Leaf):
        letters = min(rank(child, gang) for child in group.children)
    else:
        devices, size = measure(group, gang)
        bounds = [devices >= bound for bound in _DEVICES] + [size >= bound * _UNIT for bound in _SIZES]
        letters = _LETTERS[next((place for place, fits in enumerate(bounds) if fits), len(bounds))]
        letters += "z" if group.head else ""
    return f"a{letters}" if group.topology_key else letters


def measure(leaf: Leaf, gang: Gang) -> Size:
    """The largest pod of a group. A quantity that cannot be read counts as none."""
    sizes = [Size(0, 0)]
    for template in leaf.templates:
        if template.owner < len(gang.values):
            requests = count_requests(gang.values[template.owner], template.spec_path) or {}
            devices = sum(amount for name, amount in requests.items() if "/" in name) // _UNIT
            memory = requests.get("memory", 0) * _UNIT // _FOUR_GIB
            sizes.append(Size(devices, max(requests.get("cpu", 0), memory)))
    return max(sizes)


def note_order(layout: PlacedGroup, gang: Gang) -> Notes:
    """Where ranks are equal, the names that users gave decide: say so when smaller pods come before larger ones."""
    nodes = sorted(layout.children, key=lambda node: node.name)
    leaves = [node.group for node in nodes if isinstance(node.group, Leaf)]
    for first, second in pairwise(leaves):
        mine, other = measure(first, gang), measure(second, gang)
        if rank(first, gang) == rank(second, gang) and mine < other:
            template = second.templates[0]
            path, sizes = template.path if template.owner == 0 else (), {"mine": _spell(mine), "other": _spell(other)}
            yield tell("groups-out-of-order", path, first=first.name, second=second.name, **sizes)
            return
    for child in layout.children:
        yield from note_order(child, gang)


def _spell(size: Size) -> str:
    devices: Any = f"{size.devices} devices, " if size.devices else ""
    return f"{devices}{format_quantity(size.size)} CPU"
