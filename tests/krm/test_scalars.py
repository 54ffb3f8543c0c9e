"""Scalars mean what they mean to sigs.k8s.io/yaml, and where readers disagree the item says so."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from krmfn.krm import Stream, Unreadable
from krmfn.krm.dialect import explain_ambiguity, parse_number
from krmfn.krm.json_reading import has_comments

MANIFEST = "apiVersion: v1\nkind: A\nk: {}\n"


def read(text: str) -> Any:
    return Stream.parse(f"apiVersion: v1\nkind: A\nk: {text}\n".encode()).items[0].value["k"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, True) for word in ["yes", "Yes", "YES", "on", "On", "ON", "y", "Y", "true", "True", "TRUE"]),
        *((word, False) for word in ["no", "No", "NO", "off", "Off", "OFF", "n", "N", "false", "False", "FALSE"]),
        *((word, None) for word in ["null", "Null", "NULL", "~", ""]),
        *(("yEs", "yEs"), ("oN", "oN"), ("nULL", "nULL"), ("TrUe", "TrUe")),
        *(("0777", 511), ("0o777", 511), ("0O17", 15), ("08", 8), ("09", 9), ("0xFF", 255), ("0b101", 5)),
        *(("0b-11", -3), ("0b+_1", 1), ("0B-1", "0B-1"), ("-0b-1", "-0b-1"), ("0o-7", "0o-7"), ("0x-1", "0x-1")),
        *(("1_000", 1000), ("1_000.5", 1000.5), ("-1_0", -10), ("+1", 1), ("-0", 0), ("0o0o4", "0o0o4")),
        *(("12:30:45", "12:30:45"), ("1:20", "1:20")),
        *(("2020-01-02", "2020-01-02"), ("2020-01-02T03:04:05Z", "2020-01-02T03:04:05Z")),
        *(("1e3", 1000), ("1E3", 1000), ("1.0e3", 1000), (".5e3", 500), ("1.5e+3", 1500), ("0.5", 0.5)),
        *(("1.0", 1), ("0.1000", 0.1), ("0.1234567890123456789", 0.12345678901234568)),
        *(("1e400", "1e400"), ("12345678901234567890", 12345678901234567890)),
        *(("123456789012345678901234567890", 1.2345678901234568e29), ("1e18", 10**18)),
        *(("=", "="), ("<<", "<<"), ("!!str 123", "123"), ("!!binary aGVsbG8=", "hello"), ("!foo bar", "bar")),
        *(
            ("!!int 5", 5),
            ("!!float 1", 1),
            ("!!float -9223372036854775", -9223372036854776),
            ("! 12", "12"),
            ('"yes"', "yes"),
            ("'1e3'", "1e3"),
        ),
        *(('"\\0"', "\0"), ('"\\x01"', "\x01"), ('"x\\/y"', "x/y"), ('"\\u00e9\\U0001F600"', "é😀")),
    ],
)
def test_a_scalar_has_the_value_that_the_api_machinery_sees(text: str, value: object) -> None:
    read_value = read(text)
    assert read_value == value
    assert type(read_value) is type(value)


@pytest.mark.parametrize(
    "text", [".inf", "-.Inf", ".nan", '"\\ud83d\\ude00"', "!!int a", "!!bool 1", "\x01", "\x7f", "[a, b?c=1]"]
)
def test_what_go_refuses_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable) as refused:
        read(text)
    assert refused.value.line == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("!!binary a", "!!binary value contains invalid base64 data"),
        ("!!int a", "cannot decode a !!str as a !!int"),
        (".inf", ".inf cannot be written as JSON"),
    ],
)
def test_a_refusal_names_the_tags_as_they_are_written(text: str, message: str) -> None:
    with pytest.raises(Unreadable) as refused:
        _ = Stream.parse(f"apiVersion: v1\nkind: A\nk: {text}\n".encode()).items
    assert refused.value.message == message


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("yes", "kubectl reads `yes` as true"),
        ("y", "kubectl reads `y` as true"),
        ("0777", "as 511"),
        ("08", "as 8"),
        ("1_000", "1000"),
        ("1e3", "as 1000"),
        *(("0b-11", "as -3"), ("0o-7", "kustomize and kpt as -7")),
        *((text, "base 60") for text in ("12:30", "12:30:45", "1:5.", "-1_0:59.5_0")),
        ("2020-01-02", "timestamp"),
        (">-\n  a\n    b", "kustomize adds a line break"),
    ],
)
def test_a_scalar_that_readers_disagree_on_is_a_problem(text: str, part: str) -> None:
    item = Stream.parse(f"apiVersion: v1\nkind: A\nk: {text}\n".encode()).items[0]
    (problem,) = item.problems
    assert (problem.code, problem.path, problem.line, problem.column) == ("ambiguous-scalar", ("k",), 3, 4)
    assert part in problem.message


@pytest.mark.parametrize(
    "text",
    ["true", "~", "12", "-1", "1.5", "12:99", "x", '"yes"', "'0777'", "!!str yes", "a:b", "0.5", ">\n   a\n  \n   b"],
)
def test_a_scalar_that_readers_agree_on_is_no_problem(text: str) -> None:
    assert Stream.parse(f"apiVersion: v1\nkind: A\nk: {text}\n".encode()).items[0].problems == ()


def test_an_escape_that_go_refuses_is_a_problem() -> None:
    found = Stream.parse(b'apiVersion: v1\nkind: A\nk: "a\\/b"\nl: "a\\\\/b"\n"m\\/n": ""\n').items[0].problems
    assert {(problem.code, problem.path) for problem in found} == {("refused-escape", (name,)) for name in ("k", "m/n")}


@pytest.mark.parametrize("text", ["{a: }", "{a: , b: 1}", "{a}", "{a:\n   }"])
def test_an_empty_value_in_braces_is_a_problem(text: str) -> None:
    """What kustomize prints for it is `""`."""
    (problem,) = Stream.parse(f"apiVersion: v1\nkind: A\nk: {text}\n".encode()).items[0].problems
    assert (problem.code, problem.path) == ("ambiguous-scalar", ("k", "a"))


@pytest.mark.parametrize("text", ["1.0", "1", "1e3", "1E3", "100000000000000000000000", "-0"])
def test_json_numbers_keep_their_spelling(text: str) -> None:
    item = Stream.parse(f'{{"apiVersion": "v1", "kind": "A", "k": {text}}}'.encode()).items[0]
    scalar = item.scalar(("k",))
    assert scalar is not None
    assert scalar.source == text
    # What does not fit into 64 bits is a float to Go.
    assert type(item.value["k"]) is (float if set(text) & set(".eE") or len(text) > 20 else int)


def test_a_scalar_is_given_with_its_spelling_and_style() -> None:
    item = Stream.parse(b"apiVersion: v1\nkind: A\na: &x !!str 'it''s'\nb: |-\n  x\nc: [1e3]\nd: *x\n").items[0]
    spelled = [item.scalar(path) for path in (("a",), ("b",), ("c", 0), ("d",))]
    assert [(scalar.source, scalar.style, scalar.content) for scalar in spelled if scalar] == [
        ("'it''s'", "'", "it's"),
        ("|-\n  x\n", "|", "x"),
        ("1e3", "", "1e3"),
        ("'it''s'", "'", "it's"),
    ]
    assert item.scalar(("c",)) is None
    assert item.scalar(("missing",)) is None


@settings(max_examples=1500, deadline=None)
@given(st.from_regex(r"[-+.]?[0-9][0-9.eE+_-]{0,6}", fullmatch=True))
def test_a_number_that_an_older_reader_takes_for_something_else_is_explained(text: str) -> None:
    """PyYAML reads YAML 1.1."""
    number, older = parse_number(text), yaml.safe_load(text)
    said = explain_ambiguity(text)
    if number is not None and number != older:
        assert said
    if said.endswith("readers of YAML 1.1 as a string"):
        assert isinstance(older, str)


@pytest.mark.parametrize("text", ["1.5e+3", "1.5E-3", "-1.5e+3", "0.5", "12"])
def test_a_number_that_all_read_alike_needs_no_word(text: str) -> None:
    assert parse_number(text) == yaml.safe_load(text)
    assert explain_ambiguity(text) == ""


@pytest.mark.parametrize(
    ("text", "commented"),
    [
        (b'// a\n{"a": 1}', True),
        (b'{"a": 1, /* b */ }', True),
        (b'{"a": 1,}', False),
        (b'{"a": "// b"}', False),
        (b"// a\n5", False),
        (b"/* a */ [1] x", False),
    ],
)
def test_json_with_comments_is_told_from_what_is_no_json(text: bytes, commented: bool) -> None:
    assert has_comments(text) == commented
