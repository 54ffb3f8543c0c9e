"""What edits look like: the style of the neighbours, and nothing else changed."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.krm import EditRefused, Item, ResourceList, Stream

Path = tuple[str | int, ...]


def edit(text: str, *edits: tuple[Path, Any]) -> str:
    item = Item.parse(text.encode())
    for path, value in edits:
        item.set(path, value)
    return item.text


@pytest.mark.parametrize(
    ("text", "path", "value", "result"),
    [
        ("a: 1 # c\nb: 2\n", ("a",), 3, "a: 3 # c\nb: 2\n"),
        ("a: 1", ("b",), "x", "a: 1\nb: x"),
        ("a: 1\r\nb:\r\n  c: 2\r\n", ("b", "d", "e"), [1], "a: 1\r\nb:\r\n  c: 2\r\n  d:\r\n    e:\r\n    - 1\r\n"),
        ("a:\n    b: 1\n", ("c", "d"), {"e": "f"}, "a:\n    b: 1\nc:\n    d:\n        e: f\n"),
        ("a:\n  - 1\n", ("b",), [{"c": [2]}], "a:\n  - 1\nb:\n  - c:\n      - 2\n"),
        ("a:\n- 1\n", ("b",), [{"c": [2]}], "a:\n- 1\nb:\n- c:\n  - 2\n"),
        ("a:\n- b: 1\n  # c\nd: 2\n", ("a", 1), {"b": 2}, "a:\n- b: 1\n- b: 2\n  # c\nd: 2\n"),
        ("a: {b: 1} # c\n", ("a", "d"), {"e": "yes"}, 'a: {b: 1, d: {e: "yes"}} # c\n'),
        ("a: {}\n", ("a", "b"), 1, "a:\n  b: 1\n"),
        ("a: {} # c\nd: 1\n", ("a", "b"), 1, "a: # c\n  b: 1\nd: 1\n"),
        ("a: # c\nd: 1\n", ("a", "b"), 1, "a: # c\n  b: 1\nd: 1\n"),
        ("a:\n  b: |\n    x\n\nc: 1\n", ("a", "d"), 1, "a:\n  b: |\n    x\n  d: 1\n\nc: 1\n"),
        ("a:\n  b: |+\n    x\n\nc: 1\n", ("a", "d"), 1, "a:\n  b: |+\n    x\n\n  d: 1\nc: 1\n"),
        ("a:\n  b: |\n    x", ("a", "d"), 1, "a:\n  d: 1\n  b: |\n    x"),
        ("a: |\n  x\n  y\nb: 1\n", ("a",), "z", "a: z\nb: 1\n"),
        ("a:\n  b: 1 # c\n", ("a",), "z", "a: z\n"),
        ("a: # c\n  b: 1\nd: 2\n", ("a",), ["x"], "a: # c\n- x\nd: 2\n"),
        ('{"a":1}', ("b",), {"c": "yes"}, '{"a":1,"b":{"c":"yes"}}'),
        ('{"a": 1, "b": 2}', ("c",), [], '{"a": 1, "b": 2, "c": []}'),
        ("a: ['x', 'y']\n", ("a", 2), "z", "a: ['x', 'y', z]\n"),
        ("a: 1\n", ("b",), "two\nlines\té\x85", 'a: 1\nb: "two\\nlines\\té\\x85"\n'),
        ("a: 0o17\nb: 1\n", ("a",), 15, "a: 0o17\nb: 1\n"),
        ("a: {b: 1, c: 'd'}\n", ("a",), {"b": 1, "c": "d", "e": 2}, "a: {b: 1, c: 'd', e: 2}\n"),
        ("- a\n", (1,), "b", "- a\n- b\n"),
    ],
)
def test_what_is_set_looks_like_its_neighbours(text: str, path: Path, value: Any, result: str) -> None:
    assert edit(text, (path, value)) == result


def test_json_with_a_line_for_every_child_stays_so() -> None:
    (item,) = Stream.parse(
        b'{\n    "apiVersion": "v1",\n    "kind": "A",\n    "a": {\n        "b": 1\n    }\n}\n'
    ).items
    item.set(("a", "c"), ["x"])
    item.set(("d",), 1)
    assert item.text == (
        '{\n    "apiVersion": "v1",\n    "kind": "A",\n    "a": {\n        "b": 1,\n        "c": [\n            "x"\n'
        '        ]\n    },\n    "d": 1\n}'
    )


def remove(text: str, *paths: Path) -> str:
    item = Item.parse(text.encode())
    for path in paths:
        item.remove(path)
    return item.text


@pytest.mark.parametrize(
    ("text", "path", "result"),
    [
        ("a: 1\n# c\nb: 2 # d\nc: 3\n", ("b",), "a: 1\n# c\nc: 3\n"),
        ("a: 1\nb: 2", ("b",), "a: 1"),
        ("a:\n- b: 1\n  c: 2\n", ("a", 0, "b"), "a:\n- c: 2\n"),
        ("a:\n- b: 1\n  # x\n  c: 2\n", ("a", 0, "b"), "a:\n- # x\n  c: 2\n"),
        ("a:\n- 1 # x\n- 2\n", ("a", 0), "a:\n- 2\n"),
        ("a:\n  b: 1\nc: 2\n", ("a", "b"), "a: {}\nc: 2\n"),
        ("a:\n- 1\n", ("a", 0), "a: []\n"),
        ("a: {b: 1, c: 2}\n", ("a", "b"), "a: {c: 2}\n"),
        ("a: {b: 1, c: 2}\n", ("a", "c"), "a: {b: 1}\n"),
        ("a: 1\na: 2\nb: 3\n", ("a",), "b: 3\n"),
        ("a: 1\n", ("x", "y"), "a: 1\n"),
        ("a: |\n  x\nb: 1\n  # deeper\nc: 2\n", ("b",), "a: |\n  x\n# deeper\nc: 2\n"),
        ("a: 1\r\nb: 2\r\n", ("a",), "b: 2\r\n"),
        ("a:\n  ? |\n    k\nz: 1\n", ("a",), "z: 1\n"),
        ("a:\n  b: 1\n  ? |\n    k\nz: 1\n", ("a", "k\n"), "a:\n  b: 1\nz: 1\n"),
    ],
)
def test_what_is_removed_leaves_the_rest(text: str, path: Path, result: str) -> None:
    assert remove(text, path) == result


def test_an_alias_on_the_way_is_written_out() -> None:
    text = "a: &x\n  b: 1 # one\nc: *x\nd: *x\n"
    assert edit(text, (("c", "e"), 2)) == "a: &x\n  b: 1 # one\nc:\n  b: 1\n  e: 2\nd: *x\n"


def test_other_users_of_an_anchor_keep_their_value() -> None:
    text = "a: &x\n  b: 1\nc: *x\nd: [*x]\n"
    result = edit(text, (("a", "e"), 2))
    assert result == "a: &x\n  b: 1\n  e: 2\nc:\n  b: 1\nd: [{b: 1}]\n"


def test_an_anchor_that_is_removed_leaves_its_users_the_value() -> None:
    assert remove("a: &x 1\nb: *x\n", ("a",)) == "b: 1\n"
    assert edit("a: &x 1\nb: *x\n", (("a",), 2)) == "a: 2\nb: 1\n"


def test_a_merged_key_is_written_behind_the_merge() -> None:
    text = "a: &x {b: 1, m: {p: 2}}\nc:\n  <<: *x\n"
    assert edit(text, (("c", "b"), 3)) == text + "  b: 3\n"
    assert edit(text, (("c", "m", "o"), 4)) == text + "  m:\n    p: 2\n    o: 4\n"
    assert edit(text, (("c", "b"), 1)) == text


@pytest.mark.parametrize(
    ("text", "path", "part"),
    [
        ("a: &x {b: 1}\nc:\n  b: 2\n  <<: *x\n", ("c", "b"), "set before a merge key"),
        ("a: 1\n", ("a", "b"), "neither a map nor a list"),
        ("a: []\n", ("a", "b"), "is a list"),
        ("a: {}\n", ("a", 0), "is a map"),
        ("a: [1]\n", ("a", 2), "has 1 elements"),
    ],
)
def test_edits_that_cannot_be_made_are_refused(text: str, path: Path, part: str) -> None:
    item = Item.parse(text.encode())
    with pytest.raises(EditRefused, match=part):
        item.set(path, 5)
    assert item.text == text


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a: &x {b: 1}\nc:\n  <<: *x\n", ("c", "b")),
        ("a: &x {b: 1}\nc:\n  b: 2\n  <<: *x\n", ("c", "b")),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  b: 2\n", ("c", "b")),
        ("a: 1\n", ("a",)),
        ("a:\n  ? b\n  :\n  - 1\n", ("a", "b", 0)),
    ],
)
def test_removals_that_cannot_be_made_are_refused(text: str, path: Path) -> None:
    with pytest.raises(EditRefused):
        remove(text, path)


HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"


def test_an_anchor_that_another_item_uses_is_not_changed() -> None:
    resources = ResourceList.parse((HEAD + "- kind: A\n  s: &x\n    b: 1\n- kind: B\n  s: *x\n").encode())
    first, second = resources.items
    with pytest.raises(EditRefused, match="the anchor 'x' is used by another object"):
        first.set(("s", "c"), 2)
    second.set(("s", "c"), 2)
    assert second.value == {"kind": "B", "s": {"b": 1, "c": 2}}
    assert resources.render().decode() == HEAD + "- kind: A\n  s: &x\n    b: 1\n- kind: B\n  s:\n    b: 1\n    c: 2\n"


def test_anchors_of_the_same_name_in_two_items_are_told_apart() -> None:
    text = HEAD + "- kind: A\n  s: &x 1\n  t: *x\n- kind: B\n  s: &x 2\n  t: *x\n"
    assert [item.value["t"] for item in ResourceList.parse(text.encode()).items] == [1, 2]


def test_an_item_that_others_take_an_anchor_from_can_be_removed() -> None:
    resources = ResourceList.parse((HEAD + "- kind: A\n  s: &x {b: 1}\n- kind: B\n  s: *x\n  t: 1 # c\n").encode())
    resources.remove(resources.items[0])
    assert resources.render().decode() == HEAD + "- kind: B\n  s:\n    b: 1\n  t: 1 # c\n"


def test_an_item_can_be_removed_where_the_whole_list_is_written_in_braces() -> None:
    items = "{apiVersion: v1, kind: A, s: &x {b: 1}}, {apiVersion: v1, kind: B, s: *x}"
    stream = Stream.parse(f"{{apiVersion: v1, kind: List, items: [{items}]}}\n".encode())
    stream.remove(stream.items[0])
    text = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: B, s: {b: 1}}]}\n"
    assert stream.render().decode() == text
    stream = Stream.parse(f"{{apiVersion: v1, kind: List, items: [{items}], metadata: *x}}\n".encode())
    stream.remove(stream.items[0])
    with pytest.raises(EditRefused, match="anchors that the rest of the document uses"):
        stream.render()


@pytest.mark.parametrize("value", [{1: 2}, {"a": {3}}, {"a": float("nan")}, {"a": "\ud800"}, {"a": object()}])
def test_what_has_no_spelling_is_a_mistake_of_the_caller(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        Item.parse(b"a: 1\n").set(("b",), value)
    with pytest.raises(ValueError, match=r"."):
        Item.new(value)


def _nest(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def _hold_itself() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["a"] = [value]
    return value


@pytest.mark.parametrize("text", ["apiVersion: v1\nkind: A\n", '{"apiVersion": "v1", "kind": "A"}'])
def test_what_could_not_be_read_again_is_not_written(text: str) -> None:
    for value in (_hold_itself(), _nest(200), _nest(9999), b"x", bytearray(b"x"), 10**400, 10**9999, float("nan"), {1}):
        item = Item.parse(text.encode())
        for work in (lambda: item.set(("spec",), value), lambda: Item.new({"spec": value})):  # noqa: B023 # called at once
            with pytest.raises(ValueError, match=r"cannot be written|nested deeper than 200|limit"):
                work()
        assert item.text == text
    item = Item.parse(text.encode())
    item.set(("spec",), _nest(199))
    assert Item.parse(item.text.encode()).value["spec"] == _nest(199)
    for path in ((*["a"] * 201,), (*["a"] * 9999,)):
        with pytest.raises(ValueError, match="nested deeper"):
            item.set(path, 1)
    item.set(("b", *["a"] * 199), 1)
    assert Item.parse(item.text.encode()).value == item.value


def test_a_shorter_list_keeps_its_other_lines() -> None:
    text = "a:\n# one\n- x # first\n- y\n# two\n- z\n- w\n"
    assert edit(text, (("a",), ["x", "z"])) == "a:\n# one\n- x # first\n# two\n- z\n"
    assert edit(text, (("a",), ["w"])) == "a:\n# one\n# two\n- w\n"
    assert edit("a: [x, y, z] # c\n", (("a",), ["z"])) == "a: [z] # c\n"
    assert edit("- - x\n  - y\n  - z\n", ((0,), ["z"])) == "- - z\n"


@pytest.mark.parametrize("text", ["h:\n  a: 1\nk: v\n", '"h":\n  a: 1\n? k\n: v\n', '{"h": {"a": 1}, "k": "v"}\n'])
def test_an_edit_below_what_another_one_has_replaced_is_refused(text: str) -> None:
    item = Item.parse(text.encode())
    item.set(("h",), "x")
    with pytest.raises(EditRefused, match="h is neither a map nor a list"):
        item.set(("h", "b"), 1)
    assert Item.parse(item.text.encode()).value == item.value == {"h": "x", "k": "v"}


def test_the_text_of_a_new_object_is_written_as_it_was_given_and_then_edited() -> None:
    item = Item.new({"a": {"c": 1, "b": 2}})
    item.set(("a",), {"b": 3, "c": 1})
    assert item.text == "a:\n  c: 1\n  b: 3\n"
    with pytest.raises(ValueError, match="surrogate"):
        Item.new({"\ud800": 1})


@pytest.mark.parametrize(
    "text", ["a: {k # x: y\n  }\n", "a: {b: 1, k # x: y\n  , d}\n", "a: {? k # x:\r  : # y:\r  }\n"]
)
def test_a_colon_in_a_comment_is_not_that_of_a_key(text: str) -> None:
    item = Item.parse(text.encode())
    item.set(("a", "k", "n"), 1)
    assert Item.parse(item.text.encode()).value == item.value
    assert item.text.count("# x:") == 1


@pytest.mark.parametrize("value", ["", " []", " # c: d"])
def test_a_colon_in_a_comment_is_not_that_of_a_list(value: str) -> None:
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
    resources = ResourceList.parse(f"{head}? items # a: b\n:{value}\n".encode())
    resources.append(Item.new({"kind": "A"}))
    assert [item.value for item in ResourceList.parse(resources.render()).items] == [{"kind": "A"}]


@pytest.mark.parametrize("look", [False, True])
def test_what_is_written_does_not_depend_on_what_is_looked_at(look: bool) -> None:
    item = Item.parse(b"a:\n b: 1\nc: 1\n")
    item.remove(("a",))
    assert not look or item.text == "c: 1\n"
    item.set(("d",), {"e": "f"})
    assert item.text == "c: 1\nd:\n e: f\n"


@pytest.mark.parametrize("key", ["k" * 1023, "\x07" * 256, "\ud800"])
def test_keys_that_no_reader_takes_are_refused_at_once(key: str) -> None:
    stream = Stream.parse(b"apiVersion: v1\nkind: A\nd: {}\n")
    (item,) = stream.items
    for path, value in ((("d", key), 1), (("d",), {key: 1}), (("e",), [{key: 1}])):
        with pytest.raises(ValueError, match=r"longer than 1024 characters|lone surrogate"):
            item.set(path, value)
    assert stream.render() == b"apiVersion: v1\nkind: A\nd: {}\n"
    item.set(("d", "é" * 1022), 1)
    assert Stream.parse(stream.render()).items[0].value["d"] == {"é" * 1022: 1}


@pytest.mark.parametrize("path", ["data", ["data", "a"]])
def test_a_path_that_is_no_tuple_is_refused(path: Any) -> None:
    (item,) = Stream.parse(b"apiVersion: v1\nkind: A\n").items
    with pytest.raises(TypeError, match="a path is a tuple"):
        item.set(path, 1)
    with pytest.raises(TypeError, match="a path is a tuple"):
        item.remove(path)
    assert not item.touched
