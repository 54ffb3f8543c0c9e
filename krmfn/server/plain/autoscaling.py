"""HorizontalPodAutoscaler of autoscaling/v2, and of autoscaling/v1 as the server reads it into the same type.

Source: k8s.io/kubernetes/pkg/apis/autoscaling/validation and pkg/apis/autoscaling/v2/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.server.plain.values import check_least
from krmfn.server.pods.resources import list_container_misnomers
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind
from krmfn.server.spell import read_written
from krmfn.server.strategy import first_generation
from krmfn.server.verdict import Cause, forbidden, invalid, refuse_text

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
    if not kind.is_on("older-texts"):
        first_generation(kind, new)


def check_older_autoscaler(kind: Kind, new: Object, old: Object | None, argument: Any = None) -> Iterator[Cause]:
    yield from check_autoscaler(kind, _read_older(new), old and _read_older(old))
    share = new["spec"].get("targetCPUUtilizationPercentage")
    if share is not None and share < 1:
        path = (*_SPEC, "metrics", 0, "resource", "target", "averageUtilization")
        yield invalid(path, share, "must be greater than 0")


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


def check_autoscaler(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    spec = new["spec"]
    before = old["spec"] if old else {}
    least, most = spec["minReplicas"], spec.get("maxReplicas", 0)
    to_zero = kind.is_on("HPAScaleToZero") or before.get("minReplicas") == 0
    yield from check_least(least, 0 if to_zero else 1, (*_SPEC, "minReplicas"))
    if most < least:
        yield invalid((*_SPEC, "maxReplicas"), most, "must be greater than or equal to `minReplicas`")
    target, was = spec.get("scaleTargetRef", {}), before.get("scaleTargetRef", {})
    same = bool(was) and all(target.get(name) == was.get(name) for name in ("apiVersion", "kind"))
    core = target.get("kind") == "ReplicationController"
    yield from _check_version(target, (*_SPEC, "scaleTargetRef"), same, core)
    metrics = spec["metrics"]
    kept = [
        metric["object"].get("describedObject", {}).get("apiVersion", "")
        for metric in before.get("metrics", ())
        if "object" in metric
    ]
    any_version = any(_misread(version, True) for version in kept)
    for index, metric in enumerate(metrics):
        described = metric.get("object", {}).get("describedObject", {})
        yield from _check_version(described, (*_SPEC, "metrics", index, "object", "describedObject"), any_version, True)
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden((*_SPEC, "metrics"), detail)


def _check_version(ref: Object, path: Path, any_version: bool, core: bool) -> Iterator[Cause]:
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


def check_container_resource(kind: Kind, name: str, path: Path) -> Iterator[Cause]:
    yield from refuse_text(path, name, list_container_misnomers(name))
