"""Lists that kubectl apply merges: recorded answers of its own library, and the library itself where it is built."""

import os

import pytest

from conformance.build import THREEWAY, find_program
from conformance.patches import NEWEST, RECORDED, ask_kubectl, differ, make_cases
from conformance.storage import Record, read_records


def judge(records: list[Record]) -> None:
    assert [(record, found) for record in records if (found := differ(record))] == []


def test_recorded_merges() -> None:
    records = list(read_records(RECORDED))
    judge(records)
    assert len(records) >= 1000
    assert sum("result" in record for record in records) > 900


@pytest.mark.skipif(not find_program(NEWEST, THREEWAY), reason="python -m conformance build")
def test_other_merges() -> None:
    judge(ask_kubectl(make_cases(int(os.environ.get("KRMFN_SEED", "7")), 200)))
