"""`webhook-refuses` says what the webhooks of JobSet, LeaderWorkerSet and KAI said of recorded objects."""

from __future__ import annotations

from collections import Counter

from conformance.kai import SHARES
from conformance.storage import read_records
from conformance.webhooks import RECORDED, differ

RECORDS = [*read_records(RECORDED), *read_records(SHARES)]


def test_recorded_answers() -> None:
    assert [(record, found) for record in RECORDS if (found := differ(record))] == []


def test_all_kinds_are_taken_and_refused() -> None:
    seen = Counter((record["object"]["kind"], bool(record["told"])) for record in RECORDS)
    assert len(seen) == 6
    assert min(seen.values()) > 20
