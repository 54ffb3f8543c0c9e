"""What `krmfn why` says of jobs that Kueue does not start, as a real manager shows them; the change of each was made on
the live cluster, where the gang then started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.kueue.live import list_lines, read_states
from conformance.kueue.report import read_section
from conformance.kueue.situations import SITUATIONS
from tests.scheduler.inside import krmfn

#: Situation -> the rule, words of the cause, and words of the change.
CAUSES = {
    "queue too small": ("kueue-queue-too-small", "need 3 cpu at once, the ClusterQueue team has at most 2", "Raise"),
    "queue full": ("", "insufficient unused quota for cpu in flavor default", "Wait for Job other to finish"),
    "cohort full": ("", "insufficient unused quota for cpu in flavor default", "Wait for Job other to finish"),
    "borrowing limit": ("kueue-queue-too-small", "has at most 2", "let it borrow"),
    "taint not tolerated": ("kueue-flavor-unsuitable", "untolerated taint spot", "tolerations"),
    "no flavor for the selector": ("kueue-flavor-unsuitable", "rack is r1, the pods need r2", "nodeSelector"),
    "no LocalQueue": ("", "LocalQueue main doesn't exist", "Create the queue"),
    "no ClusterQueue": ("", "ClusterQueue team doesn't exist", "Create the queue"),
    "no ResourceFlavor": ("", "references missing ResourceFlavor(s): default", "Create the ResourceFlavor"),
    "ClusterQueue stopped": ("kueue-queue-stopped", "ClusterQueue team is stopped", "Set stopPolicy: None"),
    "LocalQueue stopped": ("kueue-queue-stopped", "LocalQueue main is stopped", "Set stopPolicy: None"),
    "ClusterQueue drained": ("kueue-queue-stopped", "stopPolicy: HoldAndDrain", "Set stopPolicy: None"),
    "check pending": ("", "the AdmissionCheck capacity is Pending", "remove the check from the ClusterQueue team"),
    "check without controller": ("", "inactive AdmissionCheck(s): capacity", "remove the check"),
    "check missing": ("", "missing AdmissionCheck(s): capacity", "Create the AdmissionCheck"),
    "check rejected": ("", "no capacity of this kind is sold here", "delete the Workload"),
    "behind the head of StrictFIFO": ("", "waits behind Job head", "queueingStrategy: BestEffortFIFO"),
    "preempted": ("", "Kueue has preempted Job train for Job urgent", "Wait for Job urgent to finish"),
    "not ready in time": ("", "Kueue has evicted Job train: Exceeded the PodsReady timeout", "become ready"),
    "no node with the labels of the flavor": ("kueue-flavor-unsuitable", "no node has its labels", "add nodes"),
    "required rack too small": ("kueue-flavor-unsuitable", "no domain of example.com/rack has 9 cpu", "Add nodes"),
    "namespace not selected": ("kueue-namespace-not-selected", "does not select the namespace ml", "namespaceSelector"),
    "MultiKueue": ("gang-elsewhere", "MultiKueue creates the pods of this Job in a worker cluster", "worker clusters"),
    "maximum execution time": ("", "exceeding the maximum execution time", "max-exec-time-seconds"),
    "resource not covered": (
        "kueue-resource-not-covered",
        "example.com/gpu, which no resourceGroup",
        "coveredResources",
    ),
    "LimitRange": ("", "requests must not exceed its limits", "or the LimitRange"),
    "deactivated": ("", "The workload is deactivated", "set spec.active: true in the Workload"),
}


@pytest.mark.parametrize("row", [pytest.param(row, id=row["state"]) for row in read_states()])
def test_why_names_the_cause_and_the_change(row: dict[str, Any], tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": row["items"]}))
    done = krmfn("why", "job/ml/train", "--cluster", str(dump), "--prove", "--kubernetes", "1.37", "-o", "json")
    answer = json.loads(done.stdout)
    rule, words, change = CAUSES[row["state"]]
    assert words in answer["cause"]
    assert change in answer["change"]
    assert (answer["rule"] or "", answer["well"]) == (rule, False)


def test_every_situation_is_recorded_and_its_change_starts_the_gang() -> None:
    rows = read_states()
    assert [row["state"] for row in rows] == [each.name for each in SITUATIONS] == list(CAUSES)
    assert all(row["started"] for row in rows if row["changes"])
    assert read_section("situations") == list_lines(rows)
