"""Every recorded answer is ours too: the code, the set of (type, path), the texts; to creates and updates, to
server-side apply, and to the three-way apply of kubectl."""

from __future__ import annotations

import pytest

from conformance.address import PLAIN
from conformance.compare import is_patch
from krmfn.server.spell import spell_path
from tests.conformance.replay import DATA, PROFILES, SETS, compare_records, profile_of, read
from tests.conformance.replay import answer as ask

FILES = [
    pytest.param(which, profile, id=f"{which}-{profile}")
    for which in SETS
    for profile in PROFILES
    if (DATA / which / f"{profile}.jsonl.xz").exists()
]


@pytest.mark.parametrize(("which", "profile"), FILES)
def test_recorded_answers_are_ours(which: str, profile: str) -> None:
    records = read(which, profile)
    found, compared, _ = compare_records(records)
    assert compared >= len(records) >= 200
    lines = [
        f"{each.record['id']} {each.record['category']} {each.group}: {each.ours}, {each.theirs}" for each in found
    ]
    assert not lines, f"{len(lines)} disagreements\n" + "\n".join(lines[:10])


#: How many answers with several causes tell them in the server's order: a floor, for who reads them from the top.
ORDERED = {"pods": 1775, "plain": 425, "governing": 196}


@pytest.mark.parametrize("which", ORDERED)
def test_causes_come_in_the_order_of_the_server(which: str) -> None:
    records = [record for record in read(which, "1.37-was-all") if len(record["verdict"].get("causes") or ()) > 1]
    ordered = [
        record
        for record in records
        if [cause["field"] for cause in record["verdict"]["causes"]]
        == [spell_path(cause.path) for cause in ask(profile_of(record), record).causes]
    ]
    assert len(ordered) >= ORDERED[which]


def test_every_kind_that_makes_pods_is_asked_about() -> None:
    kinds = ("Pod", "PodTemplate", "ReplicationController", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
    for profile in ("1.35-was", "1.36-was-all", "1.37-was-all"):
        asked = {(record["kind"], record["operation"]) for record in read("pods", profile)}
        assert {(kind, way) for kind in (*kinds, "Job", "CronJob") for way in ("create", "update")} <= asked


def test_every_kind_without_pods_is_asked_about() -> None:
    records = (*read("plain", "1.37-was-all"), *read("governing", "1.37-was-all"))
    asked = {(record["kind"], record["operation"]) for record in records}
    kinds = {*PLAIN} - {"APIService"}  # it is among the requests of people (byhand)
    assert {(kind, way) for kind in kinds for way in ("create", "update")} <= asked


def test_patches_are_decoded_otherwise() -> None:
    """An exception of the comparison: a strategic merge patch wraps large integers and takes `1.0` for 1, where a PUT
    says 400. We say what the PUT says, because the manifest is wrong either way."""
    records = [
        record
        for record in read("recorded", "1.37-was-all")
        if record.get("threeWay", {}).get("code") == 200 and record["verdict"]["code"] == 400
    ]
    assert records
    assert not any(is_patch(record["threeWay"]) for record in records)
    assert all(ask(profile_of(record), record).causes[0].type == "Decode" for record in records)
