"""A control plane of Kubernetes 1.37 with a manager of Kueue on loopback.

The manager makes its certificates itself and writes them into the webhook configurations, as in a cluster; the API
server reaches it through a Service of the type ExternalName. Nodes are objects without a kubelet. Must not know what
is created.
"""

from __future__ import annotations

import base64
import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.build import BuildFailed
from conformance.client import Client, NoAnswer
from conformance.custom import install
from conformance.definitions import list_projects
from conformance.kueue.build import find_manager, list_manifests
from conformance.scheduler.made.scenario import PROFILES, spell_gates
from conformance.scheduler.plane import Plane, StartFailed, control
from conformance.server import TOKEN, free_ports

RELEASE: Final = "1.37"
#: Kinds of other projects whose jobs Kueue manages; their own controllers do not run.
PROJECTS: Final = ("jobset", "kubeRay")
FRAMEWORKS: Final = ("batch/job", "jobset.x-k8s.io/jobset", "ray.io/rayjob", "ray.io/raycluster")
#: What the manager is set up with, by a name that records carry.
CONFIGURATIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "default": {},
    "fair": {"fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}},
    "ready": {
        "waitForPodsReady": {
            "timeout": "3s",
            "requeuingStrategy": {"backoffLimitCount": 1, "backoffBaseSeconds": 600, "timestamp": "Eviction"},
        }
    },
}
_READY_SECONDS: Final = 90.0


class Rig:
    """A plane without or with a manager; `client` asks the API server."""

    def __init__(self, plane: Plane, port: int) -> None:
        self.plane, self.port, self.client = plane, port, plane.client

    @contextlib.contextmanager
    def manage(self, configuration: str) -> Iterator[None]:
        """A ready manager for the length of the block. Raises StartFailed."""
        health, metrics = free_ports(2)
        folder = self.plane.folder
        settings = {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
            "metrics": {"bindAddress": f"127.0.0.1:{metrics}"},
            "webhook": {"port": self.port, "host": "127.0.0.1", "certDir": str(folder / "webhook-certs")},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": True},
            "clientConnection": {"qps": 1000, "burst": 2000},
            "integrations": {"frameworks": list(FRAMEWORKS)},
            "featureGates": {"VisibilityOnDemand": False},
            **CONFIGURATIONS[configuration],
        }
        (folder / "kueue.yaml").write_text(json.dumps(settings))
        program = str(find_manager())
        self.plane.spawn(
            "kueue", [program, f"--config={folder / 'kueue.yaml'}", f"--kubeconfig={folder / 'kubeconfig'}"]
        )
        process = self.plane.processes[-1]
        try:
            self._wait(Plain(health))
            yield
        finally:
            process.kill()
            process.wait()
            self.plane.processes.remove(process)

    def _wait(self, probe: Plain) -> None:
        """Until webhooks answer: the first objects are refused while the API server has not seen the certificates."""
        end = time.monotonic() + _READY_SECONDS
        flavor = make("ResourceFlavor", "probe", {})
        while time.monotonic() < end:
            if any(process.poll() is not None for process in self.plane.processes):
                raise StartFailed(f"a program ended while starting\n{self.plane.log_tail()}")
            self._mount()
            if probe.is_ready() and self.client.post(f"{KUEUE}/resourceflavors", flavor, dryRun="All").accepted:
                return
            time.sleep(0.3)
        raise StartFailed(f"Kueue is not ready after {_READY_SECONDS:.0f} s\n{self.plane.log_tail()}")

    def _mount(self) -> None:
        """What a kubelet does: the keys that the manager wrote into its Secret become the files that it waits for."""
        secret = self.client.get("/api/v1/namespaces/kueue-system/secrets/kueue-webhook-server-cert")
        folder = self.plane.folder / "webhook-certs"
        folder.mkdir(exist_ok=True)
        for name, data in (secret.body.get("data") or {}).items():
            text = base64.b64decode(data)
            if not (folder / name).is_file() or (folder / name).read_bytes() != text:
                (folder / name).write_bytes(text)


KUEUE: Final = "/apis/kueue.x-k8s.io/v1beta2"


class Plain:
    """The port where a program says over plain HTTP whether it is ready."""

    def __init__(self, port: int) -> None:
        self.port = port

    def is_ready(self) -> bool:
        import urllib.error
        import urllib.request

        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def make(kind: str, name: str, spec: Mapping[str, Any], space: str = "", **more: Any) -> dict[str, Any]:
    """An object of Kueue; `more` are other fields of its metadata."""
    metadata = {"name": name, **({"namespace": space} if space else {}), **more}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": dict(spec)}


@contextlib.contextmanager
def start(scheduling: bool = False) -> Iterator[Rig]:
    """A control plane that has the definitions and the webhooks, and no manager yet. Raises StartFailed or
    BuildFailed."""
    (port,) = free_ports(1)
    manifests = list(list_manifests(port))
    gates = spell_gates(RELEASE, PROFILES[RELEASE][0][2]) if scheduling else {}
    with control(RELEASE, gates, scheduling=scheduling) as plane:
        for project in PROJECTS:
            install(plane.client, project, list(list_projects()[project]["versions"])[-1])
        for value in manifests:
            answer = plane.client.post(_find_collection(value), value)
            if not answer.accepted:
                raise StartFailed(f"{value['kind']} {value['metadata']['name']}: {answer.body}")
        yield Rig(plane, port)


_COLLECTIONS: Final = {
    "Namespace": "/api/v1/namespaces",
    "Secret": "/api/v1/namespaces/kueue-system/secrets",
    "Service": "/api/v1/namespaces/kueue-system/services",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "MutatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
}


def _find_collection(value: Mapping[str, Any]) -> str:
    return _COLLECTIONS[value["kind"]]


__all__ = [
    "CONFIGURATIONS",
    "KUEUE",
    "TOKEN",
    "BuildFailed",
    "Client",
    "NoAnswer",
    "Rig",
    "StartFailed",
    "make",
    "start",
]
