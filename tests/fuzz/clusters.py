"""Whatever the pages of rules show, spoiled, beside a spoiled cluster: every command ends as it may for any input.

Knows no rule. `spoiled` judges how a command ends; its input is the fixtures of the function, here it is what a rule
reads: manifests that are wrong, facts, and the output of kubectl.
"""

from __future__ import annotations

import functools
import json
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from krmfn.reports.pages import read_page
from tests.checks.cases import SHOWN, read_header
from tests.front_door import call
from tests.fuzz.mutations import spoil_bytes, spoil_value, write, write_stream
from tests.fuzz.spoiled import judge, limit_time

CASES = 240
_CLUSTER = ("--cluster", "cluster.yaml")
_FORMATS = ("text", "json", "yaml", "sarif", "junit", "github", "gitlab")
_PICTURES = ("text", "json", "yaml", "markdown", "mermaid", "svg", "html")
COMMANDS: tuple[tuple[str, ...], ...] = (
    *(("validate", *_CLUSTER, "-o", form, "now.yaml") for form in _FORMATS),
    *(("fit", "--prove", *_CLUSTER, "-o", form, "now.yaml") for form in _PICTURES),
    *(("tree", "-o", form, "now.yaml") for form in ("text", "mermaid", "dot", "json")),
    ("fit", *_CLUSTER, "now.yaml"),
    *(("diff", *_CLUSTER, "-o", form, "old.yaml", "now.yaml") for form in ("markdown", *_FORMATS)),
    *(("diff", "--kubernetes", "1.36", "--to-kubernetes", to, "now.yaml") for to in ("1.37", "1.38")),
    ("validate", "--against", "old.yaml", "now.yaml"),
    ("validate", "--against", "old.yaml", "--update", "replace", "now.yaml"),
    ("validate", "--fix", "now.yaml"),
    ("generate", "--only-generated", "now.yaml"),
    ("generate", "--write", "."),
    ("convert", "--to", "1.35", "now.yaml"),
    ("convert", "--to", "1.38", "now.yaml"),
    ("upgrade", "--kubernetes", "1.36", "--to", "1.37", "now.yaml"),
    ("facts", "cluster.yaml"),
    ("facts", "--no-pods", "cluster.yaml"),
    ("why", "--prove", *_CLUSTER),
    ("why", "--prove", *_CLUSTER, "-o", "json"),
)


@functools.cache
def read_rule_page(rule: str) -> tuple[list[Any], dict[str, Any]]:
    """The documents on a page, and the `spec` of the configuration that they are read with."""
    documents: list[Any] = []
    spec: dict[str, Any] = {}
    for text in read_page(rule).examples.values():
        spec |= yaml.safe_load(read_header(text).get("settings", "{}"))
        documents += yaml.load_all(text, yaml.CSafeLoader)
    return documents, spec


@functools.cache
def _list_facts() -> tuple[dict[str, Any], ...]:
    """The `cluster` of every page that has one."""
    return tuple(spec["cluster"] for spec in (read_rule_page(rule)[1] for rule in SHOWN) if "cluster" in spec)


def check(chance: random.Random) -> None:
    """One case."""
    documents, spec = read_rule_page(chance.choice(SHOWN))
    objects = [each for each in documents if isinstance(each, dict)]
    words = chance.choice(COMMANDS)
    if words[0] == "why":
        words = (*words, _name(chance, objects))
    config = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "metadata": {"name": "gangs"}, "spec": spec}
    folder = Path(tempfile.mkdtemp(prefix="krmfn-fuzz-"))
    try:
        (folder / "krmfn.yaml").write_bytes(write(_maybe(chance, config)))
        (folder / "cluster.yaml").write_bytes(_spoil(chance, _make_dump(chance, objects)))
        for name in ("now.yaml", "old.yaml"):
            (folder / name).write_bytes(_spoil(chance, {"items": objects}, write_stream))
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        with limit_time():
            done = call(b"", words, folder)
        judge(words, done)
        if done.code == 2 and not done.out:  # the error names the file, or the object of the command line
            assert b".yaml" in done.err or words[0] == "why", (words, done.err)
        if "--write" not in words and "--fix" not in words:
            assert {path.name: path.read_bytes() for path in folder.iterdir()} == before, words
    finally:
        shutil.rmtree(folder)


def _make_dump(chance: random.Random, objects: list[Any]) -> dict[str, Any]:
    """A dump of a cluster, or facts; sometimes with the manifests as what lives in it."""
    facts = chance.choice(_list_facts())
    if "items" not in facts and chance.random() < 0.5:
        return {"apiVersion": "krmfn.dev/v1alpha1", "kind": "ClusterFacts", "spec": facts}
    items = [*facts.get("items", ()), *(objects if chance.random() < 0.8 else ())]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _name(chance: random.Random, objects: list[Any]) -> str:
    """An object for `why`, more often one that is there."""
    each = chance.choice(objects or [{}])
    metadata = each.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    parts = (each.get("kind"), named.get("namespace"), named.get("name"))
    return "/".join(str(part) for part in parts if part is not None) if chance.random() < 0.9 else "pod/x"


def _maybe(chance: random.Random, value: dict[str, Any]) -> dict[str, Any]:
    return spoil_value(chance, value) if chance.random() < 0.2 else value


def _spoil(chance: random.Random, value: dict[str, Any], form: Callable[[dict[str, Any]], bytes] = write) -> bytes:
    kind = chance.randrange(6)
    if kind == 0:
        return spoil_bytes(chance, form(value))
    if kind > 2:
        return json.dumps(value, default=str).encode() if form is write else form(value)
    return form(spoil_value(chance, value))
