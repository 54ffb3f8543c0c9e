"""Queues that an installation makes are there, although no file has them."""

from __future__ import annotations

import pytest

from tests.front_door import call

QUEUE = b"""apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: batch}
spec: {parentQueue: PARENT, resources: {cpu: {limit: -1}, memory: {limit: -1}}}
---
"""
POD = b"""apiVersion: v1
kind: Pod
metadata: {name: a, namespace: ml, labels: {kai.scheduler/queue: QUEUE}}
spec:
  schedulerName: kai-scheduler
  containers: [{name: main, image: ubuntu, resources: {requests: {cpu: 100m, memory: 250M}}}]
"""


@pytest.mark.parametrize(
    ("parent", "queue", "told"),
    [
        (b"default-parent-queue", b"batch", False),
        (b"department", b"batch", True),
        (b"default-parent-queue", b"default-queue", False),
        (b"default-parent-queue", b"default", True),
    ],
)
def test_the_queues_of_the_chart_of_kai_are_there(parent: bytes, queue: bytes, told: bool) -> None:
    text = QUEUE.replace(b"PARENT", parent) + POD.replace(b"QUEUE", queue)
    assert (b"kai-queue-unusable" in call(text, words=["validate", "-"]).out) == told
