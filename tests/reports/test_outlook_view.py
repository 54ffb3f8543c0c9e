"""Words that all formats of an outlook share."""

from __future__ import annotations

from krmfn.forecast.standing import Load
from krmfn.reports.outlook_view import spell_places, spell_pods_of


def test_every_node_that_is_named_has_its_number_of_pods() -> None:
    places = [(f"n{number}", 2) for number in range(1, 8)]
    assert spell_places(places[:5], "nodes") == "n1 ×2, n2 ×2, n3 ×2, n4 ×2, n5 ×2"
    assert spell_places(places, "nodes") == "n1 ×2, n2 ×2, n3 ×2, n4 ×2 and 3 more nodes"


def test_one_other_pod_is_one_other() -> None:
    assert spell_pods_of(Load("n", "", {}, {}, {"ml/train": 2}, 1, False)) == "ml/train ×2, 1 other"
