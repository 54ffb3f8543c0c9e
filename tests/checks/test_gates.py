"""Gates of single components, given as facts, and what each kind of group needs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from krmfn.config import read_settings
from krmfn.model.findings import Finding
from krmfn.model.rules import RULES
from krmfn.releases.release import find_release, list_releases
from krmfn.reports.pages import read_page
from krmfn.survey.condensing import condense
from tests.checks.cases import Case, find_all, read_items

TREE = read_page("parent-missing").examples["good.yaml"]
FLAT = read_page("group-missing").examples["good.yaml"]


def find(text: str, rule: str, **spec: Any) -> list[Finding]:
    settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})
    return [one for one in find_all(Case(read_items(text), None, settings)) if one.rule == rule]


def messages(text: str, rule: str, **spec: Any) -> list[str]:
    return [one.message for one in find(text, rule, **spec)]


def severities(text: str, rule: str, **spec: Any) -> set[str]:
    return {one.severity or RULES[rule].severity for one in find(text, rule, **spec)}


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


@pytest.mark.parametrize(
    ("version", "edit", "classes", "severity"),
    [
        ("1.37", ("", ""), {}, {"warning"}),
        ("1.37", ("", ""), {"high": 9, "low": 9}, {"warning"}),
        ("1.38", ("", ""), {}, {"error"}),
        ("1.38", ("", ""), {"high": 9, "low": 9}, set()),
        ("1.38", ("  priorityClassName: low\n", ""), {}, {"warning"}),
        ("1.38", ("  priorityClassName: low\n", ""), {"high": 9}, {"error"}),
    ],
)
def test_from_1_38_on_a_tree_has_one_priority(
    version: str, edit: tuple[str, str], classes: dict[str, int], severity: set[str]
) -> None:
    """The scheduler compares numbers: two classes of one value are one priority, no class may be any."""
    text = read_page("tree-priorities-differ").examples["bad.yaml"].replace(*edit)
    cluster = {"priorityClasses": classes} if classes else {}
    assert severities(text, "tree-priorities-differ", kubernetes={"version": version}, cluster=cluster) == severity


def test_a_gate_that_a_running_component_has_is_an_error() -> None:
    kubernetes = {"version": "1.38", "featureGates": {"GangScheduling": True}}
    assert severities(FLAT, "gate-gone", kubernetes=kubernetes) == {"warning"}
    cluster = {"featureGates": {"kubelet": {"DynamicResourceAllocation": False}}}
    assert severities(FLAT, "gate-gone", kubernetes={"version": "1.38"}, cluster=cluster) == {"error"}
    assert severities(FLAT, "gate-gone", kubernetes={"version": "1.37"}, cluster=cluster) == set()


def test_gates_of_groups_do_not_disappear_unnoticed() -> None:
    """A gate that a release's data no longer has is told; one that is gone stays gone."""
    releases = [find_release(name) for name in list_releases()]
    for old, new in pairwise(releases):
        assert set(old.gates) - set(new.gates) <= new.gone_gates
        assert old.gone_gates <= new.gone_gates
        assert not new.gone_gates & set(new.gates)


def control_plane_pod(component: str, number: int, *flags: str, tag: str = ":v1.37.0") -> dict[str, Any]:
    """A static pod as kubeadm writes it, and as `kubectl get pods -A -o yaml` shows it."""
    box = {"name": component, "image": f"{component}{tag}", "command": [component, "--v=2", *flags]}
    metadata = {"name": f"{component}-{number}", "namespace": "kube-system", "labels": {"component": component}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [box]}}


@pytest.mark.parametrize(
    ("flags", "off"),
    [
        (["--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"], {}),
        (["--feature-gates", "AllAlpha=true,AllBeta=true"], {}),
        (["--feature-gates=AllAlpha=true,AllBeta=true,CompositePodGroup=false"], {"CompositePodGroup": "named"}),
        (
            ["--feature-gates=GenericWorkload=true", "--feature-gates=GenericWorkload=false"],
            {"GenericWorkload": "named", "TopologyAwareWorkloadScheduling": "default", "CompositePodGroup": "default"},
        ),
    ],
)
def test_a_dump_shows_the_gates_of_the_control_plane(flags: list[str], off: dict[str, str]) -> None:
    """Which are off, and where that is to be seen; `krmfn facts` keeps it."""
    pods = [control_plane_pod("kube-scheduler", 1, *flags)]
    said = messages(TREE, "cluster-gate-off", cluster={"items": pods})
    found = {message.partition(" is off on kube-scheduler (")[0]: message.partition("(")[2] for message in said}
    words = {"named": "--feature-gates of pod kube-system/", "default": "by default: no flag of pod kube-system/"}
    assert found.keys() == off.keys()
    assert all(found[gate].startswith(f"{words[why]}kube-scheduler-1") for gate, why in off.items())
    shrunk = messages(TREE, "cluster-gate-off", cluster=condense({"items": pods}))
    assert [message.partition(" on ")[0] for message in shrunk] == [message.partition(" on ")[0] for message in said]


def test_pods_that_contradict_each_other_leave_a_gate_open() -> None:
    pods = [
        control_plane_pod("kube-scheduler", n, f"--feature-gates=AllAlpha=true,AllBeta={on}")
        for n, on in enumerate(("true", "false"))
    ]
    assert not messages(TREE, "cluster-gate-off", cluster={"items": pods})
    assert len(messages(TREE, "cluster-gate-off", cluster={"items": pods[1:]})) == 1


def test_what_is_no_program_of_the_control_plane_shows_no_gates() -> None:
    other = control_plane_pod("kube-scheduler", 1)
    other["metadata"]["namespace"] = "ml"
    untagged = control_plane_pod("kube-scheduler", 1, tag="@sha256:0a")
    for pod in (other, untagged):
        assert not messages(TREE, "cluster-gate-off", cluster={"items": [pod]})


def test_what_is_said_goes_before_what_is_shown() -> None:
    pods = [control_plane_pod("kube-scheduler", 1, "--feature-gates=AllAlpha=true,AllBeta=true")]
    cluster = {"items": pods, "featureGates": {"kube-scheduler": {"CompositePodGroup": False}}}
    (message,) = messages(TREE, "cluster-gate-off", cluster=cluster)
    assert message.startswith("CompositePodGroup is off on kube-scheduler: ")
