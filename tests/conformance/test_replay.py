"""Every recorded answer is ours too: the code, the set of (type, path), the texts; to creates and updates, to
server-side apply, and to the three-way apply of kubectl."""

from __future__ import annotations

import pytest

from conformance.address import PLAIN
from conformance.compare import is_patch, mask, mean
from krmfn.server.spell import spell_path
from tests.conformance.replay import DATA, NEWEST, PROFILES, SETS, compare_records, profile_of, read
from tests.conformance.replay import answer as ask

FILES = [
    pytest.param(which, profile, id=f"{which}-{profile}", marks=[pytest.mark.slow] if profile != NEWEST else [])
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
ORDERED = {"pods": 1807, "plain": 431, "governing": 196}


@pytest.mark.parametrize("which", ORDERED)
def test_causes_come_in_the_order_of_the_server(which: str) -> None:
    records = [record for record in read(which, NEWEST) if len(record["verdict"].get("causes") or ()) > 1]
    ordered = [
        record
        for record in records
        if [cause["field"] for cause in record["verdict"]["causes"]]
        == [spell_path(cause.path) for cause in ask(profile_of(record), record).causes]
    ]
    assert len(ordered) >= ORDERED[which]


#: How many causes are told in the very words of the server, with the objects and lists that it shows: a floor.
#: `compare_records` does not look into what is shown, as not all of it can be known.
EXACT = {"governing": 1453, "others": 904, "plain": 7071, "pods": 28264, "recorded": 15237, "verdicts": 9882}


@pytest.mark.slow
@pytest.mark.parametrize("which", SETS)
def test_causes_are_told_in_the_words_of_the_server(which: str) -> None:
    exact = 0
    for record in (each for profile in PROFILES for each in read(which, profile)):
        if record["verdict"]["code"] == 422:
            ours = {(spell_path(cause.path), mask(cause.message)) for cause in ask(profile_of(record), record).causes}
            theirs = {(mean(cause["field"]), mask(cause["message"])) for cause in record["verdict"].get("causes", ())}
            exact += len(ours & theirs)
    assert exact >= EXACT[which]


def test_every_kind_that_makes_pods_is_asked_about() -> None:
    kinds = ("Pod", "PodTemplate", "ReplicationController", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
    for profile in ("1.35-was", "1.36-was-all", "1.37-was-all"):
        asked = {(record["kind"], record["operation"]) for record in read("pods", profile)}
        assert {(kind, way) for kind in (*kinds, "Job", "CronJob") for way in ("create", "update")} <= asked


def test_every_kind_without_pods_is_asked_about() -> None:
    records = (*read("plain", NEWEST), *read("governing", NEWEST))
    asked = {(record["kind"], record["operation"]) for record in records}
    kinds = {*PLAIN} - {"APIService"}  # it is among the requests of people (byhand)
    assert {(kind, way) for kind in kinds for way in ("create", "update")} <= asked


def test_patches_are_decoded_otherwise() -> None:
    """An exception of the comparison: a strategic merge patch wraps large integers and takes `1.0` for 1, where a PUT
    says 400. We say what the PUT says, because the manifest is wrong either way."""
    records = [
        record
        for record in read("recorded", NEWEST)
        if record.get("threeWay", {}).get("code") == 200 and record["verdict"]["code"] == 400
    ]
    assert records
    assert not any(is_patch(record["threeWay"]) for record in records)
    assert all(ask(profile_of(record), record).causes[0].type == "Decode" for record in records)
