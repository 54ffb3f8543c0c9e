"""The bridge while resources change: the report says what was expected, and the checks understand what runs there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.bridge.changes import REPORT, Course, list_courses
from conformance.bridge.live import GATES
from tests.cli.conftest import Call, krmfn

__all__ = ["krmfn"]

COURSES = [(release, course) for release in GATES for course in list_courses(release)]
BY_HAND = [course for release, course in COURSES if course.groups and release == "1.37"]


def test_the_report_says_what_was_expected() -> None:
    rows = [line.split(" | ") for line in REPORT.read_text().splitlines() if line.startswith("| ")][1:]
    steps = [(release, course, step) for release, course in COURSES for step in course.steps]
    assert len(rows) == len(steps)
    for (release, course, step), (head, title, name, room, groups, surprises) in zip(steps, rows, strict=True):
        assert (head, title, name, surprises) == (f"| {release}", course.title, step.title, "0 |")
        assert int(room) == step.room
        found = {group: (int(bound), int(pods)) for group, bound, pods in re.findall(r"(\S+) (\d+)/(\d+)", groups)}
        assert found == step.bound


@pytest.mark.parametrize("course", BY_HAND, ids=lambda course: course.title)
def test_groups_by_hand_are_in_use(course: Course, krmfn: Call, tmp_path: Path) -> None:
    """Operators that take only annotations from a resource: its pods are in the groups, as many as run there."""
    groups = [make_group(name, quorum) for name, quorum in course.groups.items()]
    resource = course.steps[0].resource
    (tmp_path / "a.yaml").write_text(yaml.safe_dump_all([*groups, resource]))
    told = krmfn("validate", "a.yaml").out
    assert ("group-unused" in told, "group-missing" in told, "bridge-missing" in told) == (False, False, True), told
    shown = krmfn("tree", "a.yaml").out
    counted = resource["kind"] == "SparkApplication"  # by its file
    told = "all 3 pods start together, or none" if counted else "(their number is unknown)"
    assert shown.count(f"{told}, priority class high") == len(groups)
    assert "never starts" not in shown
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(resource))
    assert "these pods are never scheduled [group-missing]" in krmfn("validate", "a.yaml").out


def test_a_label_in_the_template_completes_the_name(krmfn: Call, tmp_path: Path) -> None:
    annotations = {"krmfn.dev/pod-group": "base", "krmfn.dev/pod-group-by": "shard"}
    pods = {"containers": [{"name": "a", "image": "b"}], "restartPolicy": "Never"}
    template = {"metadata": {"labels": {"shard": "red"}, "annotations": annotations}, "spec": pods}
    spec = {"parallelism": 3, "completions": 3, "template": template}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "ml"}, "spec": spec}
    (tmp_path / "a.yaml").write_text(yaml.safe_dump_all([make_group("base-red", 3), job]))
    assert "PodGroup ml/base-red: all 3 pods start together" in krmfn("tree", "a.yaml").out


def make_group(name: str, quorum: int) -> dict[str, Any]:
    """A PodGroup with a priority class: that of the pods is not known."""
    spec = {"schedulingPolicy": {"gang": {"minCount": quorum}}, "priorityClassName": "high"}
    metadata = {"name": name, "namespace": "ml"}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec}
