"""PodDisruptionBudget, PriorityClass, RuntimeClass, Lease.

Source: k8s.io/kubernetes/pkg/apis/{policy,scheduling,node,coordination}/validation.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.krm.paths import Path
from krmfn.server.admission import SYSTEM_CLASSES
from krmfn.server.plain.values import check_share, check_whole
from krmfn.server.pods.placement import check_label_selector
from krmfn.server.pods.resources import check_overhead
from krmfn.server.pods.setting import Object, Setting
from krmfn.server.replicated import is_wrong_selector
from krmfn.server.schema import Kind
from krmfn.server.verdict import Cause, forbidden

_SPEC = ("spec",)
_MOST = 1_000_000_000


def check_budget(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    spec = new.get("spec", {})
    any_value = old is not None and is_wrong_selector(old.get("spec", {}).get("selector"))
    yield from check_label_selector(kind, spec.get("selector"), (*_SPEC, "selector"), any_value)


def check_budget_share(kind: Kind, value: int | str, path: Path) -> Iterator[Cause]:
    yield from check_share(kind, value, path)
    yield from check_whole(kind, value, path)


def check_priority_class(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    value, name = new.get("value", 0), new["metadata"].get("name", "")
    if old:
        return
    if name.startswith("system-"):
        why = ""
        if name not in SYSTEM_CLASSES:
            why = f"{name} is not a known system priority class"
        elif value != SYSTEM_CLASSES[name]:
            why = f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
        elif new.get("globalDefault"):
            why = f"globalDefault of {name} PriorityClass must be false"
        if why:
            detail = f"priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            yield forbidden(("metadata", "name"), detail)
    elif value > _MOST:
        yield forbidden(("value",), f"maximum allowed value of a user defined priority is {_MOST}", "maximum")


def check_runtime_class(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    pod = Setting({}, kind.gates, [])
    check_overhead(pod, new.get("overhead", {}).get("podFixed", {}), ("overhead",))
    yield from pod.out
