"""The rules of requests, limits and claims, of containers and of whole pods.

Source: validateResourceRequirements, validatePodResources of k8s.io/kubernetes/pkg/apis/core/validation;
k8s.io/component-helpers/resource (how the requests of containers add up).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.quantity import parse_quantity
from krmfn.model.values import Value
from krmfn.server.amounts import BILLION, Amount, add, is_integer
from krmfn.server.cases import check_part
from krmfn.server.formats import Faults, check_label_key, check_short_name
from krmfn.server.pods.setting import Setting
from krmfn.server.spell import Key, write_json
from krmfn.server.verdict import (
    Causes,
    duplicate,
    forbidden,
    invalid,
    invalid_text,
    not_found,
    not_supported,
    refuse_text,
    required,
)

_HUGE = "hugepages-"
#: What a container can name without a domain in front.
_OF_CONTAINERS = ("cpu", "memory", "ephemeral-storage")
_STANDARD = frozenset(
    (
        "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
        "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services",
        "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims", "storage", "requests.storage",
        "services.nodeports", "services.loadbalancers",
    )
)  # fmt: skip
#: Resources that count whole things.
_WHOLE = frozenset(
    (
        "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
        "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
    )
)  # fmt: skip


def check_resources(pod: Setting, resources: Value, path: Path, of_pod: bool = False) -> Causes:
    """Requests and limits. `of_pod`: those of a whole pod, which can name fewer resources."""
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    named = limits.keys() | requests.keys()
    for name, amount in limits.items():
        yield from _check_amount(pod, name, amount, (*path, "limits", Key(name)), of_pod)
    where: Path = (*path, "requests")
    for name, amount in requests.items():
        yield from _check_amount(pod, name, amount, (*where, Key(name)), of_pod)
        limit = limits.get(name)
        if limit is None:
            if not may_overcommit(name):
                yield required((*path, "limits"), "Limit must be set for non overcommitable resources")
        elif amount != limit and not may_overcommit(name):
            yield invalid(where, amount, f"must be equal to {name} limit of {limit}")
        elif amount > limit:
            detail = f"must be less than or equal to {name} limit of {limit}"
            yield invalid(where, amount, detail)
    if "cpu" not in named and "memory" not in named and any(name.startswith(_HUGE) for name in named):
        yield forbidden(path, "HugePages require cpu or memory")
    if "claims" in resources:
        yield from check_part(pod, "claimsOfContainer", resources["claims"], (*path, "claims"), "pod-claims")


def _check_amount(pod: Setting, name: str, amount: Amount, path: Path, of_pod: bool) -> Causes:
    wrong = list_misnomers(name) if of_pod else list_container_misnomers(name)
    for message in wrong:
        yield invalid_text(path, write_json(name), message)
    if of_pod and not wrong and name not in ("cpu", "memory") and not name.startswith(_HUGE):
        yield not_supported(path, write_json(name), ("cpu", "hugepages-", "memory"))
    if amount < 0:
        yield invalid(path, amount, "must be greater than or equal to 0")
    if is_whole(name) and not is_integer(amount):
        yield invalid(path, amount, "must be an integer")
    if name.startswith(_HUGE) and not _is_divisible(name, amount) and "indivisible-huge-pages" not in pod.allowed:
        detail = f"{amount} is not positive integer multiple of {name}"
        yield invalid(path, amount, detail)


def list_misnomers(name: str) -> Faults:
    """Why a name is not one of a resource."""
    wrong = check_label_key(name)
    if wrong or "/" in name or name in _STANDARD or name.startswith((_HUGE, "requests." + _HUGE)):
        return wrong
    return ("must be a standard resource type or fully qualified",)


@lru_cache(1024)  # the pods of an input name few
def list_container_misnomers(name: str) -> Faults:
    """Why a container cannot name a resource like this."""
    wrong = list_misnomers(name)
    if "/" not in name:
        if name not in _OF_CONTAINERS and not name.startswith(_HUGE):
            return (*wrong, "must be a standard resource for containers")
    elif not _is_native(name) and (name.startswith("requests.") or check_label_key("requests." + name)):
        return (*wrong, "doesn't follow extended resource name standard")
    return wrong


def is_whole(name: str) -> bool:
    """Whether there is no half of a resource."""
    return name in _WHOLE or not _is_native(name)


def _is_divisible(name: str, amount: Amount) -> bool:
    size = parse_quantity(name.removeprefix(_HUGE))
    if size is None or size <= 0 or size % BILLION:
        return False
    return -(-amount // BILLION) % (size // BILLION) == 0


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def may_overcommit(name: str) -> bool:
    return _is_native(name) and not name.startswith(_HUGE)


def check_overhead(pod: Setting, amounts: Value, path: Path) -> Causes:
    yield from check_resources(pod, {"limits": amounts}, path)


def check_claims(pod: Setting, claims: list[Any], path: Path) -> Causes:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        name, request = claim.get("name", ""), claim.get("request", "")
        at = (*path, index)
        if not name:
            yield required(at)
            continue
        if name in seen:
            yield duplicate(at, quote(name))
        else:
            key = name
            if request:
                key = f"{name}/{request}"
                yield from refuse_text((*at, "request"), request, check_short_name(request))
            if key in seen:
                yield duplicate(at, quote(key))
            elif not request and any(other.partition("/")[0] == name for other in seen if "/" in other):
                yield duplicate(at, quote(name))
            seen.add(key)
        if name not in pod.claims:
            known = ": " + ", ".join(sorted(pod.claims)) if pod.claims else " which is empty"
            yield not_found(at, quote(name), "must be one of the names in pod.spec.resourceClaims" + known)


def check_pod_resources(pod: Setting, spec: Value, path: Path) -> Causes:
    """Requests and limits of the whole pod, which its containers share."""
    resources = spec["resources"]
    where: Path = (*path, "resources")
    if pod.os == "windows":
        yield forbidden(where, "may not be set for a windows pod")
        return
    if "claims" in resources:
        yield forbidden((*where, "claims"), "claims may not be set for Resources at pod-level")
    yield from check_resources(pod, resources, where, True)
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    for name, amount in add_up(spec, "requests").items():
        if name in requests and amount > requests[name]:
            detail = f"must be greater than or equal to aggregate container requests of {amount}"
            yield invalid((*where, "requests", Key(name)), requests[name], detail)
    for name, amount in add_up(spec, "limits").items():
        if name.startswith(_HUGE) and name in limits and amount > limits[name]:
            detail = f"must be greater than or equal to aggregate container limits of {amount}"
            yield invalid((*where, "limits", Key(name)), limits[name], detail)
    for index, container in enumerate(spec.get("containers", ())):
        for name, amount in container.get("resources", {}).get("limits", {}).items():
            if name in limits and amount > limits[name]:
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                at = (*where, "containers", index, Key(name), "limits")
                yield invalid(at, amount, detail)


def add_up(spec: Value, kind: str) -> dict[str, Amount]:
    """What all containers need at once: those that run side by side together, or the greediest init container with the
    sidecars before it."""
    running: dict[str, Amount] = {}
    for container in spec.get("containers", ()):
        _add(running, container.get("resources", {}).get(kind, {}))
    sidecars: dict[str, Amount] = {}
    peak: dict[str, Amount] = {}
    for container in spec.get("initContainers", ()):
        mine = container.get("resources", {}).get(kind, {})
        if container.get("restartPolicy") == "Always":
            _add(running, mine)
            _add(sidecars, mine)
            mine = sidecars
        else:
            together = dict(mine)
            _add(together, sidecars)
            mine = together
        for name, amount in mine.items():
            if name not in peak or amount > peak[name]:
                peak[name] = amount
    for name, amount in peak.items():
        if name not in running or amount > running[name]:
            running[name] = amount
    return running


def _add(total: dict[str, Amount], more: Mapping[str, Amount]) -> None:
    for name, amount in more.items():
        total[name] = add(total[name], amount) if name in total else amount
