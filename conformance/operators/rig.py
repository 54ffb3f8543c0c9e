"""A control plane of Kubernetes with the controller of another project, its definitions and its webhooks, on loopback.

Must not know what is created.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from conformance.build import cache_folder
from conformance.kueue.build import compile_package, find_source, list_manifests
from conformance.kueue.record import find_path
from conformance.kueue.rig import RELEASE, Plain, StartFailed
from conformance.scheduler.made.scenario import PROFILES, spell_gates
from conformance.scheduler.plane import Plane, control
from conformance.server import free_ports

Value = dict[str, Any]
_READY_SECONDS: Final = 90.0


class Operator(NamedTuple):
    """A project: its Go module with its version, the package of its command, the namespace of its manifests, the kind
    of its configuration (KubeRay has options instead), and which controllers of Kubernetes it works with."""

    module: str
    version: str
    package: str
    space: str
    configuration: str = ""
    controllers: tuple[str, ...] = ()


_KUBERAY: Final = "github.com/ray-project/kuberay/ray-operator"
OPERATORS: Final = {
    "jobset": Operator(
        "sigs.k8s.io/jobset", "0.12.0", "sigs.k8s.io/jobset", "jobset-system", "config.jobset.x-k8s.io/v1alpha1"
    ),
    "lws": Operator(
        *("sigs.k8s.io/lws", "0.9.0", "sigs.k8s.io/lws/cmd", "lws-system", "config.lws.x-k8s.io/v1alpha1"),
        controllers=("statefulset-controller",),
    ),
    "kuberay": Operator(_KUBERAY, "1.6.2", _KUBERAY, "default"),
}


def find_operator(name: str) -> Path:
    """The command in the cache, built when it is missing. Raises BuildFailed."""
    row = OPERATORS[name]
    target = cache_folder() / "bin" / f"{name}-{row.version}" / name
    if os.access(target, os.X_OK):
        return target
    return compile_package(row.package, target, module=row.module, version=row.version)


class Running(NamedTuple):
    """A plane with a controller."""

    plane: Plane

    @property
    def client(self) -> Any:
        """Asks the API server."""
        return self.plane.client


@contextlib.contextmanager
def run(name: str, probe: Value) -> Iterator[Running]:
    """The plane with a ready controller for the length of the block; it is ready when its webhooks take the `probe`.
    Raises StartFailed or BuildFailed."""
    row, program = OPERATORS[name], find_operator(name)
    port, health = free_ports(2)
    gates = spell_gates(RELEASE, PROFILES[RELEASE][0][2])
    with control(RELEASE, gates, controllers=row.controllers) as plane:
        for value in list_manifests(port, find_source(row.module, row.version)):
            answer = plane.client.post(_find_collection(value), value)
            if not answer.accepted:
                raise StartFailed(f"{value['kind']} {value['metadata']['name']}: {answer.body}")
        # Where it looks for its keys is fixed in JobSet: pkg/util/cert.
        keys = Path(tempfile.gettempdir()) / "k8s-webhook-server" / "serving-certs"
        settings = {
            "apiVersion": row.configuration,
            "kind": "Configuration",
            "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"port": port, "host": "127.0.0.1", "certDir": str(keys)},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": True},
            "clientConnection": {"qps": 500, "burst": 500},
        }
        (plane.folder / "operator.yaml").write_text(json.dumps(settings))
        words = [f"--config={plane.folder / 'operator.yaml'}"]
        if not row.configuration:
            words = [f"--health-probe-bind-address=127.0.0.1:{health}", "--metrics-addr=0"]
            words.append("--enable-leader-election=false")
        plane.spawn(name, [str(program), f"--kubeconfig={plane.folder / 'kubeconfig'}", *words])
        _wait(plane, Plain(health), f"/api/v1/namespaces/{row.space}/secrets/{name}-webhook-server-cert", keys, probe)
        yield Running(plane)


def _wait(plane: Plane, health: Plain, secret: str, keys: Path, probe: Value) -> None:
    """Until webhooks answer; on the way what a kubelet does with the keys in the Secret."""
    end = time.monotonic() + _READY_SECONDS
    keys.mkdir(parents=True, exist_ok=True)
    while time.monotonic() < end:
        if any(process.poll() is not None for process in plane.processes):
            raise StartFailed(f"a program ended while starting\n{plane.log_tail()}")
        for name, data in (plane.client.get(secret).body.get("data") or {}).items():
            text = base64.b64decode(data)
            if not (keys / name).is_file() or (keys / name).read_bytes() != text:
                (keys / name).write_bytes(text)
        if health.is_ready() and plane.client.post(find_path(probe), probe, dryRun="All").accepted:
            return
        time.sleep(0.3)
    raise StartFailed(f"the controller is not ready after {_READY_SECONDS:.0f} s\n{plane.log_tail()}")


def _find_collection(value: Value) -> str:
    kind, version = value["kind"].lower(), value["apiVersion"]
    space = value["metadata"].get("namespace")
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{root}{f'/namespaces/{space}' if space else ''}/{kind}s"
