"""Layouts: every group has a place within the limits of a Workload, and a name that stays when others come."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krmfn.model.tree import Composite, Group, Leaf
from krmfn.releases.release import newest_release
from krmfn.releases.spelling import read_limits
from krmfn.targets.layout import PlacedGroup, TooLarge, lay_out, lay_out_flat, prune, walk
from tests.targets.trees import cluster, head, job, workers

LIMITS = read_limits(newest_release())


def tree(count: int) -> Composite:
    return cluster(*(workers(index, f"g{index}", 1) for index in range(count)))


def depth(node: PlacedGroup) -> int:
    return 1 + max(map(depth, node.children), default=0)


def leaf_names(node: PlacedGroup) -> list[str]:
    return [each.name for each in walk(node) if isinstance(each.group, Leaf)]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 16, 70, 71, 72, 200, 583])
def test_limits_hold(count: int) -> None:
    layout = lay_out("raycluster-demo", tree(count), LIMITS)
    assert sorted(leaf_names(layout)) == sorted(
        ["raycluster-demo-head", *(f"raycluster-demo-g{n}" for n in range(count))]
    )
    assert depth(layout) <= 4
    for node in walk(layout):
        if isinstance(node.group, Composite):
            leaf_count = sum(isinstance(child.group, Leaf) for child in node.children)
            assert leaf_count <= LIMITS.leaves
            assert len(node.children) - leaf_count <= LIMITS.leaves
            assert node.group.min_group_count == len(node.children)


def test_too_many() -> None:
    with pytest.raises(TooLarge, match="585 groups"):
        lay_out("raycluster-demo", tree(584), LIMITS)


def test_partial_quorums_cannot_be_nested() -> None:
    """A part would have to start as a whole, which the tree does not ask for."""
    group = tree(20)._replace(min_group_count=5)
    with pytest.raises(TooLarge, match="of which 5 have to start"):
        lay_out("raycluster-demo", group, LIMITS)


@pytest.mark.parametrize(
    ("quorum", "pods", "left"),
    [(2, (1, 1, 1), 2), (2, (1, 1, 0), 2), (2, (1, 0, 0), 1), (3, (1, 1, 0), 2), (None, (1, 0, 0), None)],
)
def test_a_quorum_is_never_above_the_groups_that_are_left(
    quorum: int | None, pods: tuple[int, ...], left: int | None
) -> None:
    """Otherwise the gang would wait for groups that have no pods."""
    leaves = tuple(workers(index, f"g{index}", count) for index, count in enumerate(pods))
    pruned = prune(Composite("demo", leaves, quorum))
    assert isinstance(pruned, Composite)
    assert pruned.min_group_count == left


@pytest.mark.parametrize("count", [7, 8, 71])
def test_growth_moves_nobody(count: int) -> None:
    """A group more changes no other group's parent: it could not be changed in the cluster."""

    def parents(layout: PlacedGroup) -> dict[str, str]:
        return {
            child.name: node.name for node in walk(layout) for child in node.children if isinstance(child.group, Leaf)
        }

    before, after = (parents(lay_out("raycluster-demo", tree(size), LIMITS)) for size in (count, count + 1))
    assert before.items() <= after.items()


def test_composites_are_nested() -> None:
    """A gang across ten clusters: two parts of clusters, whose groups keep their names."""
    members = tuple(cluster(workers(0, "cpu", 2))._replace(name=f"raycluster-{n}") for n in range(10))
    layout = lay_out("pipeline", Composite("pipeline", members, 10), LIMITS)
    assert depth(layout) == 4
    assert "pipeline-raycluster-9-cpu" in leaf_names(layout)
    assert [child.template for child in layout.children] == ["part-1", "part-2"]


def test_too_deep() -> None:
    group: Group = job(1)
    for level in range(4):
        group = Composite(f"c{level}", (group,), 1)
    with pytest.raises(TooLarge, match="level 4"):
        lay_out("x", group, LIMITS)


def test_flat_names_are_those_of_the_tree() -> None:
    root = cluster(workers(0, "cpu", 2), workers(1, "GPU", 2), workers(2, "cluster", 1))
    nested = {node.name for node in walk(lay_out("x", root, LIMITS)) if isinstance(node.group, Leaf)}
    assert nested == {node.name for node in lay_out_flat("x", root)}


def test_names_are_unique_and_users_names_win() -> None:
    root = cluster(workers(0, "part-1", 1), workers(1, "head", 1), *(workers(n, f"g{n}", 1) for n in range(2, 12)))
    templates = [node.template for node in walk(lay_out("x", root, LIMITS))]
    assert len(templates) == len(set(templates))
    assert templates.count("part-1") == 1
    assert "head" in templates


@given(st.lists(st.text(max_size=70), max_size=20, unique=True), st.lists(st.integers(0, 3), min_size=20, max_size=20))
@settings(max_examples=60, deadline=None)
def test_any_names(names: list[str], pods: list[int]) -> None:
    root = prune(cluster(*(workers(index, name, pods[index]) for index, name in enumerate(names))))
    assert root is not None
    layout = lay_out("x", root, LIMITS)
    templates = [node.template for node in walk(layout)]
    assert len(templates) == len(set(templates))
    assert len(leaf_names(layout)) == 1 + sum(count > 0 for count in pods[: len(names)])


def test_prune() -> None:
    root = cluster(workers(0, "cpu", 0), workers(1, "gpu", 2))
    pruned = prune(root)
    assert isinstance(pruned, Composite)
    assert [child.name for child in pruned.children] == ["head", "gpu"]
    assert pruned.min_group_count == 2
    assert prune(job(0)) is None
    assert prune(Composite("x", (job(0),), 1)) is None
    assert prune(cluster(workers(0, "cpu", 0))._replace(min_group_count=None)) == Composite("cluster", (head(),), None)
