"""What can change in a pod that exists: images, a few counters, more tolerations, fewer gates; the group cannot.

Source: k8s.io/kubernetes/pkg/apis/core/validation (ValidatePodUpdate); rule P6 of the reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krmfn.checks.server.podspecs import default_pod_spec
from krmfn.checks.server.schema import Type
from krmfn.checks.server.verdict import Cause, forbidden, invalid

_UPDATABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check_pod_change(
    root: Type, new: Mapping[str, Any], old: Mapping[str, Any] | None, argument: Any
) -> Iterator[Cause]:
    """P6: what a live pod may change. The server's text goes on with a diff, which is left out here."""
    of = root.fields["spec"].type
    spec, before = new.get("spec", {}), (old or {}).get("spec", {})
    if spec == before:
        return
    spec, before = default_pod_spec(of, spec, True), default_pod_spec(of, before, True)
    for name in ("containers", "initContainers"):
        mine, theirs = spec.get(name, []), before.get(name, [])
        if len(mine) != len(theirs):
            yield forbidden(("spec", name), "pod-immutable", "pod updates may not add or remove containers")
            return
        for index, container in enumerate(theirs):
            mine[index]["image"] = container.get("image", "")
    wrong = _check_deadline(spec, before)
    if wrong:
        yield wrong
        if "activeDeadlineSeconds" in spec:
            return
    yield from _check_tolerations(spec.get("tolerations", ()), before.get("tolerations", ()))
    yield from _check_gates(spec.get("schedulingGates", ()), before.get("schedulingGates", ()))
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        _take(spec, before, name)
    if before.get("schedulingGates"):
        _take(spec, before, "nodeSelector")
        _take_node_affinity(spec, before)
    if spec != before:
        yield forbidden(("spec",), "pod-immutable", _UPDATABLE)


def _take(spec: dict[str, Any], before: dict[str, Any], name: str) -> None:
    spec.pop(name, None)
    if name in before:
        spec[name] = before[name]


def _take_node_affinity(spec: dict[str, Any], before: dict[str, Any]) -> None:
    """A gated pod may change its node affinity; whether it only narrows is not checked here."""
    mine, theirs = spec.get("affinity"), before.get("affinity")
    others = {key: value for key, value in (mine or {}).items() if key != "nodeAffinity"}
    if theirs is None:
        if not others:
            spec.pop("affinity", None)
    else:
        spec["affinity"] = {**others, **({"nodeAffinity": theirs["nodeAffinity"]} if "nodeAffinity" in theirs else {})}


def _check_deadline(spec: dict[str, Any], before: dict[str, Any]) -> Cause | None:
    path = ("spec", "activeDeadlineSeconds")
    deadline, was = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if deadline is None:
        detail = "must not update from a positive integer to nil value"
        return None if was is None else invalid(path, "pod-immutable", None, detail)
    if not 0 <= deadline <= 2147483647:
        return invalid(path, "pod-immutable", deadline, "must be between 0 and 2147483647, inclusive")
    if was is not None and was < deadline:
        return invalid(path, "pod-immutable", deadline, "must be less than or equal to previous value")
    return None


def _check_tolerations(new: Any, old: Any) -> Iterator[Cause]:
    kept = [{key: value for key, value in one.items() if key != "tolerationSeconds"} for one in new]
    for one in old:
        if {key: value for key, value in one.items() if key != "tolerationSeconds"} not in kept:
            detail = "existing toleration can not be modified except its tolerationSeconds"
            yield forbidden(("spec", "tolerations"), "pod-immutable", detail)
            return


def _check_gates(new: Any, old: Any) -> Iterator[Cause]:
    known = {gate.get("name", "") for gate in old}
    for index, gate in enumerate(new):
        if gate.get("name", "") not in known:
            path = ("spec", "schedulingGates", index, "name")
            detail = "only deletion is allowed, but found new scheduling gate"
            yield forbidden(path, "pod-immutable", f"{detail} '{gate.get('name', '')}'")
