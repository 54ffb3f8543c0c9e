"""What mappings, anchors, merges and line structure mean, in the places where YAML readers differ."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.krm import Item, Stream, Unreadable

HEAD = "apiVersion: v1\nkind: A\n"


def read(body: str) -> Item:
    (item,) = Stream.parse((HEAD + body).encode()).items
    return item


def value(body: str) -> dict[str, Any]:
    return {key: child for key, child in read(body).value.items() if key not in ("apiVersion", "kind")}


def codes(body: str) -> list[tuple[str, tuple[str | int, ...], int]]:
    return [(problem.code, problem.path, problem.line) for problem in read(body).problems]


def test_the_last_of_duplicate_keys_wins_and_is_a_problem() -> None:
    body = "spec:\n  a: 1\n  a: 2\n"
    assert value(body) == {"spec": {"a": 2}}
    assert codes(body) == [("duplicate-key", ("spec", "a"), 5)]


def test_a_merge_gives_keys_and_a_later_key_wins() -> None:
    assert value("b: &b {x: 1, y_: 2}\nc:\n  <<: *b\n  x: 3\n")["c"] == {"x": 3, "y_": 2}


def test_a_merge_wins_over_an_earlier_key_as_in_kubectl() -> None:
    body = "b: &b {x: 1}\nc:\n  x: 3\n  <<: *b\n"
    assert value(body)["c"] == {"x": 1}
    assert codes(body) == [("merged-key-set-twice", ("c", "x"), 6)]


def test_the_first_of_merged_mappings_wins() -> None:
    assert value("a: &a {x: 1}\nb: &b {x: 2, z: 3}\nc:\n  <<: [*a, *b]\n")["c"] == {"x": 1, "z": 3}


def test_a_merge_of_a_scalar_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="map merge requires"):
        value("c:\n  <<: 1\n")


def test_a_quoted_merge_key_is_a_key() -> None:
    assert value("c: {'<<': {x: 1}}\n") == {"c": {"<<": {"x": 1}}}


def test_an_anchor_that_is_defined_twice_means_the_latest_definition() -> None:
    assert value("a: &x 1\nb: *x\nc: &x 2\nd: *x\n") == {"a": 1, "b": 1, "c": 2, "d": 2}


@pytest.mark.parametrize("body", ["a: &x {b: *x}\n", "a: &x [*x]\n", "a: &x\n  b: {c: *x}\n"])
def test_an_anchor_that_contains_itself_is_unreadable(body: str) -> None:
    with pytest.raises(Unreadable, match="anchor 'x' value contains itself"):
        read(body)


def test_an_unknown_anchor_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="line 3, column 4: unknown anchor referenced"):
        read("a: *x\n")


def test_a_million_laughs_are_unreadable() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(Unreadable, match="excessive aliasing"):
        assert read("\n".join(lines) + "\n").value


@pytest.mark.parametrize("body", ["a:\tb\n", "a: b\t# c\n", "a: b\t\n", "a:\t\n  b: c\n"])
def test_tabs_between_tokens_are_blanks(body: str) -> None:
    assert value(body) in ({"a": "b"}, {"a": {"b": "c"}})


def test_a_tab_as_indentation_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        read("a:\n\tb: c\n")


def test_json_with_tabs_is_read() -> None:
    (item,) = Stream.parse(b'{\n\t"apiVersion":\t"v1",\n\t"kind": "A"\n}').items
    assert item.value == {"apiVersion": "v1", "kind": "A"}


def test_keys_that_are_no_strings_are_spelled_as_in_json_and_are_problems() -> None:
    body = "a: {8080: x, 1.50: z, true: b}\n"
    assert value(body) == {"a": {"8080": "x", "1.5": "z", "true": "b"}}
    assert [code for code, _, _ in codes(body)] == ["non-string-key"] * 3


def test_keys_that_are_booleans_to_kubectl_collide() -> None:
    body = "yes: 1\non: 2\n"
    assert value(body) == {"true": 2}
    assert [code for code, _, _ in codes(body)] == ["non-string-key", "duplicate-key", "non-string-key"]


@pytest.mark.parametrize("body", ["~: 1\n", "{a: b}: 1\n", "? [a]\n: 1\n", "a: {? : 1}\n"])
def test_null_and_collections_as_keys_are_unreadable(body: str) -> None:
    with pytest.raises(Unreadable, match="a key is"):
        assert read(body).value


def test_a_flow_key_without_a_blank_is_a_key_without_value() -> None:
    assert value("a: {b:1}\n") == {"a": {"b:1": None}}


@pytest.mark.parametrize("newline", ["\r\n", "\r", "\x85", "\u2028", "\u2029"])
def test_every_line_break_of_yaml_breaks_lines(newline: str) -> None:
    (item,) = Stream.parse((HEAD + "a:\n  b: 1\n").replace("\n", newline).encode()).items
    assert item.value["a"] == {"b": 1}


def test_a_key_longer_than_1024_characters_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        read("k" * 1025 + ": 1\n")


@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 5000, "- " * 5000, "? " * 5000])
def test_endless_nesting_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        read("a:\n  " + text + "\n")


def test_multi_line_scalars_keep_what_looks_like_structure() -> None:
    body = "a: |\n  - x: 1\n  ---x\nb: 'c\n\n  - d: *e'\nf: g\n  - h: i\n"
    with pytest.raises(Unreadable):
        read(body)
    assert value("a: |\n  - x: 1\n  ---x\nb: 'c\n\n  - d: *e'\nf: g\n  - h\n") == {
        "a": "- x: 1\n---x\n",
        "b": "c\n- d: *e",
        "f": "g - h",
    }
