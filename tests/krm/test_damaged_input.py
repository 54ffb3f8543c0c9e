"""Whatever the bytes: an answer or Unreadable, and what is not touched leaves as it came."""

from __future__ import annotations

import contextlib
import copy
import gc
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from krmfn.krm import EditRefused, Item, ResourceList, Result, Stream, Unreadable
from krmfn.krm.paths import dig
from tests.fuzz.mutations import walk

#: A result with all parts.
RESULT: dict[str, Any] = {
    "message": "m",
    "severity": "error",
    "resourceRef": {"apiVersion": "v1", "kind": "A", "name": "a", "namespace": "b"},
    "field": {"path": "p"},
    "file": {"path": "a.yaml", "index": 1, "line": 2, "column": 3},
    "edit": {"start": {"line": 2, "column": 3}, "end": {"line": 2, "column": 4}, "text": "x"},
    "tags": {"rule": "r"},
}
SEEDS = [
    b"""\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: A
  metadata:
    name: a
  spec: {a: [1, 'b'], c: &x {d: e}}
  f: *x
- kind: B
  g: |
    h
functionConfig:
  kind: C
""",
    b'{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [{"kind": "A", "n": 1.5e3}]}',
    b"""\
# a
apiVersion: v1
kind: A
---
kind: List
apiVersion: v1
items:
- {apiVersion: v1, kind: B}
...
---
x: {{ y }}
""",
    b'[{"a": "\\ud83d"}]',
]
OBJECT = {"apiVersion": "v1", "kind": "N", "metadata": {"name": "n"}}
BYTES = st.one_of(
    st.sampled_from([bytes([sign]) for sign in b"'\"[]{}:-#&*!|>\n\r\t ,?%\\\x00\xff"]), st.binary(max_size=3)
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A seed with a few bytes replaced, inserted or cut."""
    data = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(data)))
        data = data[:place] + draw(BYTES) + data[place + draw(st.integers(0, 5)) :]
    return data


def use(resources: ResourceList | Stream) -> None:
    """Ask everything of every item, and edit it."""
    assert resources.render() is not None
    for item in list(resources.items):
        with contextlib.suppress(Unreadable, EditRefused):
            assert None not in (item.ref, item.labels, item.annotations, item.value, item.problems)
            assert item.locate(("metadata", "name"))
            item.set(("metadata", "labels", "a"), "b")
            item.remove(("kind",))
            item.set(("spec", "c", "d"), [1])
            assert item.value["metadata"]["labels"]["a"] == "b"
    with contextlib.suppress(Unreadable):
        resources.append(Item.new({"kind": "N"}))
        resources.remove(resources.items[0])
        resources.render()


@contextlib.contextmanager
def naming(text: bytes) -> Iterator[None]:
    """Of many texts, an error says in which one it was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in {text!r}")
        raise


@pytest.mark.parametrize("seed", SEEDS)
def test_a_text_that_ends_anywhere(seed: bytes) -> None:
    for end in range(len(seed)):
        for parse in (ResourceList.parse, Stream.parse):
            with contextlib.suppress(Unreadable), naming(seed[:end]):
                use(parse(seed[:end]))


@pytest.mark.parametrize("final", ["", "\n", "\r", "\r\n", "\x85", "\u2028", "\u2029", " ", "\n ", "\n\n"])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_added_behind_any_end_is_read_again(seed: bytes, final: str) -> None:
    for end in range(len(seed)):
        for parse in (ResourceList.parse, Stream.parse):
            with contextlib.suppress(Unreadable, EditRefused), naming(seed[:end] + final.encode()):
                resources = parse(seed[:end] + final.encode())
                before = [item.value for item in resources.items]
                resources.append(Item.new(OBJECT))
                added = [*before, OBJECT]
                text = resources.render()
                assert [item.value for item in read_back(parse, text)] == added, text
                if isinstance(resources, ResourceList):
                    text = resources.render([Result("a")])
                    assert [item.value for item in read_back(parse, text)] == added, text
                    text = resources.render_original([Result("a")])
                    assert [item.value for item in read_back(parse, text)] == before, text


def read_back(parse: Callable[[bytes], ResourceList | Stream], text: bytes) -> list[Item]:
    try:
        return parse(text).items
    except Unreadable as error:
        raise AssertionError(text) from error


@given(damaged())
@example(b"")
@example(b"\xef\xbb\xbf")
@example(b"{")
@example(b'{"a"')
@example(b"# \xff\n---\napiVersion: v1\nkind: A\n")
def test_damaged_input_is_read_or_unreadable(data: bytes) -> None:
    for read in (ResourceList.parse, Stream.parse):
        with contextlib.suppress(Unreadable):
            resources = read(data)
            assert resources.render() == data
            use(resources)


@pytest.fixture
def no_collector() -> Iterator[None]:
    """As when krmfn runs: beside the objects of all other tests it takes longer than reading."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b"{" * 100_000,
        b'{"a":' * 50_000,
        b"- " * 100_000,
        b"? " * 100_000,
        b"a: &a [" * 20_000,
        b"'" * 200_000,
        b"'\n" * 100_000,
        b"!" * 100_000,
        b"\n- '" * 50_000,
        b'{"' + b'\\"' * 100_000,
        b'{"' + b'\\"' * 100_000 + b"\\\n",
        b"{/*" * 100_000,
        b'{"a": "' + b'\\"' * 60_000 + b"\\",
        b"a: [" + b"\n" * 150_000 + b"}",
        b"apiVersion: v1\nkind: A\na: [" + b"\n" * 150_000 + b"}",
        b"{//\n" + b"[" * 100_000,
    ],
)
def test_much_of_the_same_takes_no_time(data: bytes) -> None:
    head = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- a: "
    start = time.process_time()
    for text in (data, head + data):
        for read in (ResourceList.parse, Stream.parse, partial(Stream.parse, tolerant=True)):
            with contextlib.suppress(Unreadable):
                read(text)
    assert time.process_time() - start < 10, "all of it is linear: a quadratic reader needs minutes"


def test_a_result_with_a_place_or_a_text_of_another_type_is_none() -> None:
    found = Result.from_json(RESULT)
    assert found.edit is not None
    assert found.to_json() | {"edit": found.edit.to_json()} == RESULT
    for path in walk(RESULT):
        if not isinstance(dig(RESULT, *path), dict):
            spoiled = copy.deepcopy(RESULT)
            dig(spoiled, *path[:-1])[path[-1]] = True
            with pytest.raises((TypeError, ValueError)):
                Result.from_json(spoiled)
