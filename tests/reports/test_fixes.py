"""Fixes put the proposed value in, and say as one region what they would do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from krmfn.krm.frames import Frame
from krmfn.krm.item import Item
from krmfn.krm.results import ABSENT, Edit, FileRef, Result
from krmfn.krm.source import Source
from krmfn.model.findings import Finding
from krmfn.reconcile.fixes import apply_fixes, find_edits
from krmfn.reports import render

TEXT = "# ü\nkind: PodGroup\nspec:\n  gang: {minCount: -1} # all\n  mode: 'a'\n"
SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-schema-2.1.0.json").read_text())


def read(text: str, path: str = "a.yaml", start: int = 0) -> Item:
    data = text.encode()
    return Item(Frame(Source(data, path)), start, len(data))


def propose(item: Item, path: tuple[str | int, ...], value: Any = ABSENT) -> Finding:
    return Finding(item, path, "m", proposed=value, rule="r")


def find_edit(finding: Finding) -> Edit | None:
    return find_edits([finding]).get(id(finding))


def apply(edit: Edit, text: str) -> str:
    """What an editor does with the edit."""
    lines = text.splitlines(keepends=True)
    offsets = [sum(len(line) for line in lines[:number]) for number in range(len(lines) + 1)]
    start = offsets[edit.line - 1] + edit.column - 1
    end = offsets[edit.end_line - 1] + edit.end_column - 1
    return text[:start] + edit.text + text[end:]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "gang", "minCount"), 4),
        (("spec", "gang", "minCount"), 31),
        (("spec", "gang", "other"), "yes"),
        (("spec", "mode"), {"all": {}}),
        (("spec", "new"), [1, {"b": None}]),
        (("metadata", "labels"), {"ü": "\U0001f600"}),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_edit_of_the_file_is_what_the_fix_does(path: tuple[str | int, ...], value: Any, newline: str) -> None:
    first = "kind: Pod\n---\n".replace("\n", newline)
    text = first + TEXT.replace("\n", newline)
    item = read(text, start=len(first))
    finding = propose(item, path, value)
    edit = find_edit(finding)
    assert edit is not None
    assert not item.changed
    fixed = apply_fixes([finding])
    assert fixed.made == (finding,)
    assert apply(edit, text) == first + item.text
    assert item.get(path) == value


def test_a_scalar_is_replaced_alone() -> None:
    edit = find_edit(propose(read(TEXT), ("spec", "gang", "minCount"), 4))
    assert edit == Edit(4, 20, 4, 22, "4")


@pytest.mark.parametrize(
    "item",
    [read(TEXT, ""), Item.new({"kind": "PodGroup"}, FileRef("a.yaml"))],
    ids=["text of a stream", "generated object"],
)
def test_no_edit_where_the_text_is_not_the_file(item: Item) -> None:
    assert find_edit(propose(item, ("spec",), 1)) is None


def test_what_has_no_proposal_or_a_second_one_is_left() -> None:
    item = read(TEXT)
    first, second = propose(item, ("spec", "mode"), "b"), propose(item, ("spec", "mode"), "c")
    without = propose(item, ("spec",))
    assert apply_fixes([without, first, second]) == ((first,), (without, second))
    assert item.get(("spec", "mode")) == "b"
    assert find_edit(without) is None


def test_a_place_that_cannot_be_edited_is_left() -> None:
    finding = propose(read(TEXT), ("spec", "mode", "deeper"), 1)
    assert apply_fixes([finding]).left == (finding,)
    assert find_edit(finding) is None


@pytest.mark.parametrize(
    ("path", "value", "shown"),
    [
        (("metadata", "labels"), {"a": "b"}, True),
        (("metadata", "labels"), {"a": "hushed"}, False),
        (("stringData",), {}, False),
    ],
    ids=["elsewhere", "its text elsewhere", "its place"],
)
def test_no_edit_shows_what_a_secret_holds(path: tuple[str | int, ...], value: Any, shown: bool) -> None:
    item = read("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  key: hushed\n")
    assert (find_edit(propose(item, path, value)) is not None) == shown


def test_sarif_carries_the_fix() -> None:
    file = FileRef("a b.yaml", 0, 4, 20)
    result = Result("m", path="p", file=file, tags={"rule": "r", "hint": "Write 4."}, edit=Edit(4, 20, 4, 22, "4"))
    log = json.loads(render([result], "sarif"))
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    assert log["runs"][0]["results"][0]["fixes"] == [
        {
            "description": {"text": "Write 4."},
            "artifactChanges": [
                {
                    "artifactLocation": {"uri": "a%20b.yaml"},
                    "replacements": [
                        {
                            "deletedRegion": {"startLine": 4, "startColumn": 20, "endLine": 4, "endColumn": 22},
                            "insertedContent": {"text": "4"},
                        }
                    ],
                }
            ],
        }
    ]
