"""Between releases: what is converted equals what would have been generated, and losses are said."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.krm.item import Item
from krmfn.releases.release import find_release, list_releases
from krmfn.targets import emit
from tests.convert.inputs import CPU, SHAPES, generated, plain, rules, run
from tests.targets.trees import cluster, gang, job, settings, workers

RELEASES = list_releases()


@pytest.mark.parametrize("to", RELEASES)
@pytest.mark.parametrize("start", RELEASES)
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_generating_anew(shape: str, start: str, to: str) -> None:
    items, done = run(generated(SHAPES[shape], start), to)
    knew, knows = (find_release(name).has("disruption-modes") for name in (start, to))
    anew = plain(generated(SHAPES[shape], to))
    assert plain(items) == (anew if knew else [without_modes(value) for value in anew])
    expected = ["convert-recreate"] if "1.35" in (start, to) and start != to else []
    lost = ["convert-lost"] if knew and not knows and shape != "basic" else []
    assert rules(done) == lost + expected


@pytest.mark.parametrize("to", RELEASES)
@pytest.mark.parametrize("start", RELEASES)
def test_the_namespace_may_be_left_out(start: str, to: str) -> None:
    """Nearly all manifests leave it to the apply; those that were generated here before name it."""
    for places in ([], ["Job"], ["PodGroup"]):
        items, expected = generated(SHAPES["job"], start), run(generated(SHAPES["job"], start), to)
        for item in items:
            item.set(("metadata", "namespace"), "default")
            if item.kind not in places:
                item.remove(("metadata", "namespace"))
        done = run(items, to)
        read, wanted = plain(done[0]), plain(expected[0])
        assert list(map(without_namespace, read)) == list(map(without_namespace, wanted))
        assert rules(done[1]) == rules(expected[1])


def without_namespace(value: Any) -> Any:
    metadata = {key: child for key, child in value["metadata"].items() if key != "namespace"}
    return {**value, "metadata": metadata}


def without_modes(value: Any) -> Any:
    """What a release without modes cannot say, a conversion does not invent."""
    if isinstance(value, dict):
        return {key: without_modes(child) for key, child in value.items() if key != "disruptionMode"}
    return [without_modes(child) for child in value] if isinstance(value, list) else value


@pytest.mark.parametrize("release", RELEASES)
def test_nothing_to_do_changes_no_byte(release: str) -> None:
    items = generated(SHAPES["job"], release)
    texts = [item.text for item in items]
    after, done = run(items, release)
    assert [item.text for item in after] == texts
    assert (done.added, done.removed, done.findings) == ((), (), ())


def test_flat_groups_survive_the_way_up() -> None:
    """Side by side before, side by side after: a conversion does not invent a tree."""
    root = cluster(CPU, workers(1, "gpu", 2))
    items, done = run(generated(root, "1.36"), "1.37")
    assert {item.kind for item in items} == {"RayCluster", "Workload", "PodGroup"}
    assert rules(done) == []
    back, _ = run(items, "1.36")
    assert plain(back) == plain(generated(root, "1.36"))


def test_a_tree_is_lost_on_the_way_down() -> None:
    root = cluster(CPU, workers(1, "gpu", 2))._replace(topology_key="zone")
    items, done = run(generated(root, "1.37"), "1.36")
    assert [item.kind for item in done.removed] == ["CompositePodGroup"]
    said = [finding.message.removeprefix("Kubernetes 1.36 ") for finding in done.findings]
    assert said == [
        "has no disruptionMode: it was dropped",
        "has no schedulingConstraints: it was dropped",
        "cannot start 3 groups of template cluster together: this was dropped",
        "has no CompositePodGroup: it was dropped, and its children start independently",
    ]
    (workload,) = (item for item in items if item.kind == "Workload")
    assert [entry["name"] for entry in workload.get(("spec", "podGroupTemplates"))] == ["head", "cpu", "gpu"]
    assert all("parent" not in item.text for item in items if item.kind == "PodGroup")


def test_too_many_templates() -> None:
    root = cluster(*(workers(index, f"g{index}", 1) for index in range(8)))
    items = [item for item in generated(cluster(CPU), "1.37") if item.kind == "RayCluster"]
    items += [Item.new(value) for value in emit(gang(root), settings("1.37")).objects]
    assert "convert-impossible" in rules(run(items, "1.36")[1])


def test_too_many_topology_keys() -> None:
    (group,) = (item for item in generated(job(2)._replace(topology_key="zone"), "1.37") if item.kind == "PodGroup")
    group.set(("spec", "schedulingConstraints", "topology"), [{"key": "zone"}, {"key": "rack"}])
    told = [finding.message for finding in run([group], "1.36")[1].findings]
    assert "2 entries in topology, but 1.36 allows 1; they are unchanged" in told


def test_modes_are_spelled_anew() -> None:
    for mode in ("All", "Single"):
        root = job(2)._replace(disruption_mode=mode)
        assert plain(run(generated(root, "1.36"), "1.37")[0]) == plain(generated(root, "1.37"))
        assert plain(run(generated(root, "1.37"), "1.36")[0]) == plain(generated(root, "1.36"))


def test_what_1_35_has_no_word_for() -> None:
    root = job(2, priority_class="high")._replace(topology_key="zone", disruption_mode="All")
    _, done = run(generated(root, "1.37"), "1.35")
    lost = {finding.path[-1] for finding in done.findings if finding.rule == "convert-lost"}
    assert lost == {"disruptionMode", "priorityClassName", "schedulingConstraints"}
