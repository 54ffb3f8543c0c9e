"""Lists: items are the same in whatever order and company they are read, and a list is what was made of it.

The splitter is compared with a reading of the whole document by libyaml; after edits,
removals, additions and new results the whole document is read again, and what was not touched has its bytes.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

from krmfn.krm.composing import compose
from krmfn.krm.editing import same
from krmfn.krm.errors import EditRefused, Unreadable
from krmfn.krm.item import Item
from krmfn.krm.results import Result
from krmfn.krm.running import ResourceList
from krmfn.krm.source import Source
from krmfn.krm.stream import Stream, read_resource_list
from krmfn.krm.values import to_value
from tests.fuzz import editing
from tests.fuzz.texts import COMMENTS, Writer, spoil

ASKED = ("ref", "labels", "annotations", "value", "problems")


def check(random: Random) -> None:
    """One list, or one stream of documents."""
    if random.random() < 0.25:
        check_stream(random)
        return
    text = write_list(random)
    if random.random() < 0.2:
        text = spoil(random, text)
    data = text.encode()
    try:
        whole = ResourceList(Source(data), read_resource_list(Source(data)))
    except Unreadable:
        whole = None
    try:
        quick = ResourceList.parse(data)
    except Unreadable:
        assert whole is None, text
        return
    if whole is None:
        return  # something in it is no YAML, which whoever reads it is told
    check_order(random, text, whole, quick)
    check_edits(random, text)


# --- texts ------------------------------------------------------------------------------------------------------------


def write_list(random: Random) -> str:
    """A ResourceList in block style, with entries in any order."""
    writer = Writer(random)
    if random.random() < 0.1:
        return write_flow_list(random, writer)
    column = random.choice([0, 0, 0, 2])
    items = "".join(write_item(random, writer, column) for _ in range(random.choice([1, 2, 2, 3, 5])))
    entries = [
        "apiVersion: config.kubernetes.io/v1\n",
        "kind: ResourceList\n",
        random.choice(["items:\n" + items, "items:\n" + items, "items:\n" + items, "items: []\n", "items:\n", ""]),
    ]
    if random.random() < 0.5:
        entries.append("functionConfig:\n" + writer.mapping(2, 1))
    if random.random() < 0.3:
        entries.append("results:\n" + writer.sequence(random.choice([0, 2]), 1))
    if random.random() < 0.2:
        entries.append("other:" + writer.value(0, 1))
    if random.random() < 0.3:
        random.shuffle(entries)
    text = "".join(writer.filler(0) + entry for entry in entries)
    if random.random() < 0.1:
        text = text.rstrip("\n")
    if random.random() < 0.1:
        return text.replace("\n", "\r\n")
    if random.random() < 0.1:
        return "".join(random.choice(["\n", "\r\n"]) if sign == "\n" else sign for sign in text)
    return text


def write_flow_list(random: Random, writer: Writer) -> str:
    """A ResourceList in braces, on one line or several, whose parts may use anchors of each other."""
    comma = random.choice([", ", ",\n "])
    items = []
    for name in ("x-1", "x-2", "x-3"):
        anchor = random.choice(["", f"&{name} "])
        items.append(f"{{apiVersion: v1, kind: A, metadata: {{name: a}}, x: {anchor}{writer.flow(1)}}}")
        writer.names += [name] if anchor else []
    entries = ["apiVersion: config.kubernetes.io/v1", "kind: ResourceList", f"items: [{comma.join(items)}]"]
    if random.random() < 0.5:
        entries.append("other: " + writer.flow(1))
    return "{" + comma.join(entries) + "}\n"


def write_item(random: Random, writer: Writer, column: int) -> str:
    """An item at a dash; most have the head of an object."""
    inner = column + 2
    if random.random() < 0.3:
        body = writer.mapping(inner, 1)
    else:
        body = write_head(random, inner) + (writer.mapping(inner, 1) if random.random() < 0.6 else "")
    body = body.lstrip(" \n")
    if body[:1] == "#" or not body:
        body = "kind: A\n" + " " * inner + body
    return writer.filler(column) + " " * column + "- " + body


def write_head(random: Random, column: int) -> str:
    """The lines that say who an object is, with something between them now and then."""
    margin = " " * column
    name, space = random.choice(["a", "b-1", "'c'", "12", "yes", '"d"']), random.choice(["ns", "'ns'", "on", "x.y"])
    metadata = [f"  name: {name}", f"  namespace: {space}"][: random.choice([1, 2, 2])]
    for field in ("labels", "annotations"):
        if random.random() < 0.5:
            words = random.choice(
                ["a: b", "a: 'b c'", "a: |\n      b\n      c", "a: b # c", "a/b.c: yes", "a: 1\n    b: x"]
            )
            metadata.insert(random.randint(0, len(metadata)), f"  {field}:\n    {words}")
    lines = ["apiVersion: v1", f"kind: {random.choice(['A', 'ConfigMap', 'B'])}", "metadata:\n" + "\n".join(metadata)]
    if random.random() < 0.2:
        random.shuffle(lines)
    lines = "\n".join(lines).split("\n")
    while random.random() < 0.3:
        odd = random.choice(["", "   ", "  " + random.choice(COMMENTS), random.choice(COMMENTS), "      z", "name: z"])
        lines.insert(random.randint(1, len(lines)), odd)
    return "".join((margin + line if line.strip() else line) + "\n" for line in lines)


# --- order ------------------------------------------------------------------------------------------------------------


def check_order(random: Random, text: str, whole: ResourceList, quick: ResourceList) -> None:
    """Everything about every item, asked in any order and several times."""
    assert len(whole.items) == len(quick.items), text
    assert quick.render() == whole.render() == text.encode()
    if whole.function_config is not None or quick.function_config is not None:
        assert quick.function_config is not None, text
        assert whole.function_config is not None, text
        assert ask(quick.function_config, "value") == ask(whole.function_config, "value"), text
    expected = [{name: ask(item, name) for name in ASKED} for item in whole.items]
    places = [place for place in range(len(quick.items)) for _ in range(2)]
    random.shuffle(places)
    for place in places:
        item = quick.items[place]
        names = random.sample(ASKED, 3)
        for name in names:
            told = expected[place][name]
            if isinstance(told, tuple) and told[0] == "unreadable" and name not in ("value", "problems"):
                continue  # who it is may be told where the rest cannot be read
            assert ask(item, name) == expected[place][name], (text, place, name, ask(item, name), expected[place][name])
        if random.random() < 0.3:
            item.release()


def ask(item: Item, name: str) -> Any:
    """What an item says, or why it says nothing."""
    try:
        found = getattr(item, name)
    except Unreadable as error:
        return "unreadable", str(error)
    return repr(found) if name == "problems" else found


# --- edits ------------------------------------------------------------------------------------------------------------


def check_edits(random: Random, text: str) -> None:
    """Edit, take out, add; then read the whole document."""
    try:
        document = editing.copy_plain(to_value(compose(text), text))
    except Unreadable:
        return
    resources = ResourceList.parse(text.encode())
    values = [*(document.get("items") or [])]
    for place, item in enumerate(resources.items):
        if isinstance(values[place], dict) and values[place] and random.random() < 0.4:
            values[place] = edit(random, item, values[place])
    bodies = [item.text for item in resources.items]
    for place in range(len(resources.items) - 1, -1, -1):
        if random.random() < 0.3:
            resources.remove(resources.items[place])
            del values[place], bodies[place]
    for _ in range(random.choice([0, 0, 1, 2])):
        value = {"apiVersion": "v1", "kind": "N", "x": editing.write_value(random, 0)}
        resources.append(Item.new(value))
        values.append(value)
    results = [Result("new", "info", path="a.b")] if random.random() < 0.3 else []
    try:
        after = resources.render(results).decode()
    except EditRefused:
        assert text[0] == "{", text
        assert "*" in text.partition("other: ")[2], text
        return
    expected = {**document, "items": values}
    if not values and not document.get("items"):
        expected["items"] = document.get("items")
    if results:
        expected["results"] = [result.to_json() for result in results]
    found = to_value(compose(after), after)
    if "items" not in found and not values:
        found = {**found, "items": None}
    assert same(found, editing.narrow(expected, False)), (text, after, found, expected)
    for body in bodies:
        assert body.strip("\r\n") in after or "*" in text or text[-1] != "\n", (text, after, body)


def edit(random: Random, item: Item, value: Any) -> Any:
    """The value after an edit, which may be refused."""
    path, new = editing.choose_edit(random, value)
    try:
        expected = editing.apply(editing.copy_plain(value), path, new)
        item.remove(path) if new is editing.GONE else item.set(path, new)
    except (EditRefused, ValueError, editing.Impossible):
        return value
    return expected


# --- streams ----------------------------------------------------------------------------------------------------------


def check_stream(random: Random) -> None:
    """Documents, some of them lists: what is taken out and added is what is there afterwards."""
    writer = Writer(random)
    documents = []
    for _ in range(random.choice([1, 2, 3])):
        if random.random() < 0.25:
            inner = "".join(write_item(random, writer, 0) for _ in range(random.choice([1, 2])))
            documents.append("apiVersion: v1\nkind: List\nitems:\n" + inner)
        else:
            writer.names.clear()
            documents.append(write_head(random, 0) + writer.filler(0))
    text = "---\n".join(documents)
    text = text.rstrip("\n") if random.random() < 0.1 else text
    try:
        stream = Stream.parse(text.encode(), "a.yaml")
        values = [editing.copy_plain(item.value) for item in stream.items]
    except Unreadable:
        return
    assert stream.render() == text.encode()
    for place, item in enumerate(stream.items):
        if random.random() < 0.4:
            values[place] = edit(random, item, values[place])
    for place in range(len(stream.items) - 1, -1, -1):
        if random.random() < 0.3:
            stream.remove(stream.items[place])
            del values[place]
    if random.random() < 0.5:
        value = {"apiVersion": "v1", "kind": "N", "x": editing.write_value(random, 0)}
        stream.append(Item.new(value))
        values.append(value)
    try:
        after = stream.render()
        found = [item.value for item in Stream.parse(after, "a.yaml").items]
    except EditRefused:
        raise AssertionError(text) from None
    kept = [
        value for value in values if isinstance(value.get("kind"), str) and isinstance(value.get("apiVersion"), str)
    ]
    kept = [value for value in kept if value["kind"] and value["apiVersion"]]
    again = [value for value in found if isinstance(value.get("kind"), str)]
    assert len(again) <= len(values), (text, after)
    if len(kept) == len(values) == len(found):
        assert sorted(map(spell, found)) == sorted(map(spell, editing.narrow(values, False))), (
            text,
            after,
            found,
            values,
        )


def spell(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
