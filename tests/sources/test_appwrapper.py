"""AppWrapper: the objects inside, as if they stood alone, at their places in the wrapper."""

from __future__ import annotations

from typing import Any

from krmfn.krm.paths import format_path
from krmfn.krm.results import ResourceRef
from krmfn.model.tree import Composite
from krmfn.sources import count_pods
from tests.sources.manifests import (
    TEMPLATE,
    job,
    make_settings,
    manifest,
    only_leaf,
    paths_of,
    pods_of,
    raycluster,
    read,
    rules_of,
    workers,
)


def appwrapper(*objects: Any) -> dict[str, Any]:
    """An AppWrapper around these objects."""
    components = [{"template": value} for value in objects]
    return manifest("workload.codeflare.dev/v1beta2", "AppWrapper", {"components": components})


def test_one_object_is_its_own_tree() -> None:
    service = manifest("v1", "Service", {})
    group = read(appwrapper(service, job(parallelism=3))).group
    assert (only_leaf(group).name, only_leaf(group).pods) == ("job-demo", 3)
    assert [format_path(path) for path in paths_of(group)] == ["spec.components[1].template.spec.template"]
    (pod,) = only_leaf(group).templates
    assert format_path(pod.count_path) == "spec.components[1].template.spec.parallelism"


def test_several_objects_start_together() -> None:
    group = read(appwrapper(raycluster(workers("a", "2")), job(parallelism=3))).group
    assert isinstance(group, Composite)
    assert [child.name for child in group.children] == ["raycluster-demo", "job-demo"]
    assert pods_of(group) == {"head": 1, "a": 2, "job-demo": 3}
    assert group.min_group_count == 2


def test_notes_point_into_the_wrapper() -> None:
    reading = read(appwrapper(raycluster(workers("a", "2"), workers("a", "1"))))
    assert reading.group is None
    assert [(note.rule, format_path(note.path)) for note in reading.notes] == [
        ("group-name-duplicate", "spec.components[0].template.spec.workerGroupSpecs[1].groupName")
    ]


def test_a_wrapper_is_not_unwrapped_twice() -> None:
    reading = read(appwrapper(appwrapper(job())))
    assert (reading.group, rules_of(reading)) == (None, ["group-without-pods"])


def test_an_ordered_object_beside_another() -> None:
    jobs = [{"name": name, "template": {"spec": {"template": TEMPLATE}}} for name in "ab"]
    spec = {"replicatedJobs": jobs, "startupPolicy": {"startupPolicyOrder": "InOrder"}}
    ordered = manifest("jobset.x-k8s.io/v1alpha2", "JobSet", spec)
    reading = read(appwrapper(ordered, job()))
    assert reading.group is None
    assert "ordered-start-deadlock" in rules_of(reading)
    alone = read(appwrapper(ordered)).group
    assert pods_of(alone) == {"a": 1, "b": 1}


def test_pods_are_counted_without_a_gang() -> None:
    deployment = manifest("apps/v1", "Deployment", {"template": TEMPLATE, "replicas": 2})
    value = appwrapper(deployment)
    assert read(value, requested=False).group is None
    ref = ResourceRef(value["apiVersion"], "AppWrapper", "demo")
    assert pods_of(count_pods(value, ref, make_settings()).group) == {"deployment-demo": 2}
