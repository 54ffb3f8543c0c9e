"""Manifests with something odd in any place: conversions and reconciling say what they can, and never break."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from krmfn.convert import convert
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.tree import Group
from krmfn.reconcile import Wanted, reconcile
from krmfn.releases.release import list_releases
from krmfn.targets import emit
from tests.convert.inputs import generated
from tests.targets.trees import cluster, gang, job, ray, settings, workers

RELEASES = list_releases()

ODD: tuple[Any, ...] = (None, 0, 1.5, True, "", "x", [], {}, [None], ["x"], [[]], {"a": 1}, {"name": None})
TREE = cluster(workers(0, "cpu", 2), workers(1, "gpu", 4))


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    entries: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield (*path, key)
        yield from places(entry, (*path, key))


def change(values: list[Any], data: st.DataObject) -> list[Any]:
    """One to three places set to something odd; kinds and names stay, or the object would be another one."""
    values = copy.deepcopy(values)
    for _ in range(data.draw(st.integers(1, 3))):
        value = data.draw(st.sampled_from(values))
        kept = {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name")}
        *above, last = data.draw(st.sampled_from([path for path in places(value) if path not in kept]))
        for part in above:
            value = value[part]
        value[last] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
    return values


VOLCANO = [
    {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"minMember": 2, "minResources": {"cpu": 1}},
    },
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "a"},
        "spec": {
            "template": {
                "metadata": {
                    "annotations": {"scheduling.k8s.io/group-name": "g"},
                    "labels": {"scheduling.x-k8s.io/pod-group": "g"},
                },
                "spec": {"schedulerName": "volcano", "containers": [{"name": "c"}]},
            }
        },
    },
]


def inputs(start: str, root: Group) -> list[Any]:
    return [*(dict(item.value) for item in generated(root, start)), *VOLCANO]


@pytest.mark.parametrize("to", RELEASES)
@pytest.mark.parametrize("start", RELEASES)
@given(st.data())
@trials(max_examples=15, deadline=None)
def test_convert(start: str, to: str, data: st.DataObject) -> None:
    root = data.draw(st.sampled_from([TREE, job(2, priority_class="high")]))
    convert([Item.new(value) for value in change(inputs(start, root), data)], to)


@pytest.mark.parametrize("release", RELEASES)
@given(st.data())
@trials(max_examples=30, deadline=None)
def test_reconcile(release: str, data: st.DataObject) -> None:
    items = [Item.new(value) for value in change(inputs(release, TREE), data)]
    choice = settings(release, data.draw(st.sampled_from(["Kubernetes", *SCHEDULERS])))
    asked = gang(TREE, ray(), values=(items[0].value,))
    reconcile(items, [Wanted(asked, (items[0],), emit(asked, choice))], items[-1:])
