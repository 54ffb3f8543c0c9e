"""What one pod asks of a node, as the scheduler counts it. Amounts are billionths of the unit.

Source: k8s.io/component-helpers/resource (PodRequests), the API server's defaults (a request that is not written is
the limit), pkg/apis/core/v1 (LimitRange), plugin/pkg/admission/limitranger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from krmfn.model.quantity import add
from krmfn.model.values import Value, as_list, as_mapping, as_text, dig
from krmfn.survey.facts import Facts, Resources, read_resources

_POD_LEVEL = ("cpu", "memory")


def list_defaults(namespace: str, facts: Facts) -> list[Value]:
    """The items of LimitRanges that fill in what containers in a namespace leave out."""
    items = (item for value in facts.within("", "LimitRange", namespace) for item in as_list(value, "spec", "limits"))
    return [item for item in items if dig(item, "type") == "Container"]


def list_containers(spec: Value) -> list[Any]:
    """All containers of a pod."""
    return [*as_list(spec, "containers"), *as_list(spec, "initContainers")]


def count_requests(spec: Value, overhead: Resources, defaults: Sequence[Value] = ()) -> Resources:
    """What a pod with this spec asks for. `overhead` is its runtime class's; `defaults` are filled in."""
    total: dict[str, int] = {}
    for container in as_list(spec, "containers"):
        add(total, container_requests(container, defaults))
    beside: dict[str, int] = {}
    highest: dict[str, int] = {}
    for container in as_list(spec, "initContainers"):
        amounts = container_requests(container, defaults)
        if as_text(container, "restartPolicy") == "Always":
            add(total, amounts)
            add(beside, amounts)
            amounts = dict(beside)
        else:
            amounts = dict(amounts)
            add(amounts, beside)
        lift(highest, amounts)
    lift(total, highest)
    whole = as_mapping(spec, "resources")
    given, bound = read_resources(whole.get("requests")), read_resources(whole.get("limits"))
    for name in {*given, *bound}:
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            # A limit of the pod stands in where neither the pod nor a container asks for the resource.
            total[name] = given[name] if name in given else total.get(name, bound[name])
    add(total, overhead)
    return {name: amount for name, amount in total.items() if amount}


def container_requests(container: object, defaults: Iterable[Value] = ()) -> Resources:
    """The requests of a container, with its limits and a LimitRange's defaults standing in."""
    resources = as_mapping(container, "resources")
    requests, limits = read_resources(resources.get("requests")), read_resources(resources.get("limits"))
    filled = {**limits, **requests}
    for item in defaults:
        filled = {**default_requests(item), **filled}
    return filled


def container_limits(container: object, defaults: Iterable[Value] = ()) -> Resources:
    """The limits of a container, with a LimitRange's defaults standing in."""
    filled = read_resources(dig(container, "resources", "limits"))
    for item in defaults:
        filled = {**default_limits(item), **filled}
    return filled


def default_limits(item: Value) -> Resources:
    """What a LimitRange item gives a container without limits: `default`, where that says nothing `max`."""
    return {**read_resources(item.get("max")), **read_resources(item.get("default"))}


def default_requests(item: Value) -> Resources:
    """What a LimitRange item gives a container without requests."""
    return {**read_resources(item.get("min")), **default_limits(item), **read_resources(item.get("defaultRequest"))}


def lift(total: dict[str, int], amounts: Resources) -> None:
    """Makes a sum at least as large as amounts."""
    for name, amount in amounts.items():
        total[name] = max(total.get(name, 0), amount)
