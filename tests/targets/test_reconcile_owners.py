"""Reconciling links and owners: whose pods they are, and whose objects."""

from __future__ import annotations

from krmfn.krm.item import Item
from krmfn.krm.results import ResourceRef
from krmfn.model.tree import Composite
from krmfn.model.values import identify
from krmfn.reconcile import Wanted
from krmfn.reconcile.ledger import Ledger
from krmfn.targets import emit
from tests.targets.files import TREE, Files, build, link, ray, rules, train
from tests.targets.trees import cluster, gang, job, settings, workers

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
    assert done.findings[0].path[:3] == ("spec", "workerGroupSpecs", 0)
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
    owner = linked(ray(), 0, "raycluster-demo-j-cpu-01234567")
    files = Files(owner)
    assert rules(files.run(files.want(TREE, owner))) == []
    assert link(owner) == "raycluster-demo-j-cpu"


def test_a_link_to_an_object_of_somebody_is_not_ours() -> None:
    """It looks like a name of ours, but a person wrote the PodGroup of that name."""
    owner = linked(ray(), 0, "raycluster-demo-mine")
    group = build("scheduling.k8s.io/v1beta1", "PodGroup", "raycluster-demo-mine", "ml", {})
    ledger = Ledger([owner, group], [])
    assert not ledger.is_own_style(owner, "raycluster-demo-mine")
    assert ledger.is_own_style(owner, "raycluster-demo-other")
    assert Ledger([owner], []).is_own_style(owner, "raycluster-demo-mine")


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
    owner.remove(("metadata", "namespace"))
    done = files.run(files.want(job(2), owner))
    assert (done.added, done.removed, done.findings) == ((), (), ())
    assert {item.namespace for item in files.items} == {""}


def test_the_same_name_without_a_namespace_is_of_its_owners_alone() -> None:
    owner = train(namespace="")
    files = Files(owner)
    files.run(files.want(job(2), owner))
    ledger = Ledger(files.items, [])
    moved = identify(ResourceRef("scheduling.k8s.io/v1beta1", "PodGroup", "job-train", "ml"))
    mine, other = (frozenset({identify(item.ref)}) for item in (owner, train()))
    assert ledger.find(moved, mine) is not None
    assert ledger.find(moved, other) is None


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
    assert link(cluster_item) == "pipeline-j-raycluster-demo-cpu"
    files.run(files.want(alone, cluster_item), files.want(job(2), feed))
    assert sorted(files.texts) == apart


def test_reference_of_the_result() -> None:
    owner = train()
    files = Files(owner)
    (first, *_) = files.run(files.want(job(2), owner)).added
    assert (first.owner.ref, first.value["kind"]) == (ResourceRef("batch/v1", "Job", "train", "ml"), "Workload")


def test_another_configuration() -> None:
    """Two configurations, each with a selector: neither takes away what the other one has generated."""
    first, second = train("first"), train("second")
    files = Files(first, second)
    files.run(files.want(job(2), first))
    done = files.run(files.want(job(2), second))
    assert rules(done) == ["generated-not-selected"]
    assert {"PodGroup/job-first", "PodGroup/job-second"} <= set(files.names)
    texts = files.texts
    assert rules(files.run(files.want(job(2), first))) == ["generated-not-selected"]
    assert files.texts == texts
