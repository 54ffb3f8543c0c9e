"""`krmfn why` about what public threads show: the cause that was found there comes first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Call
from tests.cli.test_fit import make_node
from tests.cli.test_why import make_event

FILES = ("unstarted.yaml", "pending.yaml")
CASES: list[dict[str, Any]] = [
    case for name in FILES for case in yaml.safe_load((Path(__file__).parent / name).read_text())
]


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: case["thread"].removeprefix("https://").removeprefix("github.com/")
)
def test_the_cause_of_a_thread(case: dict[str, Any], tmp_path: Path, krmfn: Call) -> None:
    values = [make_node("gpu-1", "a"), *case["objects"]]
    (tmp_path / "dump.yaml").write_text(yaml.safe_dump_all(values))
    done = krmfn("why", case["asked"], "--cluster", "dump.yaml", "--prove")
    assert done.code == 1, done.out
    said = " ".join(done.out.split())
    cause, _, rest = said.partition(" Way out: ")
    assert case["cause"] in cause.partition("Cause: ")[2]
    assert case["way"] in rest


def test_a_job_that_is_complete_is_well(tmp_path: Path, krmfn: Call) -> None:
    """Its pods may be gone, or have failed before others succeeded."""
    case = next(case for case in CASES if case["asked"].startswith("job/"))
    job = {**case["objects"][0], "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    (tmp_path / "dump.yaml").write_text(yaml.safe_dump_all([job, case["objects"][1]]))
    done = krmfn("why", case["asked"], "--cluster", "dump.yaml", "--prove")
    assert (done.code, "All is well." in done.out) == (0, True)


WAITS = {"name": "wait", "ready": False, "started": False, "state": {"running": {"startedAt": "2026-11-27T10:00:00Z"}}}
UNREADY = {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "unready: [main]"}
FAILED_PROBE = make_event("Pod", "p", "Unhealthy", "Readiness probe failed: connection refused")


@pytest.mark.parametrize(
    ("status", "events", "cause", "way"),
    [
        (
            {"phase": "Pending", "initContainerStatuses": [WAITS]},
            [],
            "Pod p waits for its init container wait, which has not ended",
            "kubectl logs p -n ml -c wait.",
        ),
        ({"phase": "Running", "conditions": [UNREADY]}, [], "Pod p is not ready: ContainersNotReady: unready", "probe"),
        (
            {"phase": "Running", "conditions": [UNREADY]},
            [FAILED_PROBE],
            "Pod p is not ready: Unhealthy: Readiness probe failed: connection refused",
            "readiness probe can pass",
        ),
    ],
)
def test_a_pod_that_is_not_there_yet(
    status: dict[str, Any], events: list[Any], cause: str, way: str, tmp_path: Path, krmfn: Call
) -> None:
    spec = {"nodeName": "gpu-1", "initContainers": [{"name": "wait"}], "containers": [{"name": "main", "image": "a"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ml"}, "spec": spec}
    status["conditions"] = [{"type": "PodScheduled", "status": "True"}, *status.get("conditions", ())]
    (tmp_path / "dump.yaml").write_text(
        yaml.safe_dump_all([make_node("gpu-1", "a"), {**pod, "status": status}, *events])
    )
    done = krmfn("why", "pod/ml/p", "--cluster", "dump.yaml", "--prove")
    said = " ".join(done.out.split())
    assert (done.code, cause in said.partition("Cause: ")[2], way in said.partition(" Way out: ")[2]) == (
        1,
        True,
        True,
    ), said
