"""The table of sources and the rules behind their notes."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import krmfn.sources
from krmfn.sources import SOURCES
from krmfn.sources.foreign import REASONS
from krmfn.sources.rules import RULES
from krmfn.sources.trainingoperator import ROLES
from tests.sources.manifests import manifest, read

FOLDER = Path(krmfn.sources.__file__).parent


@pytest.mark.parametrize(("group", "kind"), SOURCES)
@pytest.mark.parametrize("spec", [None, {}, [], "x", 7, {"template": 1, "replicas": [], "jobTemplate": {}}])
def test_any_source_survives_nonsense(group: str, kind: str, spec: Any) -> None:
    reading = read(manifest(f"{group}/v1" if group else "v1", kind, spec))
    assert reading.group is None
    assert reading.notes


def test_kinds_that_share_a_module_are_all_in_the_table() -> None:
    foreign = {key for key, source in SOURCES.items() if source == "foreign.explain_foreign"}
    training = {kind for (_, kind), source in SOURCES.items() if source == "trainingoperator.read_trainingjob"}
    assert (foreign, training) == (set(REASONS), set(ROLES))


def test_the_mapping_page_names_every_kind() -> None:
    page = (FOLDER.parent.parent / "docs" / "reference" / "mapping.md").read_text(encoding="utf-8")
    table = page.partition("## Kinds")[2].partition("## Names")[0]
    assert [kind for _, kind in SOURCES if kind not in table] == []
    assert [group for group, _ in SOURCES if group not in table] == []


_NOTING = ("note", "decline")


def _noted_rules() -> set[str]:
    """The first argument of every call of `note` and `decline` in the sources."""
    found = set()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _NOTING:
                rule = node.args[0]
                if isinstance(rule, ast.Constant):
                    found.add(str(rule.value))
    return found | {"kind-not-supported", "kind-passed-over"}  # which of them is decided at run time


def test_rules_are_those_that_are_noted() -> None:
    assert {rule.id for rule in RULES} == _noted_rules()
    assert len({rule.id for rule in RULES}) == len(RULES)
