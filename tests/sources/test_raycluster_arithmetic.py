"""KubeRay's arithmetic: the worked examples of its functions, by number."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from krmfn.sources.ray import WorkerGroup
from tests.sources.manifests import pods_of, quorums_of, raycluster, read, rules_of, workers

MAX32 = 2**31 - 1


class Example(NamedTuple):
    """Worker groups and what KubeRay makes of them: all pods with the head, and what minReplicas guarantee."""

    groups: list[dict[str, Any]]
    total: int
    guaranteed: int
    api_version: str = "ray.io/v1"
    autoscaling: bool = False


EXAMPLES = {
    1: Example([workers(shape="1/1/5")], 2, 2),
    2: Example([workers(shape="-/2/4")], 3, 3),
    3: Example([workers(shape="10/-/4")], 5, 1),
    4: Example([workers(shape="2/0/2", numOfHosts=4)], 9, 1),
    5: Example([workers("off", "3", suspend=True), workers("on", "1/0")], 2, 1),
    6: Example([workers(shape="3/0", numOfHosts=0)], 1, 1),
    7: Example([workers(shape="3/1/5")], 4, 2, autoscaling=True),
    8: Example([workers(shape="2/0/0")], 1, 1),
    9: Example([workers(shape="-1/0")], 1, 1),
    13: Example([], 1, 1),
    15: Example([workers(shape="1/0/1", numOfHosts=64)], 65, 1),
    16: Example([workers(shape="0/0/4")], 1, 1),
    17: Example([workers(shape="2/2/2", numOfHosts=4)], 3, 3, api_version="ray.io/v1alpha1"),
}


@pytest.mark.parametrize("number", EXAMPLES)
def test_worked_example(number: int) -> None:
    example = EXAMPLES[number]
    value = raycluster(
        *example.groups, api_version=example.api_version, enableInTreeAutoscaling=example.autoscaling or None
    )
    reading = read(value, autoscaling="MinReplicas")
    assert sum(pods_of(reading.group).values()) == example.total
    guaranteed = read(value, autoscaling="MinReplicas", min_count="MinReplicas").group
    assert sum(count or 0 for count in quorums_of(guaranteed).values()) == example.guaranteed


@pytest.mark.parametrize(
    ("number", "groups", "rule"),
    [
        (10, [workers(shape="1073741824/0", numOfHosts=2)], "count-overflow"),
        (11, [workers(shape="6/5/3")], "min-above-max"),
        (12, [workers(shape="4/5/3")], "min-above-max"),
        (14, [workers("a", "2/0"), workers("a", "2/0")], "group-name-duplicate"),
    ],
)
def test_worked_example_that_is_refused(number: int, groups: list[dict[str, Any]], rule: str) -> None:
    reading = read(raycluster(*groups))
    assert reading.group is None
    assert rules_of(reading) == [rule]


@pytest.mark.parametrize(
    ("number", "replicas", "minimum", "maximum", "pods"),
    [(11, 6, 5, 3, 3), (12, 4, 5, 3, 5), (14, 2, 0, MAX32, 2), (10, 1073741824, 0, MAX32, 1073741824)],
)
def test_clamp_tests_the_lower_bound_first(number: int, replicas: int, minimum: int, maximum: int, pods: int) -> None:
    assert WorkerGroup((), "a", replicas, minimum, maximum, 1, False).pods == pods


@pytest.mark.parametrize(
    ("groups", "refused"),
    [
        ([workers("a", f"{MAX32 - 1}")], False),
        ([workers("a", f"{MAX32}")], True),  # with the head it is one too many
        ([workers("a", "2000000000"), workers("b", "147483646")], False),
        ([workers("a", "2000000000"), workers("b", "147483647")], True),
        ([workers("a", "3", minReplicas=MAX32 + 1)], True),
        ([workers("a", "1", maxReplicas=MAX32)], False),
    ],
)
def test_int32_is_the_limit(groups: list[dict[str, Any]], refused: bool) -> None:
    reading = read(raycluster(*groups))
    assert (reading.group is None) is refused
    assert rules_of(reading) == (["count-overflow"] if refused else [])
