"""HorizontalPodAutoscaler of autoscaling/v2, and of autoscaling/v1 as the server reads it into the same type.

Source: k8s.io/kubernetes/pkg/apis/autoscaling/validation and pkg/apis/autoscaling/v2/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.amounts import Amount, write_amount
from krmfn.server.formats import check_path_segment, check_short_name
from krmfn.server.plain.values import RULE, check_choice, check_least, need_text, refuse
from krmfn.server.pods.resources import list_container_misnomers
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind
from krmfn.server.spell import read_written
from krmfn.server.strategy import first_generation
from krmfn.server.verdict import Cause, forbidden, invalid, required

_SPEC: Path = ("spec",)
_FIFTEEN = {"periodSeconds": 15}
_RULES: dict[str, dict[str, Any]] = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 4, **_FIFTEEN}, {"type": "Percent", "value": 100, **_FIFTEEN}],
    },
    "scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, **_FIFTEEN}]},
}
#: The members of a metric in the order in which the server looks at them, with the types that they belong to.
_METRICS = {
    "object": "Object",
    "external": "External",
    "pods": "Pods",
    "resource": "Resource",
    "containerResource": "ContainerResource",
}
_POPULATE = "must populate information for the given metric source"
_RAW = "a target raw value and a target utilization"


def fill_autoscaler(kind: Kind, new: dict[str, Any]) -> None:
    spec = new.setdefault("spec", {})
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if "behavior" in spec:
        behavior = spec["behavior"]
        for way, rules in _RULES.items():
            behavior[way] = {**rules, **behavior.get(way, {})}
            if read_written(new, "spec", "behavior", way, "policies") == []:
                behavior[way]["policies"] = []  # an empty list is not filled in


def prepare_autoscaler(kind: Kind, new: dict[str, Any]) -> None:
    if not kind.gates.get("older-texts", False):
        first_generation(kind, new)


def check_older_autoscaler(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    yield from check_autoscaler(kind, _read_older(new), old and _read_older(old), argument)


def _read_older(value: Object) -> Object:
    """An object of autoscaling/v1 as one of v2. The metrics and rules that its annotations hold are not read."""
    spec = {**value["spec"], "metrics": []}
    share = spec.get("targetCPUUtilizationPercentage")
    if share is not None:
        target = {"type": "Utilization", "averageUtilization": share}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if any(name.startswith("autoscaling.alpha.kubernetes.io/") for name in value["metadata"].get("annotations", ())):
        spec["minReplicas"] = spec["minReplicas"] or 1  # one of those metrics may be about another object
    return {**value, "spec": spec}


def check_autoscaler(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    spec = new["spec"]
    before = old["spec"] if old else {}
    least, most = spec["minReplicas"], spec.get("maxReplicas", 0)
    to_zero = kind.gates.get("HPAScaleToZero", False) or before.get("minReplicas") == 0
    yield from check_least(least, 0 if to_zero else 1, (*_SPEC, "minReplicas"))
    path = (*_SPEC, "maxReplicas")
    if kind.gates.get("oldest-texts", False) and most < 1:
        yield invalid(path, RULE, most, "must be greater than 0")
    elif most == 0:
        yield required(path, "required", "must be set and greater than 0")
    else:
        yield from check_least(most, 1, path)
    if most < least:
        yield invalid(path, RULE, most, "must be greater than or equal to `minReplicas`")
    target, was = spec.get("scaleTargetRef", {}), before.get("scaleTargetRef", {})
    same = bool(was) and all(target.get(name) == was.get(name) for name in ("apiVersion", "kind"))
    core = target.get("kind") == "ReplicationController"
    yield from _check_reference(target, (*_SPEC, "scaleTargetRef"), same, core)
    metrics = spec["metrics"]
    kept = [
        metric["object"].get("describedObject", {}).get("apiVersion", "")
        for metric in before.get("metrics", ())
        if "object" in metric
    ]
    for index, metric in enumerate(metrics):
        yield from _check_metric(metric, (*_SPEC, "metrics", index), kept)
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden((*_SPEC, "metrics"), RULE, detail)


def _check_reference(ref: Object, path: Path, any_version: bool, core: bool) -> Iterator[Cause]:
    for name in ("kind", "name"):
        yield from need_text(ref, name, path, check_path_segment)
    version = ref.get("apiVersion", "")
    wrong = "" if any_version else _misread(version, core)
    if wrong:
        yield invalid((*path, "apiVersion"), RULE, version, wrong)


def _misread(version: str, core: bool) -> str:
    """Why a version names no group and version."""
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    group = version.partition("/")[0] if "/" in version else ""
    return "" if core or group else "apiVersion must specify API group"


def _check_metric(metric: Object, at: Path, kept: list[str]) -> Iterator[Cause]:
    kind = metric.get("type", "")
    if not kind:
        yield required((*at, "type"), "required", "must specify a metric source type")
    values = ("ContainerResource", "External", "Object", "Pods", "Resource")
    yield from check_choice(kind, (*at, "type"), values)
    found = [name for name in _METRICS if name in metric]
    if found:
        yield from _check_source(found[0], metric[found[0]], (*at, found[0]), kept)
    wanted = next((name for name, word in _METRICS.items() if word == kind), "")
    if wanted and wanted not in metric:
        yield required((*at, wanted), "required", _POPULATE)
    for name in found if len(found) != 1 else ():
        if name != wanted:
            yield forbidden((*at, name), RULE, "must populate the given metric source only")


def _check_source(name: str, source: Object, at: Path, kept: list[str]) -> Iterator[Cause]:
    target = source.get("target", {})
    where = (*at, "target")
    value, average, share = (target.get(field) for field in ("value", "averageValue", "averageUtilization"))
    if name == "object":
        described = source.get("describedObject", {})
        any_version = any(_misread(version, True) for version in kept)
        yield from _check_reference(described, (*at, "describedObject"), any_version, True)
    if name in ("resource", "containerResource"):
        resource = source.get("name", "")
        if not resource:
            yield required((*at, "name"), "required", "must specify a resource name")
        elif name == "containerResource":
            yield from refuse((*at, "name"), resource, list_container_misnomers(resource))
        if name == "containerResource":
            yield from need_text(source, "container", at, check_short_name, "must specify a container")
    else:
        detail = "must specify a metric name"
        yield from need_text(source.get("metric", {}), "name", (*at, "metric"), check_path_segment, detail)
    yield from _check_target(target, where)
    if name == "object" and value is None and average is None:
        yield required((*where, "averageValue"), "required", "must set either a target value or averageValue")
    elif name == "external":
        both = "a target value for metric"
        if value is None and average is None:
            yield required((*where, "averageValue"), "required", f"must set either {both} or a per-pod target")
        if value is not None and average is not None:
            yield forbidden((*where, "value"), RULE, f"may not set both {both} and a per-pod target")
    elif name == "pods" and average is None:
        yield required((*where, "averageValue"), "required", "must specify a positive target averageValue")
    elif name in ("resource", "containerResource"):
        if share is None and average is None:
            detail = "must set either a target raw value or a target utilization"
            yield required((*where, "averageUtilization"), "required", detail)
        if share is not None and average is not None:
            yield forbidden((*where, "averageValue"), RULE, f"may not set both {_RAW}")


def _check_target(target: Object, path: Path) -> Iterator[Cause]:
    kind = target.get("type", "")
    if not kind:
        yield required((*path, "type"), "required", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        yield invalid((*path, "type"), RULE, kind, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        if name in target and target[name] <= 0:
            yield invalid((*path, name), RULE, write_amount(target[name]), "must be positive")
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        yield invalid((*path, "averageUtilization"), RULE, share, "must be greater than 0")


def check_tolerance(kind: Kind, amount: Amount, path: Path) -> Iterator[Cause]:
    if amount < 0:
        text = quote(write_amount(amount))
        yield Cause("Invalid", path, f"Invalid value: {text}: must be greater than or equal to 0", RULE)
