"""The rules of security contexts, and of fields that only one operating system has.

Source: validatePodSpecSecurityContext, ValidateSecurityContext, validateLinux, validateWindows,
validateWindowsHostProcessPod of k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.cases import check_part
from krmfn.server.formats import check_long_name, count_bytes
from krmfn.server.pods.setting import Object, Setting, visit_containers
from krmfn.server.spell import write_json
from krmfn.server.verdict import forbidden

_RULE = "pod-security"
_ID = "must be between 0 and 2147483647, inclusive"


def check_pod_security(spec: Object, path: Path, pod: Setting) -> None:
    """`securityContext` of a spec."""
    context = spec.get("securityContext")
    if not context:
        return
    path = (*path, "securityContext")
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        pod.check_id(context, field, path, _RULE)
    for index, group in enumerate(context.get("supplementalGroups", ())):
        if not 0 <= group < 2**31:
            pod.invalid((*path, "supplementalGroups", index), _RULE, group, _ID)
    if "sysctls" in context:
        _check_sysctls(context["sysctls"], spec, (*path, "sysctls"), pod)
    pod.check_option(context, "fsGroupChangePolicy", path, _RULE, ("Always", "OnRootMismatch"))
    _check_shared(context, path, pod)
    pod.check_option(context, "supplementalGroupsPolicy", path, _RULE, ("Merge", "Strict"))
    known = ("MountOption", "Recursive") if pod.is_on("SELinuxMount") else ("Recursive",)
    pod.check_option(context, "seLinuxChangePolicy", path, _RULE, known)


def _check_shared(context: Object, path: Path, pod: Setting) -> None:
    """What pods and containers have alike."""
    if "seccompProfile" in context:
        pod.out += check_part(pod, "seccompProfile", context["seccompProfile"], (*path, "seccompProfile"), _RULE)
    if "windowsOptions" in context:
        _check_windows_options(context["windowsOptions"], (*path, "windowsOptions"), pod)
    if "appArmorProfile" in context:
        pod.out += check_part(pod, "appArmorProfile", context["appArmorProfile"], (*path, "appArmorProfile"), _RULE)


def check_container_security(context: Object, path: Path, pod: Setting) -> None:
    """`securityContext` of a container."""
    for field in ("runAsUser", "runAsGroup"):
        pod.check_id(context, field, path, _RULE)
    mount = context.get("procMount")
    if mount is not None:
        pod.check_choice((*path, "procMount"), _RULE, mount, ("Default", "Unmasked"))
        if pod.host_users and mount == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            pod.invalid_text((*path, "procMount"), _RULE, write_json(mount), detail)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            pod.invalid_text(path, _RULE, "{…}", detail)
        added = context.get("capabilities", {}).get("add", ())
        if "CAP_SYS_ADMIN" in added and "sys-admin" not in pod.allowed:
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            pod.invalid_text(path, _RULE, "{…}", detail)
    _check_shared(context, path, pod)


_SYSCTL_PATTERN = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = f"({_SYSCTL_PATTERN}[\\./])*{_SYSCTL_PATTERN}"
_LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"


def _is_sysctl(name: str) -> bool:
    parts = name.replace("/", ".").split(".")
    return count_bytes(name) <= 253 and all(
        part and not part.strip(_LOWER + "-_") and part[0] in _LOWER and part[-1] in _LOWER for part in parts
    )


def _check_sysctls(sysctls: list[Any], spec: Object, path: Path, pod: Setting) -> None:
    seen = set()
    for index, one in enumerate(sysctls):
        name, where = one.get("name", ""), (*path, index, "name")
        if not name:
            pod.required(where, _RULE)
        elif not _is_sysctl(name):
            pod.invalid(where, _RULE, name, f"must have at most 253 characters and match regex ^{_SYSCTL}$")
        elif name in seen:
            pod.duplicate(where, _RULE, quote(name))
        seen.add(name)
        field = find_host_field(name, spec)
        if field and "host-sysctls" not in pod.allowed:
            pod.invalid(where, _RULE, name, f"may not be specified when '{field}' is true")


_SHARED = frozenset(
    "kernel." + name
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)


def find_host_field(name: str, spec: Object) -> str:
    """The field that gives the pod the host's namespace, so that it cannot have the sysctl; "" when there is none."""
    dots, slashes = name.find("."), name.find("/")
    if slashes >= 0 and (dots < 0 or slashes < dots):
        name = name.translate({ord("."): "/", ord("/"): "."})
    name = name.partition("*")[0]
    if spec.get("hostNetwork") and name.startswith("net."):
        return "hostNetwork"
    shared = name in _SHARED or name.startswith("fs.mqueue.")
    return "hostIPC" if shared and spec.get("hostIPC") else ""


def _check_windows_options(options: Object, path: Path, pod: Setting) -> None:
    name, text, user = (
        options.get(field) for field in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName")
    )
    if name is not None:
        pod.refuse((*path, "gmsaCredentialSpecName"), _RULE, name, check_long_name(name))
    if text == "":
        pod.invalid((*path, "gmsaCredentialSpec"), _RULE, text, "gmsaCredentialSpec cannot be an empty string")
    elif text is not None and count_bytes(text) > 65536:
        pod.invalid((*path, "gmsaCredentialSpec"), _RULE, text, "gmsaCredentialSpec size must be under 64 KiB")
    if user is not None:
        for detail in _check_windows_user(user):
            pod.invalid((*path, "runAsUserName"), _RULE, user, f"runAsUserName{detail}")


def _check_windows_user(text: str) -> list[str]:
    """What is wrong with `user` or `domain\\user`."""
    import re  # rare

    if not text:
        return [" cannot be an empty string"]
    if re.search("[\x00-\x1f\x7f]", text):
        return [" cannot contain control characters"]
    if text.count("\\") > 1:
        return [" cannot contain more than one backslash"]
    domain, found, user = text.rpartition("\\")
    out = []
    if count_bytes(domain) >= 256:
        out.append("'s Domain length must be under 256 characters")
    label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    pattern = rf"[^\\/:*?\"<>|.][^\\/:*?\"<>|]{{0,14}}|{label}(?:\.{label})*"
    if found and not re.fullmatch(pattern, domain):
        out.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        out.append("'s User cannot be empty")
    elif count_bytes(user) > 104:
        out.append("'s User length must not be longer than 104 characters")
    if user and not user.strip(". "):
        out.append("'s User cannot contain only periods or spaces")
    if set(user) & set('"/\\:;|=,+*?<>@[]'):
        out.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return out


def check_host_processes(spec: Object, path: Path, pod: Setting) -> None:
    """Containers that are processes of a Windows host: all of a pod's, or none."""
    of_pod = spec.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
    count = total = 0
    for container, at in visit_containers(spec, path):
        total += 1
        own = container.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
        if of_pod is not None and own is not None and own != of_pod:
            detail = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            where = (*at, "securityContext", "windowsOptions", "hostProcess")
            pod.invalid(where, _RULE, own, detail)
        count += bool(of_pod if own is None else own)
    if not count:
        return
    if count != total:
        detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        pod.invalid(path, _RULE, "", detail)
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        pod.invalid((*path, "hostNetwork"), _RULE, False, detail)


_NOT_WINDOWS = "cannot be set for a windows pod"
_NOT_WINDOWS_POD = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls", "runAsUser",
    "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy",
)  # fmt: skip
_NOT_WINDOWS_CONTAINER = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip


def check_operating_system(spec: Object, path: Path, pod: Setting) -> None:
    """`os`, and the fields that its choice rules out."""
    out = pod.out
    if pod.os is None:
        return
    if not pod.os:
        pod.required((*path, "os", "name"), _RULE)
    elif pod.os not in ("linux", "windows"):
        pod.not_supported((*path, "os"), _RULE, write_json(pod.os), ("linux", "windows"))
    contexts: list[tuple[Object, Path, tuple[str, ...]]] = [
        (spec.get("securityContext", {}), (*path, "securityContext"), _NOT_WINDOWS_POD)
    ]
    for container, at in visit_containers(spec, path):
        contexts.append((container.get("securityContext", {}), (*at, "securityContext"), _NOT_WINDOWS_CONTAINER))
    if pod.os == "linux":
        for context, at, _ in contexts:
            if "windowsOptions" in context:
                pod.forbidden((*at, "windowsOptions"), _RULE, "windows options cannot be set for a linux pod")
    elif pod.os == "windows":
        for context, at, fields in contexts:
            out.extend(forbidden((*at, field), _RULE, _NOT_WINDOWS) for field in fields if field in context)
        for field in ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"):
            if field in spec:
                pod.forbidden((*path, field), _RULE, _NOT_WINDOWS)
