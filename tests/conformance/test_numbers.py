"""Small texts are read as Go and Kubernetes read them: recorded answers, and the program itself where it is built."""

import os
from collections import Counter

import pytest

from conformance.build import find_program
from conformance.numbers import ask_go, ask_krmfn, differ, generate, read_recorded
from conformance.versions import read_releases
from krmfn.model.gotext import parse_int
from krmfn.model.quantity import parse_quantity
from krmfn.model.schedules import read_schedule


def test_recorded_answers() -> None:
    read: Counter[tuple[str, bool]] = Counter()
    for case, go in read_recorded():
        ours = ask_krmfn(case)
        assert not differ(case, go, ours), f"{case}: Go {go}, krmfn {ours}"
        read[case.reader, go.ok] += 1
    assert len(read) >= 25, "every reader has texts that it takes and texts that it refuses"
    assert sum(read.values()) > 6_000


@pytest.mark.skipif(
    not find_program(list(read_releases().values())[-1], "numbers"), reason="python -m conformance build"
)
def test_other_texts() -> None:
    cases = list(generate(int(os.environ.get("KRMFN_SEED", "7")), 300))
    for case, go in zip(cases, ask_go(cases), strict=True):
        ours = ask_krmfn(case)
        assert not differ(case, go, ours), f"{case}: Go {go}, krmfn {ours}"


def test_sizes_without_end_cost_nothing() -> None:
    assert parse_quantity("1e2000000000") == parse_quantity("1e2000000001")
    assert parse_quantity("1e-2000000000") == 1
    assert parse_quantity("9" * 100_000) is not None
    assert parse_int("9" * 100_000) is None


@pytest.mark.parametrize("value", [None, True, [], {}, float("nan"), float("inf"), object()])
def test_what_is_not_a_quantity(value: object) -> None:
    assert parse_quantity(value) is None


def test_a_schedule_has_the_values_of_its_fields() -> None:
    found = read_schedule("*/20 1,2 * jan-mar mon")
    assert [sorted(field) for field in found.fields][:2] == [[0, 20, 40], [1, 2]]
    assert [sorted(field) for field in found.fields][3:] == [[1, 2, 3], [1]]
    assert found.starred == (False, False, True, False, False)
