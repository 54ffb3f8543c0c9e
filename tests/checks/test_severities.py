"""Rules whose severity depends on what is known: less certain findings are warnings."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn import validate
from krmfn.config import read_settings
from krmfn.model.rules import RULES
from krmfn.reports.pages import read_page
from tests.checks.cases import Case, find_all, read_case, read_items

NODE = {"name": "n1", "labels": {}, "allocatable": {"cpu": "64", "memory": "1Ti"}}
TWO_CLASSES = {"priorityClasses": {"high": 1000, "low": 1000}}

TABLE: list[tuple[str, list[tuple[str, str]], dict[str, Any], str | None]] = [
    # the input is probably a part of the whole
    ("group-missing", [], {}, "error"),
    ("group-missing", [("kind: PodGroup", "kind: Other")], {}, "warning"),
    ("group-missing", [], {"podGroups": ["ml/tran"]}, None),
    # a namespace that the apply decides
    ("group-other-namespace", [], {}, "error"),
    ("group-other-namespace", [(", namespace: web", "")], {}, "warning"),
    # no class may be the same as a class
    ("priority-differs", [], {}, "error"),
    ("priority-differs", [("priorityClassName: low, ", "")], {}, "warning"),
    ("priority-differs", [("priorityClassName: low, ", "")], {"priorityClasses": {"high": 9}}, "error"),
    ("priority-differs", [], TWO_CLASSES, None),
    ("priority-not-groups", [], {}, "error"),
    ("priority-not-groups", [], TWO_CLASSES, None),
    ("one-pod-per-node", [], {}, "warning"),
    ("one-pod-per-node", [], {"nodes": [NODE] * 2}, "error"),
    ("one-pod-per-node", [], {"nodes": [NODE] * 3}, None),
    ("volume-shared", [], {}, "error"),
    ("volume-shared", [("ReadWriteOncePod", "ReadWriteOnce")], {}, "warning"),
    ("scheduler-foreign", [], {}, "warning"),
    ("scheduler-foreign", [("schedulerName: volcano", "schedulerName: batch")], {}, "warning"),
    ("scheduler-foreign", [("schedulerName: volcano", "schedulerName: batch")], {"schedulers": ["b"]}, "error"),
    ("scheduler-foreign", [("schedulerName: volcano", "schedulerName: batch")], {"schedulers": ["batch"]}, None),
    ("gated-member", [], {}, "warning"),
    (
        "gated-member",
        [
            ("demo}, containers: [{name: head", "demo}, schedulingGates: [{name: w}], containers: [{name: head"),
            ("suspend: true", "suspend: false"),
        ],
        {},
        "info",
    ),
    ("min-count-above-pods", [], {}, "error"),
    ("volcano-queue-missing", [], {}, "warning"),
    ("volcano-queue-missing", [], {"queues": ["default"]}, "error"),
    ("wave-after-pods", [], {}, "error"),
    ("function-skipped", [], {}, "error"),
    ("function-skipped", [("apiVersion", "# file: job.yaml\napiVersion")], {}, "warning"),
]


@pytest.mark.parametrize(("rule", "edits", "cluster", "severity"), TABLE)
def test_severity(rule: str, edits: list[tuple[str, str]], cluster: dict[str, Any], severity: str | None) -> None:
    text = read_page(rule).examples["bad.yaml"]
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    settings = read_settings(
        {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": {"cluster": cluster}}
    )
    found = [one for one in find_all(Case(read_items(text), None, settings)) if one.rule == rule]
    assert {one.severity or RULES[rule].severity for one in found} == ({severity} if severity else set())


def test_a_ray_cluster_does_not_hold_the_next_wave_back() -> None:
    text = read_page("ray-cleanup-joins-gang").examples["good.yaml"]
    text = text.replace(
        "{name: demo, namespace: ml}\nspec:\n  schedulingPolicy",
        '{name: demo, namespace: ml, annotations: {argocd.argoproj.io/sync-wave: "2"}}\nspec:\n  schedulingPolicy',
    )
    case = read_case("wave-after-pods", "good")
    found = [one for one in find_all(case._replace(items=read_items(text))) if one.rule == "wave-after-pods"]
    assert [one.severity for one in found] == ["warning"]


def test_a_gang_without_pods_hurts_nobody_yet() -> None:
    text = read_page("min-count-above-pods").examples["bad.yaml"].partition("---\n")[2]
    controller = """
---
apiVersion: v1
kind: ReplicationController
metadata: {name: train, namespace: ml}
spec: {replicas: 0, template: {spec: {schedulingGroup: {podGroupName: train}}}}
"""
    case = read_case("min-count-above-pods", "good")
    found = find_all(case._replace(items=read_items(text + controller)))
    assert [one.severity for one in found if one.rule == "min-count-above-pods"] == ["warning"]


@pytest.mark.parametrize(
    ("metadata", "rest", "severity"),
    [
        ("{name: gp3, annotations: {storageclass.kubernetes.io/is-default-class: 'false'}}", "", "info"),
        ("{name: gp3, labels: {a: b}}", "", "info"),
        ("{name: gp3}", "", "error"),
        ("{name: gp3, labels: {a: b}}", "reclaimPolicy: Retain", "error"),
    ],
)
def test_an_object_that_only_adds_annotations_needs_no_more(metadata: str, rest: str, severity: str) -> None:
    """A platform brings StorageClasses, and a repository chooses the default: `kubectl apply` changes what is there."""
    text = f"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {metadata}\n{rest}\n"
    assert [(result.path, result.severity) for result in validate(text.encode())] == [("provisioner", severity)]


def test_what_a_template_lacks_may_be_added_to_it() -> None:
    text = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: 'NAME'}\n"
    text += "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}\n"
    text += "subjects: [{kind: ServiceAccount, name: a}]\n"
    for name, severity in (("a", "error"), ("${NAME}", "error"), ("a-{{ .Release.Namespace }}", "info")):
        found = validate(text.replace("NAME", name).encode()).of("required")
        assert [(result.path, result.severity) for result in found] == [("subjects[0].namespace", severity)]
