"""The rule catalogue: every rule by id, the rows of `schemas/rules.json` and those above functions of checks.

Looked through first is what is there already: the modules of the stages that were run, then the rows, and only then
other modules, so that a finding of a source needs no check. Knows no rule.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from krmfn.model.findings import Rule

_STAGES = ("krmfn.checks.scheduler", "krmfn.checks.operator", "krmfn.checks.gitops")


class Catalogue(Mapping[str, Rule]):
    """Rules by id, sorted. KeyError for an unknown id."""

    def __init__(self) -> None:
        self._unread = ["rows", *_STAGES]
        self._rules: dict[str, Rule] = {}

    def __getitem__(self, rule_id: str) -> Rule:
        while rule_id not in self._rules and self._unread:
            self._read_part()
        return self._rules[rule_id]

    def __iter__(self) -> Iterator[str]:
        while self._unread:
            self._read_part()
        return iter(sorted(self._rules))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _read_part(self) -> None:
        part = min(self._unread, key=lambda part: part not in sys.modules)
        self._unread.remove(part)
        if part == "rows":
            from krmfn.model.rules import RULES as ROWS

            self._rules |= ROWS
            return
        from krmfn.checks.rule import list_checks, list_topics

        if part in _STAGES:
            self._unread += list_topics(part.rpartition(".")[2])
        else:
            self._rules |= {check.rule.id: check.rule for check in list_checks(part)}


RULES: Mapping[str, Rule] = Catalogue()
