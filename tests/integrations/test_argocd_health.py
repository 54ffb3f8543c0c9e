"""The health checks of the Argo CD example, run by a Lua interpreter the way Argo CD runs them.

Argo CD's interpreter speaks Lua 5.1 with the base, package and table libraries (argoproj/argo-cd, `util/lua/lua.go`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lupa.lua51
import pytest
import yaml

HEALTH = Path(__file__).parents[2] / "examples" / "argocd" / "health"
ARGOCD_CM = HEALTH / "argocd-cm.yaml"
STATUSES = {"Healthy", "Progressing", "Degraded", "Suspended"}


def judge(kind: str, status: dict[str, Any] | None, generation: int = 1) -> tuple[str, str]:
    """The health of an object as (status, message)."""
    lua = lupa.lua51.LuaRuntime(unpack_returned_tuples=False)
    for library in ("string", "math", "io", "debug", "coroutine", "jit"):
        lua.globals()[library] = None
    lua.execute("local meta = getmetatable('') if meta then meta.__index = nil end")
    obj: dict[str, Any] = {"metadata": {"name": "x", "generation": generation}, "spec": {}}
    if status is not None:
        obj["status"] = status
    lua.globals()["obj"] = lua.table_from(obj, recursive=True)
    health: Any = lua.execute((HEALTH / f"{kind}.lua").read_text())
    assert health["status"] in STATUSES
    assert health["message"]
    return health["status"], health["message"]


def condition(name: str, status: str, reason: str = "", message: str = "") -> dict[str, str]:
    return {"type": name, "status": status, "reason": reason, "message": message}


@pytest.mark.parametrize(
    ("status", "health"),
    [
        (None, ("Progressing", "the operator has not seen it yet")),
        ({}, ("Progressing", "the operator has not seen it yet")),
        (
            {"observedGeneration": 1, "state": "ready", "conditions": [condition("RayClusterProvisioned", "True")]},
            ("Progressing", "the operator has not seen the last change yet"),
        ),
        (
            {
                "observedGeneration": 2,
                "conditions": [condition("RayClusterProvisioned", "False"), condition("HeadPodReady", "False")],
                "desiredWorkerReplicas": 4,
            },
            ("Progressing", "the head is not ready, 0 of 4 workers are ready"),
        ),
        (
            {
                "observedGeneration": 2,
                "conditions": [condition("RayClusterProvisioned", "False"), condition("HeadPodReady", "True")],
                "desiredWorkerReplicas": 4,
                "readyWorkerReplicas": 3,
            },
            ("Progressing", "3 of 4 workers are ready"),
        ),
        (
            {
                "observedGeneration": 2,
                "conditions": [condition("RayClusterProvisioned", "True"), condition("HeadPodReady", "True")],
            },
            ("Healthy", "all pods were ready"),
        ),
        (
            {
                "observedGeneration": 2,
                "conditions": [condition("RayClusterProvisioned", "True"), condition("HeadPodReady", "False")],
            },
            ("Progressing", "the head is not ready, 0 of 0 workers are ready"),
        ),
        ({"observedGeneration": 2, "state": "ready"}, ("Healthy", "ready")),
        ({"observedGeneration": 2, "state": "suspended"}, ("Suspended", "suspended")),
        (
            {"observedGeneration": 2, "conditions": [condition("RayClusterSuspended", "True")]},
            ("Suspended", "suspended"),
        ),
        (
            {"observedGeneration": 2, "conditions": [condition("ReplicaFailure", "True", "FailedCreate", "quota")]},
            ("Degraded", "quota"),
        ),
    ],
)
def test_raycluster(status: dict[str, Any] | None, health: tuple[str, str]) -> None:
    assert judge("RayCluster", status, generation=2) == health


@pytest.mark.parametrize(
    ("status", "health"),
    [
        (None, ("Progressing", "the operator has not seen it yet")),
        ({"jobDeploymentStatus": "Initializing"}, ("Progressing", "Initializing")),
        ({"jobDeploymentStatus": "Running", "jobStatus": "RUNNING"}, ("Progressing", "Running")),
        ({"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "message": "done"}, ("Healthy", "done")),
        ({"jobDeploymentStatus": "Complete", "jobStatus": "STOPPED"}, ("Degraded", "Complete")),
        ({"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "message": "exit 1"}, ("Degraded", "exit 1")),
        ({"jobDeploymentStatus": "ValidationFailed", "message": "bad"}, ("Degraded", "bad")),
        ({"jobDeploymentStatus": "Suspended"}, ("Suspended", "Suspended")),
    ],
)
def test_rayjob(status: dict[str, Any] | None, health: tuple[str, str]) -> None:
    assert judge("RayJob", status) == health


@pytest.mark.parametrize(
    ("status", "health"),
    [
        (None, ("Progressing", "does not serve requests yet")),
        (
            {"observedGeneration": 0, "conditions": [condition("Ready", "True")]},
            ("Progressing", "the operator has not seen the last change yet"),
        ),
        ({"conditions": [condition("Ready", "True")]}, ("Healthy", "serves requests")),
        (
            {"conditions": [condition("Ready", "True"), condition("UpgradeInProgress", "True")]},
            ("Progressing", "an upgrade is in progress"),
        ),
        ({"serviceStatus": "Running"}, ("Healthy", "serves requests")),
        ({"conditions": [condition("Suspended", "True")]}, ("Suspended", "suspended")),
        ({"conditions": [condition("Ready", "False", "ValidationFailed", "bad spec")]}, ("Degraded", "bad spec")),
        (
            {"conditions": [condition("Ready", "False", "Initializing", "wait")]},
            ("Progressing", "does not serve requests yet"),
        ),
    ],
)
def test_rayservice(status: dict[str, Any] | None, health: tuple[str, str]) -> None:
    assert judge("RayService", status) == health


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (None, "its pods were not tried yet"),
        ({"conditions": [condition("DisruptionTarget", "True")]}, "its pods were not tried yet"),
        ({"conditions": [condition("PodGroupInitiallyScheduled", "True", "Scheduled")]}, "was scheduled"),
        (
            {"conditions": [condition("PodGroupInitiallyScheduled", "False", "Unschedulable", "0/2 placements")]},
            "waiting: 0/2 placements",
        ),
    ],
)
def test_a_pod_group_never_holds_back_the_next_wave(status: dict[str, Any] | None, message: str) -> None:
    assert judge("PodGroup", status) == ("Healthy", message)


def test_the_config_map_holds_the_same_scripts() -> None:
    """`argocd-cm.yaml` is what people apply; the `.lua` files are what is tested."""
    data = yaml.safe_load(ARGOCD_CM.read_text())["data"]
    groups = {"PodGroup": "scheduling.k8s.io"}
    assert data == {
        f"resource.customizations.health.{groups.get(path.stem, 'ray.io')}_{path.stem}": path.read_text()
        for path in sorted(HEALTH.glob("*.lua"))
    }
