"""Inputs of conversions: resources with all that is generated for them, and manifests written by hand."""

from __future__ import annotations

from typing import Any

import yaml

from krmfn.convert import Conversion, convert
from krmfn.krm.item import Item
from krmfn.model.tree import Group
from krmfn.reconcile import Wanted, reconcile
from krmfn.targets import emit
from tests.targets.trees import batch, gang, job, merged, ray, settings, workers

CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
CPU = workers(0, "cpu", 3)
SHAPES: dict[str, Group] = {
    "job": job(4)._replace(disruption_mode="All"),
    "basic": job(4)._replace(min_count=None),
    "one-gang": merged(CPU, workers(1, "gpu", 2))._replace(disruption_mode="All"),
}


def owner(kind: str) -> Item:
    pod = {"template": {"spec": CONTAINERS}}
    if kind == "Job":
        value: dict[str, Any] = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "train", "namespace": "ml"},
            "spec": pod,
        }
    else:
        spec = {"headGroupSpec": pod, "workerGroupSpecs": [pod | {"groupName": "cpu"}, pod | {"groupName": "gpu"}]}
        value = {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": {"name": "demo", "namespace": "ml"},
            "spec": spec,
        }
    return Item.new(value)


def generated(root: Group, release: str) -> list[Item]:
    """A resource with everything that is generated for it."""
    is_job = root.name == "job"
    item = owner("Job" if is_job else "RayCluster")
    asked = gang(root, batch() if is_job else ray())
    done = reconcile([item], [Wanted(asked, (item,), emit(asked, settings(release)))])
    return [item, *(Item.new(addition.value) for addition in done.added)]


def run(items: list[Item], to: str) -> tuple[list[Item], Conversion]:
    done = convert(items, to)
    return [item for item in items if item not in done.removed] + [Item.new(entry.value) for entry in done.added], done


def plain(items: list[Item]) -> list[Any]:
    return sorted(
        (yaml.safe_load(item.text) for item in items), key=lambda value: (value["kind"], value["metadata"]["name"])
    )


def rules(done: Conversion) -> list[str]:
    return [finding.rule for finding in done.findings]


def read(text: str) -> list[Item]:
    return [Item.new(value) for value in yaml.safe_load_all(text)]


PODS = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: ml}
spec: {template: {spec: {containers: [{name: c}], LINK}}}
"""


def pods(name: str, link: str) -> str:
    return PODS.replace("NAME", name).replace("LINK", link)
