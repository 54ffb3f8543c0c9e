"""Pods that the API server never lets be created: namespaces, LimitRanges, runtime classes, quotas; and the admission
plugin PodSecurity: what the labels of the namespace enforce, by the rows of `schemas/kubernetes/podsecurity.json`. What
only some releases refuse is let pass. Needs no nodes.

Source: plugin/pkg/admission/{limitranger,runtimeclass,resourcequota,namespace/lifecycle},
pkg/quota/v1/evaluator/core/pods.go, k8s.io/pod-security-admission/policy, v0.37.0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from krmfn.capacity.pods import (
    PodKind,
    add_injected,
    container_limits,
    container_requests,
    default_limits,
    is_ray_worker,
    lift,
    list_containers,
    list_defaults,
)
from krmfn.model.gotext import read_digits
from krmfn.model.quantity import add, format_quantity
from krmfn.model.values import Value, as_int, as_list, as_mapping, as_text, dig, name_of
from krmfn.releases import schemastore
from krmfn.survey.facts import Amounts, Facts, Quota, Resources, list_running, read_resources

_ONE = 10**9
#: The label of namespaces in which claims may ask for the access of an administrator.
_ADMIN = "resource.kubernetes.io/admin-access"
#: Of these a quota wants to know the amount of every container.
_COMPUTE = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


#: The name of a container, its requests and its limits.
_Box = tuple[str, Resources, Resources]


class Refusal(NamedTuple):
    """Why a pod is refused: the server's words, and the kind and name of the object that says so."""

    said: str
    by: str
    name: str


def find_refusal(kind: PodKind, facts: Facts) -> Refusal | None:
    """The first reason for which not a single pod of the kind can be created."""
    return next(_list_refusals(kind, facts), None)


def _list_refusals(kind: PodKind, facts: Facts) -> Iterator[Refusal]:
    spec, name = kind.template.spec, kind.template.priority_class
    space = facts.by_name("", "Namespace").get(kind.namespace)
    labels = as_mapping(space, "metadata", "labels")
    if space and (dig(space, "metadata", "deletionTimestamp") or dig(space, "status", "phase") == "Terminating"):
        said = f"unable to create new content in namespace {kind.namespace} because it is being terminated"
        yield Refusal(said, "Namespace", kind.namespace)
    elif not space and facts.lists_all("Namespace") and dig(kind.template.item.value, "metadata", "namespace"):
        yield Refusal(f'namespaces "{kind.namespace}" not found', "Namespace", kind.namespace)
    elif said := find_violation(spec, labels):
        yield Refusal(said, "Namespace", kind.namespace)
    for template, request in _list_device_requests(kind, facts) if space and labels.get(_ADMIN) != "true" else ():
        if dig(request, "exactly", "adminAccess") is True:
            said = f"admin access to devices requires the `{_ADMIN}: true` label on the containing namespace"
            yield Refusal(said, "ResourceClaimTemplate", template)
    if said := _check_runtime(spec, facts):
        yield Refusal(said, "RuntimeClass", as_text(spec, "runtimeClassName"))
    account = as_text(spec.get("serviceAccountName") or spec.get("serviceAccount"))
    accounts = ("default", *map(name_of, facts.within("", "ServiceAccount", kind.namespace)), "")
    if facts.lists_all("ServiceAccount") and account not in accounts and not _makes_account(kind):
        said = f'error looking up service account {kind.namespace}/{account}: serviceaccount "{account}" not found'
        yield Refusal(said, "ServiceAccount", account)
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
    if kind.node and as_list(spec, "schedulingGates"):
        yield Refusal("spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared", "", "")
    yield from _check_limits(kind, facts)
    quotas = facts.quotas_within(kind.namespace)
    amounts = _list_amounts(kind, facts) if quotas else ()
    for quota in quotas:
        if counts(quota, kind, facts) and (missing := _list_missing(quota, amounts)):
            yield Refusal(f"failed quota: {quota.name}: must specify {', '.join(missing)}", "ResourceQuota", quota.name)


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


def _check_limits(kind: PodKind, facts: Facts) -> Iterator[Refusal]:
    """What a LimitRange of the namespace says against a container, or against the pod as a whole."""
    spec = kind.template.spec
    ranges, defaults = facts.within("", "LimitRange", kind.namespace), list_defaults(kind.namespace, facts)
    yield from _check_defaults(spec, ranges)
    for value in ranges:
        name = name_of(value)
        for item in as_list(value, "spec", "limits"):
            if dig(item, "type") == "Container":
                for _, requests, limits in _count_boxes(spec, defaults):
                    for said in _compare(item, {"request": requests, "limit": limits}):
                        yield Refusal(said, "LimitRange", name)
            elif dig(item, "type") == "Pod":
                limits = _sum_limits(spec, defaults)
                uncertain = is_ray_worker(kind.template)  # KubeRay may add an init container that has limits
                if uncertain:
                    limits = {"cpu": 0, "memory": 0, **limits}
                bounds = {key: entry for key, entry in item.items() if key != "maxLimitRequestRatio" or not uncertain}
                for said in _compare(bounds, {"request": kind.requests, "limit": limits}):
                    yield Refusal(said, "LimitRange", name)
            elif dig(item, "type") == "PersistentVolumeClaim":
                for said in (said for claim in kind.made for said in _compare(item, {"request": _ask_storage(claim)})):
                    yield Refusal(f"persistentvolumeclaims are forbidden: {said}", "LimitRange", name)


def _makes_account(kind: PodKind) -> bool:
    """Whether KubeRay makes the ServiceAccount that the pods use: that of a head with an autoscaler."""
    path = kind.template.path
    cluster = dig(kind.template.item.value, *path[:-2])
    return "headGroupSpec" in path and dig(cluster, "enableInTreeAutoscaling") is True


def _ask_storage(claim: object) -> Resources:
    return read_resources(dig(claim, "spec", "resources", "requests"))


def _check_defaults(spec: Value, ranges: Iterable[Value]) -> Iterator[Refusal]:
    """A limit that a LimitRange fills in, below what the container asks for itself. Of several the largest one: nobody
    knows which comes first."""
    given: dict[str, tuple[int, str]] = {}
    for value in ranges:
        for item in map(as_mapping, as_list(value, "spec", "limits")):
            for name, limit in default_limits(item).items() if item.get("type") == "Container" else ():
                given[name] = max((limit, name_of(value)), given.get(name, (0, "")))
    for field in ("containers", "initContainers"):
        for index, box in enumerate(as_list(spec.get(field))):
            limits = read_resources(dig(box, "resources", "limits"))
            for name, request in read_resources(dig(box, "resources", "requests")).items():
                limit, by = given.get(name, (request, ""))
                if name not in limits and request > limit:
                    spelled = format_quantity(request)
                    said = f'spec.{field}[{index}].resources.requests: Invalid value: "{spelled}": '
                    said += f"must be less than or equal to {name} limit of {format_quantity(limit)}"
                    yield Refusal(said, "LimitRange", by)


def _compare(item: Any, given: Mapping[str, Resources]) -> Iterator[str]:
    """What a LimitRange's item says against the requests (`request`) of a container, a pod or a claim, and against the
    limits (`limit`), which claims do not have."""
    what = as_text(item, "type")
    for field, word, places in (("min", "minimum", ("request", "limit")), ("max", "maximum", ("limit", "request"))):
        order = [each for each in places if each in given]
        for name, bound in read_resources(dig(item, field)).items():
            told = f"{word} {name} usage per {what} is {format_quantity(bound)}"
            amounts = [(each, given[each][name]) for each in order if name in given[each]]
            beyond = [pair for pair in amounts if (pair[1] < bound if field == "min" else pair[1] > bound)]
            if name not in given[order[0]]:
                yield f"{told}.  No {order[0]} is specified"
            elif beyond:
                yield f"{told}, but {beyond[0][0]} is {format_quantity(beyond[0][1])}"
    for name, most in read_resources(dig(item, "maxLimitRequestRatio")).items() if "limit" in given else ():
        told = f"{name} max limit to request ratio per {what} is {format_quantity(most)}"
        request, limit = (given[each].get(name, 0) for each in ("request", "limit"))
        if not request or not limit:
            lacking = "limit" if request else "request"
            yield f"{told}, but no {lacking} is specified or {lacking} is 0"
        elif limit * _ONE > most * request:
            yield f"{told}, but provided ratio is {limit / request:f}"


def _sum_limits(spec: Value, defaults: Sequence[Value]) -> Amounts:
    """The limits of a pod as a whole: the sum of its containers, at least that of each init container."""
    total: Amounts = {}
    for box in list_running(spec):
        add(total, container_limits(box, defaults))
    for box in as_list(spec, "initContainers"):
        lift(total, container_limits(box, defaults))
    return {**total, **read_resources(dig(spec, "resources", "limits"))}


def _list_amounts(kind: PodKind, facts: Facts) -> list[_Box]:
    """The containers of a pod; none of one that has its own requests or limits and is counted as a whole."""
    spec = kind.template.spec
    if read_resources(dig(spec, "resources", "requests")) or read_resources(dig(spec, "resources", "limits")):
        return []
    return _count_boxes(spec, list_defaults(kind.namespace, facts))


def _count_boxes(spec: Value, defaults: Sequence[Value]) -> list[_Box]:
    return [
        (as_text(box, "name"), container_requests(box, defaults), container_limits(box, defaults))
        for box in list_containers(spec)
    ]


def _list_missing(quota: Quota, amounts: Iterable[_Box]) -> list[str]:
    """The resources that the quota limits and a container does not name."""
    missing = {}
    for box, requests, limits in amounts:
        for name in sorted(quota.hard):
            where, _, resource = name.rpartition(".")
            if name in _COMPUTE and resource not in (limits if where == "limits" else requests):
                missing[name] = f"{name} for: {box}"
    return list(missing.values())


def counts(quota: Quota, kind: PodKind, facts: Facts) -> bool:
    """Whether a quota of its namespace certainly counts pods of the kind: scopes and scope selector."""
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
            name = as_text(spec, "priorityClassName")
            if not name:  # admission fills in the default class
                name = next((each for each, entry in facts.priority_classes.items() if entry.default), "")
            certain = bool(name) or facts.complete_classes
            match term.get("operator"):
                case "In":
                    return name in as_list(term, "values")
                case "NotIn":
                    return certain and name not in as_list(term, "values")
                case "DoesNotExist":
                    return certain and not name
                case "Exists":
                    return bool(name)
        case "CrossNamespacePodAffinity":
            return _looks_abroad(spec)
    return False


def _looks_abroad(spec: Value) -> bool:
    """Whether an affinity term names namespaces."""
    for field in ("podAffinity", "podAntiAffinity"):
        rules = as_mapping(spec, "affinity", field)
        terms = as_list(rules, "requiredDuringSchedulingIgnoredDuringExecution")
        liked = as_list(rules, "preferredDuringSchedulingIgnoredDuringExecution")
        for term in map(as_mapping, [*terms, *(dig(each, "podAffinityTerm") for each in liked)]):
            if as_list(term, "namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False


def _is_best_effort(kind: PodKind, facts: Facts) -> bool:
    """Whether nothing in the pod has a request or a limit, also not by a LimitRange's defaults."""
    spec, defaults = add_injected(kind.template, surely=True), list_defaults(kind.namespace, facts)
    amounts = [each for _, *both in _count_boxes(spec, defaults) for each in both]
    amounts += [read_resources(dig(spec, "resources", field)) for field in ("requests", "limits")]
    return not any(each.get(name) for each in amounts for name in ("cpu", "memory"))


def list_usage(kind: PodKind, facts: Facts, claims: bool = True) -> Resources:
    """What one pod of the kind takes from a quota, by the names that quotas use; with the `claims` that are made for
    it."""
    usage = {"pods": _ONE, "count/pods": _ONE}
    for name, amount in kind.requests.items():
        usage[f"requests.{name}"] = amount
        if name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-"):
            usage[name] = amount
    for name, amount in _sum_limits(kind.template.spec, list_defaults(kind.namespace, facts)).items():
        if name in ("cpu", "memory", "ephemeral-storage"):
            usage[f"limits.{name}"] = amount
    for claim in kind.made if claims else ():
        storage, name = _ask_storage(claim).get("storage", 0), as_text(claim, "spec", "storageClassName")
        for prefix in ("", f"{name}.storageclass.storage.k8s.io/") if name else ("",):
            for what, amount in (("requests.storage", storage), ("persistentvolumeclaims", _ONE)):
                usage[f"{prefix}{what}"] = usage.get(f"{prefix}{what}", 0) + amount
        usage["count/persistentvolumeclaims"] = usage["persistentvolumeclaims"]
    for _, request in _list_device_requests(kind, facts) if claims else ():
        exactly = as_mapping(request, "exactly")
        name = f"{as_text(exactly, 'deviceClassName')}.deviceclass.resource.k8s.io/devices"
        if exactly.get("allocationMode") in (None, "ExactCount"):
            usage[name] = usage.get(name, 0) + (as_int(exactly, "count") or 1) * _ONE
    return usage


def _list_device_requests(kind: PodKind, facts: Facts) -> Iterator[tuple[str, Any]]:
    """The requests of the resource claims that are made for each pod, with the names of their templates."""
    templates = facts.by_place("resource.k8s.io", "ResourceClaimTemplate") if kind.device_templates else {}
    for name in kind.device_templates:
        spec = dig(templates.get((kind.namespace, name)), "spec", "spec")
        yield from ((name, request) for request in as_list(spec, "devices", "requests"))


ENFORCE = "pod-security.kubernetes.io/enforce"
_NEWEST = 1000
_LEVELS = ("privileged", "baseline", "restricted")


def find_violation(spec: Value, labels: Value) -> str:
    """The server's words about a pod, as far as to the names of its containers; empty when nothing refuses it."""
    level = as_text(labels.get(ENFORCE))
    strictness = _LEVELS.index(level) if level in _LEVELS else 0
    version = as_text(labels.get(f"{ENFORCE}-version")) or "latest"
    minor = read_digits(version.rpartition(".")[2])
    minor = _NEWEST if minor is None else minor
    standards = schemastore.load("kubernetes/podsecurity.json")["standards"] if strictness else ()
    reasons = [
        each["word"]
        for each in standards
        if _LEVELS.index(each["level"]) <= strictness and each.get("least", 0) <= minor and _is_refused(spec, each)
    ]
    return f'violates PodSecurity "{level}:{version}": {", ".join(dict.fromkeys(reasons))}' if reasons else ""


def _is_refused(spec: Value, standard: Value) -> bool:
    others, place, path = standard.get("others"), standard["place"], standard["path"].split(".")
    if others == "windows" and dig(spec, "os", "name") == "windows":
        return False
    if others == "users" and spec.get("hostUsers") is False:
        return False
    found = [dig(each, *path) for each in _list_places(spec, place)]
    if place == "inherited":
        own = dig(spec, "securityContext", *path)
        found = [own if value in (None, "") else value for value in found]
    if path[-1] in ("add", "kinds"):
        found = [item for value in found for item in as_list(value)]
    if path[-1] == "drop":
        return any("ALL" not in as_list(value) for value in found)
    return any((value in standard["values"]) is not standard.get("only", False) for value in found)


def _list_places(spec: Value, place: str) -> Iterator[Any]:
    boxes = [box for field in ("initContainers", "containers") for box in map(as_mapping, as_list(spec.get(field)))]
    if place == "pod":
        yield spec
    elif place == "ports":
        yield from (port for box in boxes for port in as_list(box, "ports"))
    elif place == "sysctls":
        yield from as_list(spec, "securityContext", "sysctls")
    elif place == "volumes":
        for volume in map(as_mapping, as_list(spec, "volumes")):
            yield {"kinds": [kind for kind, source in volume.items() if source is not None]}
    else:
        yield from (spec.get("securityContext") for _ in range(place == "contexts"))
        yield from (box.get("securityContext") for box in boxes)
