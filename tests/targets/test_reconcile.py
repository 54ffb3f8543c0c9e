"""Reconciling in files: what is ours is kept up to date and taken away, what is not ours is left alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from krmfn.krm.item import Item
from krmfn.krm.results import ResourceRef
from krmfn.reconcile import Reconciliation, Wanted, reconcile
from krmfn.targets import emit
from krmfn.tree import Composite, Group
from tests.targets.trees import RELEASES, cluster, gang, job, merged, settings, workers

CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}


def ray(name: str = "demo", namespace: str = "ml", groups: Sequence[str] = ("cpu", "gpu")) -> Item:
    entries = [{"groupName": group, "template": {"spec": CONTAINERS}} for group in groups]
    spec = {"headGroupSpec": {"template": {"spec": CONTAINERS}}, "workerGroupSpecs": entries}
    return build("ray.io/v1", "RayCluster", name, namespace, spec)


def train(name: str = "train", namespace: str = "ml") -> Item:
    return build("batch/v1", "Job", name, namespace, {"template": {"spec": CONTAINERS}})


def build(api_version: str, kind: str, name: str, namespace: str, spec: Any) -> Item:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return Item.new({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})


TREE = cluster(workers(0, "cpu", 2), workers(1, "gpu", 4))


class Files:
    """Items as a directory of files holds them from run to run."""

    def __init__(self, *items: Item) -> None:
        self.items = list(items)

    def run(self, *wanted: Wanted, released: Sequence[Item] = (), manages: str = "None") -> Reconciliation:
        done = reconcile(self.items, wanted, released, manages)
        self.items = [item for item in self.items if item not in done.removed]
        self.items += [Item.new(addition.value) for addition in done.added]
        return done

    def want(self, root: Group, item: Item, release: str = "1.37", **options: Any) -> Wanted:
        asked = gang(root, item.ref, **options)
        return Wanted(asked, (item,), emit(asked, settings(release)))

    @property
    def names(self) -> list[str]:
        return [f"{item.kind}/{item.name}" for item in self.items]

    @property
    def texts(self) -> list[str]:
        return [item.text for item in self.items]

    def find(self, name: str) -> Item:
        (found,) = (item for item in self.items if f"{item.kind}/{item.name}" == name)
        return found


def rules(done: Reconciliation) -> list[str]:
    return [finding.note.rule for finding in done.findings]


def link(item: Item, index: int = 0) -> Any:
    return item.get(("spec", "workerGroupSpecs", index, "template", "spec", "schedulingGroup", "podGroupName"))


# --- again and again ------------------------------------------------------------------------------------------------

shapes = st.builds(
    lambda pods, one, release, naming: (
        (merged if one else cluster)(*(workers(n, f"g{n}", count) for n, count in enumerate(pods))),
        release,
        naming,
    ),
    st.lists(st.integers(0, 4), min_size=1, max_size=6),
    st.booleans(),
    st.sampled_from(RELEASES),
    st.sampled_from(["Stable", "Revisioned"]),
)


@given(st.lists(shapes, min_size=1, max_size=3))
@trials(max_examples=40, deadline=None)
def test_twice_is_once_and_the_last_wish_wins(steps: list[tuple[Group, str, str]]) -> None:
    """Whatever was generated before, the result is what a first run gives, and another run changes nothing."""
    owner = ray(groups=[f"g{n}" for n in range(6)])
    files = Files(owner)
    for root, release, naming in steps:
        files.run(files.want(root, owner, release, naming=naming))
        texts = files.texts
        done = files.run(files.want(root, owner, release, naming=naming))
        assert (files.texts, done.added, done.removed, done.findings) == (texts, (), (), ())
    fresh = ray(groups=[f"g{n}" for n in range(6)])
    expected = Files(fresh)
    root, release, naming = steps[-1]
    expected.run(expected.want(root, fresh, release, naming=naming))
    assert sorted(map(yaml.safe_load, files.texts), key=str) == sorted(map(yaml.safe_load, expected.texts), key=str)


@pytest.mark.parametrize("release", RELEASES)
def test_opting_out_leaves_no_trace(release: str) -> None:
    owner = ray()
    before = owner.text
    files = Files(owner)
    files.run(files.want(TREE, owner, release))
    assert len(files.items) > 1
    files.run(released=[owner])
    assert files.texts == [before]


def test_no_pods_left() -> None:
    owner = train()
    before = owner.text
    files = Files(owner)
    files.run(files.want(job(2), owner))
    files.run(files.want(job(0), owner))
    assert files.texts == [before]


def test_a_group_that_goes_takes_its_link_with_it() -> None:
    owner = ray()
    files = Files(owner)
    files.run(files.want(TREE, owner))
    files.run(files.want(cluster(workers(0, "cpu", 2)), owner))
    assert "PodGroup/raycluster-demo-gpu" not in files.names
    assert (link(owner, 0), link(owner, 1)) == ("raycluster-demo-cpu", None)


def test_only_what_differs_changes() -> None:
    owner = ray()
    files = Files(owner)
    files.run(files.want(TREE, owner))
    before = {item.name + item.kind: item.text.splitlines() for item in files.items}
    files.run(files.want(cluster(workers(0, "cpu", 3), workers(1, "gpu", 4)), owner))
    changed = {
        item.name: [line for line in item.text.splitlines() if line not in before[item.name + item.kind]]
        for item in files.items
        if item.text.splitlines() != before[item.name + item.kind]
    }
    assert changed == {"raycluster-demo": ["          minCount: 3"], "raycluster-demo-cpu": ["      minCount: 3"]}


# --- what is the user's ---------------------------------------------------------------------------------------------


def test_users_fields_survive() -> None:
    owner = train()
    files = Files(owner)
    files.run(files.want(job(2), owner))
    group = files.find("PodGroup/job-train")
    claims = [{"name": "nic", "resourceClaimTemplateName": "nic"}]
    mine: dict[tuple[str | int, ...], Any] = {
        ("metadata", "labels", "team"): "a",
        ("metadata", "annotations", "note"): "b",
        ("metadata", "annotations", "argocd.argoproj.io/sync-wave"): "-10",
        ("metadata", "labels", "app.kubernetes.io/managed-by"): "somebody",
        ("spec", "resourceClaims"): claims,
    }
    for path, value in mine.items():
        group.set(path, value)
    workload = files.find("Workload/job-train")
    workload.set(("spec", "podGroupTemplates", 0, "resourceClaims"), claims)
    files.run(files.want(job(5), owner))
    assert {path: group.get(path) for path in mine} == mine
    assert group.get(("spec", "schedulingPolicy", "gang", "minCount")) == 5
    assert workload.get(("spec", "podGroupTemplates", 0, "resourceClaims")) == claims


def test_fields_of_ours_are_reset() -> None:
    owner = train()
    files = Files(owner)
    files.run(files.want(job(2), owner))
    group = files.find("PodGroup/job-train")
    before = group.text
    group.set(("spec", "schedulingPolicy"), {"basic": {}})
    group.set(("spec", "disruptionMode"), {"all": {}})
    files.run(files.want(job(2), owner))
    assert group.text == before


def test_foreign_object_of_that_name() -> None:
    owner = train()
    foreign = build("scheduling.k8s.io/v1beta1", "PodGroup", "job-train", "ml", {"schedulingPolicy": {"basic": {}}})
    before = foreign.text
    files = Files(owner, foreign)
    done = files.run(files.want(job(2), owner))
    assert rules(done) == ["name-taken"]
    assert "PodGroup ml/job-train is not generated" in done.findings[0].note.message
    assert "Job ml/train" in done.findings[0].note.message
    assert foreign.text == before


def test_names_that_meet() -> None:
    """Group `gpu` of `demo`, and the only group of `demo-gpu`."""
    first, second = ray(), ray("demo-gpu")
    files = Files(first, second)
    done = files.run(files.want(TREE, first), files.want(merged(workers(0, "cpu", 2)), second))
    assert rules(done) == ["generated-names-meet"]
    assert "RayCluster ml/demo-gpu and RayCluster ml/demo" in done.findings[0].note.message


def test_names_of_the_operator() -> None:
    first, second = ray(), ray("raycluster-demo")
    files = Files(first, second)
    wanted = [files.want(merged(workers(0, "cpu", 2)), first), files.want(merged(workers(0, "cpu", 2)), second)]
    assert rules(files.run(*wanted, manages="KubernetesWAS")) == ["name-of-operator"]


# --- links ----------------------------------------------------------------------------------------------------------


def linked(item: Item, index: int, name: str) -> Item:
    item.set(("spec", "workerGroupSpecs", index, "template", "spec", "schedulingGroup"), {"podGroupName": name})
    return item


def test_foreign_link_to_all_pods() -> None:
    owner = train()
    owner.set(("spec", "template", "spec", "schedulingGroup"), {"podGroupName": "mine"})
    before = owner.text
    files = Files(owner)
    done = files.run(files.want(job(2), owner))
    assert (rules(done), files.texts) == (["link-foreign"], [before])


def test_foreign_link_to_some_pods() -> None:
    owner = linked(ray(), 0, "mine")
    files = Files(owner)
    done = files.run(files.want(TREE, owner))
    assert rules(done) == ["link-partly-foreign"]
    assert done.findings[0].note.path[:3] == ("spec", "workerGroupSpecs", 0)
    assert link(owner) == "mine"


def test_copied_resource_gets_links_of_its_own() -> None:
    """Somebody copied a Job with the link that was written into it."""
    first = train()
    files = Files(first)
    files.run(files.want(job(2), first))
    second = Item.new(dict(first.value) | {"metadata": {"name": "copy", "namespace": "ml"}})
    files.items.append(second)
    done = files.run(files.want(job(2), first), files.want(job(2), second))
    assert done.findings == ()
    assert second.get(("spec", "template", "spec", "schedulingGroup", "podGroupName")) == "job-copy"
    assert "PodGroup/job-train" in files.names


def test_links_without_their_objects() -> None:
    """The generated files were deleted by hand: the links that are left are ours."""
    owner = linked(ray(), 0, "raycluster-demo-cpu-01234567")
    files = Files(owner)
    assert rules(files.run(files.want(TREE, owner))) == []
    assert link(owner) == "raycluster-demo-cpu"


# --- owners ---------------------------------------------------------------------------------------------------------


def test_absent_owner() -> None:
    """Other files of the same directory were not given: what is generated for them stays."""
    owner, other = train(), train("other")
    files = Files(owner, other)
    files.run(files.want(job(2), owner), files.want(job(2), other))
    files.items.remove(other)
    done = files.run(files.want(job(2), owner))
    assert rules(done) == ["generated-left-over"]
    assert {"Workload/job-other", "PodGroup/job-other"} <= set(files.names)


def test_owner_that_failed() -> None:
    """An error about the gang is no reason to take away what is there."""
    owner = train()
    files = Files(owner)
    files.run(files.want(job(2), owner))
    files.run(files.want(job(2)._replace(min_count=9), owner))
    assert len(files.items) == 3


def test_namespace_written_later() -> None:
    owner = train(namespace="")
    files = Files(owner)
    files.run(files.want(job(2), owner))
    owner.set(("metadata", "namespace"), "ml")
    done = files.run(files.want(job(2), owner))
    assert (done.added, done.removed, done.findings) == ((), (), ())
    assert {item.namespace for item in files.items} == {"ml"}


def test_same_name_in_other_namespaces() -> None:
    owners = [train(namespace="a"), train(namespace="b")]
    files = Files(*owners)
    files.run(*(files.want(job(2), owner) for owner in owners))
    done = files.run(files.want(job(2), owners[0]), released=[owners[1]])
    assert {item.ref.namespace for item in done.removed} == {"b"}


def test_resource_joins_and_leaves_a_gang_of_several() -> None:
    cluster_item, feed = ray(groups=["cpu"]), train("feed")
    alone = cluster(workers(0, "cpu", 2))

    def together() -> Wanted:
        root = Composite("pipeline", (alone._replace(name="raycluster-demo"), job(2, 1, "job-feed")), 2)
        asked = gang(root, cluster_item.ref, feed.ref, name="pipeline")
        return Wanted(asked, (cluster_item, feed), emit(asked, settings()))

    files = Files(cluster_item, feed)
    files.run(files.want(alone, cluster_item), files.want(job(2), feed))
    apart = sorted(files.texts)
    files.run(together())
    assert {name for name in files.names if name.startswith("Workload")} == {"Workload/pipeline"}
    assert link(cluster_item) == "pipeline-raycluster-demo-cpu"
    files.run(files.want(alone, cluster_item), files.want(job(2), feed))
    assert sorted(files.texts) == apart


def test_reference_of_the_result() -> None:
    owner = train()
    files = Files(owner)
    (first, *_) = files.run(files.want(job(2), owner)).added
    assert (first.owner.ref, first.value["kind"]) == (ResourceRef("batch/v1", "Job", "train", "ml"), "Workload")
