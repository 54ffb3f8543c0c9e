"""The function in the wrong place, or not run at all: every case has a sentence that says what to do."""

from pathlib import Path
from typing import Any

from tests.e2e.tools import JOB, build, build_objects, function, run, write_kustomization


def write_with(folder: Path, where: str, job: Any = JOB, **spec: Any) -> Path:
    files = {"job.yaml": job, "gangs.yaml": function(**spec)}
    lists = {where: ["gangs.yaml"]}
    return write_kustomization(folder, files, resources=["job.yaml"], **lists)


def test_under_generators_it_says_transformers(tmp_path: Path) -> None:
    done = build(write_with(tmp_path, "generators"))
    assert done.returncode == 1
    assert "transformers:" in done.stderr
    assert "Traceback" not in done.stderr


def test_under_validators_good_input_passes(tmp_path: Path) -> None:
    made = build(write_with(tmp_path / "make", "transformers")).stdout
    config = function(mode="Validate", emitItems="None")
    files = {"made.yaml": made, "gangs.yaml": config}
    folder = write_kustomization(tmp_path / "check", files, resources=["made.yaml"], validators=["gangs.yaml"])
    assert sorted(build_objects(folder)) == ["Job/train", "PodGroup/job-train", "Workload/job-train"]


def test_under_validators_a_finding_stops_the_build(tmp_path: Path) -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": -1}}},
    }
    done = build(write_with(tmp_path, "validators", group, mode="Validate", emitItems="None"))
    assert done.returncode == 1
    assert "spec.schedulingPolicy.gang.minCount" in done.stderr
    assert "must be greater than or equal to 1" in done.stderr


def test_without_the_exec_flag_kustomize_skips_it_silently_and_validate_tells(tmp_path: Path) -> None:
    done = build(write_with(tmp_path, "transformers"), "--enable-alpha-plugins")
    assert done.returncode == 0
    assert "PodGroup" not in done.stdout
    told = run("krmfn", "validate", "-", stdin=done.stdout)
    assert told.returncode == 1
    assert "--enable-exec" in told.stdout


def test_without_any_flag_kustomize_itself_fails(tmp_path: Path) -> None:
    done = build(write_with(tmp_path, "transformers"), "--load-restrictor=LoadRestrictionsRootOnly")
    assert done.returncode == 1
    assert "external plugins disabled" in done.stderr


def test_a_misspelt_setting_is_answered_with_the_right_one(tmp_path: Path) -> None:
    done = build(write_with(tmp_path, "transformers", gang={"granularty": "Group"}))
    assert done.returncode == 1
    assert "granularity" in done.stderr
    assert "Traceback" not in done.stderr
