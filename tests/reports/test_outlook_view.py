"""Words that all formats of an outlook share."""

from __future__ import annotations

from krmfn.forecast.standing import Load
from krmfn.reports.outlook_view import group_alike, name_alike, spell_places, spell_pods_of


def test_every_node_that_is_named_has_its_number_of_pods() -> None:
    places = [(f"n{number}", 2) for number in range(1, 8)]
    assert spell_places(places[:5], "nodes") == "n1 ×2, n2 ×2, n3 ×2, n4 ×2, n5 ×2"
    assert spell_places(places, "nodes") == "n1 ×2, n2 ×2, n3 ×2, n4 ×2 and 3 more nodes"


def test_one_other_pod_is_one_other() -> None:
    assert spell_pods_of(Load("n", "", {}, {}, {"ml/train": 2}, 1, False)) == "ml/train ×2, 1 other"


def test_nodes_that_are_alike_are_counted_without_those_of_gangs() -> None:
    loads = [Load(name, "", {}, {}, gangs, 0, False) for name, gangs in (("a", {}), ("b", {"ml/t": 1}), ("c", {}))]
    loads += [Load("d", "", {}, {}, {"ml/t": 1}, 0, False), Load("e", "", {}, {}, {}, 0, False)]
    for gangs, said in ((False, ["a and 2 like it", "b", "d"]), (True, ["a and 2 like it", "b and 1 like it"])):
        assert [name_alike(load, number) for load, number in group_alike(loads, gangs)] == said
