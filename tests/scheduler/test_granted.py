"""What a simulator is asked about pods whose volumes and devices other controllers bring: what is not known does not
make it say that they never run."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.config import read_settings
from krmfn.forecast.question import ask
from krmfn.forecast.roster import call_roll
from krmfn.krm import Item
from krmfn.survey.counting import count_all

DEVICES = "resource.k8s.io/v1"


def make(kind: str, name: str, version: str = "v1", space: str = "ml", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": space} if space else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def question(
    pod: dict[str, Any], *facts: dict[str, Any], listed: tuple[str, ...] = (), group: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The objects of the question about a Job with one pod, or with the two of a group."""
    pods, gates = (2, {"GenericWorkload": True, "DRAWorkloadResourceClaims": True}) if group else (1, {})
    box = {"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}], **pod.pop("box", {})}
    template = {"spec": {"restartPolicy": "Never", "containers": [box], **pod}}
    job = make("Job", "j", "batch/v1", spec={"parallelism": pods, "completions": pods, "template": template})
    node = make("Node", "n1", space="", status={"allocatable": {"cpu": "8", "pods": "110"}})
    cluster = {"items": [node, *facts], "listed": list(listed)}
    spec = {"kubernetes": {"version": "1.37", "featureGates": gates}, "cluster": cluster}
    settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})
    census = count_all([Item.new(job), *([Item.new(group)] if group else [])], settings)
    found: list[dict[str, Any]] = ask(census, call_roll(census), settings, [])["objects"]
    return found


def pick(found: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(value for value in found if value["kind"] == kind)


def claim(volume: str = "", storage: str = "fast") -> dict[str, Any]:
    return make("PersistentVolumeClaim", "data", spec={"storageClassName": storage, "volumeName": volume})


VOLUME = make("PersistentVolume", "pv", space="", spec={"storageClassName": "fast"})
STORAGE = make("StorageClass", "fast", "storage.k8s.io/v1", "", provisioner="disks.example.com")
STATIC = make("StorageClass", "slow", "storage.k8s.io/v1", "", provisioner="kubernetes.io/no-provisioner")
ALL = ("PersistentVolume", "PersistentVolumeClaim", "StorageClass")


@pytest.mark.parametrize(
    ("facts", "listed", "kept"),
    [
        ((), (), False),
        ((), ALL, True),  # it does not exist
        ((claim("pv"), VOLUME), (), True),
        ((claim("pv"),), (), False),
        ((claim(), STORAGE), ALL, False),  # somebody makes a volume
        ((claim(storage="slow"), STATIC), ALL, True),  # nobody does
    ],
)
def test_volumes(facts: tuple[dict[str, Any], ...], listed: tuple[str, ...], kept: bool) -> None:
    mount = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
    spec = pick(question(mount, *facts, listed=listed), "Pod")["spec"]
    assert [len(spec["volumes"]), len(spec["containers"][0]["volumeMounts"])] == [int(kept), int(kept)]


def test_volumes_of_the_pod_are_left_out_and_others_kept() -> None:
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}, {"name": "tmp", "emptyDir": {}}]
    found = question({"volumes": volumes}, STORAGE)
    assert pick(found, "Pod")["spec"]["volumes"] == volumes[1:]
    assert pick(found, "StorageClass")["volumeBindingMode"] == "Immediate"


def test_claims_are_made_from_templates_where_the_devices_are_known() -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    template = make("ResourceClaimTemplate", "t", DEVICES, spec={"spec": {"devices": {"requests": [request]}}})
    pod = {
        "resourceClaims": [{"name": "d", "resourceClaimTemplateName": "t"}],
        "box": {"resources": {"claims": [{"name": "d"}]}},
    }
    known = (make("DeviceClass", "gpu", DEVICES, "", spec={}), make("ResourceSlice", "s", DEVICES, "", spec={}))
    found = question(dict(pod), template, *known)
    made, spec = pick(found, "ResourceClaim"), pick(found, "Pod")["spec"]
    assert made["spec"]["devices"]["requests"][0]["exactly"] == {
        "deviceClassName": "gpu",
        "allocationMode": "ExactCount",
        "count": 1,
    }
    assert spec["resourceClaims"] == [{"name": "d", "resourceClaimName": made["metadata"]["name"]}]
    assert spec["containers"][0]["resources"]["claims"] == [{"name": "d"}]
    for facts in ((template,), known):
        spec = pick(question(dict(pod), *facts), "Pod")["spec"]
        assert not spec["resourceClaims"]
        assert not spec["containers"][0]["resources"]["claims"]


@pytest.mark.parametrize("shared", [True, False])
def test_pods_share_the_claim_of_their_group(shared: bool) -> None:
    claims = [{"name": "d", "resourceClaimTemplateName": "t"}]
    template = make("ResourceClaimTemplate", "t", DEVICES, spec={"spec": {"devices": {}}})
    group = make("PodGroup", "g", "scheduling.k8s.io/v1beta1")
    group["spec"] = {"schedulingPolicy": {"gang": {"minCount": 2}}, "resourceClaims": claims if shared else []}
    known = (make("DeviceClass", "gpu", DEVICES, "", spec={}), make("ResourceSlice", "s", DEVICES, "", spec={}))
    pod = {"resourceClaims": claims, "schedulingGroup": {"podGroupName": "g"}}
    found = question(pod, template, *known, group=group)
    named = [value["spec"]["resourceClaims"][0]["resourceClaimName"] for value in found if value["kind"] == "Pod"]
    made = [value["metadata"]["name"] for value in found if value["kind"] == "ResourceClaim"]
    assert (len(named), len(made), {*named}) == (2, 1 if shared else 2, {*made})


def test_runtime_classes_that_the_facts_do_not_tell_are_left_out() -> None:
    pod = {"runtimeClassName": "sandbox"}
    assert "runtimeClassName" not in pick(question(dict(pod)), "Pod")["spec"]
    assert "runtimeClassName" in pick(question(dict(pod), listed=("RuntimeClass",)), "Pod")["spec"]
    known = make("RuntimeClass", "sandbox", "node.k8s.io/v1", "", handler="x")
    assert "runtimeClassName" in pick(question(dict(pod), known), "Pod")["spec"]


def test_devices_of_a_node_stand_for_the_resource_of_their_class() -> None:
    gpu = {"box": {"resources": {"limits": {"example.com/gpu": "1"}}}}
    classes = make("DeviceClass", "gpu", DEVICES, "", spec={"extendedResourceName": "example.com/gpu"})
    devices = [{"name": "a"}, {"name": "b"}]
    slices = make("ResourceSlice", "s", DEVICES, "", spec={"nodeName": "n1", "devices": devices})
    node = pick(question(dict(gpu), classes, slices), "Node")
    assert node["status"]["allocatable"]["example.com/gpu"] == "2"
    assert "example.com/gpu" not in pick(question(dict(gpu), slices), "Node")["status"]["allocatable"]
