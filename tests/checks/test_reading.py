"""Problems of reading are looked for only in items that can have one: the pattern may not miss any."""

from __future__ import annotations

import re

import pytest

from krmfn import validate
from krmfn.checks import reading
from krmfn.krm import Item, Stream, Unreadable
from krmfn.reports.pages import read_page
from tests.checks.cases import CHECKED, read_items

SCALARS = [
    "yes",
    "No",
    "on",
    "OFF",
    "y",
    "N",
    "true",
    "null",
    "~",
    "012",
    "0o17",
    "0x1F",
    "0b101",
    "1_000",
    "12:30",
    "1:2:3",
    "1e3",
    "1.5e3",
    "-1e3",
    "+012",
    "2020-01-02",
    ".5",
    ".inf",
    "-.Inf",
    ".NaN",
    "=",
    "",
    ">\n  x\n   y",
]
FORMS = (
    "a: TOKEN",
    "a:\n- TOKEN",
    "a: [x, TOKEN]",
    "a: {b: TOKEN}",
    "a: [TOKEN]",
    "a: {TOKEN: b}",
    "a: {b: TOKEN\n }",
    "a: {b: c, TOKEN\n }",
    "a: [&x TOKEN]",
    "a: [b, &x TOKEN\n ]",
    "a: {b: &x TOKEN\n , c: d}",
    "TOKEN: b",
    "a:\tTOKEN",
)


@pytest.mark.parametrize("scalar", SCALARS)
def test_no_ambiguous_scalar_is_overlooked(scalar: str) -> None:
    for form in FORMS:
        text = f"apiVersion: v1\nkind: A\nmetadata: {{name: a}}\n{form.replace('TOKEN', scalar)}\n"
        try:
            items = Stream.parse(text.encode(), "a.yaml").items
            assert not any(map(is_overlooked, items)), text
        except Unreadable:
            continue  # no object of Kubernetes can hold it


def test_no_case_is_overlooked() -> None:
    for text in (text for rule in CHECKED for text in read_page(rule).examples.values()):
        assert not any(map(is_overlooked, read_items(text))), text


def is_overlooked(item: Item) -> bool:
    """Whether the item has a problem that is a rule of ours, and the pattern does not see it."""
    told = [problem for problem in item.problems if problem.code in reading._CODES]
    return bool(told) and not any(re.search(reading._SUSPICIOUS, line) for line in item.text.splitlines())


def test_ordinary_manifests_are_not_suspicious() -> None:
    text = read_page("group-missing").examples["good.yaml"]
    assert not re.search(reading._SUSPICIOUS, text)


def test_an_object_that_is_sent_to_no_cluster_is_not_judged() -> None:
    text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: setters, annotations: {LOCAL: "true"}}\ndata: {a: 5}\n'
    assert [result.path for result in validate(text.encode()).errors] == ["data.a"]
    assert not validate(text.replace("LOCAL", "config.kubernetes.io/local-config").encode())


def test_what_is_missing_in_what_is_missing_is_told_once() -> None:
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {selector: {matchLabels: {a: b}}}\n"
    assert {result.tags["stage"] for result in validate(text.encode()).errors} == {"server"}


def test_objects_for_different_clusters_are_not_one_object_twice() -> None:
    text = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  annotations: {SELECTOR: WHICH}\n"
    for selector, told in (("configmanagement.gke.io/cluster-selector", 0), ("example.com/selector", 1)):
        both = "---\n".join(text.replace("SELECTOR", selector).replace("WHICH", name) for name in ("one", "two"))
        assert len(validate(both.encode()).of("object-duplicate")) == told
