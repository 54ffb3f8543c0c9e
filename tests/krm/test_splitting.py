"""The splitter finds what the full reader finds, or leaves the text to it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from krmfn.krm import Item, ResourceList, Unreadable
from krmfn.krm.fast_reading import read_fast
from krmfn.krm.source import Source
from krmfn.krm.stream import read_resource_list
from tests.krm.manifests import OBJECTS, Speller

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
CONFIG = """\
functionConfig:
  apiVersion: a/v1
  kind: C
  metadata:
    name: c
    annotations:
      f: |
        exec: {path: x}
"""
PLAIN = """\
- apiVersion: v1
  kind: A
  metadata:
    name: a
    namespace: n
  x: |
    - apiVersion: y
    kind: B
"""


def read_both(data: bytes) -> tuple[ResourceList | None, ResourceList | Unreadable]:
    """What the splitter makes of a text (None: it declines), and what the full reader makes of it."""
    full: ResourceList | Unreadable
    try:
        full = ResourceList(Source(data), read_resource_list(Source(data)))
    except Unreadable as error:
        full = error
    try:
        fast = read_fast(Source(data))
    except Unreadable:
        assert isinstance(full, Unreadable), data
        return None, full
    if fast is None:
        return None, full
    return ResourceList(Source(data), fast), full


def read_value(item: Item) -> Any:
    """The value, or that there is none."""
    try:
        return item.ref, item.value
    except Unreadable as error:
        return error.message


def assert_alike(fast: ResourceList, full: ResourceList) -> None:
    """The same items, even where some cannot be read."""
    assert [read_value(item) for item in fast.items] == [read_value(item) for item in full.items]


def assert_same(fast: ResourceList, full: ResourceList) -> None:
    assert [item.ref for item in fast.items] == [item.ref for item in full.items]
    assert [item.value for item in fast.items] == [item.value for item in full.items]
    assert fast.api_version == full.api_version
    assert (fast.function_config and fast.function_config.value) == (
        full.function_config and full.function_config.value
    )
    for resources in (fast, full):
        for item in resources.items[1::2]:
            resources.remove(item)
        for item in resources.items:
            item.set(("metadata",), {"name": "x"})
        resources.append(Item.new({"kind": "New"}))
    assert [item.value for item in ResourceList.parse(fast.render()).items] == [item.value for item in full.items]


@st.composite
def resource_lists(draw: Any) -> str:
    """A ResourceList with objects in any style, entries in any order."""
    newline = draw(st.sampled_from(["\n", "\n", "\n", "\r\n"]))
    speller = Speller(draw, newline)
    dash = " " * draw(st.sampled_from([0, 0, 2, 4]))
    items = ""
    for value in draw(st.lists(OBJECTS, max_size=3)):
        if draw(st.booleans()):
            items += speller.filler(len(dash)) + dash + PLAIN.replace("\n", newline + dash)[: -len(dash) or None]
        gap = draw(st.sampled_from([" ", " ", "   "]))
        items += dash + "-" + gap + speller.block_inline(value, len(dash) + 1 + len(gap)) + speller.filler(0)
    entries = [HEAD.replace("\n", newline), "items:" + newline + items]
    if draw(st.booleans()):
        entries.append(CONFIG.replace("\n", newline))
    if draw(st.booleans()):
        entries.append("results:" + newline + "- message: 'x - y'" + newline)
    return "".join(draw(st.permutations(entries)))


@given(resource_lists())
def test_a_text_that_is_split_has_the_items_that_it_has(text: str) -> None:
    fast, full = read_both(text.encode())
    assert isinstance(full, ResourceList)
    if fast is not None:
        assert_same(fast, full)


@pytest.mark.parametrize("blank", [" ", "\t"])
def test_blanks_before_a_colon(blank: str) -> None:
    text = HEAD + "items:\n" + PLAIN.replace("kind: A\n", "kind: A\n  status: {}\n", 1)
    for place in (found.start() for found in re.finditer(":", text)):
        fast, full = read_both((text[:place] + blank + text[place:]).encode())
        if fast is not None:
            assert isinstance(full, ResourceList)
            assert_alike(fast, full)


@given(st.data(), resource_lists())
@example(None, HEAD + "items:\n" + PLAIN)
def test_damaged_texts_are_split_rightly_or_not_at_all(data: Any, text: str) -> None:
    damaged = text
    for _ in range(1 if data is None else data.draw(st.integers(1, 3))):
        place = 0 if data is None else data.draw(st.integers(0, len(damaged)))
        piece = (
            ""
            if data is None
            else data.draw(
                st.sampled_from(
                    [
                        "'",
                        '"',
                        "[",
                        "{",
                        "}",
                        "\n",
                        "\n- ",
                        "\t",
                        " ",
                        "|",
                        "#",
                        ": ",
                        "\r",
                        "&a ",
                        "*a",
                        "---",
                        "\x85",
                        "é",
                        "? ",
                        "!t ",
                    ]
                )
            )
        )
        cut = 0 if data is None else data.draw(st.integers(0, 4))
        damaged = damaged[:place] + piece + damaged[place + cut :]
    fast, full = read_both(damaged.encode())
    if fast is not None and isinstance(full, ResourceList):
        assert_alike(fast, full)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "items:\n" + PLAIN + PLAIN + CONFIG,
        HEAD + "items:\n# c\n\n" + PLAIN + "\n# c\n" + PLAIN + "\n" + CONFIG + "results:\n- message: x\n",
        CONFIG + "items:\n" + PLAIN + HEAD,
        "---\n" + HEAD + "items: []\n",
        HEAD + "items:\n" + CONFIG,
        HEAD + "items: null # none\n",
        HEAD,
        HEAD
        + "items:\n- apiVersion: v1\n  kind: A\n  a: 'x y'\n  b: \"it's {\"\n  c: [a, 'b]']\n  d: {x: \"}\"}\n"
        + PLAIN,
        "\ufeff" + HEAD + "items:\n" + PLAIN,
        (HEAD + "items:\n" + PLAIN).replace("\n", "\r\n"),
        HEAD + "items:\n- kind: A\n  a: |\n    it's \"open {\n" + PLAIN,
        HEAD + "items:\n  - kind: A\n  - kind: B\n",
    ],
)
def test_usual_texts_are_split(text: str) -> None:
    fast, full = read_both(text.encode())
    assert fast is not None
    assert isinstance(full, ResourceList)
    assert fast.render() == text.encode()
    assert_same(fast, full)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "items:\n- kind: A\n  a: 'x\n- kind: B\n  b: y'\n",
        HEAD + 'items:\n- kind: A\n  a: "x\n- kind: B\n  b: y"\n',
        HEAD + "items:\n- kind: A\n  a: [x,\n'- kind: B']\n",
        HEAD + "items: [{kind: A}]\n",
        HEAD + "items: &x\n- kind: A\n",
        HEAD + "items:\n-\n  kind: A\n",
        HEAD + "items:\n-\tkind: A\n",
        HEAD + "items:\n- kind: A\r- kind: B\n",
        *(HEAD + f"items:\n{line}\n  - kind: A\n" for line in (" \t# c", " \t")),
        HEAD + "items:\n- kind: A\u0085- kind: B\n",
        HEAD + "items:\n- kind: A\n---\nkind: B\n",
        HEAD + "'items':\n- kind: A\n",
        HEAD + "? items\n: - kind: A\n",
        HEAD + "items:\n- kind: A\nitems:\n- kind: B\n",
        HEAD + "functionConfig: 'a\nitems:\n- kind: A'\n",
        "{apiVersion: config.kubernetes.io/v1, kind: ResourceList, items: [{kind: A}]}\n",
        HEAD + "items:\n  - kind: A\n - kind: B\n",
        HEAD.replace("ResourceList", "Resource\n  List") + "items:\n- kind: A\n",
    ],
)
def test_what_cannot_be_proved_is_left_to_the_full_reader(text: str) -> None:
    assert read_fast(Source(text.encode())) is None


def test_quotes_over_several_lines_stay_in_their_item() -> None:
    text = HEAD + "items:\n- kind: A\n  a: 'x\n\n  kind: B'\n  b: {c: d,\n  kind: C}\n" + PLAIN
    fast, full = read_both(text.encode())
    assert fast is not None
    assert isinstance(full, ResourceList)
    assert [item.kind for item in fast.items] == ["A", "A"]
    assert_same(fast, full)


@pytest.mark.parametrize(
    "body",
    [
        "kind: A\n  apiVersion: v1\n  metadata:\n    name: a\n",
        "apiVersion: v1\n  kind: A\n  kind: B\n",
        "|\n  apiVersion: v1\n  kind: A\n  metadata:\n    name: b\n",
        "&a !b |\n  apiVersion: v1\n  kind: A\n  metadata:\n    name: b\n",
        "\n  apiVersion: v1\n  kind: A\n  metadata:\n    name: b\n",
        "# c\n  apiVersion: v1\n  kind: A\n  metadata:\n    name: b\n",
        "apiVersion: v1\n  kind: A\n  'kind': B\n",
        "apiVersion: v1\n  kind: A\n  <<: {kind: B}\n",
        "apiVersion: v1\n  kind: yes\n  metadata: {name: x}\n",
        "apiVersion: v1\n  kind: A\n    b\n",
        "apiVersion: v1\n  kind: A # c\n  metadata:\n      name: a\n",
        "apiVersion: v1\n  kind: A\n  metadata:\n    labels:\n      name: b\n    name: '12'\n    namespace: 1e3\n",
        "apiVersion: v1\n  kind: A\n  metadata:\n    namespace: n\n    name: 12\n  spec:\n    name: q\n",
        "apiVersion: v1\n  kind: A\n  spec:\n    name: q\n    namespace: r\n",
        "apiVersion: v1\n  kind: A\n  metadata:\n    name: a\n    ? name\n    : b\n",
        "apiVersion: v1\n  kind: A\n  metadata:\n    name: a\n    name: b\n",
        "apiVersion: v1\n  kind: A\n  metadata:\n    name: a\n     b\n    namespace: true\n",
    ],
)
def test_a_head_read_by_lines_is_the_head_of_the_value(body: str) -> None:
    text = (HEAD + "items:\n- " + body).encode()
    fast, full = read_both(text)
    assert fast is not None
    assert isinstance(full, ResourceList)
    assert [item.ref for item in fast.items] == [item.ref for item in full.items]


@pytest.mark.parametrize(
    "lines",
    [
        "a: b\nc/d.e: 'f: g'\nh: |\n  i: j\n  k\nl: ''\n",
        "a: b\na: c\n",
        "a: yes\nb: 12\n",
        "yes: b\n",
        "a: b c\n",
        "a: b # c\n",
        "a: b\n  c\n",
        "a: 'b''c'\n",
        "a: 'b' # c\n",
        "a: |\n  b\n\n  c\n",
        "a: |\n  b\n   c\n",
        "a: |-\n  b\n",
        "a: |\n  b\n# c\nd: e\n",
        "'a': b\n",
        "a:\n",
        "a: {}\n",
        'a: "b"\n',
        "a: &x b\nc: *x\n",
        "<<: {a: b}\n",
    ],
)
@pytest.mark.parametrize("field", ["annotations", "labels"])
def test_labels_and_annotations_read_by_lines_are_those_of_the_value(lines: str, field: str) -> None:
    block = "".join(f"      {line}\n" for line in lines.splitlines())
    body = f"- apiVersion: v1\n  kind: A\n  metadata:\n    {field}:\n{block}    name: a\n  {field}:\n    x: y\n"
    fast, full = read_both((HEAD + "items:\n" + body).encode())
    assert fast is not None
    assert isinstance(full, ResourceList)
    assert getattr(fast.items[0], field) == getattr(full.items[0], field) != {}
    assert fast.items[0].value["metadata"].keys() == {field, "name"}


ITEM = """\
- apiVersion: v1
  kind: A
  metadata:
    annotations:
      a: b
      c: |
        d
    name: e
    namespace: f
  spec:
    name: g
"""
#: What may stand between two lines: nothing, blanks, comments in every column, more of the line before.
BETWEEN = ["", "   ", *(" " * column + "# c" for column in range(8)), "      h", "\n         h", "     \n       h"]


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("order", [False, True])
def test_lines_between_the_lines_of_a_head_change_it_as_they_change_the_value(between: str, order: bool) -> None:
    text = ITEM.replace("apiVersion: v1\n  kind: A", "kind: A\n  apiVersion: v1") if order else ITEM
    lines = text.splitlines()
    for place in range(1, len(lines) + 1):
        body = "\n".join([*lines[:place], between, *lines[place:]]) + "\n"
        fast, full = read_both((HEAD + "items:\n" + body + ITEM).encode())
        if isinstance(full, Unreadable):
            continue
        assert fast is not None
        for one, other in zip(fast.items, full.items, strict=True):
            assert (one.ref, one.annotations, one.labels) == (other.ref, other.annotations, other.labels)
            assert other.value["metadata"].get("namespace") == one.namespace


def test_an_annotation_that_is_not_utf_8_is_unreadable() -> None:
    items = ResourceList.parse((HEAD + "items:\n" + ITEM).encode().replace(b"a: b\n", b"a: '\xff'\n")).items
    with pytest.raises(Unreadable, match="line 8, column 11: the text is not UTF-8"):
        assert items[0].annotations
