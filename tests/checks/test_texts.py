"""The texts of rows: everything that they name is given by the module that finds the rule, and each of their cases is
told there."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from string import Formatter

import pytest

from krmfn.checks.rule import _FORMS, list_checks
from krmfn.model.findings import Rule
from krmfn.model.kinds import KINDS
from tests.checks.cases import TOPICS

#: What every text may name, and forms that take a word.
GIVEN = {"item", "path", "current", "release"}
FORMS = {*_FORMS, "count", "or", ""}


def list_texts(rule: Rule) -> list[str]:
    rows = ({"message": rule.message, "hint": rule.hint}, *rule.cases.values())
    return [text for row in rows for text in row.values()]


@pytest.mark.parametrize("topic", TOPICS)
def test_texts_name_only_what_their_module_tells(topic: str) -> None:
    checks = list_checks(topic)
    nodes = [*ast.walk(ast.parse(Path(str(sys.modules[topic].__file__)).read_text()))]
    told = {node.arg for node in nodes if isinstance(node, ast.keyword)}
    words = {node.value for node in nodes if isinstance(node, ast.Constant)}
    for rule in (check.rule for check in checks):
        for text in list_texts(rule):
            for _, field, spec, _ in Formatter().parse(text):
                if field is not None:
                    name = field.partition(".")[0].partition("[")[0]
                    assert name in GIVEN | told | words, (rule.id, text)
                    assert str(spec).partition(" ")[0] in FORMS or str(spec).startswith("."), (rule.id, text)
        assert {*rule.cases} <= words | {kind for _, kind in KINDS}, rule.id
