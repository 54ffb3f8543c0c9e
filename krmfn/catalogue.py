"""The rule catalogue: every rule by id, the rows of `schemas/rules.json` and those above functions of checks.

The checks of a stage are imported when a rule was not found before, so that a finding of a source needs none of them.
Knows no rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from krmfn.model.rules import RULES as ROWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krmfn.model.findings import Rule


class Catalogue(Mapping[str, "Rule"]):
    """Rules by id, sorted. KeyError for an unknown id."""

    def __init__(self) -> None:
        self._unread = ["gitops", "operator", "scheduler"]
        self._rules = dict(ROWS)

    def __getitem__(self, rule_id: str) -> Rule:
        while rule_id not in self._rules and self._unread:
            self._read_stage()
        return self._rules[rule_id]

    def __iter__(self) -> Iterator[str]:
        while self._unread:
            self._read_stage()
        return iter(sorted(self._rules))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _read_stage(self) -> None:
        from krmfn.checks.rule import list_checks

        self._rules |= {check.rule.id: check.rule for check in list_checks(self._unread.pop())}


RULES: Mapping[str, Rule] = Catalogue()
