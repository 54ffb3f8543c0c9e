"""The line reader gives the nodes and the value that libyaml's events give, or nothing."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yaml.reader import Reader

from krmfn.krm.composing import compose
from krmfn.krm.editing import same
from krmfn.krm.errors import Unreadable
from krmfn.krm.lines import read_lines
from krmfn.krm.nodes import Mapping, Node, Scalar, Sequence
from krmfn.krm.places import line_start
from krmfn.krm.values import to_value
from tests.fuzz.editing import check_lines
from tests.krm.manifests import VALUES, list_paths, spelled_objects


def spell(node: Node | None) -> Any:
    """A node with everything in it, comparable."""
    head = node and (type(node).__name__, node.start, node.end, node.anchor, node.tag)
    if isinstance(node, Scalar):
        return head, node.content, node.style
    if isinstance(node, Mapping):
        return head, node.flow, [(spell(key), spell(child)) for key, child in node.pairs]
    if isinstance(node, Sequence):
        return head, node.flow, [spell(child) for child in node.items]
    return head


def assert_alike(text: str) -> bool:
    """Compare the readers; tells whether the line reader understood the text."""
    read = read_lines(text)
    if read is None:
        return False
    value, root = read.value, read.make_root()
    whole = compose(text)
    expected = to_value(whole, text)
    assert same(value, expected)
    assert same(to_value(root, text), expected)
    assert spell(root) == spell(whole)
    return True


@pytest.mark.parametrize("text", ["ab\ncd\r\nef\rgh", "ab\u2028cd\u2029ef\x85gh\nij", "é\nab\u2028\u2028c"])
def test_lines_begin_where_libyaml_begins_them(text: str) -> None:
    reader = Reader(text)
    for offset in range(len(text)):
        assert line_start(text, offset) == offset - reader.column or text[offset - 1 : offset + 1] == "\r\n"
        reader.forward()


@pytest.mark.parametrize(
    "text",
    [
        "a: b\n",
        "a: b",
        "  a: b\n  c:\n  d: e\n",
        "a:\n- b\n- c: d\n  e: f\n-   g:\n    - h\n",
        "a:\n  - b\n  - - c\n    - d: e\nf:\n",
        "a:\n# c\n\n  b: c # d\n  # e\n  f: 'g''h'  # i\n",
        "a: \"b # c\"\nd: 'e: f'\nh: {}\ni: []\n",
        "a: |\n  b\n   c: d\n\n  # e\n\nf: |-\n    g\nh: |+\n  i\n\n# j\nk: l\n",
        "a: https://b:80/c#d\ne: f g (h)\ni: -1\nj: --k\nl: ~\nm: a,b\n",
        "a:\n  b: |\n    c\n  d: e\n",
        "a:\n- |\n  b\n- c\n",
        "yes: no\n",
        "a:\n  b:\n    c:\nd: e\n",
        "a: b\n c\n",
        "a: b  c   d\n  e  f\n",
        "a: 1\n\n\n  2 - 'c' [d] e:f\n\n  - g  \nb:\n- c d\n  e\n- f\n",
        "a: 'b\n  c''d \n\n\n  e'\nf:\n- 'g\n   '\n- '\n  h'  \n",
        'a: "b\\n\\"c\\"\\\\\\t"  \nd:  \n  e: f \n',
        "a: {b: {c: d, e: [f, {g: h}]}, i: [], j: {}} # }\nk: [[l], [m, [n]]]\n",
        'a:\n- b: {c: {d: e, f: 1}}\n- b: {c: {yes: -g}}\n- b: {c: [h, i]}\n- b: [j, 2]\n- b: "k"\n',
        "a: { b:  c,d: [ 'e, {' , \"}\" ] , g: { } }  # h\ni: [1,yes,0x1f,100m]\n",
    ],
)
def test_plain_texts_are_read(text: str) -> None:
    assert assert_alike(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "# a\n",
            "a\n",
            "- a\n",
            "a: b: c\n",
            "a: b # d\n c\n",
            "a: b\n # d\n c\n",
            "a: b\nc\n",
            "a: b\n  c: d\n",
            "a:\n  b\n",
            "a: *b\n",
            "a: &b c\n",
        ),
        *(
            "a: !b c\n",
            "? a\n: b\n",
            "'a': b\n",
            "a: {b: c}\n",
            "a: [b]\n",
            "a: >\n  b\n",
            "a: |2\n   b\n",
            "a: 'b\nc'\n",
            "a: 'b\n  c' d\n",
            "a: 'b\n  c\n",
        ),
        *(
            'a: "b\\x41"\n',
            "a: |\nb: c\n",
            "a: |\n\n  b\n",
            "a: |\n  b",
            "a: |\n  b\n   \n",
            "a: |\n  \tb\n",
            "a:\tb\n",
        ),
        *(
            "a: b\r\n",
            "a: é\n",
            "a: b\n- c\n",
            "a:\n- b\nc: d\n - e\n",
            "a:\n  b: c\n d: e\n",
            "-\n",
            "a:\n-\n",
            "<<: a\n",
        ),
        *(
            "--- \na: b\n",
            "a: b\n...\n",
            "a: b\n---\nc: d\n",
            "%YAML 1.1\n",
            "a: @b\n",
            "a: b  c\n",
            "a :b\n",
            "1: a\n",
        ),
        *("a: 'b' c\n", "a: |\n b\n  c: d\n e\nf\n", "a:\n  - b\n - c\n", "a:\n - b\n   c\n", "a: {} b\n", "a: - b\n"),
    ],
)
def test_other_texts_are_not_guessed(text: str) -> None:
    try:
        assert_alike(text)
    except Unreadable:
        pytest.fail("the line reader took a text that is none")


@given(spelled_objects())
def test_a_text_in_any_style_is_read_alike_or_not_at_all(spelled: tuple[dict[str, Any], str]) -> None:
    assert_alike(spelled[1])


PIECES = [
    "'",
    '"',
    "[",
    "{",
    "}",
    "\n",
    "\n- ",
    " ",
    "  ",
    "|",
    "#",
    " # ",
    ": ",
    ":",
    "&a ",
    "*a",
    "---",
    "? ",
    "-",
    "- ",
    "|+\n",
]


@given(st.data(), spelled_objects())
def test_a_damaged_text_is_read_alike_or_not_at_all(data: Any, spelled: tuple[dict[str, Any], str]) -> None:
    text = spelled[1]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        text = text[:place] + data.draw(st.sampled_from(PIECES)) + text[place + data.draw(st.integers(0, 3)) :]
    assert_alike(text)


FLOWS = [
    *(
        "{",
        "[",
        "}",
        "]",
        "{a: ",
        "b: ",
        "{b: [",
        ", ",
        ",",
        " , ",
        ": ",
        ":",
        "? ",
        "}]",
        "]}",
        "{}",
        "[ ]",
        " ",
        "  ",
    ),
    *(
        "c",
        "d e",
        "'f'",
        "'g''h'",
        '"i"',
        '"j\\n"',
        "'}'",
        '"] # k"',
        "#",
        " # l",
        "{m: n}",
        "[o, p]",
        "[q,r]",
        "s/t.u=v*",
    ),
    *(
        "1",
        "0x1f",
        "1e3",
        "-7",
        "1_0",
        "100m",
        "1.2.3",
        "12:30",
        "yes",
        "n: ",
        "~",
        "null: ",
        "true",
        ".inf",
        "-",
        "- ",
    ),
    *("&w ", "*w", "!x ", "\t", "\n", "\n  ", "|", ">", "%", "@", "`", "é", "--- ", "{yes: no, ", "<<: ", "\\", "\r"),
]


def write_flow(random: Random) -> str:
    """A line with a flow collection, in most cases a correct one that was spoiled in one place or nowhere."""

    def write(depth: int) -> str:
        if depth > 3 or random.random() < 0.6:
            return random.choice(["c", "1", "'f'", '"i"', "yes", "100m", "-7", "s/t.u=v*", "[]", "{}", "1e3", "'}'"])
        blank, comma = random.choice(["", "", " "]), random.choice([", ", ", ", ",", " , ", ",  "])
        count = random.choice([0, 1, 1, 2, 3])
        if random.random() < 0.4:
            return f"[{blank}{comma.join(write(depth + 1) for _ in range(count))}{blank}]"
        keys = [random.choice(["a", "b", "c", "app/name", "on", "d.e"]) for _ in range(count)]
        colon = random.choice([": ", ": ", ":  "])
        return f"{{{blank}{comma.join(key + colon + write(depth + 1) for key in keys)}{blank}}}"

    text = write(0) if random.random() < 0.9 else "".join(random.choice(FLOWS) for _ in range(random.randint(1, 8)))
    for _ in range(random.choice([0, 0, 1, 1, 2])):
        place = random.randint(0, len(text))
        text = text[:place] + random.choice(FLOWS) + text[place + random.choice([0, 0, 1, 2]) :]
    head = random.choice(["a: ", "a:  ", "a:\n- ", "a:\n  b: ", "a:\n- b: ", "a: x\nb: ", "a: {b: c}\nd: "])
    return head + text + random.choice(["\n", "\n", " # c\n", "\nz: y\n", " # }\nz: ]\n", ""])


def test_flow_collections_at_random_are_read_alike_or_not_at_all() -> None:
    steps = int(os.environ.get("KRMFN_STEPS", "1000"))
    random = Random(steps)
    taken = sum(assert_alike(write_flow(random)) for _ in range(steps))
    assert taken > steps // 4


LINES = st.tuples(
    st.integers(0, 3),
    st.sampled_from(
        [
            "a:",
            "b: c",
            "- a: b",
            "- c",
            "- d:",
            "e: |",
            "text",
            "- - f",
            "g: 'h'",
            "",
            "# c",
            "i: {}",
            "- |",
            "j: k # l",
            "- 'm'",
            "x: |+",
            "n: two words",
            "more words ",
            "- 'open",
            "o: 'it''s ",
            "closed'",
            'p: "q\\"\\n"',
            "text # c",
            "- listed",
        ]
    ),
)


@given(st.lists(LINES, min_size=1, max_size=9))
def test_lines_at_random_are_read_alike_or_not_at_all(lines: list[tuple[int, str]]) -> None:
    text = "".join("  " * depth + line + "\n" for depth, line in lines)
    assert_alike(text)


HEADS = st.sampled_from(["a: ", "b: ", "- ", "- c: ", "- - ", "on: ", "  d: ", "a:\n  e: ", "# f: "])
SCALARS = st.sampled_from(["x", "1e3", "~", "yes # g", "'h: i'", '"j\\n"', "k  l", "[m, n]", "{o: p}", "|\n    q", ""])


@given(st.lists(st.tuples(HEADS, SCALARS, SCALARS), min_size=1, max_size=6))
def test_documents_that_differ_in_scalars_are_read_alike(lines: list[tuple[str, str, str]]) -> None:
    """They have one outline, and each its own values and places."""
    for text in ("".join(f"{line[0]}{line[1 + number % 2]}\n" for line in lines) for number in range(3)):
        assert_alike(text)


def test_lines_that_are_forgotten_are_read_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krmfn.krm.lines._MOST_LINES", 3)
    for number in range(9):
        assert assert_alike(f"a: b\nc: {number}\nd:\n- e: {{f: {number}}}\n- {number % 2}\ng: |\n  {number}\n")


def test_documents_share_no_collection() -> None:
    text = "a: [x]\nb: {m: z}\n"
    first, second = read_lines(text), read_lines(text)
    assert first is not None
    assert second is not None
    first.value["a"].append(1)
    first.value["b"]["k"] = 1
    assert second.value == {"a": ["x"], "b": {"m": "z"}}


@given(
    st.lists(st.tuples(HEADS, SCALARS), min_size=1, max_size=6), st.sampled_from(["z", "a", 0]), VALUES, st.booleans()
)
def test_new_keys_go_where_the_nodes_say(lines: list[tuple[str, str]], key: str | int, new: Any, ends: bool) -> None:
    text = "".join(f"{head}{scalar}\n" for head, scalar in lines)
    read = read_lines(text if ends else text[:-1])
    for path in [(), *list_paths(read.value)] if read else []:
        check_lines(text if ends else text[:-1], (*path, key), new)
        check_lines(text, (*path, "y", key, "x"), new)
