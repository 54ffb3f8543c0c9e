"""The exec function under the real kustomize: what is generated, and that doing it twice changes nothing."""

from pathlib import Path

import pytest

from tests.e2e.tools import JOB, build, build_objects, function, run, write_kustomization


def write_base(folder: Path, **spec: object) -> Path:
    files = {"job.yaml": JOB, "gangs.yaml": function(**spec)}
    return write_kustomization(folder, files, resources=["job.yaml"], transformers=["gangs.yaml"], namespace="ml")


@pytest.mark.parametrize(
    ("release", "versions"),
    [
        ("1.35", {"Workload": "v1alpha1"}),
        ("1.36", {"Workload": "v1alpha2", "PodGroup": "v1alpha2"}),
        ("1.37", {"Workload": "v1beta1", "PodGroup": "v1beta1"}),
    ],
)
def test_each_release_gets_its_own_objects(tmp_path: Path, release: str, versions: dict[str, str]) -> None:
    found = build_objects(write_base(tmp_path, kubernetes={"version": release}))
    new = {o["kind"]: o["apiVersion"].removeprefix("scheduling.k8s.io/") for o in found.values() if o["kind"] != "Job"}
    assert new == versions
    pod = found["Job/ml/train"]["spec"]["template"]["spec"]
    if release == "1.35":
        assert pod["workloadRef"]["name"] == "job-train"
    else:
        assert pod["schedulingGroup"] == {"podGroupName": "job-train"}
        assert found["PodGroup/ml/job-train"]["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}


def test_what_the_function_does_not_own_is_as_without_it(tmp_path: Path) -> None:
    with_function = write_base(tmp_path / "with")
    without = write_kustomization(tmp_path / "without", {"job.yaml": JOB}, resources=["job.yaml"], namespace="ml")
    found = build_objects(with_function)
    job = found["Job/ml/train"]
    del job["spec"]["template"]["spec"]["schedulingGroup"]
    assert job == build_objects(without)["Job/ml/train"]


def test_twice_is_once(tmp_path: Path) -> None:
    once = write_base(tmp_path / "once")
    files = {"gangs.yaml": function()}
    twice = write_kustomization(tmp_path / "twice", files, resources=["../once"], transformers=["gangs.yaml"])
    assert build(twice).stdout == build(once).stdout != ""


def test_the_function_in_one_list_two_times(tmp_path: Path) -> None:
    second = {**function(), "metadata": {**function()["metadata"], "name": "again"}}
    files = {"job.yaml": JOB, "gangs.yaml": function(), "again.yaml": second}
    transformers = ["gangs.yaml", "again.yaml"]
    folder = write_kustomization(tmp_path / "two", files, resources=["job.yaml"], transformers=transformers)
    one = write_kustomization(
        tmp_path / "one",
        {"job.yaml": JOB, "gangs.yaml": function()},
        resources=["job.yaml"],
        transformers=["gangs.yaml"],
    )
    assert build(folder).stdout == build(one).stdout != ""


def test_the_result_is_valid(tmp_path: Path) -> None:
    done = run("krmfn", "validate", "-", stdin=build(write_base(tmp_path)).stdout)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stdout


def test_a_generated_object_that_the_source_no_longer_wants_goes(tmp_path: Path) -> None:
    job = {**JOB, "metadata": {**JOB["metadata"], "annotations": {"krmfn.dev/gang": "false"}}}
    written = build(write_base(tmp_path / "before")).stdout
    documents = [d for d in written.split("---\n") if "kind: Job" not in d]
    files = {"job.yaml": job, "old.yaml": "---\n".join(documents), "gangs.yaml": function()}
    folder = write_kustomization(
        tmp_path / "after", files, resources=["job.yaml", "old.yaml"], transformers=["gangs.yaml"], namespace="ml"
    )
    assert list(build_objects(folder)) == ["Job/ml/train"]


def test_findings_reach_the_user_although_kustomize_drops_results(tmp_path: Path) -> None:
    done = build(write_base(tmp_path, gang={"minCount": 9}))
    assert done.returncode == 1
    assert not done.stdout
    assert "train" in done.stderr
    assert "9" in done.stderr
    assert "Traceback" not in done.stderr
