"""How many pods of a new revision a rolling update creates before any of them runs, by the kind's own arithmetic.

Source: k8s.io/kubernetes pkg/controller/deployment/util (ResolveFenceposts) and pkg/controller/statefulset 1.37,
kubernetes-sigs/lws pkg/controllers/leaderworkerset_controller.go (rollingUpdateParameters).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from krmfn.krm.paths import Path, dig
from krmfn.model.gotext import read_digits
from krmfn.model.values import Key, as_count

Count = Callable[[Any], int | None]


def share(value: object, of: int, up: bool) -> int:
    """A number, or a percentage of `of`; 0 for anything else.

    >>> share("25%", 5, up=True), share("25%", 5, up=False), share(3, 5, up=True), share(None, 5, up=True)
    (2, 1, 3, 0)
    """
    if isinstance(value, str) and value.endswith("%") and (percent := read_digits(value[:-1])) is not None:
        return -(-percent * of // 100) if up else percent * of // 100
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _count_deployment(value: Any) -> int | None:
    """Surge and gaps are filled with new pods."""
    replicas = as_count(value, "spec", "replicas")
    if dig(value, "spec", "strategy", "type") == "Recreate":
        return replicas
    update = ("spec", "strategy", "rollingUpdate")
    surge = share(_get(value, (*update, "maxSurge"), "25%"), replicas, up=True)
    gap = share(_get(value, (*update, "maxUnavailable"), "25%"), replicas, up=False)
    return max(surge + gap, 1)


def _count_stateful_set(value: Any) -> int | None:
    if dig(value, "spec", "updateStrategy", "type") == "OnDelete":
        return None
    gap = _get(value, ("spec", "updateStrategy", "rollingUpdate", "maxUnavailable"), 1)
    return share(gap, as_count(value, "spec", "replicas"), up=True) or 1


def _count_leader_worker_set(value: Any) -> int | None:
    """A replica is a leader with its workers, and is replaced as a whole."""
    update = ("spec", "rolloutStrategy", "rollingUpdateConfiguration")
    replicas = as_count(value, "spec", "replicas")
    gap = share(_get(value, (*update, "maxUnavailable"), 1), replicas, up=False)
    surge = share(_get(value, (*update, "maxSurge"), 0), replicas, up=True)
    return max(gap + surge, 1) * (as_count(value, "spec", "leaderWorkerTemplate", "size") or 1)


def _get(value: Any, path: Path, default: object) -> object:
    """The value at `path`; null is the default, too."""
    found = dig(value, *path)
    return default if found is None else found


#: (API group, kind) -> how many pods of a manifest are replaced at once; None where nobody replaces them.
ROLLOUTS: Mapping[Key, Count] = {
    ("apps", "Deployment"): _count_deployment,
    ("apps", "StatefulSet"): _count_stateful_set,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _count_leader_worker_set,
}
