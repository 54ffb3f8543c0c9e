"""The catalogue: every rule is a row of `schemas/rules.json`, in the part that finds it.

Those of the API server stand for keywords and hand-written checks; their messages are the server's own. The other
rows have the texts of what is found; some are put together where it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT
from krmfn.model.findings import Note, Rule
from krmfn.releases import schemastore

#: Which parts there are, each with its rules by id.
PARTS: Mapping[str, Mapping[str, Rule]] = {
    part: {id: Rule(id, **row) for id, row in rows.items()} for part, rows in schemastore.load("rules.json").items()
}
RULES: Mapping[str, Rule] = dict(sorted((id, rule) for rules in PARTS.values() for id, rule in rules.items()))


def tell(rule: str, path: Path, case: str = "", current: Any = ABSENT, proposed: Any = ABSENT, /, **about: Any) -> Note:
    """A note in the words of the rule's row or of one of its cases: they name `about`, {current} and {proposed}."""
    row = RULES[rule]
    texts = row.cases[case] if case else {}
    about |= {"current": current, "proposed": proposed}
    message, hint = texts.get("message", row.message), texts.get("hint", row.hint)
    return Note(rule, path, message.format(**about), current, proposed, hint.format(**about))


def tell_retired(rule_id: str) -> str:
    """What became of a rule that is no longer there; empty for an id that never was one. Retired ids stay reserved."""
    row = schemastore.load("retired.json").get(rule_id)
    return f"{rule_id} was retired in {row['since']}: {row['see']}." if row else ""


def list_rules_of(path: str) -> list[str]:
    """The rules that find something at a field, such as `PodGroup.spec.schedulingPolicy` (`[]` is every element), as
    the examples on their pages show it."""
    found: list[str] = schemastore.load("fieldrules.json").get(path, [])
    return found
