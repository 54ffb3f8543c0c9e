"""Prefixes, suffixes and namespaces in base and overlay, before and after the function: every reference is followed."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.tools import JOB, build_objects, function, run, write_kustomization

CONTAINER = {"containers": [{"name": "ray", "image": "rayproject/ray:2.52.0"}]}
CLUSTER: dict[str, Any] = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "metadata": {"name": "demo", "annotations": {"krmfn.dev/gang": "true", "krmfn.dev/granularity": "Group"}},
    "spec": {
        "headGroupSpec": {"rayStartParams": {}, "template": {"spec": CONTAINER}},
        "workerGroupSpecs": [
            {"groupName": name, "replicas": 2, "rayStartParams": {}, "template": {"spec": CONTAINER}}
            for name in ("small", "large")
        ],
    },
}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A Job and a RayCluster prepared by `krmfn init`, so the function runs here with first names."""
    files = {"job.yaml": JOB, "cluster.yaml": CLUSTER}
    folder = write_kustomization(tmp_path / "base", files, resources=["job.yaml", "cluster.yaml"])
    done = run("krmfn", "init", "--kubernetes", "1.37", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


def check_references(found: dict[str, dict[str, Any]], namespace: str = "") -> None:
    """Every name that an object gives as a reference is the name of an object there; nothing is generated twice."""
    kinds = sorted(name.split("/")[0] for name in found)
    assert kinds == ["CompositePodGroup", "Job", *["PodGroup"] * 4, "RayCluster", "Workload", "Workload"]
    names = {kind: {o["metadata"]["name"] for o in found.values() if o["kind"] == kind} for kind in set(kinds)}
    assert {o["metadata"].get("namespace", "") for o in found.values()} == {namespace}
    linked = set()
    for value in found.values():
        spec = value["spec"]
        match value["kind"]:
            case "Workload":
                assert spec["controllerRef"]["name"] in names[spec["controllerRef"]["kind"]]
            case "PodGroup" | "CompositePodGroup":
                assert spec["workloadRef"]["workloadName"] in names["Workload"]
                parent = spec.get("parentCompositePodGroupName")
                assert parent is None or parent in names["CompositePodGroup"]
            case "Job":
                linked.add(spec["template"]["spec"]["schedulingGroup"]["podGroupName"])
            case "RayCluster":
                for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
                    linked.add(group["template"]["spec"]["schedulingGroup"]["podGroupName"])
    assert linked == names["PodGroup"]


def test_the_function_in_the_base_and_names_that_change_above(base: Path, tmp_path: Path) -> None:
    check_references(build_objects(base))
    middle = write_kustomization(tmp_path / "middle", resources=["../base"], namePrefix="a-", namespace="ml")
    check_references(build_objects(middle), "ml")
    outer = write_kustomization(
        tmp_path / "outer", resources=["../middle"], namePrefix="x-", nameSuffix="-7", namespace="z"
    )
    found = build_objects(outer)
    check_references(found, "z")
    assert "PodGroup/z/x-a-job-train-7" in found


def test_the_function_in_the_overlay_sees_its_names(tmp_path: Path) -> None:
    files = {"job.yaml": JOB, "cluster.yaml": CLUSTER}
    write_kustomization(tmp_path / "base", files, resources=["job.yaml", "cluster.yaml"])
    fields: dict[str, Any] = {"resources": ["../base"], "namePrefix": "a-", "namespace": "ml"}
    overlay = write_kustomization(tmp_path / "top", {"gangs.yaml": function()}, **fields, transformers=["gangs.yaml"])
    found = build_objects(overlay)
    check_references(found, "ml")
    assert "PodGroup/ml/job-a-train" in found


@pytest.mark.parametrize(
    "fields", [{}, {"namePrefix": "a-"}, {"namePrefix": "a-", "nameSuffix": "-b", "namespace": "ml"}]
)
def test_in_base_and_overlay_it_still_runs_once(base: Path, tmp_path: Path, fields: dict[str, Any]) -> None:
    plain = write_kustomization(tmp_path / "plain", resources=["../base"], **fields)
    gangs = {"gangs.yaml": function(kubernetes={"version": "1.37"})}
    again = write_kustomization(tmp_path / "again", gangs, resources=["../base"], transformers=["gangs.yaml"], **fields)
    found = build_objects(again)
    check_references(found, fields.get("namespace", ""))
    assert found == build_objects(plain)


def test_a_component_with_the_function(tmp_path: Path) -> None:
    component = write_kustomization(tmp_path / "gangs", {"gangs.yaml": function()}, transformers=["gangs.yaml"])
    text = (component / "kustomization.yaml").read_text()
    (component / "kustomization.yaml").write_text(
        f"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n{text}"
    )
    files = {"job.yaml": JOB, "cluster.yaml": CLUSTER}
    fields: dict[str, Any] = {"resources": ["job.yaml", "cluster.yaml"], "components": ["../gangs"]}
    check_references(build_objects(write_kustomization(tmp_path / "app", files, **fields)))


def test_priority_classes_are_followed(tmp_path: Path) -> None:
    job = yaml.safe_load(yaml.safe_dump(JOB))
    job["spec"]["template"]["spec"]["priorityClassName"] = "high"
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    files = {"job.yaml": job, "priority.yaml": priority}
    folder = write_kustomization(tmp_path / "base", files, resources=["job.yaml", "priority.yaml"])
    assert run("krmfn", "init", str(folder)).returncode == 0
    found = build_objects(write_kustomization(tmp_path / "top", resources=["../base"], namePrefix="a-"))
    assert found["PriorityClass/a-high"]["value"] == 9
    assert found["PodGroup/a-job-train"]["spec"]["priorityClassName"] == "a-high"
    assert found["Workload/a-job-train"]["spec"]["podGroupTemplates"][0]["priorityClassName"] == "a-high"
