"""The rules of probes and hooks that are no rows: the one way to act, and the signals that stop a container.

Source: validateProbe, validateHandler, validateLifecycle of k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.server.cases import check_part
from krmfn.server.pods.setting import Object, Setting

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SIGNAL_NAMES = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP"
    " TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX"
)


def check_handler(pod: Setting, handler: Object, at: Path) -> None:
    """A probe's or a hook's one way to act."""
    given = [name for name in _HANDLERS if name in handler]
    if not given:
        pod.required(at, "must specify a handler type")
        return
    for name in given[1:]:
        pod.forbidden((*at, name), "may not specify more than 1 handler type")
    check_part(pod, given[0], handler[given[0]], (*at, given[0]))


def check_sleep(pod: Setting, action: Object, at: Path) -> None:
    seconds = action.get("seconds", 0)
    if pod.grace is not None and not 0 <= seconds <= pod.grace:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({pod.grace})"
        pod.invalid(at, seconds, detail)


def _list_signals() -> tuple[str, ...]:
    """Those of Linux, as the server sorts them."""
    names = [f"SIG{name}" for name in _SIGNAL_NAMES.split()]
    names += [f"SIGRTMIN+{number}" for number in range(1, 16)]
    return tuple(sorted([*names, *(f"SIGRTMAX-{number}" for number in range(1, 15))]))


def check_stop_signal(pod: Setting, signal: str, path: Path) -> None:
    if pod.os is None:
        pod.forbidden(path, "may not be set for containers with empty `spec.os.name`")
        return
    known = {"windows": ("SIGKILL", "SIGTERM"), "linux": _list_signals()}.get(pod.os)
    if known:
        pod.check_choice(path, signal, known)
