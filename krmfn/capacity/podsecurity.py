"""Pods that the admission plugin PodSecurity refuses: what the labels of their namespace enforce.

Source: k8s.io/pod-security-admission/policy, v0.37.0. What only some releases refuse is let pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from krmfn.model.gotext import read_digits
from krmfn.model.values import as_list, as_mapping, as_text, dig

ENFORCE: Final = "pod-security.kubernetes.io/enforce"
_NEWEST: Final = 1000
_LEVELS: Final = ("privileged", "baseline", "restricted")
Spec = Mapping[str, Any]


class _Standard(NamedTuple):
    """What a level refuses: in `place`s a value, or an item of a list, that is among `values` or, where `only` they are
    right, is not. `least`: the minor version from which it does; `word`: the server's; not of pods of `others`."""

    level: int
    word: str
    place: str
    path: str
    values: tuple[object, ...]
    only: bool = False
    least: int = 0
    others: str = ""


def find_violation(spec: Spec, labels: Mapping[str, Any]) -> str:
    """The server's words about a pod, as far as to the names of its containers; empty when nothing refuses it."""
    level = as_text(labels.get(ENFORCE))
    strictness = _LEVELS.index(level) if level in _LEVELS else 0
    version = as_text(labels.get(f"{ENFORCE}-version")) or "latest"
    number = version.rpartition(".")[2]
    minor = read_digits(number)
    minor = _NEWEST if minor is None else minor
    reasons = [
        check.word
        for check in _STANDARDS
        if check.level <= strictness and check.least <= minor and _is_refused(spec, check)
    ]
    return f'violates PodSecurity "{level}:{version}": {", ".join(dict.fromkeys(reasons))}' if reasons else ""


def _is_refused(spec: Spec, check: _Standard) -> bool:
    if check.others == "windows" and dig(spec, "os", "name") == "windows":
        return False
    if check.others == "users" and spec.get("hostUsers") is False:
        return False
    path = check.path.split(".")
    found = [dig(each, *path) for each in _list_places(spec, check.place)]
    if check.place == "inherited":
        own = dig(spec, "securityContext", *path)
        found = [own if value in (None, "") else value for value in found]
    if path[-1] in ("add", "kinds"):
        found = [item for value in found for item in as_list(value)]
    if path[-1] == "drop":
        return any("ALL" not in as_list(value) for value in found)
    return any((value in check.values) is not check.only for value in found)


def _list_places(spec: Spec, place: str) -> Iterator[Any]:
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


_BASIC: Final = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"),
    *("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)
_SELINUX: Final = (None, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_SYSCTLS: Final = (
    *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
    *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports"),
    *("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl"),
    *("net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
    *("net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"),
)
_VOLUMES: Final = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd"),
    *("flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk"),
    *("photonPersistentDisk", "portworxVolume", "scaleIO", "storageos"),
)


_UNSET: Final = (None, "")
_STANDARDS: Final = (
    _Standard(1, "non-default capabilities", "boxes", "capabilities.add", _BASIC, only=True),
    _Standard(1, "host namespaces", "pod", "hostNetwork", (True,)),
    _Standard(1, "host namespaces", "pod", "hostPID", (True,)),
    _Standard(1, "host namespaces", "pod", "hostIPC", (True,)),
    _Standard(1, "hostPath volumes", "volumes", "kinds", ("hostPath",)),
    _Standard(1, "hostPort", "ports", "hostPort", (None, 0), only=True),
    _Standard(1, "privileged", "contexts", "privileged", (True,)),
    _Standard(1, "procMount", "contexts", "procMount", ("Unmasked",), others="users"),
    _Standard(1, "seLinuxOptions", "contexts", "seLinuxOptions.user", _UNSET, only=True),
    _Standard(1, "seLinuxOptions", "contexts", "seLinuxOptions.role", _UNSET, only=True),
    _Standard(1, "seLinuxOptions", "contexts", "seLinuxOptions.type", _SELINUX, only=True),
    _Standard(1, "seccompProfile", "contexts", "seccompProfile.type", ("Unconfined",), least=19),
    _Standard(1, "forbidden AppArmor profile", "contexts", "appArmorProfile.type", ("Unconfined",)),
    _Standard(1, "forbidden sysctls", "sysctls", "name", _SYSCTLS, only=True),
    _Standard(1, "hostProcess", "contexts", "windowsOptions.hostProcess", (True,)),
    _Standard(
        *(2, "allowPrivilegeEscalation != false", "boxes", "allowPrivilegeEscalation"),
        *((False,), True, 8, "windows"),
    ),
    _Standard(2, "unrestricted capabilities", "boxes", "capabilities.drop", (), least=22, others="windows"),
    _Standard(2, "unrestricted capabilities", "boxes", "capabilities.add", ("NET_BIND_SERVICE",), True, 22, "windows"),
    _Standard(2, "restricted volume types", "volumes", "kinds", _VOLUMES),
    _Standard(2, "runAsNonRoot != true", "inherited", "runAsNonRoot", (True,), only=True, others="users"),
    _Standard(2, "runAsUser=0", "contexts", "runAsUser", (0,), least=23, others="users"),
    _Standard(
        2, "seccompProfile", "inherited", "seccompProfile.type", ("RuntimeDefault", "Localhost"), True, 19, "windows"
    ),
)
