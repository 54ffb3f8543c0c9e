"""One thing that is wrong in an otherwise good world, by class: it is told, by its cause and once; nothing is told of
the world without it. The tables come from the documentation of Kubernetes and the operators, not from the rules."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from krmfn.survey.condensing import condense
from tests.scheduler.inside import krmfn

Value = dict[str, Any]
FOLDER = Path(__file__).parent / "defects"
GATES = ("GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup", "DRAWorkloadResourceClaims")
WORLD: Value = yaml.safe_load(FOLDER.joinpath("world.yaml").read_text())


def merge(target: Any, patch: Mapping[str, Any]) -> Any:
    """The target with the patch in it; null takes a field away."""
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            merge(target[key], value)
        else:
            target[key] = copy.deepcopy(value)
    return target


def place(value: Mapping[str, Any]) -> tuple[str, ...]:
    metadata = value["metadata"]
    return value["kind"], metadata["name"], metadata.get("namespace", "")


def make_cluster(case: Value) -> list[Value]:
    """The world: `nodes` is merged into the nodes with GPUs, `agents` into the pod that each node has, `world` are
    objects that are added or replaced."""
    found = copy.deepcopy(WORLD["objects"])
    for name, node in WORLD["nodes"].items():
        gpus = {"nvidia.com/gpu": "8"} if name.startswith("g") else {}
        size = {"cpu": "64", "memory": "512Gi"} if gpus else {"cpu": "16", "memory": "64Gi"}
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", **node}
        amounts = {**size, **gpus, "pods": "110", "ephemeral-storage": "400Gi"}
        taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}] if gpus else []
        value = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        value |= {"spec": {"taints": taints}, "status": {"allocatable": amounts}}
        found.append(merge(value, case.get("nodes", {})) if gpus else value)
        agent = copy.deepcopy(WORLD["agent"])
        agent["metadata"]["name"] += f"-{name}"
        agent["spec"] |= {"nodeName": name}
        merge(agent["spec"]["containers"][0], case.get("agents", {}))
        found.append(agent)
    added: list[Value] = case.get("world", [])
    return [value for value in found if place(value) not in map(place, added)] + added


def make_manifests(case: Value) -> list[Value]:
    """The `manifest`, or a Job of `pods` pods with `job`, `pod` and `box` merged into it, its pods and its container;
    and what `more` has."""
    job = copy.deepcopy(WORLD["job"])
    pod = job["spec"]["template"]["spec"]
    merge(pod["containers"][0], case.get("box", {}))
    merge(pod, case.get("pod", {}))
    merge(job["metadata"]["annotations"], case.get("annotations", {}))
    job["spec"] |= dict.fromkeys(("completions", "parallelism"), case.get("pods", 4))
    return [*(case.get("manifest") or [merge(job, case.get("job", {}))]), *case.get("more", [])]


def find(case: Value, folder: Path, shrink: bool = False) -> list[tuple[str, str]]:
    """(rule, message) of the errors and warnings about what is generated of the manifests, in the cluster, or in the
    facts to which it is shrunk."""
    cluster, config, manifests, generated = (folder / name for name in ("c.json", "k.json", "m.yaml", "all.yaml"))
    items = make_cluster(case)
    facts: Value = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "ClusterFacts", "metadata": {"name": "c"}}
    facts |= {"spec": condense({"items": items})} if shrink else {"apiVersion": "v1", "kind": "List", "items": items}
    cluster.write_text(json.dumps(facts))
    spec = {"kubernetes": {"version": "1.37", "featureGates": dict.fromkeys(GATES, True)}}
    merge(spec, {"operators": {"jobset": "0.12"}, "cluster": {"from": ["c.json"]}, **case.get("config", {})})
    settings = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "metadata": {"name": "g"}, "spec": spec}
    config.write_text(json.dumps(settings))
    manifests.write_text("\n---\n".join(map(json.dumps, make_manifests(case))))
    generated.write_text(krmfn("generate", "--config", str(config), str(manifests)).stdout)
    answer = json.loads(krmfn("validate", "-o", "json", "--config", str(config), str(generated)).stdout)
    results = [result for result in answer["results"] if result["severity"] != "info"]
    for result in (each for each in results if each["tags"]["rule"] == "claim-without-volume"):
        of_devices = re.search(r"resourceclaim|device|cannot allocate", result["message"])
        assert ("resourceClaims" in result["field"]["path"]) == bool(of_devices), result
    return [(result["tags"]["rule"], result["message"]) for result in results]


def list_cases(files: str = "*") -> Iterator[Any]:
    for path in sorted(FOLDER.glob(f"{files}.yaml")):
        cases = yaml.safe_load(path.read_text())
        for case in cases if isinstance(cases, list) else ():
            yield pytest.param(case, id=f"{path.stem}: {case['title']}")


@pytest.mark.parametrize("case", [*list_cases()])
def test_a_defect_is_told_once(case: Value, tmp_path: Path) -> None:
    told = [each for each in find(case, tmp_path) if each[0] not in case.get("also", ())]
    assert [rule for rule, _ in told] == [case["rule"]], told
    assert re.search(case["says"], told[0][1], re.IGNORECASE), told


@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize("case", [*list_cases()])
def test_the_world_without_it_is_good(case: Value, shrink: bool, tmp_path: Path) -> None:
    good = {**case, **case["good"]}
    assert [each for each in find(good, tmp_path, shrink) if each[0] not in case.get("also", ())] == []


@pytest.mark.parametrize("case", [*list_cases("incidents")])
def test_fit_shows_it(case: Value, tmp_path: Path) -> None:
    told = foresee(case, tmp_path)
    if told:  # a gang of the default scheduler
        assert "never" in told or "may not start" in told
        assert "no rule excludes it" in foresee({**case, **case["good"]}, tmp_path)


def foresee(case: Value, folder: Path) -> str:
    """What `fit` says of the gangs without a simulator; empty where there are none."""
    find(case, folder)
    answer = krmfn("fit", "--prove", "--config", str(folder / "k.json"), str(folder / "all.yaml")).stdout
    return "" if "no gangs" in answer else answer
