"""References to names before a prefix or suffix: which words of a name count, and in which namespace."""

from __future__ import annotations

import pytest

from krmfn.checks.gitops.naming import find_generated_orphan, find_renamed_reference
from krmfn.config import read_settings
from krmfn.survey.census import take_census
from tests.checks.cases import read_items

POD = """apiVersion: v1
kind: Pod
metadata: {{name: worker{space}}}
spec:
  schedulingGroup: {{podGroupName: train-a}}
  containers: [{{name: main, image: train}}]
---
"""
GROUP = """apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {{name: {name}, annotations: {{krmfn.dev/generated-from: Pod/{source}}}}}
spec: {{schedulingPolicy: {{gang: {{minCount: 1}}}}}}
---
"""


@pytest.mark.parametrize("space", ["", ", namespace: default"])
def test_no_namespace_is_the_namespace_default(space: str) -> None:
    census = take_census(read_items(POD.format(space=space) + GROUP.format(name="dev-train-a-1", source="worker")), ())
    findings = find_renamed_reference.find(census, read_settings(None))
    assert [finding.proposed for finding in findings] == ["dev-train-a-1"]


@pytest.mark.parametrize(("other", "proposed"), [("tree", []), ("bush", ["dev-tree"])])
def test_a_group_above_that_is_there_was_not_renamed(other: str, proposed: list[str]) -> None:
    group = GROUP.format(name="train", source="worker").replace("spec: {", "spec: {parentCompositePodGroupName: tree, ")
    above = "apiVersion: scheduling.k8s.io/v1beta1\nkind: CompositePodGroup\nmetadata: {{name: {}}}\nspec: {{}}\n---\n"
    items = read_items(group + above.format("dev-tree") + above.format(other))
    findings = find_renamed_reference.find(take_census(items, ()), read_settings(None))
    assert [finding.proposed for finding in findings] == proposed


@pytest.mark.parametrize(
    ("now", "before", "gone"),
    [
        ("dev-worker", "worker", False),
        ("worker-v2", "worker", False),
        ("dev-big-worker-v2", "big-worker", False),
        ("worker", "worker", False),
        ("coworker", "worker", True),
        ("big-blue-worker", "big-worker", True),
        ("worker", "dev-worker", True),
    ],
)
def test_a_source_is_there_under_a_name_with_more_words(now: str, before: str, gone: bool) -> None:
    pod = POD.format(space="").replace("name: worker", f"name: {now}")
    census = take_census(read_items(pod + GROUP.format(name="train-a", source=before)), ())
    assert bool(list(find_generated_orphan.find(census, read_settings(None)))) is gone
