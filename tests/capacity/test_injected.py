"""What KubeRay adds to pods, as its tables say (ray-operator/controllers/ray/common, v1.7.0)."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.capacity.pods import add_injected, read_kinds
from krmfn.krm import Item
from krmfn.model.quantity import format_quantity
from krmfn.survey.census import take_census


def template(cpu: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]}}


def ray_job(mode: str, **cluster: Any) -> Item:
    worker = {"groupName": "w", "replicas": 1, "template": template("100m")}
    spec = {"headGroupSpec": {"template": template("4")}, "workerGroupSpecs": [worker], **cluster}
    value = {"submissionMode": mode, "rayClusterSpec": spec}
    return Item.new({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "a"}, "spec": value})


@pytest.mark.parametrize(
    ("mode", "cluster", "head"),
    [
        ("K8sJobMode", {}, "4"),
        ("SidecarMode", {}, "4500m"),
        ("SidecarMode", {"enableInTreeAutoscaling": True}, "5"),
        ("HTTPMode", {"enableInTreeAutoscaling": True}, "4500m"),
        (
            "HTTPMode",
            {"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": {"limits": {"cpu": "2"}}}},
            "6",
        ),
    ],
)
def test_the_head_has_more_containers(mode: str, cluster: dict[str, Any], head: str) -> None:
    census = take_census([ray_job(mode, **cluster)], ())
    kinds = read_kinds(census.templates, census.facts)
    assert [format_quantity(kind.requests["cpu"]) for kind in kinds] == [head, "100m"]


def test_a_worker_waits_for_the_head_in_a_container_that_an_operator_can_switch_off() -> None:
    head, worker = take_census([ray_job("HTTPMode")], ()).templates
    assert "initContainers" not in add_injected(head)
    assert [box["name"] for box in add_injected(worker)["initContainers"]] == ["wait-gcs-ready"]
    assert "initContainers" not in add_injected(worker, surely=True)
