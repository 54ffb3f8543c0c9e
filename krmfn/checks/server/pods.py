"""The group fields of a pod's spec, in pods and in every built-in kind that holds a pod template.

Source: k8s.io/kubernetes/pkg/apis/core/validation (validateSchedulingGroup, validateWorkloadReference) and pkg/api/pod;
rules P1-P7 of the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.checks.server.causes import Cause, forbidden, invalid
from krmfn.checks.server.formats import check_long_name, check_short_name
from krmfn.checks.server.kinds import Kind
from krmfn.checks.server.types import Type
from krmfn.krm.paths import Path


def _spec_type(kind: Kind) -> Type:
    of = kind.root
    for name in kind.pod_spec:
        of = of.fields[name].type
    return of


def _spec_of(kind: Kind, value: dict[str, Any] | None) -> dict[str, Any]:
    for name in kind.pod_spec:
        value = (value or {}).get(name)
    return value or {}


def drop_from_pod_spec(kind: Kind, new: dict[str, Any], stored: dict[str, Any] | None) -> Iterator[tuple[Path, str]]:
    """P7: remove the group fields while their gate is off, unless the stored pod uses them."""
    spec, before = _spec_of(kind, new), _spec_of(kind, stored)
    for field in _gated_fields(_spec_type(kind)):
        if field.name in spec and field.name not in before:
            del spec[field.name]
            yield (*kind.pod_spec, field.name), field.gate


def _gated_fields(of: Type) -> Any:
    found = of.cache.get("gated")
    if found is None:
        found = of.cache["gated"] = tuple(field for field in of.fields.values() if field.gate)
    return found


def check_pod_spec(kind: Kind, new: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Cause]:
    """P1-P5, and that a group and eviction responders exclude each other."""
    spec = _spec_of(kind, new)
    group = spec.get("schedulingGroup")
    if group is not None:
        yield from _check_group(group, (*kind.pod_spec, "schedulingGroup"))
        if spec.get("evictionResponders"):
            path = (*kind.pod_spec, "schedulingGroup")
            yield forbidden(path, "scheduling-group", "may not be set when evictionResponders is set")
    reference = spec.get("workloadRef")
    if reference is not None:
        yield from _check_reference(reference, (*kind.pod_spec, "workloadRef"))


def _check_group(group: dict[str, Any], path: Path) -> Iterator[Cause]:
    path = (*path, "podGroupName")
    name = group.get("podGroupName")
    if name is None:
        yield invalid(path, "scheduling-group", None, "must specify one of: `podGroupName`")
    else:
        for message in check_long_name(name, "characters"):
            yield invalid(path, "scheduling-group", name, message)


def _check_reference(reference: dict[str, Any], path: Path) -> Iterator[Cause]:
    name = reference.get("name", "")
    for message in check_long_name(name, "characters"):
        yield invalid((*path, "name"), "workload-ref", name, message)
    group = reference.get("podGroup", "")
    for message in check_short_name(group, "characters"):
        yield invalid((*path, "podGroup"), "workload-ref", group, message)
    key = reference.get("podGroupReplicaKey", "")
    if key:
        for message in check_short_name(key, "characters"):
            yield invalid((*path, "podGroupReplicaKey"), "workload-ref", key, message)


def warn_of_hostname(kind: Kind, name: str) -> list[str]:
    """The warning for pod names that are no DNS label, since they become host names."""
    if not kind.root.keywords.get("x-kubernetes-hostname-warning"):
        return []
    wrong = check_short_name(name, "characters")
    if not wrong:
        return []
    return [
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is"
        f" recommended: [{' '.join(wrong)}]"
    ]
