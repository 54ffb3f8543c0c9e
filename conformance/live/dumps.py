"""`python -m conformance.live.dumps RELEASE`: a gang in each state that keeps it from running, on a real control
plane, as `kubectl get … -o json` prints it. What `krmfn why` says of them is tested without one."""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from conformance.ending import end
from conformance.live.__main__ import CONTROLLERS, start_plane
from conformance.live.claims import Value
from conformance.live.gangs import make_node
from conformance.live.obstacles import OBSTACLES, Obstacle
from conformance.live.planting import label, make_gang, select
from conformance.scheduler.cluster import clean, create, reset_quotas, wait_quiet
from conformance.scheduler.made.scenario import PROFILES
from conformance.scheduler.plane import Plane

STATES: Final = Path(__file__).resolve().parent / "states"
#: Obstacles by their titles, and what is no obstacle or no field of one.
_PLANTED: Final = (
    *("quota on pods below the gang", "LimitRange with a maximum below the requests", "a priority by hand"),
    *("a namespace that enforces restricted pods", "pods of another class than the group", "more pods than there are"),
    *(
        "a claim that does not exist",
        "a selector that no node has",
        "another scheduler",
        "all nodes together too small",
    ),
    *("a link to a group that does not exist", "a parent that does not exist", "more children than there are"),
)
_OTHERS: Final[Mapping[str, Obstacle]] = {
    "whole": Obstacle("whole"),
    "suspended": Obstacle("suspended"),
    "room that another pod holds": Obstacle("room that another pod holds", pods=4),
    "a scheduling gate": Obstacle("a scheduling gate", {"schedulingGates": [{"name": "example.com/wait"}]}),
}
_CORE: Final = ("nodes", "namespaces", "pods", "events", "resourcequotas", "limitranges", "persistentvolumeclaims")
_KINDS: Final = ("Node", "Namespace", "Pod", "Event", "ResourceQuota", "LimitRange", "PersistentVolumeClaim")


def list_states(release: str) -> Iterator[tuple[str, Obstacle]]:
    """Every state that a release knows, by name."""
    yield from _OTHERS.items()
    for obstacle in select(OBSTACLES, release):
        if obstacle.title in _PLANTED:
            yield obstacle.title, obstacle


def bring_about(plane: Plane, name: str, obstacle: Obstacle) -> list[Value]:
    """All objects of the cluster when the gang is in the state; its pods are made by the Job controller."""
    clean(plane, plane.applied)
    plane.client.send("DELETE", "/api/v1/namespaces/ml/events", {})
    values = make_gang(obstacle, plane.release.name)
    for value in values:
        if value["kind"] == "Job":
            value["spec"] |= {"completionMode": "Indexed", "suspend": name == "suspended"}
    plane.applied = [*obstacle.stored, *values]
    nodes = [make_node(each, {}, {"cpu": "4", "memory": "16Gi", "pods": "110"}) for each in ("n1", "n2")]
    label(plane, obstacle.labels)
    create(plane, [*nodes, *obstacle.stored, *([_HOLDER] if name == "room that another pod holds" else ())])
    reset_quotas(plane, obstacle.stored)
    create(plane, values)
    wait_quiet(plane, 2, at_least=obstacle.pods)
    found = list(_dump(plane))
    label(plane, dict.fromkeys(obstacle.labels))
    return found


_HOLDER: Final[Value] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "holder", "namespace": "ml"},
    "spec": {
        "nodeName": "n1",
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}],
    },
}


def _dump(plane: Plane) -> Iterator[Value]:
    rows = [(f"/api/v1/{path}", "v1", kind) for path, kind in zip(_CORE, _KINDS, strict=True)]
    rows += [("/apis/batch/v1/jobs", "batch/v1", "Job")]
    rows += [("/apis/scheduling.k8s.io/v1/priorityclasses", "scheduling.k8s.io/v1", "PriorityClass")]
    for kind, (version, *_) in plane.release.served.items():
        rows.append((f"/apis/scheduling.k8s.io/{version}/{kind.lower()}s", f"scheduling.k8s.io/{version}", kind))
    for path, version, kind in rows:
        for value in plane.client.get(path).body["items"]:
            metadata: dict[str, Any] = value["metadata"]
            metadata.pop("managedFields", None)
            if kind != "Namespace" or metadata["name"] == "ml":
                yield {"apiVersion": version, "kind": kind, **value}


def main(words: Sequence[str]) -> int:
    """Writes the states of a release."""
    parser = argparse.ArgumentParser(prog="python -m conformance.live.dumps", description=__doc__)
    parser.add_argument("release", choices=tuple(PROFILES))
    release = parser.parse_args(words).release
    rows = []
    with start_plane(release, PROFILES[release][0][0], CONTROLLERS) as plane:
        for name, obstacle in list_states(release):
            rows.append(json.dumps({"state": name, "items": bring_about(plane, name, obstacle)}, sort_keys=True))
            print(name, flush=True)
    (STATES / f"{release}.jsonl.xz").write_bytes(lzma.compress("".join(f"{row}\n" for row in rows).encode(), preset=9))
    return 0


if __name__ == "__main__":
    end(main)
