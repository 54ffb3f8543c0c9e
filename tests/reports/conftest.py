"""Results that a report has to cope with: with and without places, odd characters, duplicates, several of an object."""

from __future__ import annotations

import pytest

from krmfn.krm.results import FileRef, ResourceRef, Result
from krmfn.model.findings import Rule

TRAIN = ResourceRef("scheduling.k8s.io/v1beta1", "PodGroup", "train", "ml")
DEMO = ResourceRef("ray.io/v1", "RayCluster", "demo")


@pytest.fixture
def minimum() -> Result:
    """The example of the contract."""
    return Result(
        "Invalid value: -1: must be greater than or equal to 1",
        "error",
        TRAIN,
        "spec.schedulingPolicy.gang.minCount",
        -1,
        4,
        FileRef("base/podgroup.yaml", 0, 12, 17),
        {"rule": "minimum", "stage": "server", "type": "Invalid", "hint": "Write the number of pods, 4."},
    )


@pytest.fixture
def results(minimum: Result) -> list[Result]:
    tags = {"rule": "priority-class-unknown", "stage": "scheduler"}
    return [
        Result("The facts name no classes", "info", tags={"rule": "facts", "stage": "scheduler"}),
        Result("ü 100%: a, b\nsecond line <&\"'> \x1b[31m \U0001f600 \x00", "warning", DEMO, "spec.a[10].b", tags=tags),
        Result(
            "first", "warning", DEMO, "spec.a[2].b", {"a": [1, None]}, file=FileRef("a b/ray:1,.yaml", 3), tags=tags
        ),
        minimum,
        Result("second of the object", "error", TRAIN, "spec", file=FileRef("base/podgroup.yaml", 0, 3)),
        Result(
            "third of the object", "warning", TRAIN, "spec", "yes", file=FileRef("base/podgroup.yaml", 0, 3), tags=tags
        ),
        Result("third of the object, too", "warning", TRAIN, "spec", 1e300, "y", FileRef("base/podgroup.yaml"), tags),
        minimum,
    ]


@pytest.fixture
def rules() -> dict[str, Rule]:
    return {
        "minimum": Rule("minimum", "server", "error", "A number is below its bound."),
        "priority-class-unknown": Rule(
            "priority-class-unknown", "scheduler", "warning", "The class is unknown.", needs="pod-groups"
        ),
    }
