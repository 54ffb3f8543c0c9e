"""LimitRange, ResourceQuota, and HorizontalPodAutoscaler of autoscaling/v2 and v1, which the server reads into the same
type.

Source: ValidateLimitRange, ValidateResourceQuota of k8s.io/kubernetes/pkg/apis/core/validation; defaults.go there;
pkg/apis/autoscaling/validation and pkg/apis/autoscaling/v2/defaults.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krmfn.krm.paths import Path, dig
from krmfn.model.values import Fields, Value
from krmfn.releases import schemastore
from krmfn.server.cases import check_each
from krmfn.server.formats import Faults, check_label_key
from krmfn.server.plain.values import check_least
from krmfn.server.pods.containers import is_whole, list_container_misnomers, list_misnomers, may_overcommit
from krmfn.server.schema import Kind, Stored
from krmfn.server.spell import BILLION, Key, is_integer, read_written
from krmfn.server.strategy import STORED_UID, first_generation, with_fields
from krmfn.server.verdict import Causes, forbidden, invalid, invalid_text, refuse_text

_SPEC: Path = ("spec",)
_NAMES = schemastore.load("kubernetes/named.json")
#: What each of the scopes counts.
_SCOPES: Mapping[str, list[str]] = _NAMES["scopes"]


def fill_limit_range(kind: Kind, new: Fields) -> None:
    for limit in new.get("spec", {}).get("limits", ()):
        if limit.get("type") != "Container":
            continue
        default = {**limit.get("max", {}), **limit.get("default", {})}
        requests = {**limit.get("min", {}), **default, **limit.get("defaultRequest", {})}
        for name, amounts in (("default", default), ("defaultRequest", requests)):
            if amounts:
                limit[name] = amounts


def prepare_limit_range(kind: Kind, new: Fields) -> None:
    """A server makes a name where there is none."""
    new["metadata"].setdefault("name", STORED_UID)


def check_limit_range(kind: Kind, new: Value, old: Stored) -> Causes:
    for index, limit in enumerate(new.get("spec", {}).get("limits", ())):
        yield from _check_limit(limit, limit.get("type", ""), (*_SPEC, "limits", index))


def list_limit_faults(name: str) -> Faults:
    """Why nothing of the name can be limited."""
    wrong = check_label_key(name)
    if not wrong and "/" not in name and name not in ("Pod", "Container", "PersistentVolumeClaim"):
        return ("must be a standard limit type or fully qualified",)
    return wrong


def _check_limit(limit: Value, kind: str, at: Path) -> Causes:
    if kind == "Pod":  # which has no defaults: these are not looked at
        limit = with_fields(limit, {}, "default", "defaultRequest")
    names: dict[str, None] = {}
    for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        for name in limit.get(field, {}):
            names[name] = None
            wrong = list_container_misnomers(name) if kind in ("Pod", "Container") else list_misnomers(name)
            yield from refuse_text((*at, field, Key(name)), name, wrong)
    for name in names:
        yield from _compare(limit, name, at)


def _compare(limit: Value, name: str, at: Path) -> Causes:
    most, least, ratio = (limit.get(field, {}).get(name) for field in ("max", "min", "maxLimitRequestRatio"))
    default, request = (limit.get(field, {}).get(name) for field in ("default", "defaultRequest"))
    for low, high, field, shown, words in (
        (least, most, "min", least, ("min", "max")),
        (least, request, "defaultRequest", request, ("min", "default request")),
        (request, most, "defaultRequest", request, ("default request", "max")),
        (request, default, "defaultRequest", request, ("default request", "default limit")),
        (least, default, "default", least, ("min", "default")),
        (default, most, "default", most, ("default", "max")),
    ):
        if low is not None and high is not None and low > high:
            detail = f"{words[0]} value {low} is greater than {words[1]} value {high}"
            yield invalid((*at, field, Key(name)), shown, detail)
    if ratio is not None:
        path = (*at, "maxLimitRequestRatio", Key(name))
        if ratio < BILLION:
            yield invalid(path, ratio, f"ratio {ratio} is less than 1")
        if least is not None and most is not None:
            yield from _check_ratio(ratio, most, least, path)
    if not may_overcommit(name) and default is not None and request is not None and default != request:
        detail = f"default value {default} must equal to defaultRequest value {request}"
        yield invalid((*at, "defaultRequest", Key(name)), request, f"{detail} in {name}")


def _check_ratio(ratio: Any, most: Any, least: Any, path: Path) -> Causes:
    unit = BILLION // 1000 if max(ratio, most, least) < (2**63 // 1000) * BILLION else BILLION
    high, low, wanted = -(-most // unit), -(-least // unit), -(-ratio // unit)
    found = wanted / (BILLION // unit)
    limit = high / low if low else (float("inf") if high > 0 else float("nan"))
    if found > limit:
        detail = f"ratio {ratio} is greater than max/min = {limit:f}"
        yield invalid(path, ratio, detail)


def check_quota(kind: Kind, new: Value, old: Stored) -> Causes:
    spec = new.get("spec", {})
    hard, scopes = spec.get("hard", {}), spec.get("scopes", [])
    for name, amount in hard.items():
        at = (*_SPEC, "hard", Key(name))
        yield from refuse_text(at, name, list_misnomers(name))
        if "/" not in name and not _is_counted(name):
            yield invalid(at, name, "must be a standard resource for quota")
        if amount < 0:
            yield invalid(at, amount, "must be greater than or equal to 0")
        if is_whole(name) and not is_integer(amount):
            yield invalid(at, amount, "must be an integer")
    path: Path = (*_SPEC, "scopes")
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid_text(path, "{…}", "unsupported scope")
        if _is_misapplied(scope, hard):
            yield invalid_text(path, "{…}", "unsupported scope applied to resource")
    if _conflict(scopes):
        yield invalid_text(path, "{…}", "conflicting scopes")
    if "scopeSelector" in spec:
        yield from _check_scope_selector(spec, hard)
    if old and set(scopes) != set(old.get("spec", {}).get("scopes", ())):
        yield invalid_text(path, "{…}" if scopes else "null", "field is immutable", "immutable")


def _is_counted(name: str) -> bool:
    return name in _NAMES["resourcesOfQuotas"] or name.startswith(("hugepages-", "requests.hugepages-"))


def _is_misapplied(scope: str, hard: Value) -> bool:
    return any(_is_counted(name) and name not in _SCOPES.get(scope, hard) for name in hard)


def _conflict(scopes: list[str]) -> bool:
    return {"BestEffort", "NotBestEffort"} <= set(scopes) or {"Terminating", "NotTerminating"} <= set(scopes)


def _check_scope_selector(spec: Value, hard: Value) -> Causes:
    path: Path = (*_SPEC, "scopeSelector", "matchExpressions")
    needs = spec["scopeSelector"].get("matchExpressions", [])
    yield from check_each(None, "scopeNeed", needs, path)
    for scope in (need.get("scopeName", "") for need in needs):
        if _is_misapplied(scope, hard):
            yield invalid_text(path, "{…}", "unsupported scope applied to resource")
    if _conflict([need.get("scopeName", "") for need in needs]):
        yield invalid_text(path, "{…}" if spec.get("scopes") else "null", "conflicting scopes")


def fill_autoscaler(kind: Kind, new: Fields) -> None:
    for way in ("scaleUp", "scaleDown"):
        if read_written(new, "spec", "behavior", way, "policies") == []:
            new["spec"]["behavior"][way]["policies"] = []  # an empty list is not filled in


def prepare_autoscaler(kind: Kind, new: Fields) -> None:
    if not kind.is_on("older-texts"):
        first_generation(kind, new)


def check_older_autoscaler(kind: Kind, new: Value, old: Stored) -> Causes:
    yield from check_autoscaler(kind, _read_older(new), old and _read_older(old))
    share = new["spec"].get("targetCPUUtilizationPercentage")
    if share is not None and share < 1:
        path = (*_SPEC, "metrics", 0, "resource", "target", "averageUtilization")
        yield invalid(path, share, "must be greater than 0")


def _read_older(value: Value) -> Value:
    """An object of autoscaling/v1 as one of v2. The metrics and rules that its annotations hold are not read."""
    spec = {**value["spec"], "metrics": []}
    share = spec.get("targetCPUUtilizationPercentage")
    if share is not None:
        target = {"type": "Utilization", "averageUtilization": share}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if any(name.startswith("autoscaling.alpha.kubernetes.io/") for name in value["metadata"].get("annotations", ())):
        spec["minReplicas"] = spec["minReplicas"] or 1  # one of those metrics may be about another object
    return {**value, "spec": spec}


def check_autoscaler(kind: Kind, new: Value, old: Stored) -> Causes:
    spec = new["spec"]
    before = old["spec"] if old else {}
    least = spec["minReplicas"]
    to_zero = kind.is_on("HPAScaleToZero") or before.get("minReplicas") == 0
    yield from check_least(least, 0 if to_zero else 1, (*_SPEC, "minReplicas"))
    target, was = spec.get("scaleTargetRef", {}), before.get("scaleTargetRef", {})
    same = bool(was) and all(target.get(name) == was.get(name) for name in ("apiVersion", "kind"))
    core = target.get("kind") == "ReplicationController"
    yield from _check_version(target, (*_SPEC, "scaleTargetRef"), same, core)
    metrics = spec["metrics"]
    any_version = any(
        _misread(dig(metric, "object", "describedObject", "apiVersion", default=""), True)
        for metric in before.get("metrics", ())
    )
    for index, metric in enumerate(metrics):
        described = dig(metric, "object", "describedObject", default={})
        yield from _check_version(described, (*_SPEC, "metrics", index, "object", "describedObject"), any_version, True)
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden((*_SPEC, "metrics"), detail)


def _check_version(ref: Value, path: Path, any_version: bool, core: bool) -> Causes:
    version = ref.get("apiVersion", "")
    wrong = "" if any_version else _misread(version, core)
    if wrong:
        yield invalid((*path, "apiVersion"), version, wrong)


def _misread(version: str, core: bool) -> str:
    """Why a version names no group and version."""
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    group = version.partition("/")[0] if "/" in version else ""
    return "" if core or group else "apiVersion must specify API group"
