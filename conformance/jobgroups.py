"""Which gangs the Job controller makes itself: its own code is asked about made-up Jobs, and the answers compared.

The code is one file of Kubernetes, `pkg/controller/job/job_scheduling_manager.go`, built beside go/jobgroups/main.go.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from conformance.build import cache_folder, name_binary, run_go, write_module
from conformance.storage import Record
from conformance.versions import HERE, read_releases
from krmfn.config import read_settings
from krmfn.krm.item import Item
from krmfn.survey.counting import count_all
from krmfn.survey.jobs import list_own_gangs

RELEASE = "1.38"
RECORDED = HERE / "data" / f"jobgroups-{RELEASE}.jsonl.xz"
_GATES = ("GenericWorkload", "WorkloadWithJob")


def make_cases(seed: int, count: int) -> Iterator[Record]:
    """Jobs, each with the one Workload of its namespace; some belong to another resource, such as a CronJob."""
    chance = Random(f"jobgroups/{seed}")
    for _ in range(count):
        pods = chance.choice((1, 2, 3, 4, 8))
        pod: Record = {"containers": [{"name": "m", "image": "a"}], "restartPolicy": "Never"}
        spec: Record = {
            "parallelism": pods,
            "completions": pods,
            "completionMode": chance.choice(("Indexed", "NonIndexed")),
        }
        metadata: Record = {
            "name": chance.choice(("a", "train", *(letter * 62 for letter in "xyz"))),
            "namespace": "ml",
        }
        if chance.random() < 0.2:
            pod["schedulingGroup"] = {"podGroupName": "other"}
        spec["template"] = {"metadata": {}, "spec": pod}
        if chance.random() < 0.4:
            spec["scheduling"] = _make_scheduling(chance, pods)
        marks = {
            "workload-name": chance.choice(("sim", "sim", "sin", "", None)),
            "group-template-name": chance.choice(("first", "first", "second", "frist", "nested", "", None)),
        }
        if chance.random() < 0.45:
            kept = {f"scheduling.k8s.io/{name}": value for name, value in marks.items() if value is not None}
            metadata["annotations"] = kept
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
        yield {"job": job, "owned": chance.random() < 0.3, "workload": _make_workload(chance.randrange(1, pods + 1))}


def _make_scheduling(chance: Random, pods: int) -> Record:
    gang = chance.choice(({}, {"minCount": chance.randrange(1, pods + 1)}))
    policy: Record = chance.choice(({}, {"schedulingPolicy": {"basic": {}}}, {"schedulingPolicy": {"gang": gang}}))
    topology = {"schedulingConstraints": {"topology": [{"key": "zone"}]}}
    return {**policy, **(topology if policy and chance.random() < 0.5 else {})}


def _make_workload(least: int) -> Record:
    nested = [{"name": "nested", "schedulingPolicy": {"gang": {"minCount": 1}}}]
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "sim", "namespace": "ml"},
        "spec": {
            "podGroupTemplates": [
                {"name": "first", "schedulingPolicy": {"gang": {"minCount": least}}},
                {"name": "second", "schedulingPolicy": {"basic": {}}},
            ],
            "compositePodGroupTemplates": [
                {"name": "c", "schedulingPolicy": {"gang": {"minGroupCount": 1}}, "podGroupTemplates": nested}
            ],
        },
    }


def ask_controller(cases: Sequence[Record]) -> list[Record]:
    """The cases, each with the policy and the topology key of the group that the controller makes, or why it makes
    none. Raises BuildFailed."""
    asked = json.dumps([{"job": _own(case), "workloads": [case["workload"]]} for case in cases])
    answers = json.loads(run_go(["run", "-mod=mod", "."], _write_program(), asked))
    records = []
    for case, answer in zip(cases, answers, strict=True):
        topology = (answer.get("constraints") or {}).get("topology") or [{"key": ""}]
        found = {"policy": answer.get("policy"), "key": topology[0]["key"], "refused": answer.get("error", "")}
        records.append({**{key: case[key] for key in ("job", "owned", "workload")}, **found})
    return records


def _own(case: Record) -> Record:
    """The Job as the controller sees it."""
    metadata = {**case["job"]["metadata"], "uid": "u"}
    if case["owned"]:
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "c", "controller": True}
        metadata["ownerReferences"] = [owner]
    return {**case["job"], "metadata": metadata}


def _write_program() -> Path:
    release = read_releases(previews=True)[RELEASE]
    folder = cache_folder() / "modules" / f"{name_binary('jobgroups')}-v{release.version}"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(HERE / "go" / "jobgroups", folder, dirs_exist_ok=True)
    found = json.loads(run_go(["mod", "download", "-json", f"k8s.io/kubernetes@v{release.version}"], HERE))
    own = Path(found["Dir"], "pkg", "controller", "job", "job_scheduling_manager.go").read_text()
    (folder / "job_scheduling_manager.go").write_text(own.replace("\npackage job\n", "\npackage main\n"))
    (folder / "go.mod").write_text(write_module(release))
    run_go(["mod", "tidy", "-e"], folder)
    return folder


def predict(case: Record, release: str = RELEASE) -> list[tuple[str, int | None, str]]:
    """Policy, quorum and topology key of what krmfn says that the controller makes; a CronJob owns an owned Job."""
    job: dict[str, Any] = case["job"]
    if case["owned"]:
        template = {"metadata": {"annotations": job["metadata"].get("annotations", {})}, "spec": job["spec"]}
        head = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c", "namespace": "ml"}}
        job = {**head, "spec": {"schedule": "0 0 * * *", "jobTemplate": template}}
    kubernetes = {"version": release, "featureGates": dict.fromkeys(_GATES, True)}
    head = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "metadata": {"name": "gangs"}}
    settings = read_settings({**head, "spec": {"kubernetes": kubernetes}})
    census = count_all([Item.new(job), Item.new(case["workload"])], settings)
    groups = (gang.group for gang in list_own_gangs(census, settings))
    return [(group.policy, group.quorum, group.topology_key) for group in groups]


def differ(record: Record) -> str:
    """What krmfn says otherwise; empty where it says the same."""
    gang = (record["policy"] or {}).get("gang")
    wanted = [("gang", gang["minCount"], record["key"])] if gang else []
    said = predict(record)
    return "" if said == wanted else f"said {said}, made {wanted}"
