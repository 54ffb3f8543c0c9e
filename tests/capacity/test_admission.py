"""Pods and groups that the API server refuses, and what only looks so. conformance/live shows the former to be real."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.capacity.admission import find_refusal
from krmfn.capacity.pods import read_kinds
from krmfn.capacity.quotas import counts
from krmfn.config import read_settings
from krmfn.krm import Item
from krmfn.survey.counting import count_all

_CPU, _NONE = {"requests": {"cpu": "2"}}, dict[str, Any]()


def make(kind: str, spec: dict[str, Any], version: str = "v1", name: str = "g") -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "ml"}, "spec": spec}


def limits(*items: dict[str, Any], name: str = "limits") -> dict[str, Any]:
    return make("LimitRange", {"limits": [{"type": "Container", **item} for item in items]}, name=name)


def read(facts: list[dict[str, Any]], resources: dict[str, Any], ray: bool = False, **spec: Any) -> Any:
    """The kind of pods of a Job, or of a RayCluster's workers, and the facts."""
    template = {"spec": {"containers": [{"name": "c", "image": "i", "resources": resources}], **spec}}
    workload = make("Job", {"template": template}, "batch/v1")
    if ray:
        group = {"groupName": "w", "replicas": 1, "template": template}
        head = {"template": {"spec": {"containers": [{"name": "c", "resources": {}}]}}}
        workload = make("RayCluster", {"headGroupSpec": head, "workerGroupSpecs": [group]}, "ray.io/v1")
    settings = read_settings(make("GangScheduling", {"cluster": {"items": facts}}, "krmfn.dev/v1alpha1"))
    census = count_all([Item.new(workload)], settings)
    return read_kinds(census.templates, census.facts)[-1], census.facts


@pytest.mark.parametrize(
    ("resources", "ranges", "said"),
    [
        (_CPU, [limits({"default": {"cpu": "1"}})], "must be less than or equal to cpu limit of 1"),
        (_CPU, [limits({"max": {"cpu": "1"}})], "must be less than or equal to cpu limit of 1"),
        (_CPU, [limits({"default": {"cpu": "2"}})], ""),
        (_CPU, [limits({"default": {"memory": "1Gi"}})], ""),
        # Its own limit stands; of two ranges nobody knows which one fills in first.
        ({"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}, [limits({"default": {"cpu": "1"}})], ""),
        (_CPU, [limits({"default": {"cpu": "1"}}), limits({"default": {"cpu": "4"}}, name="more")], ""),
    ],
)
def test_a_limit_that_is_filled_in_may_be_below_the_request(
    resources: dict[str, Any], ranges: list[dict[str, Any]], said: str
) -> None:
    refusal = find_refusal(*read(ranges, resources))
    assert said in (refusal.said if refusal else "")
    assert bool(refusal) == bool(said)


@pytest.mark.parametrize(
    ("scope", "resources", "ranges", "ray", "counted"),
    [
        ("BestEffort", _NONE, [], False, True),
        ("NotBestEffort", _NONE, [], False, False),
        ("NotBestEffort", _CPU, [], False, True),
        ("BestEffort", _NONE, [limits({"defaultRequest": {"cpu": "1"}})], False, False),
        ("NotBestEffort", _NONE, [limits({"defaultRequest": {"cpu": "1"}})], False, True),
        ("NotBestEffort", _NONE, [limits({"default": {"nvidia.com/gpu": "0"}})], False, False),
        # KubeRay may add a container with requests, or may not.
        ("BestEffort", _NONE, [], True, False),
        ("NotBestEffort", _NONE, [], True, False),
    ],
)
def test_a_quota_counts_pods_by_what_the_server_fills_in(
    scope: str, resources: dict[str, Any], ranges: list[dict[str, Any]], ray: bool, counted: bool
) -> None:
    quota = make("ResourceQuota", {"hard": {"pods": "1"}, "scopes": [scope]})
    kind, facts = read([quota, *ranges], resources, ray)
    assert counts(facts.quotas[0], kind, facts) == counted


def space(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}, **fields}


def labelled(level: str, version: str = "") -> dict[str, Any]:
    labels = {"pod-security.kubernetes.io/enforce": level}
    labels |= {"pod-security.kubernetes.io/enforce-version": version} if version else {}
    return space(metadata={"name": "ml", "labels": labels})


_RESTRICTED: dict[str, Any] = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
_TIGHT: dict[str, Any] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


@pytest.mark.parametrize(
    ("level", "version", "spec", "box", "said"),
    [
        (
            "restricted",
            "",
            {},
            {},
            "allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true",
        ),
        ("restricted", "v1.18", {}, {}, "allowPrivilegeEscalation != false, runAsNonRoot != true"),
        ("restricted", "", {"securityContext": _RESTRICTED}, _TIGHT, ""),
        ("restricted", "", {"securityContext": {"runAsNonRoot": True}}, _TIGHT, "seccompProfile"),
        ("restricted", "", {"securityContext": _RESTRICTED}, {**_TIGHT, "runAsUser": 0}, "runAsUser=0"),
        (
            "restricted",
            "",
            {"securityContext": _RESTRICTED, "volumes": [{"name": "v", "nfs": {}}]},
            _TIGHT,
            "restricted",
        ),
        (
            "restricted",
            "",
            {"hostUsers": False, "securityContext": {"seccompProfile": {"type": "Localhost"}}},
            _TIGHT,
            "",
        ),
        ("restricted", "", {"os": {"name": "windows"}, "securityContext": {"runAsNonRoot": True}}, {}, ""),
        ("baseline", "", {}, {}, ""),
        ("baseline", "latest", {"hostPID": True}, {}, "host namespaces"),
        ("baseline", "", {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]}, {}, "hostPath volumes"),
        ("baseline", "", {}, {"privileged": True}, "privileged"),
        ("baseline", "", {}, {"capabilities": {"add": ["CHOWN"]}}, ""),
        ("baseline", "", {}, {"capabilities": {"add": ["SYS_ADMIN"]}}, "non-default capabilities"),
        ("baseline", "", {}, {"seLinuxOptions": {"type": "spc_t"}}, "seLinuxOptions"),
        ("baseline", "", {"securityContext": {"sysctls": [{"name": "kernel.sem"}]}}, {}, "forbidden sysctls"),
        ("privileged", "", {"hostPID": True}, {}, ""),
        ("unheard-of", "", {"hostPID": True}, {}, ""),
    ],
)
def test_a_namespace_refuses_pods_that_its_labels_forbid(
    level: str, version: str, spec: dict[str, Any], box: dict[str, Any], said: str
) -> None:
    kind, facts = read([labelled(level, version)], _CPU, **spec)
    kind.template.spec["containers"][0]["securityContext"] = box
    refusal = find_refusal(kind, facts)
    assert said in (refusal.said if refusal else "")
    assert bool(refusal) == bool(said)
    if refusal:
        assert refusal.said.startswith(f'violates PodSecurity "{level}:{version or "latest"}": {said}')
        assert (refusal.by, refusal.name) == ("Namespace", "ml")


@pytest.mark.parametrize(
    "fields", [{"status": {"phase": "Terminating"}}, {"metadata": {"name": "ml", "deletionTimestamp": "2026-01-01"}}]
)
def test_a_namespace_that_ends_takes_no_pods(fields: dict[str, Any]) -> None:
    refusal = find_refusal(*read([space(**fields)], _CPU))
    assert refusal
    assert refusal.said == "unable to create new content in namespace ml because it is being terminated"
    assert find_refusal(*read([space(status={"phase": "Active"})], _CPU)) is None
