"""What queues of Volcano and KAI can never give to a gang, along the chain of their parents.

The amounts of KAI are those of its own test of the limit (KAI-Scheduler v0.17.0, max_allowed_check_test.go).
"""

from __future__ import annotations

import pytest

from tests.front_door import call

KAI = """apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: top}
spec: {resources: {cpu: {quota: 0, limit: LIMIT}, memory: {quota: 0, limit: -1}}}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: team}
spec: {parentQueue: top, resources: {cpu: {quota: 0, limit: -1}, memory: {quota: 0, limit: -1}}}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: g, namespace: ml}
spec: {queue: team, minMember: 2}
"""
VOLCANO = """apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: org}
spec: {parent: root, capability: {cpu: 4}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: other}
spec: {parent: org, deserved: {cpu: 3}, guarantee: {resource: {cpu: GUARANTEE}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team}
spec: {parent: org}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g, namespace: ml}
spec: {queue: team, minMember: 2POLICY}
"""
POD = """---
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: ml, labels: {kai.scheduler/queue: team, slice: a}, annotations: {LINK: g}}
spec:
  schedulerName: SCHEDULER
  containers: [{name: main, image: a, resources: {requests: {cpu: CPU, memory: 1Gi}}}]
"""


def validate(head: str, link: str, scheduler: str, cpu: str) -> str:
    pod = POD.replace("LINK", link).replace("SCHEDULER", scheduler).replace("CPU", cpu)
    text = head + "".join(pod.replace("NAME", name) for name in ("g-0", "g-1"))
    return call(text.encode(), words=["validate", "-"]).out.decode()


@pytest.mark.parametrize(
    ("limit", "cpu", "told"),
    [("-1", "1000m", False), ("1000", "500m", False), ("1000", "501m", True), ("500", "500m", True), ("0", "1m", True)],
)
def test_a_limit_of_kai_counts_for_the_gang_in_all_queues_above(limit: str, cpu: str, told: bool) -> None:
    out = validate(KAI.replace("LIMIT", limit), "pod-group-name", "kai-scheduler", cpu)
    assert ("KAI never starts the group" in out) == told, out


@pytest.mark.parametrize(("sure", "cpu", "told"), [("1", "1500m", False), ("1", "1600m", True), ("3", "600m", True)])
def test_a_guarantee_of_volcano_is_lost_for_the_queues_beside_it(sure: str, cpu: str, told: bool) -> None:
    head = VOLCANO.replace("GUARANTEE", sure).replace("POLICY", "")
    out = validate(head, "scheduling.k8s.io/group-name", "volcano", cpu)
    assert ("of which other queues are guaranteed" in out) == told, out


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("matchLabelKeys: [slice], subGroupSize: 2, minSubGroups: 1", False),
        ("matchLabelKeys: [slice], subGroupSize: 2, minSubGroups: 2", True),
        ("labelSelector: {matchLabels: {slice: a}}, subGroupSize: 2, minSubGroups: 1", True),
    ],
)
def test_sub_groups_of_volcano_are_known_by_the_values_of_labels(policy: str, told: bool) -> None:
    head = VOLCANO.replace("GUARANTEE", "1").replace("POLICY", f", subGroupPolicy: [{{name: s, {policy}}}]")
    out = validate(head, "scheduling.k8s.io/group-name", "volcano", "1")
    assert ("the pods make only" in out) == told, out


def test_sub_groups_of_any_depth_and_without_a_name_are_read() -> None:
    chain = [f"{{name: s{level}, parent: s{level - 1}}}" for level in range(1, 3000)]
    parts = ", ".join(["{name: s0}", *chain, "{minMember: 1}", "{name: s3000, parent: s2999, minMember: 5}"])
    head = KAI.replace("LIMIT", "-1").replace("minMember: 2}", f"minSubGroup: 1, subGroups: [{parts}]}}")
    pod = POD.replace("LINK", "pod-group-name").replace("SCHEDULER", "kai-scheduler").replace("CPU", "1")
    pod = pod.replace("slice: a", "kai.scheduler/subgroup-name: s3000").replace("NAME", "g-0")
    out = call((head + pod).encode(), words=["validate", "-"]).out.decode()
    assert "minMember of the sub-group s3000 is 5, but only 1 pod of it can exist" in out


@pytest.mark.parametrize(("value", "told"), [("", True), ("0", False), ("150", True)])
def test_the_class_of_the_cluster_says_whether_pods_of_kai_keep_to_the_quota(value: str, told: bool) -> None:
    """`build` is a class of the chart, whose pods are not preempted, where nobody defines it otherwise."""
    head = KAI.replace("LIMIT", "-1").replace("minMember: 2}", "minMember: 2, priorityClassName: build}")
    if value:
        metadata = f"metadata: {{name: build}}\nvalue: {value}\n"
        head += f"---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n{metadata}"
    out = validate(head, "pod-group-name", "kai-scheduler", "1")
    assert ("has a quota of 0, which pods that cannot be preempted may not exceed" in out) == told, out
