"""Edits of arbitrary texts: the value afterwards is that of the same edit in plain data, and other lines stay."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from krmfn.krm.item import Item
from tests.krm.manifests import KEYS, VALUES, list_paths, spelled_objects

Path = tuple[str | int, ...]


def read(text: str) -> Item:
    return Item.parse(text.encode())


def step_to(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def put(value: Any, path: Path, new: Any) -> Any:
    """The same edit in plain data."""
    value = copy.deepcopy(value)
    holder = step_to(value, path[:-1])
    if isinstance(holder, list) and path[-1] == len(holder):
        holder.append(new)
    else:
        holder[path[-1]] = new
    return value


def drop(value: Any, path: Path) -> Any:
    value = copy.deepcopy(value)
    del step_to(value, path[:-1])[path[-1]]
    return value


@given(spelled_objects())
def test_a_text_in_any_style_has_the_value_it_spells(spelled: tuple[dict[str, Any], str]) -> None:
    value, text = spelled
    assert read(text).value == value


@given(st.data(), spelled_objects(), VALUES)
def test_replacing_a_value_equals_the_edit_in_plain_data(data: Any, spelled: Any, new: Any) -> None:
    value, text = spelled
    path = data.draw(st.sampled_from(list_paths(value)))
    item = read(text)
    item.set(path, new)
    assert item.value == put(value, path, new)
    assert read(item.text).value == item.value


@given(st.data(), spelled_objects(), KEYS, VALUES)
def test_inserting_a_key_equals_the_edit_in_plain_data(data: Any, spelled: Any, key: str, new: Any) -> None:
    value, text = spelled
    maps = [path for path in [(), *list_paths(value)] if isinstance(step_to(value, path), dict)]
    path = (*data.draw(st.sampled_from(maps)), key)
    item = read(text)
    item.set(path, new)
    assert item.value == put(value, path, new)
    assert read(item.text).value == item.value


@given(st.data(), spelled_objects(), VALUES)
def test_appending_to_a_list_equals_the_edit_in_plain_data(data: Any, spelled: Any, new: Any) -> None:
    value, text = spelled
    lists = [path for path in list_paths(value) if isinstance(step_to(value, path), list)]
    if lists:
        holder = data.draw(st.sampled_from(lists))
        path = (*holder, len(step_to(value, holder)))
        item = read(text)
        item.set(path, new)
        assert item.value == put(value, path, new)


@given(st.data(), spelled_objects())
def test_removing_a_value_equals_the_edit_in_plain_data(data: Any, spelled: Any) -> None:
    value, text = spelled
    paths = [path for path in list_paths(value) if len(path) > 1 or len(value) > 1]
    if paths:
        path = data.draw(st.sampled_from(paths))
        item = read(text)
        item.remove(path)
        assert item.value == drop(value, path)
        assert read(item.text).value == item.value


@given(st.data(), spelled_objects(), KEYS, VALUES)
def test_inserting_and_removing_a_key_gives_the_same_bytes(data: Any, spelled: Any, key: str, new: Any) -> None:
    value, text = spelled
    maps = [
        path for path in [(), *list_paths(value)] if step_to(value, path) and isinstance(step_to(value, path), dict)
    ]
    path = (*data.draw(st.sampled_from(maps)), key)
    if key in step_to(value, path[:-1]):
        return
    item = read(text)
    item.set(path, new)
    item.remove(path)
    assert item.text == text


@given(st.data(), spelled_objects(), KEYS, VALUES)
def test_inserting_a_key_keeps_every_line(data: Any, spelled: Any, key: str, new: Any) -> None:
    value, text = spelled
    if key in value:
        return
    item = read(text)
    item.set((key,), new)
    lines = item.text.splitlines()
    for line in text.splitlines():
        assert line in lines
        lines.remove(line)


settings.register_profile("quick", max_examples=150, deadline=None)
