"""Lists in JSON are read object by object as the json module reads them at once."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from krmfn.krm import json_lists
from krmfn.krm.json_lists import read_list


def make_value(chance: random.Random, depth: int) -> Any:
    sort = chance.randrange(7 if depth else 5)
    if sort == 6:
        return {chance.choice("abé\n"): make_value(chance, depth - 1) for _ in range(chance.randrange(4))}
    if sort == 5:
        return [make_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    return (None, True, chance.randrange(10**6), chance.random() * 10**6, 'é"}\U0001f600],\n {"')[sort]


def read(data: bytes, skip: json_lists.Skip | None = None) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, each in read_list(data, skip):
        if key is None:
            value["items"].append(each)
        else:
            value[key] = each
    return value


@pytest.mark.parametrize("seed", range(60))
def test_random_lists_are_read_as_by_the_json_module(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(json_lists, "_PIECE", chance.choice((1, 3, 7, 64, 1 << 20)))
    value: dict[str, Any] = {
        "apiVersion": "v1",
        "items": [
            {"apiVersion": n, "b": make_value(chance, 3), "x": "é\U0001f600\n"} for n in range(chance.randrange(6))
        ],
        "kind": "List",
        "z": make_value(chance, 2),
    }
    for indent in (None, 2, 3, 4):
        text = json.dumps(value, indent=indent, ensure_ascii=chance.random() < 0.5).encode()
        assert read(text) == value
        assert read(text, lambda *_: False) == value
        end = chance.randrange(len(text))
        for spoilt in (text[:end], text[:end] + b"}" + text[end:], text[:end] + text[end + 1 :], text + b"{}"):
            try:
                expected = json.loads(spoilt, parse_constant=int)  # NaN is refused
            except ValueError:
                expected = None
            for skip in (None, lambda *_: False):
                found: Any
                try:
                    found = read(spoilt, skip)
                except ValueError:
                    found = None
                # Who skips reads nothing that is not written as kubectl does it.
                assert found == expected or (skip and found is None)


@pytest.mark.parametrize("indent", [2, 4])
def test_what_is_skipped_is_not_read(indent: int) -> None:
    items = [{"apiVersion": "v1", "kind": "Pod" if n % 2 else "Node", "spec": [{"apiVersion": "v1"}]} for n in range(6)]
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=indent).encode()
    found = read(text, lambda data, at, end: b'"Pod"' in data[at:end])["items"]
    assert found == [*items[::2], items[-1]]  # the last one has no next one to end it
    spoilt = text.replace(b'"kind": "Pod"', b"nonsense", 1)
    assert read(spoilt, lambda data, at, end: b"nonsense" in data[at:end])["items"] == items[:1] + items[2:]
    for unsorted in ({"kind": "List", "items": items}, {"items": items}):
        assert read(json.dumps(unsorted, indent=indent).encode(), lambda *_: True)["items"] == items


@pytest.mark.parametrize("text", [b"", b"[1]", b'{"a": NaN}', b'{"a": 1} 2', b'{"a" 1}', b'{"items": [1', b"{" * 3000])
def test_what_is_no_object(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(text)
