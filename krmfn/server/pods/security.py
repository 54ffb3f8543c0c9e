"""The rules of security contexts, and of fields that only one operating system has.

Source: validatePodSpecSecurityContext, ValidateSecurityContext, validateLinux, validateWindows,
validateWindowsHostProcessPod of k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.values import Value
from krmfn.server.cases import check_part
from krmfn.server.formats import count_bytes
from krmfn.server.plain.values import check_choice
from krmfn.server.pods.setting import Setting, visit_containers
from krmfn.server.verdict import Causes, duplicate, invalid, refuse_text, required

_SYSCTL_PATTERN = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = f"({_SYSCTL_PATTERN}[\\./])*{_SYSCTL_PATTERN}"
_LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"


def _is_sysctl(name: str) -> bool:
    parts = name.replace("/", ".").split(".")
    return count_bytes(name) <= 253 and all(
        part and not part.strip(_LOWER + "-_") and part[0] in _LOWER and part[-1] in _LOWER for part in parts
    )


def check_sysctls(pod: Setting, spec: Value, path: Path) -> Causes:
    seen = set()
    for index, one in enumerate(spec["securityContext"]["sysctls"]):
        name, where = one.get("name", ""), (*path, "securityContext", "sysctls", index, "name")
        if not name:
            yield required(where)
        elif not _is_sysctl(name):
            yield invalid(where, name, f"must have at most 253 characters and match regex ^{_SYSCTL}$")
        elif name in seen:
            yield duplicate(where, quote(name))
        seen.add(name)
        field = find_host_field(name, spec)
        if field and "host-sysctls" not in pod.allowed:
            yield invalid(where, name, f"may not be specified when '{field}' is true")


_SHARED = frozenset(
    "kernel." + name
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)


def find_host_field(name: str, spec: Value) -> str:
    """The field that gives the pod the host's namespace, so that it cannot have the sysctl; "" when there is none."""
    dots, slashes = name.find("."), name.find("/")
    if slashes >= 0 and (dots < 0 or slashes < dots):
        name = name.translate({ord("."): "/", ord("/"): "."})
    name = name.partition("*")[0]
    if spec.get("hostNetwork") and name.startswith("net."):
        return "hostNetwork"
    shared = name in _SHARED or name.startswith("fs.mqueue.")
    return "hostIPC" if shared and spec.get("hostIPC") else ""


def check_user_name(pod: Setting, text: str, path: Path) -> Causes:
    """`user` or `domain\\user` of Windows."""
    yield from refuse_text(path, text, [f"runAsUserName{detail}" for detail in _list_user_faults(text)])


def _list_user_faults(text: str) -> Iterator[str]:
    import re  # rare

    domain, found, user = text.rpartition("\\")
    if not text:
        yield " cannot be an empty string"
        return
    if re.search("[\x00-\x1f\x7f]", text):
        yield " cannot contain control characters"
        return
    if "\\" in domain:
        yield " cannot contain more than one backslash"
        return
    if count_bytes(domain) >= 256:
        yield "'s Domain length must be under 256 characters"
    label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    pattern = rf"[^\\/:*?\"<>|.][^\\/:*?\"<>|]{{0,14}}|{label}(?:\.{label})*"
    if found and not re.fullmatch(pattern, domain):
        yield "'s Domain doesn't match the NetBios nor the DNS format"
    if not user:
        yield "'s User cannot be empty"
    elif count_bytes(user) > 104:
        yield "'s User length must not be longer than 104 characters"
    if user and not user.strip(". "):
        yield "'s User cannot contain only periods or spaces"
    if set(user) & set('"/\\:;|=,+*?<>@[]'):
        yield "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"


def check_host_processes(pod: Setting, spec: Value, path: Path) -> Causes:
    """Containers that are processes of a Windows host: all of a pod's, or none."""
    of_pod = spec.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
    count = total = 0
    for container, at in visit_containers(spec, path):
        total += 1
        own = container.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
        if of_pod is not None and own is not None and own != of_pod:
            detail = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            where = (*at, "securityContext", "windowsOptions", "hostProcess")
            yield invalid(where, own, detail)
        count += bool(of_pod if own is None else own)
    if not count:
        return
    if count != total:
        detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield invalid(path, "", detail)
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        yield invalid((*path, "hostNetwork"), False, detail)


#: What a pod and its containers cannot have, as parts.
_OF_SYSTEM = {"linux": ("linuxPod", "linuxContainer"), "windows": ("windowsPod", "windowsContainer")}


def check_operating_system(pod: Setting, spec: Value, path: Path) -> Causes:
    """`os`, and the fields that its choice rules out."""
    if not pod.os:
        yield required((*path, "os", "name"))
    else:
        yield from check_choice(pod.os, (*path, "os"), ("linux", "windows"))
    if pod.os in _OF_SYSTEM:
        of_pod, of_container = _OF_SYSTEM[pod.os]
        yield from check_part(pod, of_pod, spec, path)
        for container, at in visit_containers(spec, path):
            yield from check_part(pod, of_container, container, at)
