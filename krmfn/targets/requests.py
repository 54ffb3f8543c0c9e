"""What the pods of a gang request together, for schedulers that keep a gang out of the queue until there is room.

Source: KubeRay's CalculatePodResource (`controllers/ray/utils/util.go`): containers only, requests before limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from krmfn.krm.paths import Path, dig
from krmfn.model.quantity import add, format_quantity, parse_quantity
from krmfn.model.tree import Gang, Leaf
from krmfn.model.values import as_list


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
        limits, requests = (dig(container, "resources", part) for part in ("limits", "requests"))
        named = [*_entries(limits), *_entries(requests)]  # requests last, because they win
        for name, text in dict(named).items():
            amount = parse_quantity(text)
            if amount is None:
                return None
            total[name] = total.get(name, 0) + amount
    return total


def _entries(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, Mapping) else ()
