"""A pod of the facts stands for one of the template that it was made of."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.config import read_settings
from krmfn.forecast.roster import call_roll
from krmfn.krm import Item
from krmfn.survey.counting import count_all


def make(version: str, kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "ml"}, "spec": spec}


def make_template(box: str) -> dict[str, Any]:
    return {"spec": {"restartPolicy": "Never", "containers": [{"name": box, "image": "i"}]}}


def make_jobset(*boxes: str) -> dict[str, Any]:
    jobs = [
        {"name": role, "replicas": 1, "template": {"spec": {"parallelism": 2, "template": make_template(box)}}}
        for role, box in zip("ab", boxes, strict=True)
    ]
    return make("jobset.x-k8s.io/v1alpha2", "JobSet", "train", replicatedJobs=jobs)


def make_ray(*boxes: str) -> dict[str, Any]:
    head, worker = map(make_template, boxes)
    groups = [{"groupName": "b", "replicas": 2, "rayStartParams": {}, "template": worker}]
    return make("ray.io/v1", "RayCluster", "train", headGroupSpec={"template": head}, workerGroupSpecs=groups)


JOBSET, RAY = "jobset.sigs.k8s.io/replicatedjob-name", "ray.io/group"


@pytest.mark.parametrize(
    ("owner", "labels", "place"),
    [
        (make_jobset("c", "c"), {JOBSET: "a"}, 0),
        (make_jobset("c", "c"), {JOBSET: "b"}, 1),
        (make_ray("c", "c"), {RAY: "headgroup"}, 0),
        (make_ray("c", "c"), {RAY: "b"}, 1),
        (make_jobset("other", "c"), {}, 1),
        (make_jobset("c", "other"), {}, 0),
        (make_ray("other", "c"), {}, 1),
    ],
)
def test_by_its_role_or_its_containers(owner: dict[str, Any], labels: dict[str, str], place: int) -> None:
    pod = make("v1", "Pod", "one", nodeName="n1", **make_template("c")["spec"])
    pod["metadata"] |= {"labels": labels, "ownerReferences": [{"kind": owner["kind"], "name": "train"}]}
    spec = {"kubernetes": {"version": "1.37"}, "cluster": {"items": [pod]}}
    settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})
    census = count_all([Item.new(owner)], settings)
    roster = call_roll(census)
    found = [[each.name for each in roster.pods_of([template], bound=True)] for template in census.templates]
    assert found == [["ml/one"] if number == place else [] for number in range(2)]
