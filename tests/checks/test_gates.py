"""Gates of single components, given as facts, and what each kind of group needs."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.config import read_settings
from krmfn.releases.release import find_release
from krmfn.reports.pages import read_page
from tests.checks.cases import Case, find_all, read_items

TREE = read_page("parent-missing").examples["good.yaml"]
FLAT = read_page("group-missing").examples["good.yaml"]


def messages(text: str, rule: str, **spec: Any) -> list[str]:
    settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})
    return [one.message for one in find_all(Case(read_items(text), None, settings)) if one.rule == rule]


def test_a_gate_that_is_off_on_the_scheduler_alone_is_told() -> None:
    cluster = {"featureGates": {"kube-scheduler": {"CompositePodGroup": False}, "kube-apiserver": {}}}
    (message,) = messages(TREE, "cluster-gate-off", cluster=cluster)
    assert message.startswith(
        "CompositePodGroup is off on kube-scheduler: every group of a tree is scheduled independently"
    )
    assert messages(FLAT, "cluster-gate-off", cluster=cluster) == []


def test_a_scheduler_that_would_not_start() -> None:
    gates = {"CompositePodGroup": True, "TopologyAwareWorkloadScheduling": False}
    (message,) = messages(TREE, "gate-dependency", cluster={"featureGates": {"kube-scheduler": gates}})
    assert message.startswith("kube-scheduler has CompositePodGroup on, but TopologyAwareWorkloadScheduling off")


@pytest.mark.parametrize(("text", "gates"), [(FLAT, 1), (TREE, 3)])
def test_the_gates_are_listed_once(text: str, gates: int) -> None:
    (message,) = messages(text, "cluster-gates")
    assert sum(gate in message for gate in find_release("1.37").gates) == gates
