"""What is read without a tree is what the tree gives; everything else is left to it."""

from __future__ import annotations

import pytest

from krmfn.krm.composing import compose
from krmfn.krm.line_reading import read_lines
from krmfn.krm.line_values import read_values
from krmfn.krm.values import to_value

PLAIN = [
    "a: 1\nb:\n  c: 'x''y'\n  d: \"z\"\n",
    "a:\n- 1\n- b: ~\n  c:\n- - x\n  - {}\nd: # why\n  e: []\n",
    "a:\n  - x\n  - y: {k: 0x1f, l: 'm, n'}\n\n# end\nyes: [a, --b=c, -1, 1.5, .., '']",
    "a: 1\na: 2\n",
]
OTHERS = [
    "- a\n",
    "a: |\n  b\n",
    "a: &x 1\n",
    "a: b: c\n",
    "a: b\n  c\n",
    "a: {b: [c]}\n",
    "a:\n - b\n  - c\n",
    "",
    "é: 1\n",
]


@pytest.mark.parametrize("text", PLAIN)
def test_values_are_those_of_the_tree(text: str) -> None:
    assert read_values(text) == to_value(compose(text), text) == to_value(read_lines(text), text)


@pytest.mark.parametrize("text", OTHERS)
def test_the_rest_is_left_to_the_tree(text: str) -> None:
    assert read_values(text) is None


def test_documents_share_no_collection() -> None:
    text = "a: [x]\nb: {m: z}\n"
    first, second = read_values(text), read_values(text)
    assert first is not None
    assert second is not None
    first["a"].append(1)
    first["b"]["k"] = 1
    assert second == read_values(text) == {"a": ["x"], "b": {"m": "z"}}
