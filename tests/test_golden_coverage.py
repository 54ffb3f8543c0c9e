"""What the goldens show: every option of the configuration, every annotation and every rule changes one of them."""

from __future__ import annotations

import copy
import functools
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from krmfn.config import known_annotations
from krmfn.config.schema import load_schema
from krmfn.function import process
from krmfn.krm import run
from krmfn.model.marks import POD_GROUP, POD_GROUP_BY, REVISION
from krmfn.model.rules import RULES
from krmfn.reports.pages import read_page

ROOT = Path(__file__).parent.parent
Document = dict[str, Any]


def list_options(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of the options below `spec`; what has keys of its own is not one itself."""
    for name, child in schema["properties"].items():
        inner = child.get("$ref", "").rpartition("/")[2]
        resolved = load_schema()["$defs"][inner] if inner else child
        if resolved.get("properties") and name in {"kubernetes", "kuberay", "gang"}:
            yield from list_options(resolved, (*path, name))
        else:
            yield (*path, name)


#: Rules that no manifest by itself can break, and what shows them.
ELSEWHERE = {
    "conditions": "a status is written through an address of its own",
    "claim-status-name": "a status is written through an address of its own",
    "alternatives": "it takes a folder: tests/workspace/test_worlds.py",
    "ignore-unused": "only the command line ignores: tests/cli/test_adoption.py",
    "kind-missing": "a ResourceList holds objects with a kind: tests/cli/test_incomplete.py",
    "not-rendered": "it depends on the machine: tests/workspace takes kustomize away",
    "wrong-kind": "the address of a request is made from the manifest's own apiVersion and kind",
}
OPTIONS = list(list_options(load_schema()["properties"]["spec"]))


@functools.cache
def load_fixtures() -> list[Document]:
    """Every fixture that is readable YAML."""
    found = []
    for path in sorted((ROOT / "fixtures").rglob("*.yaml")):
        try:
            document = yaml.load(path.read_bytes(), yaml.CSafeLoader)
        except yaml.YAMLError:
            continue
        if isinstance(document, dict) and isinstance(document.get("items"), list):
            found.append(document)
    return found


def call(document: Document) -> tuple[bytes, str, int]:
    """The function on a ResourceList, in this process."""
    out, err = io.BytesIO(), io.StringIO()
    data = yaml.safe_dump(document, sort_keys=False).encode()
    code = run(process, stdin=io.BytesIO(data), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue(), code


def without(value: Any, path: tuple[str, ...]) -> Any:
    """`value` without what stands at `path`; None when nothing does."""
    if not isinstance(value, dict) or path[0] not in value:
        return None
    inner = without(value[path[0]], path[1:]) if len(path) > 1 else ()
    if inner is None:
        return None
    rest = {key: each for key, each in value.items() if key != path[0]}
    return rest if len(path) == 1 else {**rest, path[0]: inner}


@pytest.mark.parametrize("option", OPTIONS, ids=".".join)
def test_every_option_changes_a_golden(option: tuple[str, ...]) -> None:
    for document in load_fixtures():
        reduced = without(document, ("functionConfig", "spec", *option))
        if reduced is not None and show(reduced) != show(document):
            return
    pytest.fail(f"no fixture shows what spec.{'.'.join(option)} does")


@pytest.mark.parametrize("annotation", sorted(set(known_annotations()) - {REVISION, POD_GROUP, POD_GROUP_BY}))
def test_every_annotation_changes_a_golden(annotation: str) -> None:
    stem = annotation.partition("<group>")[0]
    for document in load_fixtures():
        reduced = copy.deepcopy(document)
        dropped = []
        for item in reduced["items"]:
            annotations = (item.get("metadata") or {}).get("annotations") or {}
            dropped += [annotations.pop(key) for key in list(annotations) if key in {stem, annotation}]
            if "<group>" in annotation:
                dropped += [annotations.pop(key) for key in list(annotations) if key.startswith(stem)]
        if dropped and show(reduced) != show(document):
            return
    pytest.fail(f"no fixture shows what {annotation} does")


def show(document: Document) -> tuple[str, list[Any]]:
    """What the function says, and the specs of the items that come out."""
    out, err, _ = call(document)
    items = (yaml.load(out, yaml.CSafeLoader) or {}).get("items") or ()
    return err, [item.get("spec") for item in items]


@pytest.mark.parametrize("mark", [REVISION, POD_GROUP, POD_GROUP_BY])
def test_marks_that_are_only_written_are_in_a_golden(mark: str) -> None:
    assert any(f"{mark}: " in path.read_text() for path in (ROOT / "golden").rglob("*.out"))


def test_every_rule_is_shown() -> None:
    shown = "".join(path.read_text() for path in (ROOT / "golden").rglob("*.*") if path.is_file())
    unshown = {rule for rule in RULES if f"[{rule}]" not in shown and not read_page(rule).examples}
    assert unshown == set(ELSEWHERE)
