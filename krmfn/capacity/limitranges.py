"""LimitRanges: what they say against the containers of a pod, the pod as a whole and the claims that are made for it.

Source: plugin/pkg/admission/limitranger, v0.37.0. Amounts are billionths of the unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from krmfn.capacity.pods import (
    PodKind,
    container_limits,
    container_requests,
    default_limits,
    is_ray_worker,
    lift,
    list_containers,
    list_defaults,
)
from krmfn.model.quantity import add, format_quantity
from krmfn.model.values import Value, as_list, as_mapping, as_text, dig, name_of
from krmfn.survey.facts import Amounts, Facts, Resources, list_running, read_resources


class ContainerResources(NamedTuple):
    """The requests and limits of a container, with those that LimitRanges fill in."""

    name: str
    requests: Resources
    limits: Resources


def read_containers(spec: Value, defaults: Sequence[Value]) -> list[ContainerResources]:
    """The resources of all containers of a pod, init containers last. `defaults` are those of `list_defaults`."""
    return [
        ContainerResources(as_text(each, "name"), container_requests(each, defaults), container_limits(each, defaults))
        for each in list_containers(spec)
    ]


def sum_limits(spec: Value, defaults: Sequence[Value]) -> Amounts:
    """The limits of a pod as a whole: its own, or else the sum of its containers', at least each init container's."""
    total: Amounts = {}
    for container in list_running(spec):
        add(total, container_limits(container, defaults))
    for container in as_list(spec, "initContainers"):
        lift(total, container_limits(container, defaults))
    return {**total, **read_resources(dig(spec, "resources", "limits"))}


def read_storage(claim: object) -> Resources:
    """What a volume claim requests."""
    return read_resources(dig(claim, "spec", "resources", "requests"))


def check_limit_ranges(kind: PodKind, facts: Facts) -> Iterator[tuple[str, str]]:
    """What the LimitRanges of the namespace refuse: the server's words, and the name of the LimitRange."""
    spec = kind.template.spec
    ranges, defaults = facts.within("", "LimitRange", kind.namespace), list_defaults(kind.namespace, facts)
    yield from _check_defaults(spec, ranges)
    for limit_range in ranges:
        for item in as_list(limit_range, "spec", "limits"):
            for said in _check_item(as_mapping(item), kind, defaults):
                yield said, name_of(limit_range)


def _check_defaults(spec: Value, ranges: Iterable[Value]) -> Iterator[tuple[str, str]]:
    """A limit that LimitRanges fill in (the largest: their order is not known), below what the container requests."""
    defaults: dict[str, tuple[int, str]] = {}
    for limit_range in ranges:
        for item in as_list(limit_range, "spec", "limits"):
            if dig(item, "type") == "Container":
                for name, limit in default_limits(item).items():
                    defaults[name] = max((limit, name_of(limit_range)), defaults.get(name, (0, "")))
    for field in ("containers", "initContainers"):
        for index, container in enumerate(as_list(spec, field)):
            limits = read_resources(dig(container, "resources", "limits"))
            for name, request in read_resources(dig(container, "resources", "requests")).items():
                limit, by = defaults.get(name, (request, ""))
                if name not in limits and request > limit:
                    said = f'spec.{field}[{index}].resources.requests: Invalid value: "{format_quantity(request)}": '
                    yield f"{said}must be less than or equal to {name} limit of {format_quantity(limit)}", by


def _check_item(item: Value, kind: PodKind, defaults: Sequence[Value]) -> Iterator[str]:
    spec = kind.template.spec
    match item.get("type"):
        case "Container":
            for container in read_containers(spec, defaults):
                yield from _compare(item, {"request": container.requests, "limit": container.limits})
        case "Pod":
            limits = sum_limits(spec, defaults)
            if is_ray_worker(kind.template):  # KubeRay may add an init container that has limits
                limits = {"cpu": 0, "memory": 0, **limits}
                item = {key: value for key, value in item.items() if key != "maxLimitRequestRatio"}
            yield from _compare(item, {"request": kind.requests, "limit": limits})
        case "PersistentVolumeClaim":
            for claim in kind.made:
                for said in _compare(item, {"request": read_storage(claim)}):
                    yield f"persistentvolumeclaims are forbidden: {said}"


def _compare(item: Value, amounts: Mapping[str, Resources]) -> Iterator[str]:
    """What an item of a LimitRange says against requests (`request`) and limits (`limit`, which claims lack)."""
    per = f"per {as_text(item, 'type')} is"
    for field, word, order in (("min", "minimum", ("request", "limit")), ("max", "maximum", ("limit", "request"))):
        given = [each for each in order if each in amounts]
        for name, bound in read_resources(item.get(field)).items():
            told = f"{word} {name} usage {per} {format_quantity(bound)}"
            if name not in amounts[given[0]]:
                yield f"{told}.  No {given[0]} is specified"
                continue
            for each in given:
                amount = amounts[each].get(name, bound)
                is_refused = amount < bound if field == "min" else amount > bound
                if is_refused:
                    yield f"{told}, but {each} is {format_quantity(amount)}"
                    break
    if "limit" in amounts:
        for name, most in read_resources(item.get("maxLimitRequestRatio")).items():
            request, limit = (amounts[each].get(name, 0) for each in ("request", "limit"))
            told = f"{name} max limit to request ratio {per} {format_quantity(most)}"
            if not request or not limit:
                lacking = "limit" if request else "request"
                yield f"{told}, but no {lacking} is specified or {lacking} is 0"
            elif limit * 10**9 > most * request:
                yield f"{told}, but provided ratio is {limit / request:f}"
