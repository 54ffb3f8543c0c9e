"""The rules of containers that are no rows: what compares containers, mounts and devices with each other.

Source: k8s.io/kubernetes/pkg/apis/core/validation (validateContainers, validateInitContainers,
validateEphemeralContainers and what they call).
"""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.cases import check_each, check_part
from krmfn.server.pods.setting import Object, Setting, of_rule
from krmfn.server.verdict import find_repeated

_OF_RUNNING = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_NOT_SIDECAR = "may not be set for init containers without restartPolicy=Always"
_NO_EPHEMERAL = "cannot be set for an Ephemeral Container"
#: What an ephemeral container may have, besides what every API object of it has.
_EPHEMERAL = frozenset(
    (
        "name", "image", "command", "args", "workingDir", "envFrom", "env", "volumeMounts", "volumeDevices",
        "terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy", "securityContext", "stdin",
        "stdinOnce", "tty", "targetContainerName",
    )
)  # fmt: skip


@of_rule("pod-containers")
def check_containers(pod: Setting, spec: Object, path: Path) -> None:
    """`containers` of a spec; `path` is the spec's."""
    where: Path = (*path, "containers")
    containers = spec.get("containers")
    if not containers:
        pod.required(where)
        return
    again = find_repeated([container.get("name", "") for container in containers])
    for index, container in enumerate(containers):
        at = (*where, index)
        check_part(pod, "container", container, at)
        if index in again:
            pod.duplicate((*at, "name"), quote(container.get("name", "")))
        check_part(pod, "running", container, at, "pod-probes")
        if pod.is_on("ContainerRestartRules"):
            check_part(pod, "restart", container, at, "pod-restart")
        else:
            check_part(pod, "noRestart", container, at, "pod-restart")
    _check_host_ports(pod, containers, where)


@of_rule("pod-containers")
def check_init_containers(pod: Setting, spec: Object, path: Path) -> None:
    """`initContainers` of a spec."""
    names = {container.get("name", "") for container in spec.get("containers", ())}
    where: Path = (*path, "initContainers")
    for index, container in enumerate(spec.get("initContainers", ())):
        at = (*where, index)
        check_part(pod, "container", container, at)
        check_part(pod, "initRestart", container, at, "pod-restart")
        name = container.get("name", "")
        if name in names:
            pod.duplicate((*at, "name"), quote(name))
        elif name:
            names.add(name)
        _check_host_ports(pod, [container], where)
        sidecar = container.get("restartPolicy") == "Always"
        if sidecar:
            check_part(pod, "running", container, at, "pod-probes")
        else:
            _check_of_running(pod, container, at)
            check_each(pod, "initResize", container.get("resizePolicy", ()), (*at, "resizePolicy"), "pod-restart")


@of_rule("pod-probes")
def _check_of_running(pod: Setting, container: Object, at: Path) -> None:
    for field in _OF_RUNNING:
        if field in container:
            pod.forbidden((*at, field), _NOT_SIDECAR)


@of_rule("pod-containers")
def check_ephemeral_containers(pod: Setting, spec: Object, path: Path) -> None:
    """`ephemeralContainers` of a spec that has some; no create may have them, and only pods can."""
    others = {
        container.get("name", "") for name in ("containers", "initContainers") for container in spec.get(name, ())
    }
    names = set(others)
    for index, container in enumerate(spec.get("ephemeralContainers", ())):
        at: Path = (*path, "ephemeralContainers", index)
        check_part(pod, "container", container, at)
        check_part(pod, "imageOfPod", container, at)
        name = container.get("name", "")
        if name in names:
            pod.duplicate((*at, "name"), quote(name))
        names.add(name)
        target = container.get("targetContainerName", "")
        if target and target not in others:
            pod.not_found((*at, "targetContainerName"), quote(target))
        for field, value in container.items():
            if field not in _EPHEMERAL and (value or field != "resources"):
                pod.forbidden((*at, field), _NO_EPHEMERAL)
        check_each(pod, "ephemeralMount", container.get("volumeMounts", ()), (*at, "volumeMounts"), "pod-mounts")


@of_rule("pod-ports")
def _check_host_ports(pod: Setting, containers: Iterable[Object], where: Path) -> None:
    taken = set()
    for index, container in enumerate(containers):
        for place, port in enumerate(container.get("ports", ())):
            if "hostPort" in port:
                key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if key in taken:
                    pod.duplicate((*where, index, "ports", place, "hostPort"), quote(key))
                taken.add(key)


def check_mounts(pod: Setting, container: Object, at: Path) -> None:
    points = set()
    devices = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices", ())}
    for index, mount in enumerate(container["volumeMounts"]):
        where = (*at, "volumeMounts", index)
        name, point = mount.get("name", ""), mount.get("mountPath", "")
        check_part(pod, "mount", mount, where)
        if point in points:
            pod.invalid((*where, "mountPath"), point, "must be unique")
        points.add(point)
        if name in devices:
            pod.invalid((*where, "name"), name, "must not already exist in volumeDevices")
        if point in devices.values():
            pod.invalid((*where, "mountPath"), point, "must not already exist as a path in volumeDevices")
        if mount.get("mountPropagation") == "Bidirectional" and not container.get("securityContext", {}).get(
            "privileged"
        ):
            detail = "Bidirectional mount propagation is available only to privileged containers"
            pod.forbidden((*at, "volumeMounts", "mountPropagation"), detail)


def check_volume(pod: Setting, name: str, path: Path) -> None:
    """There is a volume of the name."""
    if name not in pod.volumes:
        pod.not_found(path, quote(name))


def check_block_volume(pod: Setting, name: str, path: Path) -> None:
    check_volume(pod, name, path)
    source = pod.volumes.get(name, ("ephemeral",))
    if "persistentVolumeClaim" not in source and "ephemeral" not in source:
        detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        pod.invalid(path, name, detail)


def check_bind_options(pod: Setting, mount: Object, at: Path) -> None:
    if "image" in pod.volumes.get(mount.get("name", ""), {}):
        detail = "bindMountOptions may not be used with image volumes"
        pod.invalid_text((*at, "bindMountOptions"), "{…}", detail)


def check_devices(pod: Setting, container: Object, at: Path) -> None:
    paths, names = set(), set()
    mounts = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts", ())}
    for index, device in enumerate(container["volumeDevices"]):
        where = (*at, "volumeDevices", index)
        name, path = device.get("name", ""), device.get("devicePath", "")
        if name in names:
            pod.invalid((*where, "name"), name, "must be unique")
        check_part(pod, "device", device, where)
        if path in paths:
            pod.invalid((*where, "devicePath"), path, "must be unique")
        if ".." not in path.split("/"):
            paths.add(path)
        if name in mounts:
            pod.invalid((*where, "name"), name, "must not already exist in volumeMounts")
        if path in mounts.values():
            pod.invalid((*where, "devicePath"), path, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)
