"""Every recorded answer is ours too: the code, the set of (type, path), the texts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from krmfn.krm.paths import format_path
from tests.conformance.replay import (
    PROFILES,
    REASONS,
    SETS,
    Record,
    answer,
    answer_apply,
    compare,
    list_updates,
    read_records,
)

FILES = [pytest.param(which, profile, id=f"{which}-{profile}") for which in SETS for profile in PROFILES]


def list_differences(found: Iterator[tuple[Record, str]]) -> str:
    """The first few differences, as the message of a failed test."""
    lines = [f"{record['id']} {record['category']}: {text}" for record, text in found if text]
    return "\n".join([f"{len(lines)} disagreements", *lines[:10]]) if lines else ""


@pytest.mark.parametrize(("which", "profile"), FILES)
def test_create_update_and_status(which: str, profile: str) -> None:
    records = read_records(which, profile)
    assert len(records) > 500
    assert not list_differences((record, compare(answer(record), record["verdict"])) for record in records)


@pytest.mark.parametrize(("which", "profile"), FILES)
def test_server_side_apply(which: str, profile: str) -> None:
    records = [record for record in list_updates(which, profile) if _was_applied(record)]
    assert len(records) > 50
    assert not list_differences((record, compare(answer_apply(record, True), record["apply"])) for record in records)


def _was_applied(record: Record) -> bool:
    """Whether the record has the answer to an apply. A few bodies could not be sent as YAML."""
    recorded = record.get("apply", {})
    return "code" in recorded and "Unicode" not in recorded.get("message", "")


@pytest.mark.parametrize("profile", PROFILES)
def test_three_way_apply(profile: str) -> None:
    """Verdict and fields only: the texts show lists that the patch has merged. What differs otherwise is said below."""
    records = [record for record in list_updates("recorded", profile) if _was_patched(record)]
    assert len(records) > 40
    assert not list_differences((record, _compare_fields(record)) for record in records)


def _compare_fields(record: Record) -> str:
    ours, theirs = answer_apply(record, False), record["threeWay"]
    if ours.code != theirs["code"]:
        return f"code {ours.code} ({ours.message}), expected {theirs['code']} ({theirs.get('message')})"
    if ours.code != 422:
        return ""
    paths = {(REASONS[cause.type], format_path(cause.path)) for cause in ours.causes}
    expected = {(cause["reason"], cause["field"]) for cause in theirs["causes"]}
    return "" if paths == expected else f"fields {sorted(paths ^ expected)}"


def _was_patched(record: Record) -> bool:
    """Whether kubectl could compute a patch that the server could read, and what it says is what a PUT says.

    A patch is decoded by other rules (see test_patches_are_decoded_otherwise), a uid in it is no precondition, and its
    lists are merged by key, which swallows an entry that is there twice.
    """
    patched = record.get("threeWay", {})
    if patched.get("code") not in (200, 403, 422) or any(
        cause["field"] == "patch" for cause in patched.get("causes", ())
    ):
        return False
    return answer_apply(record, False).code not in (400, 409) and not _repeats_claims(record["object"].get("spec"))


def _repeats_claims(spec: object) -> bool:
    claims = spec.get("resourceClaims") if isinstance(spec, dict) else None
    names = [str(claim) for claim in claims] if isinstance(claims, list) else []
    return len(names) > len(set(names))


def test_patches_are_decoded_otherwise() -> None:
    """The exception above: a strategic merge patch wraps large integers and takes `1.0` for 1, where a PUT says 400. We
    say what the PUT says, because the manifest is wrong either way."""
    records = [
        record
        for record in list_updates("recorded", "1.37-was-all")
        if record.get("threeWay", {}).get("code") == 200 and answer_apply(record, False).code == 400
    ]
    assert records
    assert all(answer_apply(record, False).causes[0].type == "Decode" for record in records)
