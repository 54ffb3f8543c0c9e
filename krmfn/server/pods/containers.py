"""The rules of containers that are no rows: what compares containers, mounts and devices with each other, probes and
hooks, references to fields of the pod and to resources, which variables and volumes share;
requests, limits and claims, of containers and of whole pods.

Source: k8s.io/kubernetes/pkg/apis/core/validation (validateContainers, validateInitContainers,
validateEphemeralContainers and what they call); ConvertDownwardAPIFieldLabel of pkg/apis/core/pods;
k8s.io/component-helpers/resource (how the requests of containers add up).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.quantity import parse_quantity
from krmfn.model.values import Value
from krmfn.releases import schemastore
from krmfn.server.cases import check_part
from krmfn.server.formats import Faults, check_label_key, check_short_name
from krmfn.server.pods.spec import PodContext, visit_containers
from krmfn.server.spell import BILLION, Amount, Key, add, is_integer, write_json
from krmfn.server.verdict import (
    Causes,
    duplicate,
    forbidden,
    invalid,
    invalid_text,
    not_found,
    not_supported,
    of_rule,
    refuse_text,
    required,
)


def check_other_names(pod: PodContext, spec: Value, path: Path) -> Causes:
    """What init containers and ephemeral ones share with the containers of a spec: their names, and ports of the
    host; and the containers that ephemeral ones are for."""
    taken = {container.get("name", "") for container in spec.get("containers", ())}
    where: Path = (*path, "initContainers")
    for index, container in enumerate(spec.get("initContainers", ())):
        name = container.get("name", "")
        if name in taken:
            yield duplicate((*where, index, "name"), quote(name))
        taken |= {name} - {""}
        yield from of_rule("pod-ports", check_host_ports(pod, [container], where))
    targets, where = frozenset(taken), (*path, "ephemeralContainers")
    for index, container in enumerate(spec.get("ephemeralContainers", ())):
        name, target = container.get("name", ""), container.get("targetContainerName", "")
        if name in taken:
            yield duplicate((*where, index, "name"), quote(name))
        taken.add(name)
        if target and target not in targets:
            yield not_found((*where, index, "targetContainerName"), quote(target))


def check_host_ports(pod: PodContext, containers: Iterable[Value], where: Path) -> Causes:
    taken = set()
    for index, container in enumerate(containers):
        for place, port in enumerate(container.get("ports", ())):
            if "hostPort" in port:
                key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if key in taken:
                    yield duplicate((*where, index, "ports", place, "hostPort"), quote(key))
                taken.add(key)


def check_uses(pod: PodContext, container: Value, at: Path) -> Causes:
    """A volume is mounted or a device, and so is what stands at a path."""
    mounts, devices = ("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")
    for (field, point), (other, place) in ((mounts, devices), (devices, mounts)):
        used = {use.get("name", ""): use.get(place, "") for use in container[other]}
        for index, use in enumerate(container[field]):
            where, name, path = (*at, field, index), use.get("name", ""), use.get(point, "")
            if name in used:
                yield invalid((*where, "name"), name, f"must not already exist in {other}")
            if path in used.values():
                yield invalid((*where, point), path, f"must not already exist as a path in {other}")


def check_volume(pod: PodContext, name: str, path: Path) -> Causes:
    """There is a volume of the name."""
    if name not in pod.volumes:
        yield not_found(path, quote(name))


def check_block_volume(pod: PodContext, name: str, path: Path) -> Causes:
    yield from check_volume(pod, name, path)
    source = pod.volumes.get(name, ("ephemeral",))
    if "persistentVolumeClaim" not in source and "ephemeral" not in source:
        detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        yield invalid(path, name, detail)


def check_bind_options(pod: PodContext, mount: Value, at: Path) -> Causes:
    if "image" in pod.volumes.get(mount.get("name", ""), {}):
        detail = "bindMountOptions may not be used with image volumes"
        yield invalid_text((*at, "bindMountOptions"), write_json(mount["bindMountOptions"]), detail)


def check_sleep(pod: PodContext, action: Value, at: Path) -> Causes:
    seconds = action.get("seconds", 0)
    if pod.grace is not None and not 0 <= seconds <= pod.grace:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({pod.grace})"
        yield invalid(at, seconds, detail)


_NAMES = schemastore.load("kubernetes/named.json")
_HUGE_FIELDS = ("limits.hugepages-", "requests.hugepages-")


def check_field(pod: PodContext, selector: Value, path: Path) -> Causes:
    """A reference to a field of the pod, as the server reads it."""
    version, text, at = selector.get("apiVersion", ""), selector.get("fieldPath", ""), (*path, "fieldPath")
    if not text:
        yield required(at)
        return
    name, found, subscript = text[:-2].partition("['") if text.endswith("']") else (text, "", "")
    wrong = ""
    if version != "v1":
        wrong = f"unsupported pod version: {version}"
    elif found and name:
        if name in ("metadata.annotations", "metadata.labels"):
            key = subscript.lower() if name == "metadata.annotations" else subscript
            yield from refuse_text(path, key, check_label_key(key))
            return
        wrong = f"field label does not support subscript: {text}"
    elif text not in _NAMES["fieldsOfPods"]:
        wrong = f"field label not supported: {text}"
    if wrong:
        yield invalid(at, text, f"error converting fieldPath: {wrong}")


def check_file_keys(pod: PodContext, spec: Value, path: Path) -> Causes:
    """Variables from files: the volume is an empty directory of this pod."""
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes", ())}
    for container, at in visit_containers(spec, path):
        for index, variable in enumerate(container.get("env", ())):
            selector = variable.get("valueFrom", {}).get("fileKeyRef")
            if selector is None:
                continue
            name = selector.get("volumeName", "")
            where = (*at, "env", index, "valueFrom", "fileKeyRef", "volumeName")
            if name not in volumes:
                yield not_found(where, quote(name))
            elif "emptyDir" not in volumes[name]:
                yield invalid(where, name, "referenced volume must be of type emptyDir")


def check_divisor(pod: PodContext, selector: Value, path: Path) -> Causes:
    name, divisor = selector.get("resource", ""), selector.get("divisor")
    word = "hugepages" if name.startswith(_HUGE_FIELDS) else _NAMES["dividedResources"].get(name)
    sizes = ("1m", "1") if word == "cpu" else _NAMES["divisors"]
    if divisor and word and str(divisor) not in sizes:
        listed = " and ".join(sizes) if word == "cpu" else ", ".join(sizes)
        detail = f"only divisor's values {listed} are supported with the {word} resource"
        yield invalid((*path, "divisor"), name, detail)


_HUGE = "hugepages-"


def check_resources(pod: PodContext, resources: Value, path: Path, of_pod: bool = False) -> Causes:
    """Requests and limits. `of_pod`: those of a whole pod, which can name fewer resources."""
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    named = limits.keys() | requests.keys()
    for name, amount in limits.items():
        yield from _check_amount(pod, name, amount, (*path, "limits", Key(name)), of_pod)
    where: Path = (*path, "requests")
    for name, amount in requests.items():
        yield from _check_amount(pod, name, amount, (*where, Key(name)), of_pod)
        limit = limits.get(name)
        if limit is None:
            if not may_overcommit(name):
                yield required((*path, "limits"), "Limit must be set for non overcommitable resources")
        elif amount != limit and not may_overcommit(name):
            yield invalid(where, amount, f"must be equal to {name} limit of {limit}")
        elif amount > limit:
            detail = f"must be less than or equal to {name} limit of {limit}"
            yield invalid(where, amount, detail)
    if "cpu" not in named and "memory" not in named and any(name.startswith(_HUGE) for name in named):
        yield forbidden(path, "HugePages require cpu or memory")
    if "claims" in resources:
        yield from check_part(pod, "claimsOfContainer", resources["claims"], (*path, "claims"), "pod-claims")


def _check_amount(pod: PodContext, name: str, amount: Amount, path: Path, of_pod: bool) -> Causes:
    wrong = list_misnomers(name) if of_pod else list_container_misnomers(name)
    for message in wrong:
        yield invalid_text(path, write_json(name), message)
    if of_pod and not wrong and name not in ("cpu", "memory") and not name.startswith(_HUGE):
        yield not_supported(path, write_json(name), ("cpu", "hugepages-", "memory"))
    if amount < 0:
        yield invalid(path, amount, "must be greater than or equal to 0")
    if is_whole(name) and not is_integer(amount):
        yield invalid(path, amount, "must be an integer")
    if name.startswith(_HUGE) and not _is_divisible(name, amount) and not pod.is_on("indivisible-huge-pages"):
        detail = f"{amount} is not positive integer multiple of {name}"
        yield invalid(path, amount, detail)


def list_misnomers(name: str) -> Faults:
    """Why a name is not one of a resource."""
    wrong = check_label_key(name)
    if wrong or "/" in name or name in _NAMES["resources"] or name.startswith((_HUGE, "requests." + _HUGE)):
        return wrong
    return ("must be a standard resource type or fully qualified",)


@lru_cache(1024)  # the pods of an input name few
def list_container_misnomers(name: str) -> Faults:
    """Why a container cannot name a resource like this."""
    wrong = list_misnomers(name)
    if "/" not in name:
        if name not in ("cpu", "memory", "ephemeral-storage") and not name.startswith(_HUGE):
            return (*wrong, "must be a standard resource for containers")
    elif not _is_native(name) and (name.startswith("requests.") or check_label_key("requests." + name)):
        return (*wrong, "doesn't follow extended resource name standard")
    return wrong


def is_whole(name: str) -> bool:
    """Whether there is no half of a resource."""
    return name in _NAMES["wholeResources"] or not _is_native(name)


def _is_divisible(name: str, amount: Amount) -> bool:
    size = parse_quantity(name.removeprefix(_HUGE))
    if size is None or size <= 0 or size % BILLION:
        return False
    return -(-amount // BILLION) % (size // BILLION) == 0


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def may_overcommit(name: str) -> bool:
    return _is_native(name) and not name.startswith(_HUGE)


def check_overhead(pod: PodContext, amounts: Value, path: Path) -> Causes:
    yield from check_resources(pod, {"limits": amounts}, path)


def check_claims(pod: PodContext, claims: list[Any], path: Path) -> Causes:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        name, request = claim.get("name", ""), claim.get("request", "")
        at = (*path, index)
        if not name:
            yield required(at)
            continue
        if name in seen:
            yield duplicate(at, quote(name))
        else:
            key = name
            if request:
                key = f"{name}/{request}"
                yield from refuse_text((*at, "request"), request, check_short_name(request))
            if key in seen:
                yield duplicate(at, quote(key))
            elif not request and any(other.partition("/")[0] == name for other in seen if "/" in other):
                yield duplicate(at, quote(name))
            seen.add(key)
        if name not in pod.claims:
            known = ": " + ", ".join(sorted(pod.claims)) if pod.claims else " which is empty"
            yield not_found(at, quote(name), "must be one of the names in pod.spec.resourceClaims" + known)


def check_pod_resources(pod: PodContext, spec: Value, path: Path) -> Causes:
    """Requests and limits of the whole pod, which its containers share."""
    resources = spec["resources"]
    where: Path = (*path, "resources")
    yield from check_resources(pod, resources, where, True)
    for field in ("requests", "limits"):
        own = resources.get(field, {})
        for name, amount in add_up(spec, field).items():
            if name in own and amount > own[name] and (field == "requests" or name.startswith(_HUGE)):
                detail = f"must be greater than or equal to aggregate container {field} of {amount}"
                yield invalid((*where, field, Key(name)), own[name], detail)
    limits = resources.get("limits", {})
    for index, container in enumerate(spec.get("containers", ())):
        for name, amount in container.get("resources", {}).get("limits", {}).items():
            if name in limits and amount > limits[name]:
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                at = (*where, "containers", index, Key(name), "limits")
                yield invalid(at, amount, detail)


def add_up(spec: Value, kind: str) -> dict[str, Amount]:
    """What all containers need at once: those that run together, or an init container with the sidecars before it."""
    running: dict[str, Amount] = {}
    for container in spec.get("containers", ()):
        _add(running, container.get("resources", {}).get(kind, {}))
    sidecars: dict[str, Amount] = {}
    peak: dict[str, Amount] = {}
    for container in spec.get("initContainers", ()):
        mine = container.get("resources", {}).get(kind, {})
        if container.get("restartPolicy") == "Always":
            _add(running, mine)
            _add(sidecars, mine)
            mine = {}
        together = dict(mine)
        _add(together, sidecars)
        for name, amount in together.items():
            peak[name] = max(peak.get(name, amount), amount)
    for name, amount in peak.items():
        running[name] = max(running.get(name, amount), amount)
    return running


def _add(total: dict[str, Amount], more: Mapping[str, Amount]) -> None:
    for name, amount in more.items():
        total[name] = add(total[name], amount) if name in total else amount
