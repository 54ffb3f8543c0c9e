"""Pods that the API server refuses because of other objects: their namespace, classes, LimitRanges and quotas. What
only some releases refuse is not reported. Needs no nodes.

Source: plugin/pkg/admission/{namespace/lifecycle,runtimeclass,serviceaccount,priority}, v0.37.0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from krmfn.capacity.limitranges import check_limit_ranges
from krmfn.capacity.pods import PodKind
from krmfn.capacity.podsecurity import find_violation
from krmfn.capacity.quotas import check_quotas, list_device_requests
from krmfn.model.values import Value, as_int, as_list, as_mapping, as_text, dig, name_of
from krmfn.survey.facts import Facts

#: The label of namespaces in which claims may ask for the access of an administrator.
_ADMIN = "resource.kubernetes.io/admin-access"


class Refusal(NamedTuple):
    """Why a pod is refused: the server's words, and kind and name of the object that says so ("": the pod itself)."""

    said: str
    by: str
    name: str


def find_refusal(kind: PodKind, facts: Facts) -> Refusal | None:
    """The first reason for which no pod of the kind can be created; None when there is none."""
    return next(_list_refusals(kind, facts), None)


def _list_refusals(kind: PodKind, facts: Facts) -> Iterator[Refusal]:
    spec = kind.template.spec
    yield from _check_namespace(kind, facts)
    if said := _check_runtime(spec, facts):
        yield Refusal(said, "RuntimeClass", as_text(spec, "runtimeClassName"))
    yield from _check_account(kind, facts)
    yield from _check_priority(kind, facts)
    if kind.node and as_list(spec, "schedulingGates"):
        yield Refusal("spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared", "", "")
    for said, name in check_limit_ranges(kind, facts):
        yield Refusal(said, "LimitRange", name)
    for said, name in check_quotas(kind, facts):
        yield Refusal(said, "ResourceQuota", name)


def _check_namespace(kind: PodKind, facts: Facts) -> Iterator[Refusal]:
    name = kind.namespace
    namespace = facts.by_name("", "Namespace").get(name)
    if not namespace:
        if facts.lists_all("Namespace") and dig(kind.template.item.value, "metadata", "namespace"):
            yield Refusal(f'namespaces "{name}" not found', "Namespace", name)
        return
    labels = as_mapping(namespace, "metadata", "labels")
    if dig(namespace, "metadata", "deletionTimestamp") or dig(namespace, "status", "phase") == "Terminating":
        said = f"unable to create new content in namespace {name} because it is being terminated"
        yield Refusal(said, "Namespace", name)
    elif said := find_violation(kind.template.spec, labels):
        yield Refusal(said, "Namespace", name)
    if labels.get(_ADMIN) != "true":
        for template, request in list_device_requests(kind, facts):
            if dig(request, "exactly", "adminAccess") is True:
                said = f"admin access to devices requires the `{_ADMIN}: true` label on the containing namespace"
                yield Refusal(said, "ResourceClaimTemplate", template)


def _check_runtime(spec: Value, facts: Facts) -> str:
    """What is wrong with the runtime class of a pod: it does not exist, or it selects other nodes than the pod."""
    name, runtime = as_text(spec, "runtimeClassName"), facts.find_runtime(spec)
    if name and not runtime and facts.lists_all("RuntimeClass"):
        return f'pod rejected: RuntimeClass "{name}" not found'
    wanted = as_mapping(spec, "nodeSelector")
    for key, value in as_mapping(runtime, "scheduling", "nodeSelector").items():
        if wanted.get(key, value) != value:
            given = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            return f"conflict: {given}; pod.spec.nodeSelector[{key}] = {wanted[key]}"
    return ""


def _check_account(kind: PodKind, facts: Facts) -> Iterator[Refusal]:
    spec, path = kind.template.spec, kind.template.path
    name = as_text(spec.get("serviceAccountName") or spec.get("serviceAccount"))
    known = ("", "default", *map(name_of, facts.within("", "ServiceAccount", kind.namespace)))
    if name in known or not facts.lists_all("ServiceAccount"):
        return
    cluster = dig(kind.template.item.value, *path[:-2])
    if "headGroupSpec" in path and dig(cluster, "enableInTreeAutoscaling") is True:
        return  # KubeRay makes the account of a head with an autoscaler
    said = f'error looking up service account {kind.namespace}/{name}: serviceaccount "{name}" not found'
    yield Refusal(said, "ServiceAccount", name)


def _check_priority(kind: PodKind, facts: Facts) -> Iterator[Refusal]:
    """What a pod says otherwise than its PriorityClass."""
    spec, name = kind.template.spec, kind.template.priority_class
    for what, given, computed in (
        ("integer value of priority", as_int(spec, "priority"), facts.priority(name)),
        ("string value of PreemptionPolicy", as_text(spec, "preemptionPolicy"), facts.preemption_policy(name)),
    ):
        if facts.complete_classes and given not in (None, "", computed) and computed not in (None, ""):
            said = (
                f"the {what} ({given}) must not be provided in pod spec; priority admission controller computed "
                f"{computed} from the given PriorityClass name"
            )
            yield Refusal(said, "PriorityClass", name)
