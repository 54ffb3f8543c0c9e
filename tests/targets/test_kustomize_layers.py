"""The function in a base and again in its overlay, by real kustomize: nothing is made twice, and links hold."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from krmfn.model.schedulers import SCHEDULERS
from krmfn.workspace.kustomization import write_names
from tests.targets.programs import build, write

ROOT = Path(__file__).parents[2]
FLAGS = ("--enable-alpha-plugins", "--enable-exec")
OPT_IN = {"krmfn.dev/gang": "true"}


def ray(name: str = "demo") -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "ray", "image": "ray"}]}}
    groups = [
        {"groupName": group, "replicas": 2, "minReplicas": 0, "maxReplicas": 5, "template": template}
        for group in ("cpu", "gpu")
    ]
    spec = {"headGroupSpec": {"rayStartParams": {}, "template": template}, "workerGroupSpecs": groups}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "annotations": OPT_IN},
        "spec": spec,
    }


def job(name: str = "feed") -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "feed", "image": "feed"}]}}
    spec = {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "annotations": OPT_IN}, "spec": spec}


def function(folder: Path, **spec: Any) -> dict[str, Any]:
    """The functionConfig, and the program that it names, in `folder`."""
    program = folder / "krmfn"
    folder.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m krmfn\n")
    program.chmod(0o755)
    annotations = {"config.kubernetes.io/function": "exec: {path: ./krmfn}\n"}
    return {
        "apiVersion": "krmfn.dev/v1alpha1",
        "kind": "GangScheduling",
        "metadata": {"name": "gangs", "annotations": annotations},
        "spec": spec,
    }


def layer(
    folder: Path, resources: list[str], run: bool = True, spec: dict[str, Any] | None = None, **more: Any
) -> None:
    entry = {"resources": resources, **({"transformers": ["gangs.yaml"]} if run else {}), **more}
    write(folder, kustomization=entry, gangs=function(folder, **(spec or {})))


def base(folder: Path, *objects: dict[str, Any], **more: Any) -> None:
    layer(folder, ["objects.yaml"], configurations=["names.yaml"], **more)
    write(folder, objects=list(objects), names=write_names())


def by_name(objects: list[dict[str, Any]]) -> dict[str, Any]:
    return {f"{value['kind']}/{value['metadata']['name']}": value for value in objects}


def check_links(objects: list[dict[str, Any]]) -> None:
    """Every name that a link, a parent or a reference gives is the name of an object in the same namespace."""
    names = {(value["kind"], value["metadata"].get("namespace"), value["metadata"]["name"]) for value in objects}
    for value in objects:
        space = value["metadata"].get("namespace")
        for key, name in walk(value):
            kind = KINDS.get(key)
            if kind:
                assert (kind, space, name) in names, (value["kind"], value["metadata"]["name"], key, name)
        reference = value.get("spec", {}).get("controllerRef")
        if reference:
            assert (reference["kind"], space, reference["name"]) in names


KINDS = {"podGroupName": "PodGroup", "workloadName": "Workload", "parentCompositePodGroupName": "CompositePodGroup"}


def walk(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [pair for key, entry in value.items() for pair in ((key, entry), *walk(entry))]
    return [pair for entry in value for pair in walk(entry)] if isinstance(value, list) else []


LAYERS: dict[str, dict[str, Any]] = {
    "same": {},
    "prefix": {"namePrefix": "o-"},
    "suffix": {"nameSuffix": "-blue"},
    "both": {"namePrefix": "o-", "nameSuffix": "-blue"},
    "namespace": {"namespace": "prod"},
    "all": {"namePrefix": "o-", "nameSuffix": "-blue", "namespace": "prod"},
    "labels": {"labels": [{"pairs": {"app.kubernetes.io/managed-by": "kustomize"}}]},
}


CASES = [(change, "1.37", "Group") for change in LAYERS]
CASES += [
    ("all", release, granularity) for release in ("1.35", "1.36", "1.37") for granularity in ("Cluster", "Group")
][:-1]


def config(release: str = "1.37", granularity: str = "Group", **gang: str) -> dict[str, Any]:
    kuberay = {"version": "1.6" if release == "1.35" else "1.7"}
    return {"kubernetes": {"version": release}, "kuberay": kuberay, "gang": {"granularity": granularity, **gang}}


@pytest.mark.parametrize(("change", "release", "granularity"), CASES)
def test_function_in_both_layers(tmp_path: Path, change: str, release: str, granularity: str) -> None:
    spec = config(release, granularity)
    base(tmp_path / "base", ray(), job(), spec=spec, namePrefix="b-")
    layer(tmp_path / "once", ["../base"], run=False, **LAYERS[change])
    layer(tmp_path / "twice", ["../base"], spec=spec, **LAYERS[change])
    once, twice = build(tmp_path / "once", *FLAGS), build(tmp_path / "twice", *FLAGS)
    assert by_name(once) == by_name(twice)
    check_links(twice)


def test_three_layers(tmp_path: Path) -> None:
    base(tmp_path / "base", ray(), job(), spec=config())
    layer(tmp_path / "middle", ["../base"], spec=config(), namePrefix="m-", nameSuffix="-1")
    layer(tmp_path / "top", ["../middle"], spec=config(), namePrefix="t-", namespace="prod")
    layer(tmp_path / "outside", ["../top"], run=False, namePrefix="o-")
    names = by_name(build(tmp_path / "outside", *FLAGS))
    assert "PodGroup/o-t-m-raycluster-demo-j-cpu-1" in names
    assert len(names) == 2 + 2 + 1 + 4
    check_links(list(names.values()))


def test_one_base_twice(tmp_path: Path) -> None:
    """Two instances of a base: what was generated for one is never taken for the other's."""
    base(tmp_path / "base", ray(), job(), spec=config())
    for name in ("a", "b"):
        layer(tmp_path / name, ["../base"], run=False, namePrefix=f"{name}-")
    layer(tmp_path / "top", ["../a", "../b"], spec=config(), namespace="prod")
    names = by_name(build(tmp_path / "top", *FLAGS))
    assert len(names) == 2 * (2 + 2 + 1 + 4)
    for name in ("a", "b"):
        group = names[f"RayCluster/{name}-demo"]["spec"]["workerGroupSpecs"][0]
        assert group["template"]["spec"]["schedulingGroup"]["podGroupName"] == f"{name}-raycluster-demo-j-cpu"
    check_links(list(names.values()))


def test_overlay_changes_the_source(tmp_path: Path) -> None:
    """A worker group more, another number of pods: groups follow, under names that fit to the base's."""
    patch = [
        {"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 3},
        {
            "op": "add",
            "path": "/spec/workerGroupSpecs/-",
            "value": ray()["spec"]["workerGroupSpecs"][0] | {"groupName": "tpu"},
        },
    ]
    patches = [{"target": {"kind": "RayCluster"}, "patch": yaml.safe_dump(patch)}]
    base(tmp_path / "base", ray(), spec=config())
    layer(tmp_path / "top", ["../base"], spec=config(), namePrefix="t-", patches=patches)
    names = by_name(build(tmp_path / "top", *FLAGS))
    assert names["PodGroup/t-raycluster-demo-j-cpu"]["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}
    assert names["CompositePodGroup/t-raycluster-demo"]["spec"]["schedulingPolicy"] == {"gang": {"minGroupCount": 4}}
    assert "PodGroup/t-raycluster-demo-j-tpu" in names
    check_links(list(names.values()))


def test_overlay_opts_out(tmp_path: Path) -> None:
    patch = [{"op": "replace", "path": "/metadata/annotations/krmfn.dev~1gang", "value": "false"}]
    patches = [{"target": {"kind": "RayCluster"}, "patch": yaml.safe_dump(patch)}]
    base(tmp_path / "base", ray(), job(), spec=config())
    layer(tmp_path / "top", ["../base"], spec=config(), namePrefix="t-", patches=patches)
    names = by_name(build(tmp_path / "top", *FLAGS))
    assert sorted(names) == ["Job/t-feed", "PodGroup/t-job-feed", "RayCluster/t-demo", "Workload/t-job-feed"]
    assert names["RayCluster/t-demo"]["spec"] == ray()["spec"]


@pytest.mark.parametrize("gang", [{"naming": "Revisioned"}, {"granularity": "Cluster"}, {}])
def test_gang_across_resources(tmp_path: Path, gang: dict[str, str]) -> None:
    members = [ray(), job()]
    for value in members:
        value["metadata"]["annotations"] = OPT_IN | {"krmfn.dev/gang-group": "pipeline"}
    spec = config(**gang)
    base(tmp_path / "base", *members, spec=spec)
    layer(tmp_path / "once", ["../base"], run=False, namePrefix="t-")
    layer(tmp_path / "twice", ["../base"], spec=spec, namePrefix="t-")
    once, twice = build(tmp_path / "once", *FLAGS), build(tmp_path / "twice", *FLAGS)
    assert by_name(once) == by_name(twice)
    assert any(name.startswith("Workload/t-pipeline") for name in by_name(twice))
    check_links(twice)


@pytest.mark.parametrize("choice", SCHEDULERS)
@pytest.mark.parametrize("granularity", ["Cluster", "Group"])
def test_other_schedulers(tmp_path: Path, granularity: str, choice: str) -> None:
    spec = config(granularity=granularity) | {"scheduler": choice}
    base(tmp_path / "base", ray(), job(), spec=spec)
    layer(tmp_path / "once", ["../base"], run=False, namePrefix="t-")
    layer(tmp_path / "twice", ["../base"], spec=spec, namePrefix="t-")
    once, twice = by_name(build(tmp_path / "once", *FLAGS)), by_name(build(tmp_path / "twice", *FLAGS))
    assert once == twice
    template = twice["Job/t-feed"]["spec"]["template"]
    place, key = SCHEDULERS[choice].link
    assert template["metadata"][place][key] == "t-job-feed"
    assert "PodGroup/t-job-feed" in twice


@pytest.mark.parametrize(("below", "above"), [("1.35", "1.37"), ("1.36", "1.37"), ("1.37", "1.36"), ("1.37", "1.35")])
def test_overlay_for_another_release(tmp_path: Path, below: str, above: str) -> None:
    """The base is for one cluster, an overlay for another: its objects are those of its own release, and no others."""
    base(tmp_path / "base", ray(), job(), spec=config(below))
    base(tmp_path / "plain", ray(), job(), run=False)
    layer(tmp_path / "over", ["../base"], spec=config(above), namePrefix="t-")
    layer(tmp_path / "direct", ["../plain"], spec=config(above), namePrefix="t-")
    over, direct = (by_name(build(tmp_path / name, *FLAGS)) for name in ("over", "direct"))
    check_links(list(over.values()))
    assert sorted(value["kind"] for value in over.values()) == sorted(value["kind"] for value in direct.values())
    versions = {value["apiVersion"] for value in direct.values()}
    assert {value["apiVersion"] for value in over.values()} == versions
