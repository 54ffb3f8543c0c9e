"""Small texts are read as Go and Kubernetes read them: recorded answers, and the program itself where it is built."""

import calendar
import json
import os
from collections import Counter

import pytest

from conformance.build import find_program
from conformance.numbers import LATER, Answer, Case, ask_go, ask_krmfn, differ, generate, read_recorded
from conformance.versions import read_releases
from krmfn.model.gotext import parse_int
from krmfn.model.quantity import BadQuantity, parse_quantity, quantity_with_exponent, read_quantity
from krmfn.model.schedules import BadSchedule, check_schedule
from krmfn.server.decode import decode
from krmfn.server.schema import find_kind
from krmfn.server.spell import to_api


def test_recorded_answers() -> None:
    read: Counter[tuple[str, bool]] = Counter()
    for case, go in read_recorded():
        ours = ask_krmfn(case)
        assert not differ(case, go, ours), f"{case}: Go {go}, krmfn {ours}"
        read[case.reader, go.ok] += 1
    assert len(read) >= 25, "every reader has texts that it takes and texts that it refuses"
    assert sum(read.values()) > 6_000


def read_later(case: Case) -> Answer:
    """The quantity of a case, as servers from 1.38 on read and spell it."""
    plain = case.reader == "quantity"
    value = case.text if plain else json.loads(case.text)
    try:
        if plain:
            read_quantity(case.text)  # blanks around it are no part of a plain text
        return Answer(True, str(quantity_with_exponent(value)))
    except BadQuantity as mistake:
        return Answer(False, "", str(mistake))


def test_quantities_from_1_38_on() -> None:
    """What changed is above an exa, and the exponent without an end; all others are read as before."""
    told: Counter[tuple[bool, bool]] = Counter()
    for case, go in read_recorded(LATER):
        assert read_later(case) == go, f"{case}: Go {go}, krmfn {read_later(case)}"
        told[go.ok, ask_krmfn(case) == go] += 1
    assert min(told[True, True], told[True, False], told[False, True], told[False, False]) > 1


@pytest.mark.parametrize(("release", "amount", "spelled"), [("1.37", "1000E", "1"), ("1.38", "1000E", "1e21")])
def test_a_release_stores_amounts_in_its_own_spelling(release: str, amount: str, spelled: str) -> None:
    kind = find_kind("", "Pod", release, {})
    assert kind is not None
    container = {"name": "c", "image": "i", "resources": {"limits": {"example.com/units": amount}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    normal = decode(kind.root, pod)
    assert to_api(kind.root, normal)["spec"]["containers"][0]["resources"]["limits"]["example.com/units"] == spelled


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


def test_every_month_and_day_has_its_number() -> None:
    names = {f"0 0 1 {calendar.month_abbr[number]}-{{}} *": number for number in range(1, 13)}
    # Monday is the first there, and 1 here; Sunday is 0.
    names |= {f"0 0 * * {name}-{{}}": (number + 1) % 7 for number, name in enumerate(calendar.day_abbr)}
    for text, number in names.items():
        check_schedule(text.format(number))
        if number > 1:
            with pytest.raises(BadSchedule, match=f"beginning of range \\({number}\\) beyond end of range"):
                check_schedule(text.format(number - 1))
