"""Resources that ask for a gang and cannot have one."""

from __future__ import annotations

import pytest

from krmfn.krm import Stream
from krmfn.survey.gangs import find_strangers

OBJECT = """apiVersion: {}
kind: {}
metadata:
  name: a
  annotations: {{krmfn.dev/gang: "{}"}}
"""


@pytest.mark.parametrize(
    ("api_version", "kind", "hint"),
    [
        ("apps/v1", "DaemonSet", "Remove the annotation"),
        ("ray.io/v1", "RayClusters", "Did you mean RayCluster of ray.io?"),
        ("apps/v1", "CronJob", "Did you mean CronJob of batch?"),
        ("extensions/v1", "Job", "Did you mean Job of batch or Job of batch.volcano.sh?"),
        ("example.com/v1", "Pod", "Did you mean Pod of v1?"),
        ("flink.apache.org/v1beta1", "FlinkDeployment", "Describe the kind in a file among these manifests"),
    ],
)
def test_kind_that_cannot_be_a_gang(api_version: str, kind: str, hint: str) -> None:
    items = Stream.parse(OBJECT.format(api_version, kind, "true").encode()).items
    (finding,) = find_strangers(items)
    assert (finding.item, finding.rule) == (items[0], "kind-not-supported")
    assert kind in finding.message
    assert hint in finding.hint


@pytest.mark.parametrize(
    ("api_version", "kind", "value"), [("batch/v1", "Job", "true"), ("apps/v1", "DaemonSet", "false")]
)
def test_others_are_left_alone(api_version: str, kind: str, value: str) -> None:
    assert not list(find_strangers(Stream.parse(OBJECT.format(api_version, kind, value).encode()).items))


def test_each_item_is_judged_by_its_own_text() -> None:
    text = OBJECT.format("batch/v1", "Job", "true") + "---\napiVersion: v1\nkind: Service\nmetadata: {name: b}\n"
    assert not list(find_strangers(Stream.parse(text.encode()).items))


@pytest.mark.parametrize("labels", ["*a", '{"krmfn.dev\\/gang": "true"}'])
def test_annotations_may_be_spelled_in_other_ways(labels: str) -> None:
    """As the anchor of another item of the list has them, or with escapes."""
    job = 'apiVersion: batch/v1, kind: Job, metadata: {name: a, annotations: &a {krmfn.dev/gang: "true"}}'
    daemons = f"apiVersion: apps/v1, kind: DaemonSet, metadata: {{name: b, annotations: {labels}}}"
    items = Stream.parse(f"{{apiVersion: v1, kind: List, items: [{{{job}}}, {{{daemons}}}]}}".encode()).items
    (finding,) = find_strangers(items)
    assert finding.item is items[1]
