"""Which nodes a pod's claims allow. `python -m conformance.live` shows each kind of obstacle to be real."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.capacity import Obeyed, prove, volumes
from krmfn.config import read_settings
from krmfn.krm import Item
from krmfn.model.rules import RULES
from krmfn.releases.schemastore import load
from krmfn.survey.counting import count_all

_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def make(kind: str, name: str, version: str = "v1", **fields: Any) -> dict[str, Any]:
    space = {"namespace": "ml"} if kind in ("PersistentVolumeClaim", "Job", "PodGroup") else {}
    metadata = {"name": name, **space, **fields.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def node(name: str, **labels: str) -> dict[str, Any]:
    status = {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}}
    return make("Node", name, metadata={"labels": {_HOST: name, **labels}}, status=status)


def storage(**fields: Any) -> dict[str, Any]:
    usual = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
    return make("StorageClass", "slow", "storage.k8s.io/v1", **{**usual, **fields})


def claim(volume: str = "", metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    usual = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "2Gi"}},
        "storageClassName": "slow",
    }
    bound = {"volumeName": volume} if volume else {}
    return make("PersistentVolumeClaim", "data", metadata=metadata or {}, spec={**usual, **bound, **spec})


def volume(host: str = "", labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    usual = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}, "storageClassName": "slow"}
    terms = [{"matchExpressions": [{"key": _HOST, "operator": "In", "values": [host]}]}]
    place = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if host else {}
    return make("PersistentVolume", "pv", metadata={"labels": labels or {}}, spec={**usual, **place, **spec})


def is_impossible(*items: dict[str, Any], listed: bool = True) -> str:
    """What is said of a gang of two pods with the claim; empty when nothing is proved."""
    box = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    mount = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    pod = {"containers": [box], "volumes": mount, "schedulingGroup": {"podGroupName": "g"}}
    job = make("Job", "j", "batch/v1", spec={"parallelism": 2, "completions": 2, "template": {"spec": pod}})
    group = make("PodGroup", "g", "scheduling.k8s.io/v1beta1", spec={"schedulingPolicy": {"gang": {"minCount": 2}}})
    kinds = ["PersistentVolume", "PersistentVolumeClaim", "StorageClass"] if listed else []
    configuration = make(
        "GangScheduling", "g", "krmfn.dev/v1alpha1", spec={"cluster": {"items": [*items], "listed": kinds}}
    )
    census = count_all([Item.new(group), Item.new(job)], read_settings(configuration))
    found = list(prove(census, Obeyed(trees=True, keys=True, remembers=True, claims=True)))
    return found[0].said if found else ""


_TWO = (node("n1", **{_ZONE: "a"}), node("n2", **{_ZONE: "b"}))
_BETA = "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("reason", "items"),
    [
        (volumes.UNBINDABLE, (storage(), claim(), volume("n3"))),
        (volumes.UNBINDABLE, (storage(), claim(resources={"requests": {"storage": "3Gi"}}), volume("n1"))),
        (volumes.UNBINDABLE, (storage(), claim(accessModes=["ReadWriteMany"]), volume("n1"))),
        (volumes.UNBINDABLE, (storage(), claim(volumeMode="Block"), volume("n1"))),
        (volumes.UNBINDABLE, (storage(), claim(selector={"matchLabels": {"disk": "fast"}}), volume("n1"))),
        (volumes.UNBINDABLE, (storage(), claim(), volume("n1", claimRef={"namespace": "ml", "name": "other"}))),
        (
            volumes.UNBINDABLE,
            (
                storage(
                    provisioner="d", allowedTopologies=[{"matchLabelExpressions": [{"key": _ZONE, "values": ["c"]}]}]
                ),
                claim(),
            ),
        ),
        (volumes.UNZONED, (storage(), claim("pv"), volume(labels={_ZONE: "c"}))),
        (volumes.UNZONED, (storage(), claim("pv"), volume(labels={_BETA: "c__d"}))),
        (volumes.UNREACHABLE, (storage(), claim("pv"), volume("n3"))),
        ("is being deleted", (storage(), claim("pv", {"deletionTimestamp": "2026-01-01T00:00:00Z"}), volume())),
        ('persistentvolume "pv" not found', (storage(), claim("pv"))),
        ('persistentvolumeclaim "data" not found', ()),
    ],
)
def test_no_node_has_what_the_claim_needs(reason: str, items: tuple[dict[str, Any], ...]) -> None:
    assert reason in is_impossible(*_TWO, *items)


@pytest.mark.parametrize(
    "items",
    [
        (storage(), claim(), volume("n1")),
        (storage(), claim(), volume()),
        (storage(), claim(selector={"matchLabels": {"disk": "fast"}}), volume("n1", {"disk": "fast"})),
        (storage(), claim(), volume("n1", claimRef={"namespace": "ml", "name": "data"})),
        (storage(provisioner="d"), claim()),
        (storage(provisioner="d", volumeBindingMode="Immediate"), claim()),
        (
            storage(provisioner="d", allowedTopologies=[{"matchLabelExpressions": [{"key": _ZONE, "values": ["b"]}]}]),
            claim(),
        ),
        (storage(), claim("pv"), volume(labels={_ZONE: "c__b"})),
        (storage(), claim("pv"), volume(labels={_BETA: "b"})),
    ],
)
def test_nothing_is_said_where_a_node_has_it(items: tuple[dict[str, Any], ...]) -> None:
    assert not is_impossible(*_TWO, *items)


def test_a_node_without_any_zone_takes_volumes_of_all_zones() -> None:
    assert not is_impossible(node("n1"), storage(), claim("pv"), volume(labels={_ZONE: "c"}))


def test_what_the_facts_do_not_list_may_exist() -> None:
    assert not is_impossible(*_TWO, claim("pv"), listed=False)


def test_every_reason_of_a_node_has_a_way_out() -> None:
    """A reason without one would end in a traceback."""
    from krmfn.capacity import bounds as filters

    reasons = {filters.CORDONED, filters.TAINTED, filters.UNMATCHED, filters.SPREAD, filters.APART, filters.SLOTS}
    reasons |= {filters.PORTS, filters.FULL, volumes.UNREACHABLE, volumes.UNZONED, volumes.UNBINDABLE}
    assert reasons == set(load("ways.json")["nodes"])


def test_what_limits_a_gang_is_told_without_topology_keys() -> None:
    """Anti-affinity and spread bind in every release, also where the gate for the groups' own keys is off."""
    for limit in load("ways.json")["limits"].values():
        assert not RULES[limit["rule"]].needs, limit
