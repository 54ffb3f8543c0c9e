"""The rule catalogue: every row of every room, by id.

A row is looked up part by part, so that a finding of a source does not import the rules of the checks. Knows no rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krmfn.model.findings import Rule

#: Modules with a table RULES, and stages whose rules stand above functions; in the order in which a build needs them:
#: the first ones are on the function's path.
PARTS = (
    *("krmfn.sources.rules", "krmfn.targets.rules", "krmfn.config.rules", "krmfn.checks.reading"),
    *("krmfn.checks.server.rules", "krmfn.workspace.manifests", "scheduler", "operator", "gitops"),
    "krmfn.convert.rules",
)


class Catalogue(Mapping[str, "Rule"]):
    """Rules by id; parts are read when an id was not found in those before. KeyError for an unknown id."""

    def __init__(self, parts: Iterable[str]) -> None:
        self._unread = list(parts)
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
        for rule in list_rules(self._unread.pop(0)):
            self._rules.setdefault(rule.id, rule)


def list_rules(part: str) -> Iterable[Rule]:
    """The rows of one part, in the order of the text."""
    if "." in part:
        rules: Iterable[Rule] = __import__(part, fromlist=["RULES"]).RULES
        return rules
    from krmfn.checks.rule import list_checks

    return (check.rule for check in list_checks(part))


RULES: Mapping[str, Rule] = Catalogue(PARTS)
