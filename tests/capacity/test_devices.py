"""Devices that claims allocate, and volume claims that are made for each pod: what is proved, and what must not be."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.capacity import Obeyed, prove
from krmfn.config import read_settings
from krmfn.krm import Item
from krmfn.survey.condensing import condense
from krmfn.survey.counting import count_all

GROUP, VERSION = "scheduling.k8s.io/v1beta1", "resource.k8s.io/v1"


def make(kind: str, name: str, version: str = "v1", space: str = "ml", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": space} if space else {}), **fields.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def template(count: int = 1, **request: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu", "count": count, **request}
    spec = {"spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}
    return make("ResourceClaimTemplate", "two", VERSION, spec=spec)


def slices(count: int, node: str = "", **device: Any) -> dict[str, Any]:
    devices = [{"name": f"d{number}", **device} for number in range(count)]
    return make(
        "ResourceSlice", "s", VERSION, "", spec={"driver": "gpu.example.com", "nodeName": node, "devices": devices}
    )


def device_class(**spec: Any) -> dict[str, Any]:
    return make("DeviceClass", "gpu", VERSION, "", spec=spec)


def prove_of(owner: dict[str, Any], *facts: dict[str, Any], listed: bool = True, shrink: bool = False) -> list[str]:
    """The causes of what is proved about a gang of two pods on one node."""
    node = make("Node", "n1", space="", status={"allocatable": {"cpu": "8", "pods": "110"}})
    group = make("PodGroup", "g", GROUP, spec={"schedulingPolicy": {"gang": {"minCount": 2}}})
    kinds = ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass", "StorageClass")
    all_kinds = [*kinds, "PersistentVolume", "PersistentVolumeClaim", "ServiceAccount", "PriorityClass"]
    cluster: dict[str, Any] = {"items": [node, *facts], "listed": all_kinds if listed else []}
    spec = {"kubernetes": {"version": "1.37"}, "cluster": condense(cluster) if shrink else cluster}
    settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})
    census = count_all([Item.new(value) for value in (group, owner)], settings)
    return [f"{found.cause} {found.said}".strip() for found in prove(census, Obeyed(True, True, True, True))]


def job(spec: dict[str, Any], **resources: Any) -> dict[str, Any]:
    box = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}, **resources}}
    pod = {"containers": [box], "schedulingGroup": {"podGroupName": "g"}, **spec}
    return make("Job", "j", "batch/v1", spec={"parallelism": 2, "completions": 2, "template": {"spec": pod}})


FROM_TEMPLATE = {"resourceClaims": [{"name": "d", "resourceClaimTemplateName": "two"}]}


@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ((template(2), device_class(), slices(4)), []),
        ((template(2), device_class(), slices(3)), ["bound"]),
        ((template(2), device_class(), slices(3, allowMultipleAllocations=True)), []),
        ((template(2, adminAccess=True), device_class(), slices(1)), []),
        ((template(2, allocationMode="All"), device_class(), slices(1)), []),
        ((template(2), slices(4)), ["claim request r: device class gpu does not exist"]),
        ((device_class(), slices(4)), ['claim resourceclaimtemplate.resource.k8s.io "two" not found']),
    ],
)
def test_claims_of_devices(facts: tuple[dict[str, Any], ...], found: list[str], shrink: bool) -> None:
    assert prove_of(job(FROM_TEMPLATE), *facts, shrink=shrink) == found
    assert prove_of(job(FROM_TEMPLATE), *facts, listed=False)[: len(found)] in ([], found)


def test_a_resource_that_stands_for_a_class_is_not_missed_in_the_nodes() -> None:
    gpu = job({}, limits={"example.com/gpu": "8"})
    assert prove_of(gpu) == ["pod 0/1 nodes are available: 1 Insufficient example.com/gpu"]
    named = device_class(extendedResourceName="example.com/gpu")
    assert not prove_of(gpu, named, listed=False)
    assert not prove_of(gpu, named, slices(1))  # on which node is not told
    of_class = job({}, limits={"deviceclass.resource.kubernetes.io/gpu": "8"})
    assert not prove_of(of_class, device_class(), slices(16, node="n1"))
    assert prove_of(of_class, device_class(), slices(15, node="n1")) == ["resource"]


def stateful(name: str | None) -> dict[str, Any]:
    claim: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim |= {} if name is None else {"storageClassName": name}
    spec = job({})["spec"]["template"]
    made = [{"metadata": {"name": "data"}, "spec": claim}]
    return make("StatefulSet", "s", "apps/v1", spec={"replicas": 2, "template": spec, "volumeClaimTemplates": made})


def storage(name: str, default: str = "") -> dict[str, Any]:
    marks = {"storageclass.kubernetes.io/is-default-class": default} if default else {}
    metadata = {"annotations": {**marks, "owner": "private"}}
    return make("StorageClass", name, "storage.k8s.io/v1", "", metadata=metadata, provisioner="disks.example.com")


def quota(**hard: str) -> dict[str, Any]:
    return make("ResourceQuota", "q", spec={"hard": hard})


UNBOUND = "claim pod has unbound immediate PersistentVolumeClaims"


@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize(
    ("named", "facts", "found"),
    [
        ("fast", (storage("fast"),), []),
        ("fsat", (storage("fast"),), [f'{UNBOUND} (no StorageClass "fsat")']),
        (None, (storage("fast", "true"),), []),
        (None, (storage("fast", "false"),), [UNBOUND]),
        ("", (storage("fast", "true"),), [UNBOUND]),
        ("gone", (make("PersistentVolumeClaim", "data-s-0", spec={"volumeName": "v"}),), []),
        ("fast", (storage("fast"), quota(persistentvolumeclaims="1")), ["quota"]),
        ("fast", (storage("fast"), quota(**{"requests.storage": "2Gi"})), []),
    ],
)
def test_claims_that_are_made_for_each_pod(
    named: str | None, facts: tuple[dict[str, Any], ...], found: list[str], shrink: bool
) -> None:
    assert prove_of(stateful(named), *facts, shrink=shrink) == found


def test_accounts_and_priorities_that_admission_refuses() -> None:
    account = make("ServiceAccount", "trainer", secrets=[{"name": "private"}])
    assert not prove_of(job({"serviceAccountName": "trainer"}), account, shrink=True)
    assert not prove_of(job({"serviceAccountName": "default"}))
    (found,) = prove_of(job({"serviceAccountName": "tariner"}), account)
    assert 'serviceaccount "tariner" not found' in found
    (found,) = prove_of(job({"priority": 100}))
    assert "the integer value of priority (100) must not be provided" in found
    assert not prove_of(job({"priority": 0}))
    assert not prove_of(job({"priority": 100}), listed=False)


@pytest.mark.parametrize(
    ("operator", "values", "pod", "default", "found"),
    [
        ("In", ["high"], {"priorityClassName": "high"}, "", True),
        ("In", ["high"], {}, "high", True),  # admission fills it in
        ("In", ["high"], {}, "", False),
        ("NotIn", ["high"], {"priorityClassName": "high"}, "", False),
        ("NotIn", ["high"], {}, "", True),
        ("Exists", [], {}, "", False),
        ("Exists", [], {}, "high", True),
        ("DoesNotExist", [], {}, "", True),
        ("DoesNotExist", [], {}, "high", False),
        ("DoesNotExist", [], {"priorityClassName": "high"}, "", False),
    ],
)
def test_quotas_of_priority_classes(
    operator: str, values: list[str], pod: dict[str, Any], default: str, found: bool
) -> None:
    high = make("PriorityClass", "high", "scheduling.k8s.io/v1", "", value=1, globalDefault=default == "high")
    selector = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": values}]}
    limit = make("ResourceQuota", "q", spec={"hard": {"pods": "1"}, "scopeSelector": selector})
    assert prove_of(job(dict(pod)), high, limit) == (["quota"] if found else [])
