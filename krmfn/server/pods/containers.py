"""The rules of containers that are no rows: what compares containers, mounts and devices with each other, probes and
hooks, references to fields of the pod and to resources, which variables and volumes share.

Source: k8s.io/kubernetes/pkg/apis/core/validation (validateContainers, validateInitContainers,
validateEphemeralContainers and what they call); ConvertDownwardAPIFieldLabel of pkg/apis/core/pods.
"""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.values import Value
from krmfn.server.cases import check_part
from krmfn.server.formats import check_label_key
from krmfn.server.plain.values import check_choice
from krmfn.server.pods.setting import Setting
from krmfn.server.spell import write_json
from krmfn.server.verdict import (
    Causes,
    duplicate,
    find_repeated,
    forbidden,
    invalid,
    invalid_text,
    not_found,
    not_supported,
    refuse_text,
    required,
)


def check_containers(pod: Setting, spec: Value, path: Path) -> Causes:
    """`containers` of a spec; `path` is the spec's."""
    where: Path = (*path, "containers")
    containers = spec.get("containers")
    if not containers:
        yield required(where)
        return
    again = find_repeated([container.get("name", "") for container in containers])
    for index, container in enumerate(containers):
        at = (*where, index)
        yield from check_part(pod, "container", container, at)
        if index in again:
            yield duplicate((*at, "name"), quote(container.get("name", "")))
        yield from check_part(pod, "mainContainer", container, at)
    yield from check_part(pod, "hostPorts", containers, where, "pod-ports")


def check_init_containers(pod: Setting, spec: Value, path: Path) -> Causes:
    """`initContainers` of a spec."""
    names = {container.get("name", "") for container in spec.get("containers", ())}
    where: Path = (*path, "initContainers")
    for index, container in enumerate(spec.get("initContainers", ())):
        at = (*where, index)
        yield from check_part(pod, "container", container, at)
        yield from check_part(pod, "initContainer", container, at)
        name = container.get("name", "")
        if name in names:
            yield duplicate((*at, "name"), quote(name))
        elif name:
            names.add(name)
        yield from check_part(pod, "hostPorts", [container], where, "pod-ports")


def check_ephemeral_containers(pod: Setting, spec: Value, path: Path) -> Causes:
    """`ephemeralContainers` of a spec that has some; no create may have them, and only pods can."""
    others = {
        container.get("name", "") for name in ("containers", "initContainers") for container in spec.get(name, ())
    }
    names = set(others)
    for index, container in enumerate(spec.get("ephemeralContainers", ())):
        at: Path = (*path, "ephemeralContainers", index)
        yield from check_part(pod, "container", container, at)
        yield from check_part(pod, "ephemeralContainer", container, at)
        name = container.get("name", "")
        if name in names:
            yield duplicate((*at, "name"), quote(name))
        names.add(name)
        target = container.get("targetContainerName", "")
        if target and target not in others:
            yield not_found((*at, "targetContainerName"), quote(target))


def check_host_ports(pod: Setting, containers: Iterable[Value], where: Path) -> Causes:
    taken = set()
    for index, container in enumerate(containers):
        for place, port in enumerate(container.get("ports", ())):
            if "hostPort" in port:
                key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if key in taken:
                    yield duplicate((*where, index, "ports", place, "hostPort"), quote(key))
                taken.add(key)


def check_mounts(pod: Setting, container: Value, at: Path) -> Causes:
    points = set()
    devices = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices", ())}
    for index, mount in enumerate(container["volumeMounts"]):
        where = (*at, "volumeMounts", index)
        name, point = mount.get("name", ""), mount.get("mountPath", "")
        yield from check_part(pod, "mount", mount, where)
        if point in points:
            yield invalid((*where, "mountPath"), point, "must be unique")
        points.add(point)
        if name in devices:
            yield invalid((*where, "name"), name, "must not already exist in volumeDevices")
        if point in devices.values():
            yield invalid((*where, "mountPath"), point, "must not already exist as a path in volumeDevices")
        if mount.get("mountPropagation") == "Bidirectional" and not container.get("securityContext", {}).get(
            "privileged"
        ):
            detail = "Bidirectional mount propagation is available only to privileged containers"
            yield forbidden((*at, "volumeMounts", "mountPropagation"), detail)


def check_volume(pod: Setting, name: str, path: Path) -> Causes:
    """There is a volume of the name."""
    if name not in pod.volumes:
        yield not_found(path, quote(name))


def check_block_volume(pod: Setting, name: str, path: Path) -> Causes:
    yield from check_volume(pod, name, path)
    source = pod.volumes.get(name, ("ephemeral",))
    if "persistentVolumeClaim" not in source and "ephemeral" not in source:
        detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        yield invalid(path, name, detail)


def check_bind_options(pod: Setting, mount: Value, at: Path) -> Causes:
    if "image" in pod.volumes.get(mount.get("name", ""), {}):
        detail = "bindMountOptions may not be used with image volumes"
        yield invalid_text((*at, "bindMountOptions"), write_json(mount["bindMountOptions"]), detail)


def check_devices(pod: Setting, container: Value, at: Path) -> Causes:
    paths, names = set(), set()
    mounts = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts", ())}
    for index, device in enumerate(container["volumeDevices"]):
        where = (*at, "volumeDevices", index)
        name, path = device.get("name", ""), device.get("devicePath", "")
        if name in names:
            yield invalid((*where, "name"), name, "must be unique")
        yield from check_part(pod, "device", device, where)
        if path in paths:
            yield invalid((*where, "devicePath"), path, "must be unique")
        if ".." not in path.split("/"):
            paths.add(path)
        if name in mounts:
            yield invalid((*where, "name"), name, "must not already exist in volumeMounts")
        if path in mounts.values():
            yield invalid((*where, "devicePath"), path, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SIGNAL_NAMES = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP"
    " TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX"
)


def check_handler(pod: Setting, handler: Value, at: Path) -> Causes:
    """A probe's or a hook's one way to act."""
    given = [name for name in _HANDLERS if name in handler]
    if not given:
        yield required(at, "must specify a handler type")
        return
    for name in given[1:]:
        yield forbidden((*at, name), "may not specify more than 1 handler type")
    yield from check_part(pod, given[0], handler[given[0]], (*at, given[0]))


def check_sleep(pod: Setting, action: Value, at: Path) -> Causes:
    seconds = action.get("seconds", 0)
    if pod.grace is not None and not 0 <= seconds <= pod.grace:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({pod.grace})"
        yield invalid(at, seconds, detail)


def _list_signals() -> tuple[str, ...]:
    """Those of Linux, as the server sorts them."""
    names = [f"SIG{name}" for name in _SIGNAL_NAMES.split()]
    names += [f"SIGRTMIN+{number}" for number in range(1, 16)]
    return tuple(sorted([*names, *(f"SIGRTMAX-{number}" for number in range(1, 15))]))


def check_stop_signal(pod: Setting, signal: str, path: Path) -> Causes:
    if pod.os is None:
        yield forbidden(path, "may not be set for containers with empty `spec.os.name`")
        return
    known = {"windows": ("SIGKILL", "SIGTERM"), "linux": _list_signals()}.get(pod.os)
    if known:
        yield from check_choice(signal, path, known)


_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
#: What the field path of an object reference is turned into, besides those that stay.
_KNOWN = frozenset(
    (
        "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
        "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName",
        "status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs", "spec.host",
    )
)  # fmt: skip
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE = ("limits.hugepages-", "requests.hugepages-")
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def check_variable_field(pod: Setting, selector: Value, path: Path) -> Causes:
    yield from _check_field(selector, _FIELDS, path)


def check_volume_field(pod: Setting, selector: Value, path: Path) -> Causes:
    yield from _check_field(selector, _VOLUME_FIELDS, path)


def _check_field(selector: Value, known: tuple[str, ...], path: Path) -> Causes:
    """A reference to a field of the pod; `known` are those without a subscript."""
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
    elif text not in _KNOWN:
        wrong = f"field label not supported: {text}"
    if wrong:
        yield invalid(at, text, f"error converting fieldPath: {wrong}")
        return
    text = "spec.nodeName" if text == "spec.host" else text
    if text not in known:
        yield not_supported(at, quote(text), known)


def check_resource(pod: Setting, selector: Value, path: Path) -> Causes:
    """A reference to a request or a limit of a container."""
    name = selector.get("resource", "")
    if not name:
        yield required((*path, "resource"))
    elif name not in _RESOURCES and not name.startswith(_HUGE):
        yield not_supported((*path, "resource"), quote(name), _RESOURCES)
    yield from check_divisor(pod, selector, path)


def check_divisor(pod: Setting, selector: Value, path: Path) -> Causes:
    name, divisor = selector.get("resource", ""), selector.get("divisor")
    kinds = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    word = kinds.get(name.partition(".")[2]) if name in _RESOURCES else None
    word = "hugepages" if name.startswith(_HUGE) else word
    sizes = ("1m", "1") if word == "cpu" else _SIZES
    if divisor and word and str(divisor) not in sizes:
        listed = " and ".join(sizes) if word == "cpu" else ", ".join(sizes)
        detail = f"only divisor's values {listed} are supported with the {word} resource"
        yield invalid((*path, "divisor"), name, detail)
