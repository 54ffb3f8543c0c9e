"""Which namespaces a label selector selects, where their objects are known and where not."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.model.selectors import Answer, match_namespace

NAME = {"matchLabels": {"kubernetes.io/metadata.name": "ml"}}
TEAM = {"matchLabels": {"team": "ai"}}
NOT_TEAM = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
OBJECT = {"metadata": {"labels": {"team": "ai"}}}


@pytest.mark.parametrize(
    ("selector", "space", "complete", "answer"),
    [
        (None, OBJECT, False, False),
        ({}, None, False, True),
        (NAME, None, False, True),
        (NAME | {"matchLabels": {"kubernetes.io/metadata.name": "web"}}, None, False, False),
        (TEAM, OBJECT, False, True),
        (TEAM, {"metadata": {}}, False, False),
        (TEAM, None, False, None),
        (TEAM, None, True, False),
        (NOT_TEAM, OBJECT, False, False),
        (NOT_TEAM, {"metadata": {}}, False, True),
        (NOT_TEAM, None, False, None),
        (NOT_TEAM, None, True, True),
    ],
)
def test_a_namespace_that_is_not_known_may_have_any_label(
    selector: Any, space: Any, complete: bool, answer: Answer
) -> None:
    assert match_namespace(selector, "ml", space, complete) is answer
