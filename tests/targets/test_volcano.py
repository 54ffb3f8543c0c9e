"""Volcano's PodGroup: numbers, requests, queues, sub-groups; and the way from it to native groups and back."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from krmfn.krm.item import Item
from krmfn.model.tree import Composite, Group
from krmfn.reconcile import Wanted, reconcile
from krmfn.releases import schemastore
from krmfn.targets import Emission, emit
from tests.targets.trees import batch, cluster, gang, head, job, merged, ray, settings, workers

SCHEMA = schemastore.load("volcano/podgroup.json")


def container(**resources: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "resources": resources}]}}


def ray_value(**labels: str) -> dict[str, Any]:
    groups = [
        {"groupName": "cpu", "template": container(requests={"cpu": "500m"}, limits={"cpu": 1, "memory": "1Gi"})},
        {"groupName": "gpu", "template": container(requests={"cpu": 2, "nvidia.com/gpu": "4"})},
    ]
    spec = {"headGroupSpec": {"template": container(requests={"cpu": "1"})}, "workerGroupSpecs": groups}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "demo", "labels": labels},
        "spec": spec,
    }


def made(root: Group, *values: dict[str, Any], owners: Any = ()) -> Emission:
    emission = emit(gang(root, *owners, values=values), settings(scheduler="Volcano"))
    for value in emission.objects:
        jsonschema.Draft202012Validator(SCHEMA).validate(value)
    return emission


def spec(emission: Emission) -> Any:
    (value,) = emission.objects
    return value["spec"]


CPU, GPU = workers(0, "cpu", 3), workers(1, "gpu", 2)


def test_one_gang() -> None:
    emission = made(merged(CPU, GPU), ray_value())
    assert spec(emission) == {
        "minMember": 6,
        "minResources": {"cpu": "6500m", "memory": "3Gi", "nvidia.com/gpu": "8"},
    }
    assert {(link.path[-1], link.value) for link in emission.links} == {
        ("scheduling.k8s.io/group-name", "raycluster-demo"),
        ("schedulerName", "volcano"),
    }


def test_tree_has_sub_groups() -> None:
    emission = made(cluster(CPU, workers(1, "gpu", 2, 1)), ray_value())
    policy = spec(emission)["subGroupPolicy"]
    assert [(entry["name"], entry["subGroupSize"], entry["minSubGroups"]) for entry in policy] == [
        ("head", 1, 1),
        ("cpu", 3, 1),
        ("gpu", 1, 1),
    ]
    assert spec(emission)["minMember"] == 5
    assert spec(emission)["minResources"]["nvidia.com/gpu"] == "4"
    labels = [link for link in emission.links if link.path[-1] == "krmfn.dev/group"]
    assert all(entry["matchLabelKeys"] == ["krmfn.dev/group"] for entry in policy)  # without it no pod is in one
    selectors = [entry["labelSelector"]["matchLabels"] for entry in policy]
    assert [{"krmfn.dev/group": link.value} for link in labels] == selectors


@pytest.mark.parametrize(
    ("key", "expected"),
    [("2", {"highestTierAllowed": 2}), ("rack", {"highestTierName": "rack"}), ("example.com/rack", None)],
)
def test_topology(key: str, expected: Any) -> None:
    emission = made(job(2)._replace(topology_key=key), owners=(batch(),))
    found = spec(emission).get("networkTopology")
    assert found == (expected and {"mode": "hard", **expected})
    assert [note.rule for note in emission.notes] == ([] if expected else ["topology-lost"])


def test_labels_of_kuberay_users() -> None:
    labels = {
        "volcano.sh/queue-name": "research",
        "volcano.sh/network-topology-mode": "soft",
        "volcano.sh/network-topology-highest-tier-allowed": "1",
    }
    found = spec(made(merged(CPU), ray_value(**labels)))
    assert found["queue"] == "research"
    assert found["networkTopology"] == {"mode": "soft", "highestTierAllowed": 1}


def test_unclear_requests_are_left_out() -> None:
    """Which pods start first is open when fewer than all do; a wrong quantity is the API server's to refuse."""
    assert "minResources" not in spec(made(merged(CPU)._replace(min_count=2), ray_value()))
    assert "minResources" not in spec(made(merged(CPU)))
    broken = ray_value()
    broken["spec"]["headGroupSpec"]["template"] = container(requests={"cpu": "much"})
    assert "minResources" not in spec(made(merged(CPU), broken))


def test_refusals() -> None:
    assert [note.rule for note in made(job(2, scheduler="other"), owners=(batch(),)).notes] == ["scheduler-not-chosen"]
    assert made(job(2, scheduler="volcano"), owners=(batch(),)).objects
    queues = [ray_value(**{"volcano.sh/queue-name": queue}) for queue in ("a", "b")]
    root = Composite("pipeline", (head(), job(2, 1, "job-feed")), 2)
    notes = made(root, *queues, owners=(ray(), batch())).notes
    assert [note.rule for note in notes] == ["queue-not-shared"]


@pytest.mark.parametrize("release", ["1.35", "1.36", "1.37"])
@pytest.mark.parametrize("root", [cluster(CPU, GPU), merged(CPU, GPU)])
def test_changing_the_scheduler(release: str, root: Group) -> None:
    """To Volcano and back: no link of the other scheduler stays, and the manifest ends as it began."""
    owner = Item.new(ray_value())
    texts = []
    items = [owner]
    for choice in (settings(release), settings(release, "Volcano"), settings(release)):
        asked = gang(root, owner.ref, values=(owner.value,))
        done = reconcile(items, [Wanted(asked, (owner,), emit(asked, choice))])
        assert done.findings == ()
        items = [item for item in items if item not in done.removed] + [Item.new(entry.value) for entry in done.added]
        texts.append(owner.text)
        groups = {item.api_version.split("/")[0] for item in items[1:]}
        assert groups == {"scheduling.volcano.sh" if choice.scheduler == "Volcano" else "scheduling.k8s.io"}
    assert texts[0] == texts[2]
    assert "schedulingGroup" not in texts[1]
    assert "workloadRef" not in texts[1]
    done = reconcile(items, [], [owner])
    assert (len(done.removed), owner.text) == (len(items) - 1, Item.new(ray_value()).text)
