"""Pods that the admission plugin PodSecurity refuses: what the labels of their namespace enforce.

Source: k8s.io/pod-security-admission/policy, v0.37.0. What only some releases refuse is let pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from krmfn.model.gotext import read_digits
from krmfn.model.values import as_int, as_list, as_mapping, as_text, dig

ENFORCE: Final = "pod-security.kubernetes.io/enforce"
_NEWEST: Final = 1000
_LEVELS: Final = ("privileged", "baseline", "restricted")
Spec = Mapping[str, Any]


def find_violation(spec: Spec, labels: Mapping[str, Any]) -> str:
    """The server's words about a pod, as far as to the names of its containers; empty when nothing refuses it."""
    level = as_text(labels.get(ENFORCE))
    strictness = _LEVELS.index(level) if level in _LEVELS else 0
    version = as_text(labels.get(f"{ENFORCE}-version")) or "latest"
    number = version.rpartition(".")[2]
    minor = read_digits(number)
    minor = _NEWEST if minor is None else minor
    reasons = [
        reason
        for kind, since, reason, is_refused in _CHECKS
        if kind <= strictness and since <= minor and is_refused(spec)
    ]
    return f'violates PodSecurity "{level}:{version}": {", ".join(dict.fromkeys(reasons))}' if reasons else ""


def _boxes(spec: Spec) -> Iterator[Mapping[str, Any]]:
    for field in ("initContainers", "containers"):
        yield from map(as_mapping, as_list(spec.get(field)))


def _contexts(spec: Spec) -> Iterator[Any]:
    """The security contexts of the pod and of each container."""
    yield spec.get("securityContext")
    for box in _boxes(spec):
        yield box.get("securityContext")


def _lacks(spec: Spec, value: object, *path: str) -> bool:
    """Whether a container has another value in its security context, and where it has none, the pod has."""
    own = dig(spec, "securityContext", *path)
    values = [dig(box, "securityContext", *path) for box in _boxes(spec)]
    return any((own if each is None else each) != value for each in values)


def _is_any(spec: Spec, *path: str, values: tuple[object, ...]) -> bool:
    return any(dig(context, *path) in values for context in _contexts(spec))


def _adds(spec: Spec, allowed: frozenset[str]) -> bool:
    return any(not allowed.issuperset(map(str, _capabilities(box, "add"))) for box in _boxes(spec))


def _capabilities(box: Mapping[str, Any], field: str) -> tuple[Any, ...]:
    return tuple(as_list(dig(box, "securityContext", "capabilities", field)))


def _has_user_namespace(spec: Spec) -> bool:
    return spec.get("hostUsers") is False


def _is_windows(spec: Spec) -> bool:
    return as_text(dig(spec, "os", "name")) == "windows"


def _has_host_port(spec: Spec) -> bool:
    return any(as_int(dig(port, "hostPort")) for box in _boxes(spec) for port in as_list(box.get("ports")))


def _has_other_linux(spec: Spec) -> bool:
    for options in (as_mapping(dig(context, "seLinuxOptions")) for context in _contexts(spec)):
        if options.get("user") or options.get("role") or as_text(options.get("type")) not in _SELINUX:
            return True
    return False


def _has_unsafe_sysctl(spec: Spec) -> bool:
    return any(dig(entry, "name") not in _SYSCTLS for entry in as_list(dig(spec, "securityContext", "sysctls")))


def _keeps_capabilities(spec: Spec) -> bool:
    return any("ALL" not in _capabilities(box, "drop") for box in _boxes(spec))


def _lacks_profile(spec: Spec) -> bool:
    own = dig(spec, "securityContext", "seccompProfile", "type")
    types = [dig(box, "securityContext", "seccompProfile", "type") or own for box in _boxes(spec)]
    return any(each not in ("RuntimeDefault", "Localhost") for each in types)


_BASIC: Final = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"),
        *("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)
_SELINUX: Final = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
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


def _has_volume(spec: Spec, kinds: tuple[str, ...]) -> bool:
    return any(as_mapping(entry).get(kind) is not None for entry in as_list(spec.get("volumes")) for kind in kinds)


#: Level, the minor version from which it refuses this, the server's word for it, and whether it refuses a pod.
_CHECKS: Final[tuple[tuple[int, int, str, Callable[[Spec], bool]], ...]] = (
    (1, 0, "non-default capabilities", lambda spec: _adds(spec, _BASIC)),
    (1, 0, "host namespaces", lambda spec: any(spec.get(f"host{name}") is True for name in ("Network", "PID", "IPC"))),
    (1, 0, "hostPath volumes", lambda spec: _has_volume(spec, ("hostPath",))),
    (1, 0, "hostPort", _has_host_port),
    (1, 0, "privileged", lambda spec: _is_any(spec, "privileged", values=(True,))),
    (
        *(1, 0, "procMount"),
        lambda spec: _is_any(spec, "procMount", values=("Unmasked",)) and not _has_user_namespace(spec),
    ),
    (1, 0, "seLinuxOptions", _has_other_linux),
    (1, 19, "seccompProfile", lambda spec: _is_any(spec, "seccompProfile", "type", values=("Unconfined",))),
    (1, 0, "forbidden AppArmor profile", lambda spec: _is_any(spec, "appArmorProfile", "type", values=("Unconfined",))),
    (1, 0, "forbidden sysctls", _has_unsafe_sysctl),
    (1, 0, "hostProcess", lambda spec: _is_any(spec, "windowsOptions", "hostProcess", values=(True,))),
    (
        *(2, 8, "allowPrivilegeEscalation != false"),
        lambda spec: (
            not _is_windows(spec)
            and any(dig(box, "securityContext", "allowPrivilegeEscalation") is not False for box in _boxes(spec))
        ),
    ),
    (
        *(2, 22, "unrestricted capabilities"),
        lambda spec: (
            not _is_windows(spec) and (_keeps_capabilities(spec) or _adds(spec, frozenset({"NET_BIND_SERVICE"})))
        ),
    ),
    (2, 0, "restricted volume types", lambda spec: _has_volume(spec, _VOLUMES)),
    (
        *(2, 0, "runAsNonRoot != true"),
        lambda spec: not _has_user_namespace(spec) and _lacks(spec, True, "runAsNonRoot"),
    ),
    (
        *(2, 23, "runAsUser=0"),
        lambda spec: not _has_user_namespace(spec) and any(dig(each, "runAsUser") == 0 for each in _contexts(spec)),
    ),
    (2, 19, "seccompProfile", lambda spec: not _is_windows(spec) and _lacks_profile(spec)),
)
