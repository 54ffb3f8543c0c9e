"""Names: always ones that the API server takes, never the same for two inputs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.model.names import LABEL_LIMIT, NAME_LIMIT, name_gang, name_group, operator_names, shorten, slug

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN = re.compile(rf"{LABEL.pattern}(\.{LABEL.pattern})*")


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("RayCluster", "demo", "raycluster-demo"),
        ("Job", "train", "job-train"),
        ("Job", "train.v1", "job-train.v1"),
        ("LeaderWorkerSet", "x", "leaderworkerset-x"),
    ],
)
def test_plain_names(kind: str, name: str, expected: str) -> None:
    assert name_gang(kind, name) == expected


@given(st.text(max_size=300))
def test_slug_is_a_label(text: str) -> None:
    assert LABEL.fullmatch(slug(text))
    assert len(slug(text)) <= LABEL_LIMIT


@given(st.text(max_size=80), st.text(max_size=80))
def test_slugs_never_meet(one: str, other: str) -> None:
    assert (slug(one) == slug(other)) == (one == other)


@given(st.from_regex(LABEL, fullmatch=True).filter(lambda text: len(text) <= LABEL_LIMIT))
def test_labels_stay(label: str) -> None:
    assert slug(label) == label


@given(st.text(min_size=1, max_size=400), st.from_regex(LABEL, fullmatch=True))
def test_objects_have_subdomains(name: str, template: str) -> None:
    for made in (name_gang("RayCluster", name), name_group(name_gang("Job", name), slug(template))):
        assert SUBDOMAIN.fullmatch(made)
        assert len(made) <= NAME_LIMIT


@given(st.from_regex(SUBDOMAIN, fullmatch=True), st.integers(20, 60))
def test_shortened_names_stay_apart(name: str, limit: int) -> None:
    one, other = shorten(name + "-a" * 40, limit), shorten(name + "-a" * 41, limit)
    assert one != other
    assert max(len(one), len(other)) <= limit


@pytest.mark.parametrize("end", [".", "-"])
def test_a_name_is_not_cut_behind_a_separator(end: str) -> None:
    made = shorten("a" * 50 + end + "b" * 20, 60)
    assert SUBDOMAIN.fullmatch(made), made


def test_operators_names() -> None:
    """KubeRay 1.7.0; nothing that we generate for a RayCluster is among them."""
    assert operator_names("RayCluster", "demo", "KubernetesWAS") == {
        ("scheduling.k8s.io", "Workload", "demo"),
        ("scheduling.k8s.io", "PodGroup", "demo-cluster"),
    }
    assert operator_names("RayJob", "demo", "Volcano") == {("scheduling.volcano.sh", "PodGroup", "ray-demo-pg")}
    assert operator_names("RayCluster", "demo", "SchedulerPlugins") == {("scheduling.x-k8s.io", "PodGroup", "demo")}
    assert not operator_names("RayCluster", "demo", "None")
    assert not operator_names("Job", "demo", "Volcano")
