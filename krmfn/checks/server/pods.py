"""The group fields of a pod's spec, in pods and in every built-in kind that holds a pod template.

Source: k8s.io/kubernetes/pkg/apis/core/validation (validateSchedulingGroup, validateWorkloadReference) and pkg/api/pod;
rules P1-P7 of the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.checks.server.formats import check_long_name, check_short_name
from krmfn.checks.server.schema import Kind, Type
from krmfn.checks.server.spell import to_internal, write_json
from krmfn.checks.server.verdict import Cause, duplicate, forbidden, invalid, invalid_text, not_supported, required
from krmfn.krm.paths import Path
from krmfn.model.gotext import quote

_PREEMPTION = ("PreemptLowerPriority", "Never")


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
    """P1-P5, that a group and eviction responders exclude each other, and that there is a container at all."""
    spec = _spec_of(kind, new)
    if not spec.get("containers") and kind.pod_spec:
        yield required((*kind.pod_spec, "containers"), "pod-containers")
    yield from _check_priority(spec, kind.pod_spec)
    if "resourceClaims" in spec:
        of = _spec_type(kind).fields["resourceClaims"].type.item
        yield from _check_claims(of, spec["resourceClaims"], (*kind.pod_spec, "resourceClaims"))
    group = spec.get("schedulingGroup")
    if group is not None:
        yield from _check_group(group, (*kind.pod_spec, "schedulingGroup"))
        if spec.get("evictionResponders"):
            path = (*kind.pod_spec, "schedulingGroup")
            yield forbidden(path, "scheduling-group", "may not be set when evictionResponders is set")
    reference = spec.get("workloadRef")
    if reference is not None:
        yield from _check_reference(reference, (*kind.pod_spec, "workloadRef"))


def _check_priority(spec: dict[str, Any], path: Path) -> Iterator[Cause]:
    name = spec.get("priorityClassName", "")
    if name:
        for message in check_long_name(name, "characters"):
            yield invalid((*path, "priorityClassName"), "pod-priority", name, message)
    policy = spec.get("preemptionPolicy")
    if policy == "":
        yield required((*path, "preemptionPolicy"), "pod-priority")
    elif policy is not None and policy not in _PREEMPTION:
        yield not_supported((*path, "preemptionPolicy"), "pod-priority", write_json(policy), _PREEMPTION)


def _check_claims(of: Type | None, claims: list[Any], path: Path) -> Iterator[Cause]:
    """The claims of a pod, by which it shares those of its group."""
    seen: set[str] = set()
    targets = ("resourceClaimName", "resourceClaimTemplateName")
    for index, claim in enumerate(claims):
        name = claim.get("name", "")
        where = (*path, index)
        if not name:
            yield required((*where, "name"), "pod-claims")
        elif name in seen:
            yield duplicate((*where, "name"), "pod-claims", quote(name))
        else:
            seen.add(name)
            for message in check_short_name(name, "characters"):
                yield invalid((*where, "name"), "pod-claims", name, message)
        given = [target for target in targets if target in claim]
        if len(given) != 1 and of is not None:
            text = write_json(to_internal(of, claim))
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            if given:
                detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            yield invalid_text(where, "pod-claims", text, detail)
        for target in given:
            for message in check_long_name(claim[target], "characters"):
                yield invalid((*where, target), "pod-claims", claim[target], message)


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
    """The warning for names of pods that are no DNS label, since they become host names."""
    text = kind.root.keywords.get("x-kubernetes-hostname-warning")
    wrong = check_short_name(name, "characters") if text else ()
    return [f"{text}[{' '.join(wrong)}]"] if wrong else []
