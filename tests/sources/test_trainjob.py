"""TrainJob: the pods that Kubeflow Trainer makes of a runtime, and the patch that names their group."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from conformance.storage import read_records
from conformance.trainer import RECORDED, list_differences
from krmfn.model.tree import Composite
from tests.cli.conftest import Call, krmfn
from tests.front_door import ROOT, call
from tests.sources.manifests import make_settings, manifest, paths_of, pods_of, quorums_of, read, rules_of

__all__ = ["krmfn"]

BRIDGED = make_settings(link="Auto", operators={"trainer": (2, 2)})
FIXTURE = ROOT / "fixtures" / "accept" / "kinds" / "trainjob.yaml"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def job(name: str, step: str = "", **fields: Any) -> dict[str, Any]:
    """A replicated job of a runtime."""
    pod = {"spec": {"containers": [{"name": "node", "image": "a"}]}}
    template = {"metadata": {"labels": {STEP: step}}, "spec": {"template": pod}}
    return {"name": name, "template": template, **fields}


def runtime(*jobs: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A runtime for all namespaces."""
    return manifest(
        "trainer.kubeflow.org/v1alpha1",
        "ClusterTrainingRuntime",
        {"template": {"spec": {"replicatedJobs": list(jobs)}}, **spec},
        "runtime",
    )


def trainjob(nodes: int | None = None, **spec: Any) -> dict[str, Any]:
    """A TrainJob with as many nodes, or as many as the runtime says."""
    trainer = {"trainer": {"numNodes": nodes}} if nodes is not None else {}
    return manifest("trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": {"name": "runtime"}, **trainer, **spec})


def test_the_pods_are_those_that_trainer_makes() -> None:
    records = list(read_records(RECORDED))
    assert len(records) >= 300
    assert [(record["trainJob"], what) for record, what in list_differences(records)] == []


def test_steps_that_wait_for_others_are_gangs_of_their_own() -> None:
    waits = [{"name": "dataset-initializer", "status": "Complete"}]
    steps = runtime(
        job("dataset-initializer", "dataset-initializer"), job("node", "trainer", dependsOn=waits), mlPolicy={}
    )
    reading = read(trainjob(4), BRIDGED, [steps])
    assert isinstance(reading.group, Composite)
    assert reading.group.min_group_count is None
    assert pods_of(reading.group) == quorums_of(reading.group) == {"dataset-initializer": 1, "node": 4}
    assert rules_of(reading) == ["ordered-start"]


def test_nodes_of_the_job_count_for_the_first_job_that_trains() -> None:
    """Trainer looks for one; another job with the label has the number of the runtime, which is at least one."""
    several = runtime(job("node", "trainer"), job("more", "trainer"), mlPolicy={"numNodes": 2})
    assert pods_of(read(trainjob(4), BRIDGED, [several]).group) == {"node": 4, "more": 2}
    none = runtime(job("node", "trainer"), job("more", "trainer"), mlPolicy={"numNodes": 0})
    assert pods_of(read(trainjob(4), BRIDGED, [none]).group) == {"node": 4, "more": 1}


def test_the_patch_of_another_manager_stays_where_it_is() -> None:
    other = [{"manager": "example.com/other"}]
    reading = read(trainjob(4, runtimePatches=other), BRIDGED, [runtime(job("node", "trainer"), mlPolicy={})])
    assert [path[:3] for path in paths_of(reading.group)] == [("spec", "runtimePatches", 1)]
    assert reading.value["spec"]["runtimePatches"][:1] == other


@pytest.mark.parametrize(
    ("value", "others", "settings", "rule"),
    [
        (trainjob(4), [], BRIDGED, "training-runtime-missing"),
        (trainjob(4), [runtime(job("node"))], make_settings(), "kind-not-supported"),
        (trainjob(4), [runtime(job("node"))], BRIDGED._replace(operators={"trainer": (2, 1)}), "kind-not-supported"),
        (trainjob(4), [runtime(job("node"), podGroupPolicy={"volcano": {}})], BRIDGED, "own-scheduling"),
        (trainjob(4, scheduling={"schedulingPolicy": {"gang": {}}}), [], BRIDGED, "own-scheduling"),
        (trainjob(4, managedBy="kueue.x-k8s.io/multikueue"), [runtime(job("node"))], BRIDGED, "managed-elsewhere"),
        (trainjob(4, runtimePatches="all"), [runtime(job("node"))], BRIDGED, "field-type"),
        (trainjob(4, runtimeRef={}), [], BRIDGED, "field-missing"),
    ],
)
def test_no_gang_without_what_it_takes(value: dict[str, Any], others: Any, settings: Any, rule: str) -> None:
    reading = read(value, settings, others, requested=True)
    assert (reading.group, rules_of(reading)[-1]) == (None, rule)


def test_what_was_written_is_taken_out_again() -> None:
    """Byte for byte, also beside the patch of somebody else."""
    before = FIXTURE.read_text()
    made = call(before.encode()).out
    assert made.count(b"manager: krmfn.dev/gangs") == 2
    assert call(made).out == made
    off = [text.replace("krmfn.dev/gang: 'true'", "krmfn.dev/gang: 'false'") for text in (before, made.decode())]
    never, again = (call(text.encode()).out.partition(b"results:")[0] for text in off)
    assert again == never


def test_a_patch_of_a_running_job_is_refused(krmfn: Call, tmp_path: Any) -> None:
    """Trainer takes a changed patch of a suspended TrainJob alone."""
    items = yaml.safe_load(call(FIXTURE.read_bytes()).out)["items"]
    (tmp_path / "krmfn.yaml").write_text(yaml.safe_dump(yaml.safe_load(FIXTURE.read_text())["functionConfig"]))
    first = next(item for item in items if item["kind"] == "TrainJob")
    for suspended in (False, True):
        first["spec"]["suspend"] = suspended
        (tmp_path / "old.yaml").write_text(yaml.safe_dump_all(items))
        patch = first["spec"]["runtimePatches"][-1]
        (tmp_path / "new.yaml").write_text(
            (tmp_path / "old.yaml").read_text().replace("example.com/queue: a", "example.com/queue: b")
        )
        out = krmfn("diff", "old.yaml", "new.yaml").out
        assert (
            "spec.runtimePatches" in out and "only be modified when the TrainJob is suspended" in out
        ) != suspended, patch
