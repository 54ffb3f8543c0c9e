"""The gangs that the Job controller makes, as the real one does.

`conformance/data/jobgroups-1.38.jsonl.xz` has what `ensureWorkloadAndPodGroup` of Kubernetes 1.38.0-beta.0 answered
about 500 made-up Jobs: its own file, job_scheduling_manager.go, built with conformance/go/jobgroups/main.go.
"""

from __future__ import annotations

import json
import lzma
from typing import Any

from conformance.versions import HERE
from krmfn.config import read_settings
from krmfn.krm.item import Item
from krmfn.survey.counting import count_all
from krmfn.survey.jobs import list_own_gangs

CASES = lzma.decompress((HERE / "data" / "jobgroups-1.38.jsonl.xz").read_bytes()).decode().splitlines()


def read(case: dict[str, Any], release: str) -> list[tuple[str, int | None, str]]:
    """Policy, quorum and topology key of what krmfn says that the controller makes; a CronJob owns an owned Job."""
    job = case["job"]
    if case["owned"]:
        template = {"metadata": {"annotations": job["metadata"].get("annotations", {})}, "spec": job["spec"]}
        head = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c", "namespace": "ml"}}
        job = {**head, "spec": {"schedule": "0 0 * * *", "jobTemplate": template}}
    kubernetes = {"version": release, "featureGates": {"GenericWorkload": True, "WorkloadWithJob": True}}
    settings = read_settings(
        {
            "apiVersion": "krmfn.dev/v1alpha1",
            "kind": "GangScheduling",
            "metadata": {"name": "gangs"},
            "spec": {"kubernetes": kubernetes},
        }
    )
    census = count_all([Item.new(job), Item.new(case["workload"])], settings)
    groups = (gang.group for gang in list_own_gangs(census, settings))
    return [(group.policy, group.quorum, group.topology_key) for group in groups]


def test_the_job_controller_makes_the_gangs_that_krmfn_says() -> None:
    made = 0
    for line in CASES:
        case = json.loads(line)
        gang = (case["policy"] or {}).get("gang")
        wanted = [("gang", gang["minCount"], case["key"])] if gang else []
        assert read(case, "1.38") == wanted, line
        made += len(wanted)
    assert made > 90


def test_until_1_38_the_job_of_a_cronjob_gets_none() -> None:
    cases = [json.loads(line) for line in CASES]
    assert not any(read(case, "1.37") for case in cases if case["owned"])
    assert any(read(case, "1.37") for case in cases if not case["owned"])
