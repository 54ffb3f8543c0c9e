"""What keeps a program that is started from other programs, the network, and more memory than its share."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from krmfn.workspace.trees import MOST_BYTES

#: Nobody answers there: what a program would fetch fails at once.
_NOWHERE = "http://127.0.0.1:9"
#: By machine: its AUDIT_ARCH, and the number of its socket(2).
_SOCKETS = {
    "x86_64": (0xC000003E, 41),
    "aarch64": (0xC00000B7, 198),
    "ppc64le": (0xC0000015, 326),
    "riscv64": (0xC00000F3, 198),
    "s390x": (0x80000016, 359),
}
_IO_URING_SETUP, _X32_SYSCALL_BIT = 425, 0x40000000
# Of the headers linux/prctl.h, linux/seccomp.h and linux/bpf_common.h: loads an absolute word, jumps, returns.
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_SECCOMP_RET_ALLOW, _SECCOMP_RET_ERRNO = 0x7FFF0000, 0x50000
_BPF_LD, _BPF_JEQ, _BPF_JGE, _BPF_RET = 0x20, 0x15, 0x35, 0x06


def isolate(root: str, homes: Sequence[str] = ()) -> dict[str, str]:
    """An environment with no program on the PATH (git, docker, helm), no home folder with plugins and no way into the
    network. `homes` are the program's names for such folders; all of them are one new folder below `root`."""
    import tempfile

    empty = tempfile.mkdtemp(dir=root)
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), _NOWHERE)
    folders = dict.fromkeys(("PATH", "HOME", "XDG_CONFIG_HOME", "KUSTOMIZE_PLUGIN_HOME", "TMPDIR", *homes), empty)
    return {**folders, **proxies, "LC_ALL": "C.UTF-8"}


def limit_memory(process: int, most_memory: int) -> None:
    """On Linux a process gets no more bytes of memory, and writes no larger file than is read."""
    import resource

    if sys.platform == "linux":
        with suppress(OSError):  # it has ended, or has less already
            resource.prlimit(process, resource.RLIMIT_AS, (most_memory, most_memory))
            resource.prlimit(process, resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))


def cut_network() -> None:
    """What a new process on Linux calls to have no sockets, ever again: seccomp(2), which needs no rights.

    Raises OSError, with which no program starts, if a socket can be opened all the same.
    """
    import ctypes
    import errno
    import socket
    import struct

    architecture, socket_call = _SOCKETS[os.uname().machine]
    # Each line: what to do, how many lines to skip if so and if not, and the number for it. See struct seccomp_data.
    lines = [
        (_BPF_LD, 0, 0, 4),  # the architecture: others have other numbers of calls
        (_BPF_JEQ, 0, 5, architecture),
        (_BPF_LD, 0, 0, 0),  # the call: for a socket, for a queue in which one can be requested, or of x32
        (_BPF_JEQ, 3, 0, socket_call),
        (_BPF_JEQ, 2, 0, _IO_URING_SETUP),
        (_BPF_JGE, 1, 0, _X32_SYSCALL_BIT),
        (_BPF_RET, 0, 0, _SECCOMP_RET_ALLOW),
        (_BPF_RET, 0, 0, _SECCOMP_RET_ERRNO | errno.EACCES),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = struct.pack("HP", len(lines), ctypes.addressof(code))
    prctl, nothing = ctypes.CDLL(None).prctl, ctypes.c_ulong(0)
    prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), nothing, nothing, nothing)
    prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_MODE_FILTER), program)
    try:
        socket.socket().close()
    except PermissionError:
        return
    raise OSError(errno.EPERM, "a socket could be opened")
