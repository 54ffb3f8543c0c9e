"""The rules of probes and hooks: how a container is asked whether it lives, what it does when it starts and ends.

Source: validateProbe, validateHandler, validateLifecycle of k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.server.cases import check_part
from krmfn.server.formats import check_header_name, check_port_name
from krmfn.server.pods.ports import check_port_number
from krmfn.server.pods.setting import Object, Setting
from krmfn.server.spell import write_json

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def check_running(container: Object, at: Path, pod: Setting) -> None:
    """What only containers have that keep running."""
    lifecycle = container.get("lifecycle")
    if lifecycle is not None:
        for name in ("postStart", "preStop"):
            if name in lifecycle:
                _check_handler(lifecycle[name], (*at, "lifecycle", name), pod)
        if "stopSignal" in lifecycle:
            _check_stop_signal(lifecycle["stopSignal"], (*at, "lifecycle", "stopSignal"), pod)
    for name in PROBES:
        if name in container:
            _check_probe(name, container[name], (*at, name), pod)


def _check_probe(kind: str, probe: Object, at: Path, pod: Setting) -> None:
    _check_handler(probe, at, pod)
    for name in _PROBE_COUNTS:
        if probe.get(name, 0) < 0:
            pod.invalid((*at, name), "pod-probes", probe[name], "must be greater than or equal to 0")
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        pod.invalid((*at, "terminationGracePeriodSeconds"), "pod-probes", grace, "must be greater than 0")
    if kind == "readinessProbe":
        if grace is not None:
            detail = "must not be set for readinessProbes"
            pod.invalid((*at, "terminationGracePeriodSeconds"), "pod-probes", grace, detail)
    elif probe.get("successThreshold", 0) != 1:
        count = probe.get("successThreshold", 0)
        pod.invalid((*at, "successThreshold"), "pod-probes", count, "must be 1")


def _check_handler(handler: Object, at: Path, pod: Setting) -> None:
    """A probe's or a hook's one way to act."""
    given = [name for name in _HANDLERS if name in handler]
    if not given:
        pod.required(at, "pod-probes", "must specify a handler type")
        return
    for name in given[1:]:
        pod.forbidden((*at, name), "pod-probes", "may not specify more than 1 handler type")
    name = given[0]
    action, at = handler[name], (*at, name)
    if name == "exec":
        if not action.get("command"):
            pod.required((*at, "command"), "pod-probes")
    elif name == "httpGet":
        _check_http(action, at, pod)
    elif name == "sleep":
        seconds = action.get("seconds", 0)
        if pod.grace is not None and not 0 <= seconds <= pod.grace:
            detail = f"must be non-negative and less than terminationGracePeriodSeconds ({pod.grace})"
            pod.invalid(at, "pod-probes", seconds, detail)
    else:
        _check_port(action.get("port", 0), (*at, "port"), pod)
        pod.check_option(action, "mode", at, "pod-probes", ("Plaintext", "TLS"))


def _check_http(action: Object, at: Path, pod: Setting) -> None:
    if not action.get("path"):
        pod.required((*at, "path"), "pod-probes")
    _check_port(action.get("port", 0), (*at, "port"), pod)
    pod.check_option(action, "scheme", at, "pod-probes", ("HTTP", "HTTPS"), needed=True)
    for header in action.get("httpHeaders", ()):
        name = header.get("name", "")
        pod.refuse((*at, "httpHeaders"), "pod-probes", name, check_header_name(name))
    pod.out += check_part(pod, "httpGet", action, at, "pod-probes")


def _check_port(port: int | str, path: Path, pod: Setting) -> None:
    """A port by number or by name."""
    if isinstance(port, str):
        pod.refuse(path, "pod-probes", port, check_port_name(port))
    else:
        check_port_number(port, path, "pod-probes", pod)


_SIGNAL_NAMES = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP"
    " TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX"
)


def _list_signals() -> tuple[str, ...]:
    """Those of Linux, as the server sorts them."""
    names = [f"SIG{name}" for name in _SIGNAL_NAMES.split()]
    names += [f"SIGRTMIN+{number}" for number in range(1, 16)]
    return tuple(sorted([*names, *(f"SIGRTMAX-{number}" for number in range(1, 15))]))


def _check_stop_signal(signal: str, path: Path, pod: Setting) -> None:
    if pod.os is None:
        pod.forbidden(path, "pod-probes", "may not be set for containers with empty `spec.os.name`")
        return
    known = {"windows": ("SIGKILL", "SIGTERM"), "linux": _list_signals()}.get(pod.os)
    if known and signal not in known:
        pod.not_supported(path, "pod-probes", write_json(signal), known)
