"""Selectors: the grammar of label selectors, globs, and how the parts go together."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.config.selectors import Selector, SelectorError, match_glob, parse_requirements
from tests.config.heads import make_head

LABELS = {"team": "ml", "tier": "gold", "rank": "7", "empty": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("  ", True),
        ("team=ml", True),
        ("team==ml", True),
        ("team = ml", True),
        ("team=web", False),
        ("team!=web", True),
        ("team!=ml", False),
        ("absent!=x", True),
        ("absent=x", False),
        ("team", True),
        ("absent", False),
        ("!absent", True),
        ("!team", False),
        ("empty=", True),
        ("team=", False),
        ("tier in (gold,silver)", True),
        ("tier in ( silver , bronze )", False),
        ("tier notin (silver)", True),
        ("tier notin (gold)", False),
        ("absent notin (gold)", True),
        ("absent in (gold)", False),
        ("rank>6", True),
        ("rank>7", False),
        ("rank<8", True),
        ("team>1", False),
        ("absent>1", False),
        ("team=ml,tier in (gold,silver),!legacy", True),
        ("team=ml,tier in (bronze)", False),
        ("team=ml, team", True),
    ],
)
def test_label_selector(text: str, matches: bool) -> None:
    assert all(term.matches(LABELS) for term in parse_requirements(text)) is matches


@pytest.mark.parametrize(
    "text",
    ["a in (b", "a in b)", "a b", "=x", ",", "a,", "a within (b)", "a>x", "a=b=c", "a=(b)", "!", "a!b", "in (a)"],
)
def test_label_selector_that_cannot_be_read(text: str) -> None:
    with pytest.raises(SelectorError):
        parse_requirements(text)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("train", "train", True),
        ("train", "train-1", False),
        ("train-*", "train-1", True),
        ("train-*", "retrain-1", False),
        ("*-head", "a-head", True),
        ("a*b*c", "abc", True),
        ("a*b*c", "a-c-b-c", True),
        ("a*b*c", "acb", False),
        ("a*a", "a", False),
        ("*", "", True),
        ("", "", True),
    ],
)
def test_glob(pattern: str, text: str, matches: bool) -> None:
    assert match_glob(pattern, text) is matches


ITEM = make_head("ray.io/v1", "RayCluster", "train-1", "ml", {"team": "ml"}, {"note": "long"})


@pytest.mark.parametrize(
    ("fields", "matches"),
    [
        ({}, True),
        ({"kinds": ("Job", "RayCluster")}, True),
        ({"kinds": ("RayCluster.ray.io",)}, True),
        ({"kinds": ("RayCluster.batch",)}, False),
        ({"kinds": ("Ray*",)}, True),
        ({"kinds": ("Job",)}, False),
        ({"namespaces": ("ml",)}, True),
        ({"namespaces": ("web", "prod")}, False),
        ({"names": ("train-*",)}, True),
        ({"names": ("serve-*",)}, False),
        ({"labels": parse_requirements("team=ml")}, True),
        ({"annotations": parse_requirements("note=long")}, True),
        ({"annotations": parse_requirements("!note")}, False),
        ({"kinds": ("RayCluster",), "names": ("x",)}, False),
    ],
)
def test_all_parts_must_match(fields: dict[str, Any], matches: bool) -> None:
    assert Selector(**fields).matches(ITEM) is matches


@pytest.mark.parametrize(("namespace", "matches"), [("default", True), ("", True), ("ml", False)])
def test_no_namespace_is_the_default_one(namespace: str, matches: bool) -> None:
    assert Selector(namespaces=(namespace,)).matches(make_head("v1", "Pod", "a")) is matches
