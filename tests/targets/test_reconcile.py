"""Reconciling in files: what is ours is kept up to date and taken away, what is not ours is left alone."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from krmfn.model.tree import Group
from tests.targets.files import TREE, Files, build, link, ray, rules, train
from tests.targets.trees import RELEASES, cluster, job, merged, workers

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
    assert "PodGroup/raycluster-demo-j-gpu" not in files.names
    assert (link(owner, 0), link(owner, 1)) == ("raycluster-demo-j-cpu", None)


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
    assert changed == {"raycluster-demo": ["          minCount: 3"], "raycluster-demo-j-cpu": ["      minCount: 3"]}


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
    assert "krmfn did not generate this object" in done.findings[0].message
    assert "Job ml/train" in done.findings[0].message
    assert foreign.text == before


def test_names_that_meet() -> None:
    """Group `gpu` of `demo`, and the only group of `demo-j-gpu`."""
    first, second = ray(), ray("demo-j-gpu")
    files = Files(first, second)
    done = files.run(files.want(TREE, first), files.want(merged(workers(0, "cpu", 2)), second))
    assert rules(done) == ["generated-names-meet"]
    assert "RayCluster ml/demo-j-gpu and RayCluster ml/demo" in done.findings[0].message


def test_names_of_the_operator() -> None:
    first, second = ray(), ray("raycluster-demo")
    files = Files(first, second)
    wanted = [files.want(merged(workers(0, "cpu", 2)), first), files.want(merged(workers(0, "cpu", 2)), second)]
    assert rules(files.run(*wanted, manages="KubernetesWAS")) == ["name-of-operator"]


def test_names_of_the_operator_for_a_cluster_without_a_gang() -> None:
    cluster_item, feed = ray("pipeline"), train("feed")
    files = Files(cluster_item, feed)
    wanted = files.want(job(2), feed, name="pipeline")
    assert rules(files.run(wanted, released=[cluster_item], manages="KubernetesWAS")) == ["name-of-operator"]
    assert rules(files.run(wanted, released=[cluster_item])) == []
