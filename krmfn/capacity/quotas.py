"""ResourceQuotas: which of them count a pod, what the pod has to specify for them, and what it uses of them.

Source: plugin/pkg/admission/resourcequota, pkg/quota/v1/evaluator/core, v0.37.0. Amounts are billionths of the unit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.capacity.limitranges import read_containers, read_storage, sum_limits
from krmfn.capacity.pods import PodKind, add_injected, is_ray_worker, list_defaults
from krmfn.model.quantity import add
from krmfn.model.values import Value, as_int, as_list, as_mapping, as_text, dig
from krmfn.survey.facts import Amounts, Facts, Quota, Resources, read_resources

_ONE = 10**9
#: What every container has to specify where a quota limits it.
_COMPUTE = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


def counts(quota: Quota, kind: PodKind, facts: Facts) -> bool:
    """Whether a quota of its namespace certainly counts pods of the kind: by its scopes and its scope selector."""
    scopes = [{"scopeName": scope, "operator": "Exists"} for scope in as_list(quota.scope, "scopes")]
    terms = (*scopes, *as_list(quota.scope, "scopeSelector", "matchExpressions"))
    return all(_is_in_scope(as_mapping(term), kind, facts) for term in terms)


def _is_in_scope(term: Value, kind: PodKind, facts: Facts) -> bool:
    spec = kind.template.spec
    ends = dig(spec, "activeDeadlineSeconds") is not None
    match term.get("scopeName"):
        case "Terminating":
            return ends
        case "NotTerminating":
            return not ends
        case "BestEffort":
            # KubeRay may add a container with requests.
            return _is_best_effort(kind, facts) and not is_ray_worker(kind.template)
        case "NotBestEffort":
            return not _is_best_effort(kind, facts)
        case "PriorityClass":
            return _has_priority_class(term, as_text(spec, "priorityClassName"), facts)
        case "CrossNamespacePodAffinity":
            return _names_namespaces(spec)
    return False


def _has_priority_class(term: Value, name: str, facts: Facts) -> bool:
    if not name:  # admission fills in the default class
        name = next((each for each, entry in facts.priority_classes.items() if entry.default), "")
    is_certain = bool(name) or facts.complete_classes
    match term.get("operator"):
        case "In":
            return name in as_list(term, "values")
        case "NotIn":
            return is_certain and name not in as_list(term, "values")
        case "DoesNotExist":
            return is_certain and not name
        case "Exists":
            return bool(name)
    return False


def _names_namespaces(spec: Value) -> bool:
    """Whether an affinity term names namespaces, or selects them."""
    for field in ("podAffinity", "podAntiAffinity"):
        rules = as_mapping(spec, "affinity", field)
        required = as_list(rules, "requiredDuringSchedulingIgnoredDuringExecution")
        preferred = as_list(rules, "preferredDuringSchedulingIgnoredDuringExecution")
        for term in map(as_mapping, [*required, *(dig(each, "podAffinityTerm") for each in preferred)]):
            if as_list(term, "namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False


def _is_best_effort(kind: PodKind, facts: Facts) -> bool:
    """Whether nothing in the pod has a request or a limit, LimitRanges' defaults included."""
    spec, defaults = add_injected(kind.template, surely=True), list_defaults(kind.namespace, facts)
    amounts = [read_resources(dig(spec, "resources", field)) for field in ("requests", "limits")]
    for container in read_containers(spec, defaults):
        amounts += (container.requests, container.limits)
    return not any(each.get("cpu") or each.get("memory") for each in amounts)


def check_quotas(kind: PodKind, facts: Facts) -> Iterator[tuple[str, str]]:
    """What the containers of a pod leave out although a quota limits it: the server's words, and the quota's name."""
    spec, quotas = kind.template.spec, facts.quotas_within(kind.namespace)
    if not quotas or any(read_resources(dig(spec, "resources", field)) for field in ("requests", "limits")):
        return  # a pod with requests or limits of its own is counted as a whole
    containers = read_containers(spec, list_defaults(kind.namespace, facts))
    for quota in quotas:
        if not counts(quota, kind, facts):
            continue
        missing = {}  # of each resource the server names one container
        for container in containers:
            for name in sorted(quota.hard):
                part, _, resource = name.rpartition(".")
                specified = container.limits if part == "limits" else container.requests
                if name in _COMPUTE and resource not in specified:
                    missing[name] = f"{name} for: {container.name}"
        if missing:
            yield f"failed quota: {quota.name}: must specify {', '.join(missing.values())}", quota.name


def list_usage(kind: PodKind, facts: Facts, claims: bool = True) -> Resources:
    """What one pod of the kind uses of a quota, by the quota's names; with the `claims` that are made for it."""
    usage = {"pods": _ONE, "count/pods": _ONE}
    for name, amount in kind.requests.items():
        usage[f"requests.{name}"] = amount
        if name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-"):
            usage[name] = amount
    for name, amount in sum_limits(kind.template.spec, list_defaults(kind.namespace, facts)).items():
        if name in ("cpu", "memory", "ephemeral-storage"):
            usage[f"limits.{name}"] = amount
    if claims:
        _add_claims(usage, kind, facts)
    return usage


def _add_claims(usage: Amounts, kind: PodKind, facts: Facts) -> None:
    for claim in kind.made:
        used = {"requests.storage": read_storage(claim).get("storage", 0), "persistentvolumeclaims": _ONE}
        add(usage, {**used, "count/persistentvolumeclaims": _ONE})
        storage_class = as_text(claim, "spec", "storageClassName")
        if storage_class:
            add(usage, {f"{storage_class}.storageclass.storage.k8s.io/{name}": used[name] for name in used})
    for _, request in list_device_requests(kind, facts):
        exactly = as_mapping(request, "exactly")
        if exactly.get("allocationMode") in (None, "ExactCount"):
            name = f"{as_text(exactly, 'deviceClassName')}.deviceclass.resource.k8s.io/devices"
            add(usage, {name: _ONE}, as_int(exactly, "count") or 1)


def list_device_requests(kind: PodKind, facts: Facts) -> Iterator[tuple[str, Any]]:
    """The requests of the resource claims that are made for each pod, with the names of their templates."""
    templates = facts.by_place("resource.k8s.io", "ResourceClaimTemplate") if kind.device_templates else {}
    for name in kind.device_templates:
        spec = dig(templates.get((kind.namespace, name)), "spec", "spec")
        yield from ((name, request) for request in as_list(spec, "devices", "requests"))
