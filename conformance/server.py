"""Starts etcd and a kube-apiserver of one profile, waits until it answers, ends both.

The server allows everything, stores in a throw-away folder and runs no controllers. Must not know what it is asked.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from conformance.build import find_server
from conformance.client import Client, NoAnswer
from conformance.ending import Unable
from conformance.versions import Profile

TOKEN = "conformance"
READY_SECONDS = 90.0

# Namespaces need not exist and a malformed one is answered by validation; pods need no service account.
DISABLED_ADMISSION = ("ServiceAccount", "NamespaceLifecycle", "PodSecurity")


class StartFailed(Unable):
    """A program ended or never became ready; the message ends with the last lines of its log."""


class Running:
    """The two processes of one server, its folder and the address."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.processes: list[subprocess.Popen[bytes]] = []
        self.client = Client(port, TOKEN)

    def spawn(self, name: str, command: list[str]) -> None:
        log: IO[bytes] = (self.folder / f"{name}.log").open("wb")
        process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT)
        log.close()
        self.processes.append(process)

    def kubeconfig(self) -> str:
        """How kubectl reaches the server: JSON, which is YAML."""
        server = {"server": f"https://127.0.0.1:{self.port}", "insecure-skip-tls-verify": True}
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "conformance", "cluster": server}],
                "users": [{"name": "admin", "user": {"token": TOKEN}}],
                "contexts": [{"name": "conformance", "context": {"cluster": "conformance", "user": "admin"}}],
                "current-context": "conformance",
            }
        )

    def log_tail(self) -> str:
        tails = []
        for log in sorted(self.folder.glob("*.log")):
            tails.append(f"== {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-4:]))
        return "\n".join(tails)

    def kill(self) -> None:
        """Ends the processes; a graceful stop of an API server takes 10 to 15 seconds."""
        for process in reversed(self.processes):
            process.send_signal(signal.SIGKILL)
        for process in self.processes:
            process.wait()

    def stop(self) -> None:
        """Kills, and throws the data away."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def serve(profile: Profile, runtime: str = "") -> Iterator[Running]:
    """A ready server of this profile for the length of the block. Raises StartFailed. `runtime` says which APIs it
    serves, as --runtime-config does."""
    running = start(profile, runtime)
    try:
        yield running
    finally:
        running.stop()


def start(profile: Profile, runtime: str = "") -> Running:
    """A ready server; the caller must call stop(). Raises StartFailed when it is not built or does not come up."""
    binary = find_server(profile.release)
    if binary is None:
        raise StartFailed(
            f"no kube-apiserver {profile.release.version}: run `python -m conformance build {profile.release.name}`"
        )
    etcd = shutil.which("etcd")
    if etcd is None:
        raise StartFailed("etcd is not installed (Debian: apt install etcd-server)")
    api, store, peer = free_ports(3)
    running = Running(Path(tempfile.mkdtemp(prefix=f"conformance-{profile.name}-")), api)
    try:
        write_keys(running.folder)
        running.spawn("etcd", etcd_command(etcd, running.folder, store, peer))
        running.spawn("apiserver", server_command(str(binary), profile, running.folder, api, store, runtime))
        wait_ready(running)
    except BaseException:
        running.stop()
        raise
    return running


def wait_ready(running: Running) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        if any(process.poll() is not None for process in running.processes):
            raise StartFailed(f"a program ended while starting\n{running.log_tail()}")
        with contextlib.suppress(NoAnswer):
            if running.client.get("/readyz").status == 200:
                return
        time.sleep(0.2)
    raise StartFailed(f"not ready after {READY_SECONDS:.0f} s\n{running.log_tail()}")


def write_keys(folder: Path) -> None:
    """The token of the only user, and the key pair that service account tokens would be signed with."""
    (folder / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n')
    key, public = folder / "accounts.key", folder / "accounts.pub"
    for command in (
        ["openssl", "genrsa", "-out", str(key), "2048"],
        ["openssl", "rsa", "-in", str(key), "-pubout", "-out", str(public)],
    ):
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (FileNotFoundError, subprocess.CalledProcessError) as problem:
            raise StartFailed(f"openssl is missing, or cannot make keys: {problem}") from None


def etcd_command(program: str, folder: Path, client_port: int, peer_port: int) -> list[str]:
    client, peer = f"http://127.0.0.1:{client_port}", f"http://127.0.0.1:{peer_port}"
    return [
        program,
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
    ]


def server_command(program: str, profile: Profile, folder: Path, port: int, store: int, runtime: str = "") -> list[str]:
    versions = runtime or ",".join(f"scheduling.k8s.io/{version}=true" for version in profile.group_versions)
    return [
        program,
        f"--etcd-servers=http://127.0.0.1:{store}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'certs'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder / 'accounts.pub'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        "--service-cluster-ip-range=10.0.0.0/16",
        "--authorization-mode=AlwaysAllow",
        "--allow-privileged=true",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--endpoint-reconciler-type=none",
        "--feature-gates=" + ",".join(f"{gate}=true" for gate in profile.gates),
        f"--runtime-config={versions}",
        "--disable-admission-plugins=" + ",".join(DISABLED_ADMISSION),
        # One client sends everything one after the other; fairness would only slow it down.
        "--enable-priority-and-fairness=false",
    ]


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, held together so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
