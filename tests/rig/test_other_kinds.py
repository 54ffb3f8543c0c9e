"""Built-in kinds that hold nothing but a pod template with a link: recorded answers about that link."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance.compare import compare_records
from conformance.storage import read_records
from conformance.versions import HERE, read_profiles

KINDS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "PodTemplate")


@pytest.mark.parametrize("profile", read_profiles())
def test_recorded_answers_are_ours(profile: str) -> None:
    records = list(read_records(HERE / "data" / "others" / f"{profile}.jsonl.gz"))
    assert set(Counter(record["kind"] for record in records)) == set(KINDS)
    found, compared, _ = compare_records(records)
    assert compared >= len(records)
    assert [(each.group, each.record["id"], each.ours, each.theirs) for each in found] == []
