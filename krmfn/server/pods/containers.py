"""The rules of containers: names, images, ports, mounts, probes, life cycle, restarts.

Source: k8s.io/kubernetes/pkg/apis/core/validation (validateContainers, validateInitContainers,
validateEphemeralContainers and what they call).
"""

from __future__ import annotations

from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.formats import check_relative_path, check_short_name
from krmfn.server.pods.environment import check_environment
from krmfn.server.pods.ports import check_host_ports, check_ports
from krmfn.server.pods.probes import PROBES, check_running
from krmfn.server.pods.resources import check_resources
from krmfn.server.pods.security import check_container_security
from krmfn.server.pods.setting import PULL_POLICIES, Object, Setting
from krmfn.server.spell import write_json
from krmfn.server.verdict import find_repeated

_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RESTARTS = ("Always", "Never", "OnFailure")
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


def check_containers(spec: Object, path: Path, pod: Setting) -> None:
    """`containers` of a spec; `path` is the spec's."""
    where: Path = (*path, "containers")
    containers = spec.get("containers")
    if not containers:
        pod.required(where, "pod-containers")
        return
    again = find_repeated([container.get("name", "") for container in containers])
    for index, container in enumerate(containers):
        at = (*where, index)
        _check_common(container, at, pod)
        if index in again:
            pod.duplicate((*at, "name"), "pod-containers", quote(container.get("name", "")))
        check_running(container, at, pod)
        if pod.is_on("ContainerRestartRules"):
            _check_restart_rules(container, at, pod)
        elif "restartPolicy" in container:
            pod.forbidden((*at, "restartPolicy"), "pod-restart", "may not be set for non-init containers")
    check_host_ports(containers, where, pod)


def check_init_containers(spec: Object, path: Path, pod: Setting) -> None:
    """`initContainers` of a spec."""
    names = {container.get("name", "") for container in spec.get("containers", ())}
    where: Path = (*path, "initContainers")
    for index, container in enumerate(spec.get("initContainers", ())):
        at = (*where, index)
        _check_common(container, at, pod)
        _check_init_restart(container, at, pod)
        name = container.get("name", "")
        if name in names:
            pod.duplicate((*at, "name"), "pod-containers", quote(name))
        elif name:
            names.add(name)
        check_host_ports([container], where, pod)
        sidecar = container.get("restartPolicy") == "Always"
        if sidecar:
            check_running(container, at, pod)
        else:
            for field in ("lifecycle", *PROBES):
                if field in container:
                    pod.forbidden((*at, field), "pod-probes", _NOT_SIDECAR)
            _check_init_resize(container, at, pod)


def _check_init_resize(container: Object, at: Path, pod: Setting) -> None:
    if pod.is_on("restart-of-init-container"):
        return
    for index, policy in enumerate(container.get("resizePolicy", ())):
        if policy.get("restartPolicy") == "RestartContainer":
            detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            # The server's path has the container's index twice, as it has here.
            where = (*at[:-1], at[-1], "resizePolicy", index, "restartPolicy")
            pod.invalid_text(where, "pod-restart", '"RestartContainer"', detail)


def check_ephemeral_containers(spec: Object, path: Path, pod: Setting) -> None:
    """`ephemeralContainers` of a spec that has some; no create may have them, and only pods can."""
    others = {
        container.get("name", "") for name in ("containers", "initContainers") for container in spec.get(name, ())
    }
    names = set(others)
    for index, container in enumerate(spec.get("ephemeralContainers", ())):
        at: Path = (*path, "ephemeralContainers", index)
        _check_common(container, at, pod)
        check_image_of_pod(container, at, pod)
        name = container.get("name", "")
        if name in names:
            pod.duplicate((*at, "name"), "pod-containers", quote(name))
        names.add(name)
        target = container.get("targetContainerName", "")
        if target and target not in others:
            pod.not_found((*at, "targetContainerName"), "pod-containers", quote(target))
        for field, value in container.items():
            if field not in _EPHEMERAL and (value or field != "resources"):
                pod.forbidden((*at, field), "pod-containers", _NO_EPHEMERAL)
        for place, mount in enumerate(container.get("volumeMounts", ())):
            for field in ("subPath", "subPathExpr"):
                if field in mount:
                    pod.forbidden((*at, "volumeMounts", place, field), "pod-mounts", _NO_EPHEMERAL)


def check_image_of_pod(container: Object, at: Path, pod: Setting) -> None:
    """Blanks around an image, which only pods may not have."""
    image = container.get("image", "")
    if image != image.strip():
        pod.invalid((*at, "image"), "pod-containers", image, "must not have leading or trailing whitespace")


def _check_common(container: Object, at: Path, pod: Setting) -> None:
    pod.check_text(container, "name", at, "pod-containers", check_short_name, needed=True)
    if not container.get("image"):
        pod.required((*at, "image"), "pod-containers")
    pod.check_option(container, "terminationMessagePolicy", at, "pod-containers", _MESSAGE_POLICIES, needed=True)
    if "ports" in container:
        check_ports(container["ports"], (*at, "ports"), pod)
    if "env" in container or "envFrom" in container:
        check_environment(container, at, pod)
    if "volumeMounts" in container:
        _check_mounts(container, (*at, "volumeMounts"), pod)
    if "volumeDevices" in container:
        _check_devices(container, (*at, "volumeDevices"), pod)
    pod.check_option(container, "imagePullPolicy", at, "pod-containers", PULL_POLICIES, needed=True)
    if "resources" in container:
        check_resources(container["resources"], (*at, "resources"), pod)
    if "resizePolicy" in container:
        _check_resize_policy(container["resizePolicy"], (*at, "resizePolicy"), pod)
    if "securityContext" in container:
        check_container_security(container["securityContext"], (*at, "securityContext"), pod)


def _check_mounts(container: Object, where: Path, pod: Setting) -> None:
    points = set()
    devices = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices", ())}
    for index, mount in enumerate(container["volumeMounts"]):
        at = (*where, index)
        name, point = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            pod.required((*at, "name"), "pod-mounts")
        if name not in pod.volumes:
            pod.not_found((*at, "name"), "pod-mounts", quote(name))
        if not point:
            pod.required((*at, "mountPath"), "pod-mounts")
        if point in points:
            pod.invalid((*at, "mountPath"), "pod-mounts", point, "must be unique")
        points.add(point)
        if name in devices:
            pod.invalid((*at, "name"), "pod-mounts", name, "must not already exist in volumeDevices")
        if point in devices.values():
            pod.invalid((*at, "mountPath"), "pod-mounts", point, "must not already exist as a path in volumeDevices")
        if len(mount) > 2:
            _check_mount_options(mount, container, where, at, pod)


def _check_mount_options(mount: Object, container: Object, where: Path, at: Path, pod: Setting) -> None:
    """What few mounts have. Some of the server's paths lack the index."""
    below, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    if below:
        pod.refuse((*where, "subPath"), "pod-mounts", below, check_relative_path(below))
    if expression:
        if below:
            detail = "subPathExpr and subPath are mutually exclusive"
            pod.invalid((*at, "subPathExpr"), "pod-mounts", expression, detail)
        pod.refuse((*where, "subPathExpr"), "pod-mounts", expression, check_relative_path(expression))
    spread = mount.get("mountPropagation")
    if spread is not None:
        path = (*where, "mountPropagation")
        values = ("Bidirectional", "HostToContainer", "None")
        pod.check_choice(path, "pod-mounts", spread, values)
        if spread == "Bidirectional" and not container.get("securityContext", {}).get("privileged"):
            detail = "Bidirectional mount propagation is available only to privileged containers"
            pod.forbidden(path, "pod-mounts", detail)
    recursive = mount.get("recursiveReadOnly")
    if recursive is not None:
        path = (*where, "recursiveReadOnly")
        if recursive in ("Enabled", "IfPossible"):
            if not mount.get("readOnly"):
                pod.forbidden(path, "pod-mounts", "may only be specified when readOnly is true")
            if spread not in (None, "None"):
                detail = "may only be specified when mountPropagation is None or not specified"
                pod.forbidden(path, "pod-mounts", detail)
        elif recursive != "Disabled":
            values = ("Disabled", "Enabled", "IfPossible")
            pod.not_supported(path, "pod-mounts", write_json(recursive), values)
    if "bindMountOptions" in mount:
        _check_bind_options(mount, (*at, "bindMountOptions"), pod)


def _check_bind_options(mount: Object, path: Path, pod: Setting) -> None:
    again = find_repeated(mount["bindMountOptions"])
    values = ("nodev", "noexec", "nosuid")
    for index, option in enumerate(mount["bindMountOptions"]):
        if option not in values:
            pod.not_supported((*path, index), "pod-mounts", quote(option), values)
        if index in again:
            pod.duplicate((*path, index), "pod-mounts", quote(option))
    if "image" in pod.volumes.get(mount.get("name", ""), {}):
        detail = "bindMountOptions may not be used with image volumes"
        pod.invalid_text(path, "pod-mounts", write_json(mount["bindMountOptions"]), detail)


def _check_devices(container: Object, where: Path, pod: Setting) -> None:
    paths, names = set(), set()
    mounts = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts", ())}
    for index, device in enumerate(container["volumeDevices"]):
        at = (*where, index)
        name, path = device.get("name", ""), device.get("devicePath", "")
        source = pod.volumes.get(name)
        if not name:
            pod.required((*at, "name"), "pod-mounts")
        if name in names:
            pod.invalid((*at, "name"), "pod-mounts", name, "must be unique")
        if source is None:
            pod.not_found((*at, "name"), "pod-mounts", quote(name))
        elif "persistentVolumeClaim" not in source and "ephemeral" not in source:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            pod.invalid((*at, "name"), "pod-mounts", name, detail)
        if not path:
            pod.required((*at, "devicePath"), "pod-mounts")
        if path in paths:
            pod.invalid((*at, "devicePath"), "pod-mounts", path, "must be unique")
        if path and ".." in path.split("/"):
            pod.invalid((*at, "devicePath"), "pod-mounts", path, "can not contain backsteps ('..')")
        else:
            paths.add(path)
        if name in mounts:
            pod.invalid((*at, "name"), "pod-mounts", name, "must not already exist in volumeMounts")
        if path in mounts.values():
            pod.invalid((*at, "devicePath"), "pod-mounts", path, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


def _check_resize_policy(policies: list[Any], path: Path, pod: Setting) -> None:
    """How a container takes other resources. The server names the list, not the entry."""
    again = find_repeated(policy.get("resourceName", "") for policy in policies)
    for index, policy in enumerate(policies):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if index in again:
            pod.duplicate((*path, index), "pod-restart", write_json(name))
        for value, values in ((name, ("cpu", "memory")), (restart, ("NotRequired", "RestartContainer"))):
            if not value:
                pod.required(path, "pod-restart")
            elif value not in values:
                pod.not_supported(path, "pod-restart", write_json(value), values)
        if pod.restart == "Never" and restart != "NotRequired":
            word = "" if pod.is_on("plain-restart-text") else "pod "
            detail = f"must be 'NotRequired' when {word}`restartPolicy` is 'Never'"
            pod.invalid_text(path, "pod-restart", write_json(restart), detail)


def _check_init_restart(container: Object, at: Path, pod: Setting) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if policy is None:
        if rules:
            detail = "must specify restartPolicy when restart rules are used"
            pod.required((*at, "restartPolicy"), "pod-restart", detail)
    elif not pod.is_on("ContainerRestartRules"):
        if policy != "Always":
            pod.not_supported((*at, "restartPolicy"), "pod-restart", write_json(policy), ("Always",))
    elif policy != "Always" or pod.is_on("RestartAllContainersOnContainerExits"):
        _check_restart_rules(container, at, pod)
    elif rules:
        detail = "restartPolicyRules are not allowed for init containers with restart policy Always"
        pod.forbidden((*at, "restartPolicyRules"), "pod-restart", detail)


def _check_restart_rules(container: Object, at: Path, pod: Setting) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if policy is None:
        if not rules:
            return
        pod.required((*at, "restartPolicy"), "pod-restart", "must specify restartPolicy when restart rules are used")
    elif policy not in _RESTARTS:
        pod.not_supported((*at, "restartPolicy"), "pod-restart", write_json(policy), _RESTARTS)
    if len(rules) > 20:
        pod.too_many((*at, "restartPolicyRules"), "pod-restart", len(rules), 20)
    actions: tuple[str, ...] = ("Restart",)
    if pod.is_on("RestartAllContainersOnContainerExits"):
        actions = ("Restart", "RestartAllContainers")
    for index, rule in enumerate(rules):
        where = (*at, "restartPolicyRules", index)
        pod.check_option(rule, "action", where, "pod-restart", actions, needed=True)
        codes = rule.get("exitCodes")
        where = (*where, "exitCodes")
        if codes is None:
            pod.required(where, "pod-restart", "must be specified")
            continue
        pod.check_option(codes, "operator", where, "pod-restart", ("In", "NotIn"), needed=True)
        if len(codes.get("values", ())) > 255:
            pod.too_many((*where, "values"), "pod-restart", len(codes["values"]), 255)
