"""Without libyaml, as in a browser: PyYAML's own parser reads the same. The oracle is libyaml."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from krmfn.krm import composing
from krmfn.krm.errors import Unreadable
from krmfn.krm.nodes import Mapping, Node, Scalar, Sequence

ROOT = Path(__file__).parents[2]
FILES = sorted(path for name in ("examples", "fixtures", "playground") for path in (ROOT / name).rglob("*.yaml"))
HARD = [
    "a: &x {b: [1, 'two', \"t\\nhree\"]}\nc: *x\n",
    "a: |-\n  text\n   more\nb: >\n  folded\n\n  twice\n# end\n",
    "? long\n: value\n- no\n",
    "a: &a 1\nb: &a 2\nc: *a\n",
    "a: *missing\n",
    "a: [1, 2\n",
    "a: 'open\n",
    "a:\n\tb: 1\n",
    "\N{BYTE ORDER MARK}a: \N{SNOWMAN}\n",
    "a: \ud800\n",
]


def dump(node: Node | None) -> Any:
    """A node as plain data: what it is, where it is, what is in it."""
    if node is None:
        return None
    told = (type(node).__name__, node.start, node.end)
    if isinstance(node, Scalar):
        return (*told, node.content, node.style, node.tag, node.anchor)
    if isinstance(node, Mapping):
        return (*told, *((dump(key), dump(value)) for key, value in node.children))
    return (*told, *map(dump, node.children)) if isinstance(node, Sequence) else told


def read(make: Callable[[str], Any], text: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(composing, "_make_parser", make)
    try:
        return dump(composing.compose(text))
    except Unreadable as error:
        return ("unreadable", error.line)


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="compares with libyaml")
def test_the_parser_without_libyaml_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from yaml._yaml import CParser

    texts = [part for file in FILES for part in re.split(r"^---.*\n", file.read_text(), flags=re.MULTILINE)]
    assert len(texts) > 100
    for text in [*texts, *HARD]:
        assert read(yaml.SafeLoader, text, monkeypatch) == read(CParser, text, monkeypatch), text
