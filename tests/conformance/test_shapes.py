"""Kinds that no rules speak of are judged as real servers judged recorded objects, as far as it goes."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from conformance.shapes import RECORDED, differ, list_kinds
from conformance.storage import Record, read_records
from conformance.versions import read_releases
from krmfn.releases.served import find_similar, find_standing
from krmfn.server.formats import find_corrupt_base64
from krmfn.server.others import find_misfits, find_shape

RELEASES = sorted(read_releases())


@cache
def load() -> tuple[Record, ...]:
    return tuple(read_records(RECORDED))


@pytest.mark.parametrize("release", RELEASES)
def test_recorded_answers(release: str) -> None:
    mine = [record for record in load() if record["release"] == release]
    assert [(record["object"], found) for record in mine if (found := differ(record))] == []


@pytest.mark.parametrize("release", RELEASES)
def test_what_is_recorded(release: str) -> None:
    mine = [record for record in load() if record["release"] == release]
    codes = Counter(record["code"] for record in mine)
    assert min(codes[201], codes[400], codes[422]) > 100
    kinds = {(record["object"]["apiVersion"], record["object"]["kind"]) for record in mine}
    assert kinds == {(version, kind) for version, kind, _ in list_kinds(release)}


@pytest.mark.parametrize("release", RELEASES)
def test_standing(release: str) -> None:
    assert find_standing("v1", "Service", release) == "served"
    assert find_standing("apps/v1", "Deployment", release) == "served"
    assert find_standing("resource.k8s.io/v1beta1", "DeviceClass", release) == "off"
    for api_version, kind in (
        ("extensions/v1beta1", "Deployment"),
        ("batch/v1beta1", "CronJob"),
        ("batch/v1", "job"),
        ("app/v1", "Deployment"),
        ("policy/v1beta1", "PodSecurityPolicy"),
        ("scheduling.k8s.io", "PodGroup"),
    ):
        assert find_standing(api_version, kind, release) == "missing"
    for api_version in ("ray.io/v1", "gateway.networking.k8s.io/v1", "kubelet.config.k8s.io/v1beta1"):
        assert find_standing(api_version, "Gateway", release) == "foreign"


def test_similar_kinds() -> None:
    assert find_similar("job", "1.37") == ("Job", ("batch/v1",))
    assert find_similar("ResourceClaim", "1.37") == ("ResourceClaim", ("resource.k8s.io/v1",)), "v1beta1 is off"
    assert find_similar("HorizontalPodAutoscalar", "1.37") == (
        "HorizontalPodAutoscaler",
        ("autoscaling/v1", "autoscaling/v2"),
    )
    assert find_similar("Gateway", "1.37") == ("", ())


def test_keys_that_are_there_twice() -> None:
    root = find_shape("v1", "ConfigMap", "1.37")
    assert root is not None
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}}
    (cause,) = find_misfits(root, body, "v1", [("data", "a")])
    assert cause.message == 'duplicate field "data.a"'


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", None), ("aGVsbG8=", None), ("aGVs\nbG8=\n", None), ("YQ=\n=", None), ("hello", 4), ("a=", 1), ("==", 0),
        ("aGVsbG8=a", 8), ("YQ=", 3), ("YQ=a", 2), ("YQ==a", 4), ("é", 0), ("Y\nQ", 1), ("YWJ", 0), ("YWI=\nx", 5),
        ("a\nb\nc", 2),
    ],
)  # fmt: skip
def test_base64(text: str, at: int | None) -> None:
    """The places are those that Go's decoder names."""
    assert find_corrupt_base64(text) == at
