"""Groups of scheduler-plugins and KAI: what is written, what a second reader says of it, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as trials

from krmfn.krm.item import Item
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.tree import Composite, Group, Leaf, leaves
from krmfn.reconcile import Wanted, reconcile
from krmfn.server.schema import compile_schemas
from krmfn.server.shipped import Shipped, find_shipped, judge_all
from krmfn.targets import Emission, emit
from krmfn.targets.layout import lay_out_whole, prune, walk
from tests.targets.test_accepted_offline import trees
from tests.targets.test_volcano import CPU, GPU, ray_value
from tests.targets.trees import batch, cluster, gang, head, job, merged, ray, settings, workers

SCHEMAS = compile_schemas("1.37", {})
KAI, PLUGINS = "KAI", "SchedulerPlugins"
each = pytest.mark.parametrize("choice", [KAI, PLUGINS])


def made(choice: str, root: Group, *values: dict[str, Any], owners: Any = ()) -> Emission:
    return emit(gang(root, *owners, values=values), settings(scheduler=choice))


def spec(emission: Emission) -> Any:
    (value,) = emission.objects
    return value["spec"]


def rules(emission: Emission) -> list[str]:
    return [note.rule for note in emission.notes]


def find_faults(spec: dict[str, Any]) -> Iterator[str]:
    """What KAI's validating webhook refuses, read from its source a second time: a minimum of pods or of groups, unique
    names, parents that are there and are no circle, minima of pods on leaves only."""
    parts = spec.get("subGroups", [])
    names = [part["name"] for part in parts]
    below = {name: [part["name"] for part in parts if part.get("parent") == name] for name in [None, *names]}
    if len(set(names)) != len(names):
        yield "duplicate name"
    if {"minMember", "minSubGroup"} <= set(spec) or ("minSubGroup" in spec) != bool(parts):
        yield "both minima, or the wrong one"
    if spec.get("minSubGroup", 0) > len(below[None]):
        yield "more groups than there are"
    for part in parts:
        if part.get("parent") not in (None, *names):
            yield "no such parent"
        wanted = "minSubGroup" if below[part["name"]] else "minMember"
        if {"minMember", "minSubGroup"} & set(part) != {wanted}:
            yield "the wrong minimum"
        if part.get("minSubGroup", 0) > len(below[part["name"]]):
            yield "more groups than there are"
    reached = list(below[None])
    for name in reached:
        reached += below[name]
    if sorted(reached) != sorted(names):
        yield "a circle"


def test_one_gang() -> None:
    kai, plugins = (made(choice, merged(CPU, GPU), ray_value()) for choice in (KAI, PLUGINS))
    assert spec(kai) == {"minMember": 6, "queue": "default-queue"}
    resources = {"cpu": "6500m", "memory": "3Gi", "nvidia.com/gpu": "8"}
    assert spec(plugins) == {"minMember": 6, "minResources": resources}
    assert {(link.path[-2:], link.value) for link in kai.links} == {
        (("annotations", "pod-group-name"), "raycluster-demo"),
        (("annotations", "kai.scheduler/skip-podgrouper"), "true"),
        (("spec", "schedulerName"), "kai-scheduler"),
    }
    assert {(link.path[-2:], link.value) for link in plugins.links} == {
        (("labels", "scheduling.x-k8s.io/pod-group"), "raycluster-demo"),
        (("spec", "schedulerName"), "scheduler-plugins-scheduler"),
    }


def test_a_tree_of_kai_keeps_every_level() -> None:
    inner = Composite("slices", (workers(0, "a", 2), workers(1, "b", 3, 1)), 1)
    root = Composite("cluster", (head(), inner), 2)
    emission = made(KAI, root)
    assert spec(emission) == {
        "minSubGroup": 2,
        "queue": "default-queue",
        "subGroups": [
            {"name": "head", "minMember": 1},
            {"name": "slices", "minSubGroup": 1},
            {"name": "slices-a", "parent": "slices", "minMember": 2},
            {"name": "slices-b", "parent": "slices", "minMember": 1},
        ],
    }
    labels = {link.value for link in emission.links if link.path[-1] == "kai.scheduler/subgroup-name"}
    assert labels == {"head", "slices-a", "slices-b"}, "pods are in leaves"


@pytest.mark.slow
@given(trees)
@trials(max_examples=200, deadline=None)
def test_the_webhook_of_kai_takes_every_tree(root: Group) -> None:
    emission = made(KAI, root)
    for value in emission.objects:
        assert list(find_faults(value["spec"])) == []
        names = {part["name"] for part in value["spec"].get("subGroups", ())}
        linked = {link.value for link in emission.links if link.path[-1] == "kai.scheduler/subgroup-name"}
        assert linked <= names
    pods = sum(leaf.pods for leaf in leaves(root))
    assert bool(emission.objects) == (pods > 0 and "quorum-out-of-bounds" not in rules(emission))


@pytest.mark.slow
@given(trees)
@trials(max_examples=100, deadline=None)
def test_kai_before_sub_groups_were_counted(root: Group) -> None:
    """Its definition has the fields, and where a part of the groups would be enough, that is an error."""
    emission = emit(gang(root), settings(scheduler=KAI)._replace(operators={"kai": (0, 14)}))
    known = find_shipped("scheduling.run.ai", "PodGroup", "v2alpha2", {"kai": (0, 14)})
    assert isinstance(known, Shipped)
    for value in emission.objects:
        answer, doubted = judge_all(known, SCHEMAS, value)
        assert (answer.causes, doubted) == ((), ())
        every = made(KAI, root).objects[0]["spec"].get("subGroups", ())
        assert [part["name"] for part in every] == [part["name"] for part in value["spec"].get("subGroups", ())]
    placed = prune(root)
    partly = any(
        (node.group.min_group_count or 1) < len(node.children)
        for node in (walk(lay_out_whole("a", placed)) if placed else ())
        if isinstance(node.group, Composite)
    )
    assert ("kai-waits-for-all" in rules(emission)) == partly


@pytest.mark.parametrize(("installed", "counted"), [({}, True), ({"kai": (0, 15)}, True), ({"kai": (0, 14)}, False)])
def test_kai_counts_sub_groups_since_0_15(installed: dict[str, tuple[int, int]], counted: bool) -> None:
    emission = emit(gang(cluster(CPU, GPU)), settings(scheduler=KAI)._replace(operators=installed))
    assert ("minSubGroup" in spec(emission)) == counted


def test_the_second_reader_finds_faults() -> None:
    leaf = {"name": "a", "minMember": 1}
    for spoilt in (
        {"minMember": 1, "minSubGroup": 1, "subGroups": [leaf]},
        {"minSubGroup": 2, "subGroups": [leaf]},
        {"minSubGroup": 1, "subGroups": [leaf, leaf]},
        {"minSubGroup": 1, "subGroups": [{**leaf, "parent": "b"}]},
        {"minSubGroup": 0, "subGroups": [{"name": "a", "minSubGroup": 0, "parent": "a"}]},
        {"minSubGroup": 1, "subGroups": [{"name": "a", "minSubGroup": 1}]},
    ):
        assert list(find_faults(spoilt))


def test_topology_of_kai() -> None:
    root = cluster(CPU._replace(topology_key="rack"), GPU)._replace(topology_key="zone")
    value = ray_value()
    assert rules(made(KAI, root, value)) == ["topology-lost"]
    value["metadata"]["annotations"] = {"kai.scheduler/topology": "network"}
    emission = made(KAI, root, value)
    assert rules(emission) == []
    assert spec(emission)["topologyConstraint"] == {"topology": "network", "requiredTopologyLevel": "zone"}
    constraints = {part["name"]: part.get("topologyConstraint") for part in spec(emission)["subGroups"]}
    assert constraints == {
        "head": None,
        "cpu": {"topology": "network", "requiredTopologyLevel": "rack"},
        "gpu": None,
    }


def test_node_pools_of_kai() -> None:
    """The scheduler of a node pool sees only groups with its label, which the pod grouper would copy from the owner."""
    for labels in ({}, {"kai.scheduler/node-pool": "gpus"}):
        (group,) = made(KAI, merged(CPU), ray_value(**labels)).objects
        assert group["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "krmfn", **labels}


@pytest.mark.parametrize(("before", "after"), [("", "gpus"), ("gpus", "cpus"), ("gpus", "")])
def test_a_group_of_kai_follows_its_owner_to_another_node_pool(before: str, after: str) -> None:
    """Else the scheduler of the new pool does not see it, and nobody says so."""
    owner = Item.new(ray_value())
    items = [owner]
    for pool in (before, after):
        labels = {"kai.scheduler/node-pool": pool} if pool else {}
        asked = gang(merged(CPU), owner.ref, values=[ray_value(**labels)])
        wanted = Wanted(asked, (owner,), emit(asked, settings(scheduler=KAI)))
        items += [Item.new(entry.value) for entry in reconcile(items, [wanted]).added]
    assert items[1].labels == {"app.kubernetes.io/managed-by": "krmfn", **labels}


def test_queues_of_kai() -> None:
    assert spec(made(KAI, merged(CPU), ray_value(**{"kai.scheduler/queue": "research"})))["queue"] == "research"
    values = [ray_value(**{"kai.scheduler/queue": queue}) for queue in ("a", "b")]
    root = Composite("pipeline", (head(), job(2, 1, "job-feed")), 2)
    assert "queue-not-shared" in rules(made(KAI, root, *values, owners=(ray(), batch())))


@pytest.mark.parametrize(
    ("root", "lost"),
    [
        (cluster(CPU, GPU), False),
        (merged(CPU), False),
        (job(2, 1)._replace(min_count=1), False),
        (cluster(CPU, workers(1, "gpu", 2, 1)), True),
        (cluster(CPU, GPU)._replace(min_group_count=2), True),
    ],
)
def test_scheduler_plugins_counts_all_pods_together(root: Group, lost: bool) -> None:
    """A warning where that is less than the tree says: all pods of all groups are the same in both."""
    owners = (ray(), batch()) if isinstance(root, Leaf) and root.name == "job" else ()
    assert ("groups-merged" in rules(made(PLUGINS, root, owners=owners))) == lost


def test_a_name_that_is_too_long_for_a_label() -> None:
    emission = made(PLUGINS, job(2), owners=(batch("x" * 60),))
    assert (emission.objects, rules(emission)) == ((), ["link-too-long"])
    assert made(KAI, job(2), owners=(batch("x" * 60),)).objects


@each
def test_another_scheduler_is_refused(choice: str) -> None:
    assert rules(made(choice, job(2, scheduler="other"), owners=(batch(),))) == ["scheduler-not-chosen"]
    assert made(choice, job(2, scheduler=SCHEDULERS[choice].name), owners=(batch(),)).objects


@pytest.mark.parametrize("first", SCHEDULERS)
@pytest.mark.parametrize("second", SCHEDULERS)
@pytest.mark.parametrize("root", [cluster(CPU, GPU), merged(CPU, GPU)])
def test_changing_the_scheduler_leaves_nothing_behind(first: str, second: str, root: Group) -> None:
    """From one to another and back to none: no key of the one before stays, and the manifest ends as it began."""
    owner = Item.new(ray_value())
    begun = owner.text
    items = [owner]
    for choice in (first, second):
        asked = gang(root, owner.ref, values=(owner.value,))
        done = reconcile(items, [Wanted(asked, (owner,), emit(asked, settings(scheduler=choice)))])
        assert done.findings == ()
        items = [item for item in items if item not in done.removed] + [Item.new(entry.value) for entry in done.added]
        assert {item.ref.group for item in items[1:]} == {SCHEDULERS[choice].group}
    kept = {key for _, key in (SCHEDULERS[second].link, *SCHEDULERS[second].beside)}
    for row in SCHEDULERS.values():
        for _, key in (row.link, *row.beside):
            assert key in kept or f"{key}:" not in owner.text
    done = reconcile(items, [], [owner])
    assert (len(done.removed), owner.text) == (len(items) - 1, begun)
