"""What `krmfn why` says of gangs that a controller of another project does not start, as a real one shows them; the
change of each was made on the live cluster, where the gang then started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.operators.live import FOLDER, list_lines, read_states
from conformance.operators.situations import STUCK
from tests.scheduler.inside import krmfn

#: Situation -> words of the cause, and words of the change.
CAUSES = {
    "JobSet suspended": ("JobSet train is suspended", "Set spec.suspend to false"),
    "JobSet waits for its first Job": ("node affinity/selector", "label a node"),
    "JobSet has failed": ("JobSet train has failed: ReachedMaxRestarts", "delete the JobSet and create it again"),
    "quota on the Jobs of a JobSet": ("the ResourceQuota jobs allows 1 jobs.batch", "quota"),
    "JobSet with a rack for each Job": ("anti-affinity", "Add nodes"),
    "LeaderWorkerSet waits for a leader without image": ("ImagePullBackOff", "Correct the name of the image"),
    "gang of a LeaderWorkerSet that waits for its leader": (
        "the workers are created when the leader is ready",
        "Set startupPolicy: LeaderCreated and delete the leader",
    ),
    "LeaderWorkerSet larger than the nodes": (
        "needs 3 cpu at once, but the nodes that its pods fit on have 2",
        "Add nodes",
    ),
    "quota on the StatefulSets of a LeaderWorkerSet": ("exceeded quota: sets", "Raise the quota"),
    "LeaderWorkerSet with a rack for each replica": ("Pod train-2: Unschedulable: 0/2 nodes", "Add nodes"),
    "RayCluster larger than the nodes": ("Unschedulable: 0/2 nodes are available: 2 Insufficient cpu", "add nodes"),
    "RayJob suspended": ("RayJob train is suspended", "Set spec.suspend to false"),
    "quota on the pods of a RayCluster": (
        "RayCluster train cannot create its pods: FailedToCreateWorkerPod: Failed to create worker Pod",
        "Raise the quota",
    ),
    "RayCluster for a scheduler that is not there": (
        "names the scheduler volcano, which has not tried to place it",
        "create the pods again without schedulerName",
    ),
}
#: Kinds of which every object is asked about.
ASKED = ("JobSet", "Job", "LeaderWorkerSet", "StatefulSet", "RayJob", "RayCluster", "Pod")


@pytest.mark.parametrize("row", [pytest.param(row, id=row["state"]) for row in read_states()])
def test_why_names_the_cause_and_the_change(row: dict[str, Any], tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": row["items"]}))
    words, change = CAUSES[row["state"]]
    asked = [f"{each['kind'].lower()}/ml/{each['metadata']['name']}" for each in row["items"] if each["kind"] in ASKED]
    for word in asked:
        done = krmfn("why", word, "--cluster", str(dump), "--prove", "--kubernetes", "1.37", "-o", "json")
        answer = json.loads(done.stdout)
        assert words in answer["cause"], word
        assert change in (answer["change"] or ""), word


def test_every_situation_is_recorded_and_its_change_starts_the_gang() -> None:
    rows = read_states()
    assert [row["state"] for row in rows] == [each.name for each in STUCK] == list(CAUSES)
    assert all(row["started"] for row in rows)
    assert (FOLDER / "REPORT.md").read_text().splitlines()[4:] == list_lines(rows)
