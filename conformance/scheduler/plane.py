"""A control plane on loopback: etcd, kube-apiserver, kube-scheduler and, where wanted, kube-controller-manager.

Nodes are objects only; kubelets.py plays what kubelets do. Must not know what is scheduled.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.build import BuildFailed, binary_folder, compile_program
from conformance.client import Client, NoAnswer
from conformance.server import TOKEN, Running, StartFailed, etcd_command, free_ports, write_keys
from conformance.versions import Release, read_releases

PROGRAMS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
READY_SECONDS = 120.0

#: ServiceAccount and StorageObjectInUseProtection need controllers that do not run here; TaintNodesByCondition would
#: put a taint on each new node that only the node controller takes away.
DISABLED = ("ServiceAccount", "StorageObjectInUseProtection", "TaintNodesByCondition", "NamespaceLifecycle")


class Plane(Running):
    """The processes of one control plane; `scheduler_port` serves the scheduler's metrics, `gates` are those of the
    server, `applied` is what has to be removed before the next scenario."""

    def __init__(
        self, folder: Path, port: int, scheduler_port: int, release: Release, gates: Mapping[str, bool]
    ) -> None:
        super().__init__(folder, port)
        self.release, self.gates = release, gates
        self.scheduler = Client(scheduler_port, TOKEN)
        self.applied: list[dict[str, Any]] = []

    def scheduler_log(self) -> str:
        """Everything that the scheduler wrote so far."""
        return (self.folder / "scheduler.log").read_text(errors="replace")


def find_program(release: Release, name: str) -> Path:
    """A program of the release in the cache, built when it is missing. Raises BuildFailed."""
    place = binary_folder(release) / name
    return place if place.is_file() else compile_program(release, name, f"k8s.io/kubernetes/cmd/{name}")


class Store:
    """An etcd, and the folder that every control plane over it works in."""

    def __init__(self, running: Running, port: int) -> None:
        self.running, self.port, self.folder = running, port, running.folder


@contextlib.contextmanager
def open_store() -> Iterator[Store]:
    """An empty etcd for the length of the block. Raises StartFailed."""
    etcd = shutil.which("etcd")
    if etcd is None:
        raise StartFailed("etcd is not installed (Debian: apt install etcd-server)")
    port, peer = free_ports(2)
    running = Running(Path(tempfile.mkdtemp(prefix="plane-")), port)
    try:
        write_keys(running.folder)
        running.spawn("etcd", etcd_command(etcd, running.folder, port, peer))
        yield Store(running, port)
    finally:
        running.stop()


@contextlib.contextmanager
def control(
    release_name: str,
    gates: Mapping[str, bool],
    scheduler_gates: Mapping[str, bool] | None = None,
    controllers: Sequence[str] = (),
    scheduling: bool = True,
) -> Iterator[Plane]:
    """A ready control plane for the length of the block. `gates` are those of all programs; `scheduler_gates` are the
    scheduler's where they differ; `controllers` run beside the usual ones; without `scheduling` there is no scheduler.
    Raises StartFailed or BuildFailed."""
    with (
        open_store() as store,
        attach(store, release_name, gates, scheduler_gates, controllers=controllers, scheduling=scheduling) as plane,
    ):
        yield plane


@contextlib.contextmanager
def attach(
    store: Store,
    release_name: str,
    gates: Mapping[str, bool],
    scheduler_gates: Mapping[str, bool] | None = None,
    patient: bool = True,
    controllers: Sequence[str] = (),
    scheduling: bool = True,
) -> Iterator[Plane]:
    """A control plane over what is stored already; a `patient` one is ready. Raises StartFailed or BuildFailed."""
    release = read_releases(previews=True)[release_name]
    wanted = PROGRAMS if scheduling else tuple(name for name in PROGRAMS if name != "kube-scheduler")
    programs = {name: find_program(release, name) for name in wanted}
    api, scheduler_port, manager_port = free_ports(3)
    plane = Plane(store.folder, api, scheduler_port, release, gates)
    try:
        (plane.folder / "kubeconfig").write_text(plane.kubeconfig())
        plane.spawn("apiserver", _server(programs["kube-apiserver"], release, gates, plane.folder, api, store.port))
        if patient:
            _wait(plane, plane.client, "/readyz")
        else:
            _wait(plane, plane.client, "/livez")
        if scheduling:
            plane.spawn(
                "scheduler",
                _scheduler(programs["kube-scheduler"], scheduler_gates or gates, plane.folder, scheduler_port),
            )
        manager = Client(manager_port, TOKEN)
        plane.spawn(
            "manager",
            _manager(programs["kube-controller-manager"], release, gates, plane.folder, manager_port, controllers),
        )
        if patient:
            if scheduling:
                _wait(plane, plane.scheduler, "/healthz")
            _wait(plane, manager, "/healthz")
        yield plane
    finally:
        plane.kill()


def _wait(plane: Plane, client: Client, path: str) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        if any(process.poll() is not None for process in plane.processes):
            raise StartFailed(f"a program ended while starting\n{plane.log_tail()}")
        with contextlib.suppress(NoAnswer):
            if client.get(path).status == 200:
                return
        time.sleep(0.2)
    raise StartFailed(f"{path} not ready after {READY_SECONDS:.0f} s\n{plane.log_tail()}")


def _gates(gates: Mapping[str, bool]) -> str:
    return "--feature-gates=" + ",".join(f"{name}={str(on).lower()}" for name, on in sorted(gates.items()))


def _server(
    program: Path, release: Release, gates: Mapping[str, bool], folder: Path, port: int, store: int
) -> list[str]:
    versions = sorted({version for served in release.served.values() for version in served})
    return [
        str(program),
        f"--etcd-servers=http://127.0.0.1:{store}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'certs'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder / 'accounts.pub'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=AlwaysAllow",
        "--allow-privileged=true",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--endpoint-reconciler-type=none",
        _gates(gates),
        "--runtime-config=" + ",".join(f"scheduling.k8s.io/{version}=true" for version in versions),
        "--disable-admission-plugins=" + ",".join(DISABLED),
        "--enable-priority-and-fairness=false",
        "--watch-cache=true",
    ]


def _scheduler(program: Path, gates: Mapping[str, bool], folder: Path, port: int) -> list[str]:
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(folder / "kubeconfig"), "qps": 1000, "burst": 2000},
        "leaderElection": {"leaderElect": False},
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 1,
    }
    (folder / "scheduler.yaml").write_text(json.dumps(configuration))
    return [
        str(program),
        f"--config={folder / 'scheduler.yaml'}",
        f"--authentication-kubeconfig={folder / 'kubeconfig'}",
        f"--authorization-kubeconfig={folder / 'kubeconfig'}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'scheduler-certs'}",
        _gates(gates),
        "-v=0",
    ]


def _manager(
    program: Path, release: Release, gates: Mapping[str, bool], folder: Path, port: int, more: Sequence[str]
) -> list[str]:
    return [
        str(program),
        f"--kubeconfig={folder / 'kubeconfig'}",
        f"--authentication-kubeconfig={folder / 'kubeconfig'}",
        f"--authorization-kubeconfig={folder / 'kubeconfig'}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'manager-certs'}",
        _gates(gates),
        f"--service-account-private-key-file={folder / 'accounts.key'}",
        "--controllers=" + ",".join((*release.controllers, *more)),
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]


__all__ = ["BuildFailed", "Plane", "StartFailed", "attach", "control", "open_store"]
